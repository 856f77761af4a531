# Tests: Places.swift
"""Thousands come and go in every way that there is, and some are refused: afterwards each limit lets in as many as before, not
one less and not one more, and no descriptor is left."""

import contextlib
import itertools
import json
import socket
import ssl
import struct
import threading

import pytest

from processes import descriptors
from programs import PATIENCE, eventually
from wire import CLOSE, PING, TEXT, event_stream_request, frame, get, upgrade

PER_SUBJECT, NODE, PER_ADDRESS = 12, 20, 30
# As many come at once; so many of the subject's places are held meanwhile that some of them are refused.
WORKERS, HELD = 8, 8
VISITS = {"plain": 3000, "tls": 1200}


class Visitor:
    """Comes and leaves in one way after the other."""

    def __init__(self, door, token, at, context):
        self.door, self.token, self.context = door, token, context
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
                while peer.recv(4096):
                    pass

    def raw(self, data):
        """What comes before TLS is agreed upon."""
        with socket.create_connection(self.address, 20 * PATIENCE) as peer:
            peer.sendall(data)

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


@pytest.mark.unsanitized
@pytest.mark.parametrize("way", ["plain", "tls"])
def test_every_place_comes_back_in_whatever_way_thousands_leave(
        gateway, mock_broker, certificates, tokens, tmp_path, way):
    door = gateway(
        mock_broker.bootstrap, limits={
            "max_connections": NODE, "max_connections_per_subject": PER_SUBJECT,
            "max_connections_per_address": PER_ADDRESS},
        **({"tls": certificates.settings["ecdsa"]} if way == "tls" else {}))
    context = certificates.client() if way == "tls" else None
    token, other = tokens.token("PACC1", "--subject", "churn"), tokens.token("PACC2")
    visitor = Visitor(door, token, None, context)
    visitor = Visitor(door, token, cursor(visitor), context)
    pid = door.program.pid
    hold(visitor, upgrade(token), 1)[0].close()
    before = descriptors(pid)

    held = hold(visitor, upgrade(token), HELD)
    turns, lock = iter(range(VISITS[way])), threading.Lock()

    def run():
        while True:
            with lock:
                turn = next(turns, None)
            if turn is None:
                return
            # Refused, or cut in the middle of what it said: that is one of the ways.
            with contextlib.suppress(OSError):
                visitor.ways[turn % len(visitor.ways)]()
    threads = [threading.Thread(target=run) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for peer in held:
        peer.close()
    eventually(lambda: descriptors(pid) <= before, 20, lambda: f"{before} descriptors, not {descriptors(pid)}")

    # The subject's places: all of them, and not one more. Then the node's.
    held = hold(visitor, upgrade(token), PER_SUBJECT)
    peer, line = visitor.ask(upgrade(token))
    assert b" 429 " in line
    peer.close()
    held += hold(visitor, upgrade(other), NODE - PER_SUBJECT)
    peer, line = visitor.ask(upgrade(other))
    assert b" 503 " in line
    peer.close()
    # The address's: silent connections count beside those streams. Each is asked when it is there, so that the next one comes
    # behind it, and none is answered.
    silent = [visitor.connect() for _ in range(PER_ADDRESS - NODE)]

    def is_full():
        peer, line = visitor.ask(get("/nothing"))
        if peer:
            peer.close()
        return b" 404 " not in line
    eventually(is_full, what="a full address")
    for peer in itertools.chain(held, silent):
        peer.close()
    counted = dict(pair.split("=") for pair in door.stop()["refused"].split())
    assert int(counted["too_many"]) > 0 and int(counted["overloaded"]) > 0
