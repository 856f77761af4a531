"""A client that comes and leaves in one way after the other, over blocking sockets."""

import collections
import contextlib
import json
import re
import socket
import ssl
import struct

from programs import PATIENCE, eventually
from wire import CLOSE, PING, TEXT, event_stream_request, frame, get, upgrade


class Visitor:
    """`header` is what a connection begins with before TLS: a PROXY header."""

    def __init__(self, door, token, at, context, header=b""):
        self.door, self.token, self.context, self.header = door, token, context, header
        # The codes of refusals, where it reads to the end.
        self.refusals = collections.Counter()
        host, _, port = door.host.rpartition(":")
        self.address = host, int(port)
        wait = get(f"/sync/v1?since={at}&wait=1", token)
        page = get("/sync/v1", token)
        self.ways = [
            lambda: self.visit(None, "close"), lambda: self.visit(None, "reset"),
            lambda: self.visit(b"GET /live/v1 HTTP/1.1\r\nHost", "close"),
            lambda: self.visit(b"nonsense\r\n\r\n", "read"), lambda: self.visit(get("/nothing"), "read"),
            lambda: self.visit(upgrade("a bad token"), "read"),
            lambda: self.visit(upgrade(token).replace(b"Version: 13", b"Version: 12"), "read"),
            lambda: self.visit(upgrade(token), "reset"), lambda: self.visit(upgrade(token), "answer, reset"),
            lambda: self.visit(upgrade(token), "answer, close"),
            lambda: self.visit(upgrade(token) + frame(CLOSE, b"\x03\xe8"), "read"),
            lambda: self.visit(upgrade(token) + frame(0x3), "read"),
            lambda: self.visit(upgrade(token) + 200 * frame(TEXT), "read"),
            lambda: self.visit(upgrade(token) + frame(PING), "half"),
            lambda: self.visit(event_stream_request(token), "answer, close"),
            lambda: self.visit(event_stream_request(token), "reset"),
            lambda: self.visit(wait, "reset"), lambda: self.visit(wait, "close"), lambda: self.visit(wait, "half"),
            lambda: self.visit(3 * page, "answer, close"), lambda: self.visit(page + wait, "answer, reset"),
            lambda: self.visit(page + upgrade(token), "answer, close"),
            lambda: self.visit(get("/sync/v1?since=nonsense", token) + page, "answer, close"),
        ]
        if context:
            self.ways += [lambda: self.raw(b"GET / HTTP/1.1\r\n\r\n"), lambda: self.raw(b"\x16\x03\x01\x02\0\x01"),
                          lambda: self.raw(b"")]

    def connect(self):
        plain = socket.create_connection(self.address, 20 * PATIENCE)
        try:
            plain.sendall(self.header)
            return self.context.wrap_socket(plain, server_hostname="localhost") if self.context else plain
        except OSError:
            plain.close()
            raise

    def visit(self, request, way):
        with self.connect() as peer:
            if request:
                peer.sendall(request)
            if "answer" in way:
                peer.recv(4096)
            if "reset" in way:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if "half" in way:
                socket.socket.shutdown(peer, socket.SHUT_WR)
            if way in ("half", "read"):
                answer = b""
                while piece := peer.recv(4096):
                    answer += piece
                self.refusals.update(code.decode() for code in re.findall(rb'"code":"(\w+)"', answer))

    def raw(self, data):
        """What comes before TLS is agreed upon."""
        with socket.create_connection(self.address, 20 * PATIENCE) as peer:
            peer.sendall(self.header + data)

    def ask(self, request):
        """A connection that stays, and the first line of its answer."""
        try:
            peer = self.connect()
        except OSError:
            return None, b""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            peer.sendall(request)
            return peer, peer.recv(4096).partition(b"\r\n")[0]
        return peer, b""


def cursor(visitor):
    peer, answer = visitor.connect(), b""
    with peer:
        peer.sendall(get("/sync/v1", visitor.token, ["Connection: close"]))
        while piece := peer.recv(4096):
            answer += piece
    return json.loads(answer.partition(b"\r\n\r\n")[2])["at"]


def hold(visitor, request, count):
    """So many connections that stay."""
    peers = []

    def comes():
        peer, line = visitor.ask(request)
        if b" 101 " in line:
            peers.append(peer)
        elif peer:
            peer.close()
        return len(peers) == count
    eventually(comes, 20, lambda: f"{count} connections: {len(peers)} came")
    return peers
