"""The store of the JavaScript module in a real browser: a commit is there whole or not at all, whatever is killed."""

import functools
import http.server
import pathlib
import threading

import pytest

from browser import Browser
from programs import PATIENCE, eventually

MODULE = pathlib.Path(__file__).parents[2] / "Sources" / "LiveClientJS"

# A page that opens the store and keeps what it exports.
OPEN = """
    const [options, done] = arguments
    import("/livegate.js").then(async live => {
        window.live = live
        // The app's own object store; it is brought up to date where the test says that this version can.
        const tables = options.tables ? database => {
            if (!database.objectStoreNames.contains("app")) database.createObjectStore("app")
        } : undefined
        window.store = await live.openStore({...options, tables})
        return "open"
    }).catch(error => ({kind: error.kind, differs: error.differs ?? null, text: String(error)})).then(done)
"""

# Everything that is stored: the finger, the entries by key, and the app's own row.
READ = """
    const [done] = arguments
    Promise.all([window.store.load("open"), window.store.transaction(["app"], "readonly",
        transaction => new Promise(resolve => {
            const request = transaction.objectStore("app").get("row")
            request.onsuccess = () => resolve(request.result ?? null)
        }))])
        .then(([stored, app]) => done({finger: stored?.metadata.finger ?? null,
                                      entries: stored ? Object.fromEntries(stored.entries) : null, app}))
        .catch(error => done(String(error)))
"""

# A commit of generation `n`: finger, entries and the app's row all say so. Before statement `stop` of its transaction the
# page asks for what never comes, and stands still inside of the transaction.
COMMIT = """
    const [n, stop] = arguments
    window.committed = null
    // Later than the lease of the tab that wrote the generation before.
    const now = window.realNow ??= Date.now
    Date.now = () => now.call(Date) + n * 60_000
    let statement = 0
    const still = () => {
        if (++statement !== stop) return
        const request = new XMLHttpRequest()
        request.open("POST", "/never", false)
        request.send()
    }
    for (const name of ["put", "delete"]) {
        const original = IDBObjectStore.prototype["original_" + name] ?? IDBObjectStore.prototype[name]
        IDBObjectStore.prototype["original_" + name] = original
        IDBObjectStore.prototype[name] = function (...given) {
            still()
            return original.apply(this, given)
        }
    }
    const put = ["a", "b", "c", "new" + n].map(key => [key, n])
    fetch("/go", {method: "POST"}).then(() => window.store.commit("open", {
        metadata: {finger: "f" + n}, put, remove: ["new" + (n - 1)], whole: () => put,
        tables: ["app"], also: transaction => { transaction.objectStore("app").put(n, "row"); still() },
    })).then(place => { window.committed = place }, error => { window.committed = String(error) })
    return null
"""

IDENTITY = {"name": "store", "schema": 1, "account": "PACC1", "server": "https://live.example", "tables": True}


# Statements of a commit: the area's row, the removed entry, four entries, the app's row, and the end behind all of them.
STATEMENTS = 8


class Module(http.server.SimpleHTTPRequestHandler):
    """The files of the module, and an empty page."""

    # The page may begin: its driver has left it.
    go = threading.Event()
    # A page stands still.
    standing = threading.Event()
    # The test is over.
    over = threading.Event()
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}

    def do_GET(self):
        if self.path != "/":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>store</title>")

    def do_POST(self):
        if self.path == "/never":
            Module.standing.set()
            Module.over.wait()
            return
        Module.go.wait()
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def origin():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Module, directory=MODULE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_address[1]}"
    Module.over.set()
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    running = Browser(tmp_path_factory.mktemp("browser"))
    yield running
    running.end()


def opened(browser, origin, **changes):
    browser.go(origin)
    return browser.wait(OPEN, {**IDENTITY, **changes})


def begin(browser, n, stop=0):
    Module.go.clear()
    browser.run(COMMIT, n, stop)
    Module.go.set()


def committed(browser, n):
    begin(browser, n)
    eventually(lambda: browser.run("return window.committed"))
    return browser.run("return window.committed")


def generation(n):
    return {"finger": f"f{n}", "entries": {"a": n, "b": n, "c": n, f"new{n}": n}, "app": n}


def test_a_browser_that_is_killed_at_any_statement_of_a_commit_leaves_what_was_before(tmp_path, origin):
    browser = Browser(tmp_path)
    try:
        assert opened(browser, origin) == "open"
        assert committed(browser, 1) == "whole"
        for stop in range(1, STATEMENTS + 1):
            Module.standing.clear()
            begin(browser, 2, stop)
            assert Module.standing.wait(30 * PATIENCE), f"statement {stop} was not reached"
            browser.kill()
            browser = Browser(tmp_path)
            assert opened(browser, origin) == "open"
            assert browser.wait(READ) == generation(1), f"killed at statement {stop}"
        # Behind the last statement nothing stands still, and it is killed when the commit is complete.
        assert committed(browser, 2) == "whole"
        browser.kill()
        browser = Browser(tmp_path)
        assert opened(browser, origin) == "open"
        assert browser.wait(READ) == generation(2)
    finally:
        browser.end()


def test_a_store_of_another_schema_account_or_server_is_neither_used_nor_deleted(browser, origin):
    name = {"name": "others"}
    assert opened(browser, origin, **name, schema=2) == "open"
    assert committed(browser, 1) == "whole"
    for changes, differs in [({"account": "PACC2"}, ["account"]), ({"server": "https://other.example"}, ["server"]),
                             ({"schema": 1}, ["schema"]), ({"schema": 3, "tables": False}, ["schema"]),
                             ({"schema": 3, "account": "PACC2"}, ["schema", "account"])]:
        refused = opened(browser, origin, **name, **{"schema": 2, **changes})
        assert (refused["kind"], refused["differs"]) == ("other", differs), refused["text"]
    assert opened(browser, origin, **name, schema=2) == "open"
    assert browser.wait(READ) == generation(1)
    # A tab of the next version brings the tables up to date, and the one before lets it; its own commits fail and say why.
    assert browser.wait("""
        const [options, done] = arguments
        window.live.openStore({...options, tables: () => {}}).then(async next => {
            const old = await window.store.commit("open", {metadata: {finger: "old"}}).catch(error => error.differs)
            window.store = next
            done(old)
        }, error => done(String(error)))
    """, {**IDENTITY, **name, "schema": 3}) == ["schema"]
    assert browser.wait(READ) == generation(1)


def test_a_commit_that_fails_writes_nothing_and_says_why(browser, origin):
    assert opened(browser, origin, name="failing") == "open"
    assert committed(browser, 1) == "whole"
    for commit, why in [('put: [["a", 9], ["b", () => 0]]', "DataCloneError"),
                        ('put: [["a", 9]], tables: ["app"], also: () => { throw new Error("app") }', "Error: app"),
                        ('put: [["a", 9]], tables: ["none"]', "NotFoundError")]:
        script = "window.store.commit('open', {metadata: {finger: 'f9'}, %s}).catch(String).then(arguments[0])" % commit
        assert why in browser.wait(script)
        assert browser.wait(READ) == generation(1)


# A page with actions, whose server is the page itself. What its user has read stands in the app's own object store.
ACTIONS = """
    const [settings, done] = arguments
    window.sent = []
    const show = (kind, id, value, transaction) => {
        if (value === "refused") throw new Error("app")
        transaction.objectStore("app").put(value, id)
    }
    window.live.openActions({
        store: new window.live.IndexedDBActionStore({store: window.store, tables: ["app"], show}), settings,
        send: async actions => { window.sent.push(...actions)
                                 return actions.map(({key}) => ({key, status: 200})) },
        renewToken: async () => {},
    }).then(actions => { window.actions = actions; done("open") }, error => done(String(error)))
"""

# What is kept and what is shown.
KEPT = """
    const [done] = arguments
    window.store.transaction(["livegate.actions", "app"], "readonly", transaction => {
        const all = name => new Promise(resolve => {
            const request = transaction.objectStore(name).getAll()
            request.onsuccess = () => resolve(request.result)
        })
        return Promise.all([all("livegate.actions"), all("app")])
    }).then(([rows, shown]) => done({rows: rows.map(row => [row.kind, row.id, row.value]), shown,
                                     keys: rows.map(row => row.key)}), error => done(String(error)))
"""


def act(browser, *words):
    return browser.wait("""
        const [words, done] = arguments
        window.actions.set(...words).then(() => done("kept"), error => done(String(error)))
    """, list(words))


def test_actions_are_kept_with_what_is_shown_and_sent_after_the_browser_was_killed(tmp_path, origin):
    browser = Browser(tmp_path)
    try:
        assert opened(browser, origin, name="actions") == "open"
        # They wait for others for an hour.
        assert browser.wait(ACTIONS, {"coalescing": 3_600_000}) == "open"
        assert act(browser, "read", "A", "yes", "no") == act(browser, "read", "A", "later") == "kept"
        assert act(browser, "read", "A", "refused") == "Error: app"
        kept = browser.wait(KEPT)
        assert kept["rows"] == [["read", "A", "later"]] and kept["shown"] == ["later"]
        browser.kill()
        browser = Browser(tmp_path)
        assert opened(browser, origin, name="actions") == "open"
        assert browser.wait(ACTIONS, {}) == "open"
        eventually(lambda: browser.run("return window.actions.pending.length === 0"))
        assert browser.run("return window.sent.map(action => [action.key, action.value])") == [[kept["keys"][0], "later"]]
        assert browser.wait(KEPT) == {"rows": [], "shown": ["later"], "keys": []}
    finally:
        browser.end()
