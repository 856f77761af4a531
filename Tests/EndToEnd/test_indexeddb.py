"""The store of the JavaScript module in a real browser: a commit is there whole or not at all, whatever is killed."""

import threading

import pytest

from browser import Browser
from livepage import Pages
from programs import eventually

# A page that opens the store and keeps what it exports.
OPEN = """
    const [options, done] = arguments
    // Not the whole module: a page more takes as long as its files.
    Promise.all([import("/machine.js"), import("/actions.js")]).then(async ([machine, actions]) => {
        const live = window.live = {...machine, ...actions}
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


class Files(Pages.Files):
    # The pages may begin: their driver has left them.
    go = threading.Event()
    # The hosts whose page stands still.
    standing = set()
    # The test is over.
    over = threading.Event()

    def do_POST(self):
        if self.path == "/never":
            Files.standing.add(self.headers["Host"])
            Files.over.wait()
            return
        Files.go.wait()
        self.send_response(204)
        self.end_headers()


@pytest.fixture(scope="module")
def origin():
    pages = Pages(Files)
    yield pages.origin
    Files.over.set()
    pages.end()


def site(origin, name):
    """A site of its own: its pages have a process and stores that they share with no other."""
    return origin.replace("localhost", f"{name}.localhost")


@pytest.fixture(scope="module")
def browsers(tmp_path_factory):
    """Starts a browser where the one before has ended, with what that has kept."""
    folder, running = tmp_path_factory.mktemp("browser"), []

    def begin():
        running[:] = [Browser(folder)]
        return running[0]
    yield begin
    running[0].end()


def opened(browser, origin, **changes):
    browser.go(origin)
    return browser.wait(OPEN, {**IDENTITY, **changes})


def begin(browser, n, stop=0):
    Files.go.clear()
    browser.run(COMMIT, n, stop)


def is_committed(browser, n):
    begin(browser, n)
    Files.go.set()
    return is_whole(browser)


def is_whole(browser):
    return eventually(lambda: browser.run("return window.committed"), what="a commit") == "whole"


def generation(n):
    return {"finger": f"f{n}", "entries": {"a": n, "b": n, "c": n, f"new{n}": n}, "app": n}


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


def with_waiting_actions(browser):
    """Actions that wait for others for an hour, in the page of this tab; the key of the one that is left of two."""
    assert browser.wait(ACTIONS, {"coalescing": 3_600_000}) == "open"
    assert act(browser, "read", "A", "yes", "no") == act(browser, "read", "A", "later") == "kept"
    assert act(browser, "read", "A", "refused") == "Error: app"
    kept = browser.wait(KEPT)
    assert kept["rows"] == [["read", "A", "later"]] and kept["shown"] == ["later"]
    return kept["keys"][0]


def test_a_browser_that_is_killed_leaves_each_commit_whole_or_not_at_all_and_sends_its_actions_later(browsers, origin):
    browser, tabs = browsers(), {}
    # One page for each statement, and one in which nothing stands still.
    for stop in range(1, STATEMENTS + 2):
        browser.new_tab()
        assert opened(browser, site(origin, stop)) == "open"
        assert is_committed(browser, 1)
        # The commit that is cut is the first one of its page, which says all that it has.
        assert opened(browser, site(origin, stop)) == "open"
        tabs[stop] = browser.tab
    for stop, tab in tabs.items():
        browser.switch(tab)
        begin(browser, 2, stop)
    browser.new_tab()
    assert opened(browser, site(origin, "actions")) == "open"
    key = with_waiting_actions(browser)
    Files.go.set()
    wanted = {site(origin, stop).removeprefix("http://") for stop in range(1, STATEMENTS + 1)}
    eventually(lambda: Files.standing == wanted, 30, lambda: f"a page at each statement; not at {wanted - Files.standing}")
    browser.switch(tabs[STATEMENTS + 1])
    assert is_whole(browser)
    browser.kill()

    browser = browsers()
    for stop in tabs:
        assert opened(browser, site(origin, stop)) == "open"
        assert browser.wait(READ) == generation(1 if stop <= STATEMENTS else 2), f"killed at statement {stop}"
    assert opened(browser, site(origin, "actions")) == "open"
    assert browser.wait(ACTIONS, {}) == "open"
    eventually(lambda: browser.run("return window.actions.pending.length === 0"))
    assert browser.run("return window.sent.map(action => [action.key, action.value])") == [[key, "later"]]
    assert browser.wait(KEPT) == {"rows": [], "shown": ["later"], "keys": []}


def of_another_schema(browser, origin):
    """It is neither used nor deleted; another account, or the same one at another server, has one of its own."""
    name = {"name": "others"}
    assert opened(browser, origin, **name, schema=2) == "open"
    assert is_committed(browser, 1)
    for changes in [{"account": "PACC2"}, {"server": "https://other.example"}]:
        assert opened(browser, origin, **name, schema=2, **changes) == "open"
        assert browser.wait(READ) == {"finger": None, "entries": None, "app": None}
    for changes, differs in [({"schema": 1}, ["schema"]), ({"schema": 3, "tables": False}, ["schema"])]:
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


def with_a_commit_that_fails(browser, origin):
    """It writes nothing and says why."""
    assert opened(browser, origin, name="failing") == "open"
    assert is_committed(browser, 1)
    for commit, why in [('put: [["a", 9], ["b", () => 0]]', "DataCloneError"),
                        ('put: [["a", 9]], tables: ["app"], also: () => { throw new Error("app") }', "Error: app"),
                        ('put: [["a", 9]], tables: ["none"]', "NotFoundError")]:
        script = "window.store.commit('open', {metadata: {finger: 'f9'}, %s}).catch(String).then(arguments[0])" % commit
        assert why in browser.wait(script)
        assert browser.wait(READ) == generation(1)


@pytest.mark.parametrize("store", [of_another_schema, with_a_commit_that_fails], ids=lambda each: each.__name__)
def test_a_store_that_refuses_is_as_it_was(browser, origin, store):
    store(browser, origin)
