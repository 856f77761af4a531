# Tests: Heartbeat.swift
"""Signs of life: beats that a client asked for, pings, and the end of a client that answers none."""

import signal
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from clients import resumed
from programs import PATIENCE, eventually
from wire import connect, frame, query, upgrade

TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA


class Peer:
    """A WebSocket that answers pings only when told to. `read` gives the next frame: opcode and payload."""

    def __init__(self, door, token, context=None, **words):
        self.socket = connect(door.host, 20 * PATIENCE)
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.socket.sendall(upgrade(token, f"/live/v1{query(words)}"))
        self.stream = self.socket.makefile("rb")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.stream.read(1)
        assert head.startswith(b"HTTP/1.1 101 ")

    def read(self):
        first, length = self.stream.read(2)
        if length == 126:
            length = struct.unpack("!H", self.stream.read(2))[0]
        return first & 0x0F, self.stream.read(length)

    def read_until(self, opcode):
        while (found := self.read())[0] != opcode:
            pass
        return found[1]

    def send(self, opcode, payload=b""):
        self.socket.sendall(frame(opcode, payload))

    def end(self):
        self.stream.close()
        self.socket.close()


@pytest.fixture
def peer(tokens):
    peers = []

    def begin(door, **words):
        peers.append(Peer(door, tokens.token("PACC1"), **words))
        return peers[-1]

    yield begin
    for each in peers:
        each.end()


@pytest.fixture
def pinging(gateway, mock_broker):
    return gateway(mock_broker.bootstrap, limits__ping_interval="200ms", limits__pong_timeout="2s")


def test_clients_that_answer_pings_stay(gateway, mock_broker, peer):
    def stay(door, silence, words):
        """Whether no pong of it came late because this machine stood still."""
        client, answered, longest, pings = peer(door, **words), time.monotonic(), 0, 0
        # Longer than it may be silent: five come in a second.
        while pings < 5 * (silence + 1):
            opcode, payload = client.read()
            longest = max(longest, time.monotonic() - answered)
            if opcode == CLOSE:
                assert longest > silence / 2, payload
                return False
            if opcode == PING:
                assert len(payload) <= 125
                client.send(PONG, payload)
                answered = time.monotonic()
                pings += 1
        client.send(PING, b"still here")
        assert client.read_until(PONG) == b"still here"
        client.send(CLOSE, struct.pack("!H", 1000))
        assert client.read_until(CLOSE) == struct.pack("!H", 1000)
        return True

    def all_stay(silence):
        door = gateway(mock_broker.bootstrap, limits__ping_interval="200ms", limits__pong_timeout=f"{silence}s")
        with ThreadPoolExecutor(3) as pool:
            return all(pool.map(lambda words: stay(door, silence, words), [{}, {"with_": "at"}, {"mode": "changed"}]))
    assert any(map(all_stay, (5, 30, 60)))


def test_a_client_that_answers_no_ping_is_closed_with_4408(pinging, peer):
    plain, told = peer(pinging), peer(pinging, with_="at")
    assert plain.read_until(CLOSE) == struct.pack("!H", 4408) + b"no pong"
    texts = []
    while (found := told.read())[0] != CLOSE:
        if found[0] == TEXT:
            texts.append(found[1])
    assert found[1] == struct.pack("!H", 4408) + b"no pong"
    assert texts[-1] == b'{"bye":{"code":4408,"why":"no pong"}}'


def test_events_are_no_answer_and_neither_is_what_a_client_says(pinging, peer, tell):
    """Only a pong is: a peer that talks and does not read would never be found out otherwise."""
    client = peer(pinging)
    client.send(TEXT, b"I am here")
    tell(range(3))
    assert client.read_until(CLOSE) == struct.pack("!H", 4408) + b"no pong"


@pytest.mark.parametrize("security", ["plain", "tls"])
def test_each_ping_of_a_client_that_reads_is_answered_however_they_are_cut(
        gateway, mock_broker, certificates, peer, security):
    """Only answers to a peer that does not read may replace each other: those of one moment are no reason to."""
    is_secure = security == "tls"
    door = gateway(mock_broker.bootstrap, limits__ping_interval="1h",
                   **{"tls": certificates.settings["ecdsa"]} if is_secure else {})
    client = peer(door, context=certificates.client() if is_secure else None)
    payloads = [f"payload {number}".encode() for number in range(10)]
    # All of them wait in the socket when the gateway looks; over TLS each byte is a record.
    door.program.signal(signal.SIGSTOP)
    try:
        for payload in payloads:
            for byte in frame(PING, payload):
                client.socket.sendall(bytes([byte]))
    finally:
        door.program.signal(signal.SIGCONT)
    assert [client.read_until(PONG) for _ in payloads] == payloads


def test_first_pings_are_spread_over_the_interval(gateway, mock_broker, peer):
    door = gateway(mock_broker.bootstrap, limits__ping_interval="2s")
    times = []

    def first_ping(client):
        client.read_until(PING)
        times.append(time.monotonic())
    readers = [threading.Thread(target=first_ping, args=(peer(door),)) for _ in range(12)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(20 * PATIENCE)
    # That twelve random moments of two seconds lie within a quarter of one happens once in millions of runs.
    assert len(times) == 12 and max(times) - min(times) > 0.25


def test_a_beat_is_said_after_so_long_without_a_message_and_not_before(door, live, tell):
    client = live(door, beat=5)
    client.wait_for_control("live")
    # So that five seconds of the message are not those of the joining.
    joined = time.monotonic()
    eventually(lambda: time.monotonic() > joined + 1.5)
    quiet = time.monotonic()
    tell(["a"])
    client.wait_for_id("a")
    client.wait_for_control("beat")
    assert time.monotonic() - quiet > 4.9
    # It implies cursors, and its own is the end of what there is.
    assert "at" in client.events[0]
    assert resumed(live(door, since=client.controls("beat")[0]["at"])) == []
