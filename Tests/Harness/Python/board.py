"""liveboard on a terminal, and the networks between it and a demo."""

import re
import socket
import threading
import time

from livecat import LIMIT, Terminal
from programs import PATIENCE, eventually


class Network:
    """Passes connections on to an address, which may be another after a restart; its own port stays. It can be lost. With
    `small_pages` whoever asks for 25 incidents gets 5: a list of several pages need not be long."""

    def __init__(self, host, small_pages=False):
        self.host, self.small_pages = host, small_pages
        self.lock, self.sockets, self.is_lost, self.sent = threading.Lock(), [], False, b""
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self):
        """Cuts every connection, and each that comes."""
        with self.lock:
            self.is_lost = True
            sockets, self.sockets = self.sockets, []
        self._cut(sockets)

    def restore(self):
        with self.lock:
            self.is_lost = False

    def keys(self, path):
        """The idempotency keys of the requests to this path, each as often as it came."""
        return re.findall(rb"POST " + re.escape(path.encode()) + rb" HTTP.*?Idempotency-Key: ([^\r]+)\r", self.sent, re.DOTALL)

    def _accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                if self.listener.fileno() < 0:
                    return
                continue
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near):
        try:
            name, _, port = self.host.rpartition(":")
            far = socket.create_connection((name, int(port)))
        except OSError:
            return near.close()
        with self.lock:
            is_lost = self.is_lost
            if not is_lost:
                self.sockets += [near, far]
        if is_lost:
            return self._cut([near, far])
        threading.Thread(target=self._pump, args=(far, near, False), daemon=True).start()
        self._pump(near, far, True)

    def _pump(self, source, target, is_kept):
        try:
            while data := source.recv(65536):
                if is_kept:
                    with self.lock:
                        self.sent += data
                    if self.small_pages:
                        data = data.replace(b"limit=25", b"limit=05")
                target.sendall(data)
        except OSError:
            pass
        self._cut([source, target])

    @staticmethod
    def _cut(sockets):
        for side in sockets:
            try:
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            side.close()

    def end(self):
        self.lose()
        self.listener.close()


class Networks:
    """To a demo's API, and to its gateway."""

    def __init__(self, demo, small_pages=False):
        self.demo = demo
        self.api, self.gateway = Network(demo.api.removeprefix("http://"), small_pages), Network(demo.host)

    def lose(self):
        self.api.lose()
        self.gateway.lose()

    def restore(self):
        """To where the demo is now."""
        self.api.host, self.gateway.host = self.demo.api.removeprefix("http://"), self.demo.host
        self.api.restore()
        self.gateway.restore()

    def end(self):
        self.api.end()
        self.gateway.end()


class Board:
    """liveboard, and what its terminal shows. Of 120 lines, all incidents that a demo has are seen."""

    def __init__(self, demo, networks=None, *words, rows=120):
        self.demo = demo
        page = networks.api.url if networks else demo.page
        gateway = ["--gateway", networks.gateway.url] if networks else []
        self.terminal = Terminal(page, *gateway, *words, program="liveboard")
        self.terminal.resize(rows, 80)
        self.is_ended = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        while not self.is_ended.is_set():
            self.terminal._read(0.05)

    @property
    def shown(self):
        return self.terminal.shown

    def lines(self):
        """The last whole screen that was drawn, without colours."""
        shown = self.shown
        end = shown.rfind("\x1b[?2026l")
        start = shown.rfind("\x1b[H", 0, max(end, 0))
        if end < 0 or start < 0:
            return [""]
        return re.sub(r"\x1b\[\d*[mK]", "", shown[start + 3:end]).split("\r\n")

    def rows(self, lines=None):
        """Of the list: id to what stands behind it."""
        return {words[0]: words[1:] for words in (line[2:].split() for line in (lines or self.lines())[2:-3]) if words}

    def status(self, incident):
        """With its mark; empty where there is no such row."""
        return self.rows().get(incident, [""])[0]

    def until(self, condition, what, within=60):
        return eventually(lambda: condition(self.lines()), within, lambda: f"{what}; {self.lines()}")

    def connected(self):
        self.until(lambda lines: lines[0].endswith(" connected"), "the connection")

    def shows(self, text, what=None):
        self.until(lambda lines: any(text in line for line in lines), what or repr(text))

    def chosen(self):
        return next((line[2:].split()[0] for line in self.lines()[2:-3] if line.startswith("> ")), None)

    def choose(self, incident):
        """Goes to a row of the list: others may come meanwhile, and what is chosen stays chosen."""
        def step():
            at = self.chosen()
            if at == incident:
                return True
            names = list(self.rows())
            if at not in names:
                return False
            is_below = incident not in names or names.index(incident) > names.index(at)
            self.terminal.type("j" if is_below else "k")
            # The next key is pressed when this one has been seen; at the end of what is known it does nothing.
            end = time.monotonic() + 3 * PATIENCE
            while self.chosen() == at and time.monotonic() < end:
                time.sleep(0.01)
            return False
        eventually(step, 120, lambda: f"that {incident} is chosen; {self.lines()}")

    def equals_api(self):
        """The list that is shown is as the API has it, at a moment between two of its changes, and says so."""
        seen = []

        def same():
            lines = self.lines()
            place = re.match(r"-- (\d+) to (\d+) of ", lines[-3]) if len(lines) > 5 else None
            if not place or not lines[0].endswith(" connected"):
                return False
            first, last = map(int, place.groups())
            listed = self.demo.ask("GET", f"/api/incidents?limit={last}")[2]["incidents"][first - 1:]
            shown = [line[2:] for line in lines[2:-3] if line]
            wanted = [f"{one['id']:<8} {one['status']:<13} {one['urgency']:<4} {one['title']}" for one in listed]
            seen[:] = [shown, wanted]
            return len(shown) == len(wanted) > 0 and all(
                row == want or row.endswith("…") and want.startswith(row[:-1]) for row, want in zip(shown, wanted))
        eventually(same, 60, lambda: f"the same list as the API has: {seen}; {self.lines()}")

    def kill(self):
        """As the end of the power does."""
        self.terminal.process.kill()
        self.terminal.process.wait()
        self.terminal.is_status_asked = True

    def finish(self):
        """The status with which it ends."""
        status = self.terminal.process.wait(LIMIT)
        self.terminal.is_status_asked = True
        eventually(lambda: self.shown.endswith("\x1b[?1049l"), 30,
                   lambda: f"the end of the screen, with status {status}; {self.shown[-200:]!r}")
        return status

    def quit(self):
        self.terminal.type("q")
        return self.finish()

    def end(self):
        self.is_ended.set()
        self.reader.join()
        self.terminal.end()
