"""Pages with the JavaScript module as it stands in Sources, each with a client that keeps what it was delivered."""

import functools
import http.server
import json
import pathlib
import threading

from programs import eventually

MODULE = pathlib.Path(__file__).resolve().parents[3] / "Sources" / "LiveClientJS"

# A client, and in `seen` what came of it. Its clock jumps forward when it is told: then what is due happens at once.
OPEN = """
    const [options, done] = arguments
    Promise.all([import("/connection.js"), import("/tabs.js")]).then(([{connect}, {allTabs}]) => {
        const seen = window.seen = {ids: [], ways: [], resyncs: [], lives: 0}
        let ahead = 0
        const timers = new Set()
        const now = () => Math.floor(performance.timeOrigin + performance.now()) + ahead
        const clearTimer = timer => {
            clearTimeout(timer?.id)
            timers.delete(timer)
        }
        const fire = timer => {
            clearTimer(timer)
            timer.callback()
        }
        const setTimer = (callback, milliseconds) => {
            const timer = {callback, at: now() + milliseconds}
            timer.id = setTimeout(() => fire(timer), milliseconds)
            timers.add(timer)
            return timer
        }
        window.jump = milliseconds => {
            ahead += milliseconds
            for (const timer of [...timers]) if (timer.at <= now() && timers.has(timer)) fire(timer)
        }
        const environment = options.jumps ? {now, setTimer, clearTimer} : {}
        const share = options.share && allTabs
        const client = window.client = connect({...options, share, network: () => options.network, environment})
        client.subscribe(update => {
            if (update.event) seen.ids.push(update.event.id)
            if (update.connected) seen.ways.push(update.connected.way)
            if (update.resync) seen.resyncs.push(update.resync.why)
            if (update.live) seen.lives += 1
        })
        addEventListener("pageshow", event => { window.wasKept = event.persisted })
    }).then(() => done("open"), error => done(String(error)))
"""


class Pages:
    """The files of the module and empty pages, at an address which is an origin."""

    class Files(http.server.SimpleHTTPRequestHandler):
        extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}

        def do_GET(self):
            if self.path.endswith(".js"):
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>page</title>")

        def log_message(self, *_):
            pass

    def __init__(self, files=Files):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(files, directory=MODULE))
        self.origin = f"http://localhost:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class LivePage:
    """A page in a tab of a browser, and its client. `host` is what it connects to."""

    def __init__(self, browser, origin, host, token, meanwhile=None, **options):
        """`meanwhile` is called with the page, again and again while something of it is waited for."""
        self.browser, self.tab, self.origin, self.meanwhile = browser, browser.tab, origin, meanwhile
        self.options = {"url": f"http://{host}", "token": token, "network": "office", **options}
        self.open()

    def open(self):
        """Anew: nothing is left of a page that was there before but what the module has kept."""
        self.browser.go(self.origin)
        opened = self.browser.wait(OPEN, self.options)
        assert opened == "open", opened
        self.until(lambda: self.seen["lives"] > 0, "the first stream")

    def jump(self, milliseconds):
        self.run("window.jump(arguments[0])", milliseconds)

    def skip_wait(self):
        """Jumps over what the client waits for between two attempts."""
        self.run("""
            const {state, environment} = window.client
            if (state.waiting?.until) window.jump(Math.max(0, state.waiting.until - environment.now()))
        """)

    def skip_to_trial(self):
        """Jumps to the time when the better ways are tried again, where it is connected by a worse one."""
        self.run("""
            const record = JSON.parse(localStorage.getItem("livegate.ways") ?? "[]").find(({network}) => network === arguments[0])
            const {way, state, environment} = window.client
            if (state.connected && way === record?.way) window.jump(Math.max(0, record.upAt + 1 - environment.now()))
        """, self.options["network"])

    def run(self, script, *arguments):
        if self.browser.tab != self.tab:
            self.browser.switch(self.tab)
        return self.browser.run(script, *arguments)

    @property
    def seen(self):
        return self.run("return window.seen")

    @property
    def state(self):
        return self.run("return Object.keys(window.client.state)[0]")

    @property
    def way(self):
        return self.run("return window.client.way")

    @property
    def is_leader(self):
        return self.run("return window.client.isLeader")

    @property
    def known(self):
        """What it remembers of networks, for its next visit: the ways by their names."""
        kept = json.loads(self.run("return localStorage.getItem('livegate.ways') ?? '[]'"))
        return {record["network"]: record["way"] for record in kept}

    def is_proven(self, way):
        """Whether this way is no guess on its network: then the better ones are not tried for most of an hour."""
        return self.run("""
            const known = JSON.parse(localStorage.getItem("livegate.ways") ?? "[]")
            const record = known.find(({network}) => network === arguments[0])
            return record?.way === arguments[1] && record.upAt - window.client.environment.now() > 1_800_000
        """, self.options["network"], way)

    def told(self):
        return self.run("return JSON.stringify([window.client.state, window.client.way, window.client.cursor, window.seen])") \
            + str(self.browser.messages())

    def until(self, condition, what, within=60):
        def asked():
            found = condition()
            if not found and self.meanwhile:
                self.meanwhile(self)
            return found
        return eventually(asked, within, lambda: f"{what}; {self.told()}")

    def has_each_once(self, names):
        """All of them came, each once and in their order, and nothing was given up on the way."""
        names = [str(name) for name in names]
        self.until(lambda: len(self.seen["ids"]) >= len(names), f"{len(names)} events")
        seen = self.seen
        assert seen["ids"] == names and seen["resyncs"] == ["start"], self.told()
