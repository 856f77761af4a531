"""A browser that is killed at each write, each request and each answer, one after the other, while its user does things and a
server that honours idempotency keys does them: whatever was said to be kept is done, nothing is done twice, and the page shows
what the server has."""

import json
import queue
import threading

import pytest

from browser import Browser
from livepage import Pages
from programs import PATIENCE

pytestmark = pytest.mark.slow

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
    import("/livegate.js").then(async ({openActions, openStore, IndexedDBActionStore}) => {
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
    """Does each key once, and tells whose turn it is to be killed."""

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


class Files(Pages.Files):
    server_of_actions = None

    def do_POST(self):
        server = Files.server_of_actions
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


@pytest.fixture(scope="module")
def origin():
    pages = Pages(Files)
    yield pages.origin
    pages.end()


def test_wherever_a_browser_is_killed_each_action_is_done_once(tmp_path, origin):
    browser, stop, ended, found, places = Browser(tmp_path), 0, "standing", set(), set()

    def open_page():
        browser.go(origin)
        opened = browser.wait(OPEN, f"actions-{stop}")
        assert opened == "open", opened

    try:
        while ended == "standing":
            stop += 1
            server = Files.server_of_actions = Server(stop)
            open_page()
            browser.run("window.act(); return null")
            server.go.set()
            ended = server.ends.get(timeout=60 * PATIENCE)
            if ended == "standing":
                browser.kill()
                browser = Browser(tmp_path)
            server.over.set()
            open_page()
            left = browser.wait(LEFT)
            where = f"killed at step {stop}, {server.steps[-1]}"
            values = [(thing, value) for _, thing, value in server.done]
            assert len(set(values)) == len(values), f"{where}, done twice: {server.done}"
            for thing, value in server.kept.items():
                # A later value may have been kept without anybody having been told.
                assert server.statuses.get(thing) in (value, "resolved"), f"{where}: {thing} {value}"
            assert left == {"rows": [], "shown": server.statuses}, where
            found.add(tuple(sorted(server.statuses.items())))
            places.add(server.steps[-1])
    finally:
        server.over.set()
        server.go.set()
        browser.end()
    print(f"{stop - 1} kills, at {sorted(places)}")
    # It was hit in every state on the way, and at each kind of step.
    assert found >= {(), (("1", "true"),), (("1", "true"), ("2", "acknowledged")), (("1", "true"), ("2", "resolved"))}
    assert places >= {"put in livegate.actions", "put in app", "delete in livegate.actions", "kept", "send", "done", "answered"}
