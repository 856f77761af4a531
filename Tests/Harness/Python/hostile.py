"""Peers that mean harm, or are broken in a way that looks like it: a thread and a socket each.

Each first comes to a phase of a connection, in one of three forms, and then behaves in one manner for as long as it is let."""

import socket
import threading
from pathlib import Path

from programs import PATIENCE
from wire import TEXT, connect, event_stream_request, frame, get, query, upgrade

FORMS = ("websocket", "event stream", "sync")
PHASES = ("request", "joining", "open", "syncing", "ending")
MANNERS = ("writes for ever", "reads a byte a second", "does neither")
# A piece of a flood, in bytes, about.
PIECE = 16_384


class Hostile:
    """After the cursor `begin` comes far more than a kernel holds, after `now` nothing yet."""

    def __init__(self, host, form, phase, manner, token, begin, now, context=None):
        self.form, self.phase, self.manner = form, phase, manner
        self.token, self.begin, self.now = token, begin, now
        self.plain = connect(host, 20 * PATIENCE, receive_buffer=2048)
        self.port = self.plain.getsockname()[1]
        self.context, self.socket = context, self.plain
        self.failure, self.has_come = None, False
        self.has_begun, self.stops = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        try:
            if self.context:
                # Below TLS a byte can be read by itself.
                self.socket = self.context.wrap_socket(self.plain.dup(), server_hostname="localhost")
            self._come()
            self.has_come = True
            self.has_begun.set()
            {"writes for ever": self._write, "reads a byte a second": self._trickle,
             "does neither": self.stops.wait}[self.manner]()
        except OSError as failure:
            # Closed by the other side: that is how it should end.
            self.failure = failure
        finally:
            self.has_begun.set()

    def _come(self):
        """Comes to the phase."""
        self.socket.sendall(self._request())
        if self.form == "sync" and self.phase == "open":
            # A poll that waits says nothing; the answer before it proves that it has begun. What is asked for behind it
            # is more than a kernel keeps: who is idle after a small answer may stay.
            self.socket.sendall(self._poll(since=self.now, wait=50) + self._page())
        if self.phase not in ("request", "joining"):
            self._read_until(b"\r\n\r\n")
        if self.phase == "ending":
            if self.form == "event stream":
                self._read_until(b"event: bye")
            else:
                # A frame without a mask, a request that is none: it is told so, and closed.
                self.socket.sendall(frame(TEXT, b"x", masked=False) if self.form == "websocket" else b"x\r\n\r\n")

    def _request(self):
        since = {"since": self.begin} if self.phase in ("joining", "syncing") else {}
        if self.form == "sync":
            request = self._page() if since else self._poll()
        else:
            build = upgrade if self.form == "websocket" else event_stream_request
            request = build(self.token, f"/live/v1{query(since)}")
        # In the phase of the request, its last line is still missing.
        return request[:-2] if self.phase == "request" else request

    def _poll(self, **words):
        return get(f"/sync/v1{query(words)}", self.token)

    def _page(self):
        return self._poll(since=self.begin, limit=1_000_000)

    def _read_until(self, text):
        received = b""
        while text not in received:
            piece = self.socket.recv(1024)
            if not piece:
                raise ConnectionError("closed")
            received = received[-100:] + piece

    def _write(self):
        if self.phase == "request":
            piece = b"X-Filler: " + b"a" * 80 + b"\r\n"
        elif self.form == "websocket":
            piece = frame(TEXT, b"x" * 1000)
        elif self.form == "event stream":
            piece = event_stream_request(self.token)
        else:
            piece = self._page()
        piece *= max(1, PIECE // len(piece))
        while not self.stops.is_set():
            self.socket.sendall(piece)

    def _trickle(self):
        while not self.stops.wait(1):
            if not self.plain.recv(1):
                return

    @property
    def name(self):
        return f"{self.form}, {self.phase}, {self.manner}"

    def end(self):
        self.stops.set()
        for each in (self.plain, self.socket):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.thread.join(10)
        for each in (self.plain, self.socket):
            each.close()


def connections_at(host):
    """Of each connection of the server at this address (proc(5), /proc/net/tcp): the peer's port, how many bytes were not
    read, and whether a process has the socket."""
    local = int(host.rpartition(":")[2])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    # 0A is the listener, 06 is what is left of a connection that has ended. Field 9 is the inode: 0 where no process has the
    # socket, not yet or not any more.
    return [(int(row[2].partition(":")[2], 16), int(row[4].partition(":")[2], 16), row[9] != "0") for row in rows
            if int(row[1].partition(":")[2], 16) == local and row[3] not in ("06", "0A")]


def ports_open_at(host):
    """The ports of the peers whose connection the server at this address still holds."""
    return {port for port, _, is_held in connections_at(host) if is_held}


def has_read_all(host):
    """Whether the server at this address has accepted all connections and read all that was sent on them."""
    return all(is_held and unread == 0 for _, unread, is_held in connections_at(host))
