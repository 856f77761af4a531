"""A browser that is killed at each write, each request and each answer, while its user does things and a server that honours
idempotency keys does them: whatever was said to be kept is done, nothing is done twice, and the page shows what the server has.
Pages of several sites, each with a process and stores of its own, stand still at one step each, so that one kill meets many."""

import json
import queue
import threading

import pytest

from browser import Browser
from livepage import Pages
from programs import PATIENCE

pytestmark = pytest.mark.slow

# Tabs with a process each.
AT_ONCE = 10

# A page with actions. Before each write, and before and behind each request, it asks whether to go on, and stands still until
# it may: in the middle of a transaction too.
OPEN = """
    const [name, done] = arguments
    const step = what => {
        const request = new XMLHttpRequest()
        request.open("POST", "/step", false)
        request.send(what)
    }
    const post = (path, what) => fetch(path, {method: "POST", body: JSON.stringify(what)})
    for (const method of ["put", "delete"]) {
        const original = IDBObjectStore.prototype[method]
        IDBObjectStore.prototype[method] = function (...given) {
            if (window.counts) step(`${method} in ${this.name}`)
            return original.apply(this, given)
        }
    }
    const set = async (kind, id, value, from) => {
        await window.actions.set(kind, id, value, from)
        step("kept")
        await post("/kept", [id, value])
    }
    const send = async actions => {
        if (window.counts && actions.some(({value}) => value === "acknowledged")) await set("status", "2", "resolved")
        step("send")
        const answer = await post("/send", actions)
        step("answered")
        return answer.json()
    }
    const sent = async () => {
        while (window.actions.pending.length > 0) {
            window.actions.flush()
            await new Promise(resolve => setTimeout(resolve, 1))
        }
    }
    // What somebody does, as soon as the driver has left: it waits for a page that stands still.
    window.act = async () => {
        await fetch("/go", {method: "POST"})
        window.counts = true
        await set("read", "1", "true", "false")
        await set("status", "2", "acknowledged", "triggered")
        await sent()
        await post("/closed")
    }
    window.drain = sent
    // Not the whole module: a page more takes as long as its files.
    Promise.all([import("/actions.js"), import("/shell/indexeddb.js")]).then(async ([actions, {openStore}]) => {
        const {openActions, IndexedDBActionStore} = actions
        window.store = await openStore({name, account: "PACC1", server: "https://live.example.com",
                                        tables: database => database.createObjectStore("app")})
        const store = new IndexedDBActionStore({store: window.store, tables: ["app"], show: (kind, id, value, transaction) => {
            if (value !== undefined) transaction.objectStore("app").put(value, id)
        }})
        window.actions = await openActions({store, send, renewToken: async () => {}, settings: {coalescing: 60_000}})
        return "open"
    }).catch(String).then(done)
"""

# Rows that are left, and what is shown.
LEFT = """
    const [done] = arguments
    window.drain().then(() => window.store.transaction(["livegate.actions", "app"], "readonly", transaction => {
        const ask = request => new Promise(resolve => { request.onsuccess = () => resolve(request.result) })
        const app = transaction.objectStore("app")
        return Promise.all([ask(transaction.objectStore("livegate.actions").getAll()), ask(app.getAllKeys()), ask(app.getAll())])
    })).then(([rows, ids, values]) => done({rows, shown: Object.fromEntries(ids.map((id, index) => [id, values[index]]))}),
             error => done(String(error)))
"""


class Server:
    """Does each key once, and says when its page stands still at step `stop`, or is through."""

    def __init__(self, stop):
        self.stop, self.steps = stop, []
        self.keys, self.done, self.kept = {}, [], {}
        self.go, self.over, self.ends = threading.Event(), threading.Event(), queue.Queue()

    def step(self, what):
        """False: whoever asks is to be killed."""
        self.steps.append(what)
        if len(self.steps) != self.stop:
            return True
        self.ends.put("standing")
        self.over.wait()
        return False

    def work(self, batch):
        for action in batch:
            key, thing = action["key"], (action["id"], action["value"])
            assert self.keys.setdefault(key, thing) == thing, f"{key} is of two values"
            if (key, *thing) not in self.done:
                self.done.append((key, *thing))
        return [{"key": action["key"], "status": 200} for action in batch]

    @property
    def statuses(self):
        return {thing: value for _, thing, value in self.done}

    def judge(self, left):
        """What a page has left that was opened once more."""
        where = f"killed at step {self.stop}, {self.steps[-1]}"
        values = [(thing, value) for _, thing, value in self.done]
        assert len(set(values)) == len(values), f"{where}, done twice: {self.done}"
        for thing, value in self.kept.items():
            # A later value may have been kept without anybody having been told.
            assert self.statuses.get(thing) in (value, "resolved"), f"{where}: {thing} {value}"
        assert left == {"rows": [], "shown": self.statuses}, where


class Files(Pages.Files):
    # By the host of their page.
    servers = {}

    def do_POST(self):
        server = Files.servers[self.headers["Host"]]
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = None
        if self.path == "/go":
            server.go.wait()
        elif self.path == "/kept":
            thing, value = json.loads(body)
            server.kept[thing] = value
        elif self.path == "/send":
            answer = server.work(json.loads(body))
            if not server.over.is_set() and not server.step("done"):
                return
        elif self.path == "/step" and not server.over.is_set() and not server.step(body.decode()):
            return
        elif self.path == "/closed":
            server.ends.put("closed")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


@pytest.fixture
def pages(ends_with_test):
    return ends_with_test(Pages(Files))


class Play:
    """The browsers, one after the other, and the pages of their sites."""

    def __init__(self, folder, pages):
        self.folder, self.pages = folder, pages
        self.browser = Browser(folder)

    def host(self, stop):
        return f"site-{stop}.{self.pages.origin.removeprefix('http://')}"

    def open_page(self, stop):
        self.browser.go(f"http://{self.host(stop)}")
        opened = self.browser.wait(OPEN, "actions")
        assert opened == "open", opened

    def act(self, stops):
        """Pages that stand still at these steps, and their servers."""
        servers = [Server(stop) for stop in stops]
        for server in servers:
            Files.servers[self.host(server.stop)] = server
            self.browser.new_tab()
            self.open_page(server.stop)
            self.browser.run("window.act(); return null")
        for server in servers:
            server.go.set()
        return servers

    def judge(self, servers):
        for server in servers:
            server.over.set()
            self.open_page(server.stop)
            server.judge(self.browser.wait(LEFT))

    def kill(self):
        self.browser.kill()
        self.browser = Browser(self.folder)

    def end(self):
        for server in Files.servers.values():
            server.over.set()
            server.go.set()
        self.browser.end()


def test_wherever_a_browser_is_killed_each_action_is_done_once(tmp_path, pages, ends_with_test):
    play = ends_with_test(Play(tmp_path, pages))
    servers, ends = [], ["standing"]
    # Until there is a page with fewer steps: how many there are is a matter of when its answers come.
    while ends[-1] == "standing":
        met = play.act(range(len(servers) + 1, len(servers) + 1 + AT_ONCE))
        ends = [server.ends.get(timeout=60 * PATIENCE) for server in met]
        play.kill()
        play.judge(met)
        servers += met
    found = {tuple(sorted(server.statuses.items())) for server in servers}
    places = {server.steps[-1] for server in servers}
    print(f"{len(servers)} pages, killed at {sorted(places)}")
    # It was hit in every state on the way, and at each kind of step.
    assert found >= {(), (("1", "true"),), (("1", "true"), ("2", "acknowledged")), (("1", "true"), ("2", "resolved"))}
    assert places >= {"put in livegate.actions", "put in app", "delete in livegate.actions", "kept", "send", "done", "answered"}
