# Tests: Heartbeat.swift
"""Signs of life: beats that a client asked for, pings, and the end of a client that answers none."""

import select
import signal
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from caller import Caller
from clients import resumed
from wire import CLOSE, PING, PONG, TEXT, frame

NORMAL, NO_PONG = struct.pack("!H", 1000), struct.pack("!H", 4408) + b"no pong"


@pytest.fixture
def peer(tokens, ends_with_test):
    """WebSockets that answer pings only when told to."""
    return lambda door, **words: ends_with_test(Caller.join(door.host, tokens.token("PACC1"), **words))


@pytest.mark.slow
def test_who_answers_no_ping_is_closed_with_4408_and_who_answers_stays_for_longer(gateway, mock_broker, peer, tell):
    # Of those who answer none is late, as long as this machine stands still for less than that.
    door = gateway(mock_broker.bootstrap, limits__ping_interval="200ms", limits__pong_timeout="8s")
    forms = {"plain": {}, "with cursors": {"with_": "at"}, "changes": {"mode": "changed"}}
    # They come first: whoever were closed so long after its first ping would be gone when the others are.
    answering = {name: peer(door, **words) for name, words in forms.items()}
    pings = {name: [client.read_until(PING)] for name, client in answering.items()}
    silent = {name: peer(door, **words) for name, words in {**forms, "talks and is told events": {}}.items()}
    # Only a pong is an answer: a peer that talks and does not read would never be found out otherwise.
    silent["talks and is told events"].send(frame(TEXT, b"I am here"))
    tell(range(3))
    with ThreadPoolExecutor(len(silent)) as pool:
        ends = {name: pool.submit(lambda client=client: list(client.frames())) for name, client in silent.items()}
        while not all(end.done() for end in ends.values()):
            for name, client in answering.items():
                client.send(frame(PONG, pings[name][-1]))
                pings[name].append(client.read_until(PING))
    for name, end in ends.items():
        said = end.result()
        assert said[-1] == (CLOSE, NO_PONG), name
        texts = [payload for opcode, payload in said if opcode == TEXT]
        if name == "with cursors":
            assert texts[-1] == b'{"bye":{"code":4408,"why":"no pong"}}'
        assert len(texts) == 3 or name != "talks and is told events"
    for name, client in answering.items():
        assert len(pings[name]) > 1 and max(map(len, pings[name])) <= 125, name
        client.send(frame(PING, b"still here"))
        assert client.read_until(PONG) == b"still here", name
        client.send(frame(CLOSE, NORMAL))
        assert client.read_until(CLOSE) == NORMAL, name


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
                client.send(bytes([byte]))
    finally:
        door.program.signal(signal.SIGCONT)
    assert [client.read_until(PONG) for _ in payloads] == payloads


def test_first_pings_are_spread_over_the_interval(gateway, mock_broker, peer):
    door = gateway(mock_broker.bootstrap, limits__ping_interval="60s")
    sockets = [peer(door).socket.plain for _ in range(60)]
    # That none of sixty random moments of a minute lies in its first half does not happen; nor that half of them have passed
    # when the first has come, as long as nothing stands still for half a minute.
    pinged, _, _ = select.select(sockets, [], [], 30)
    assert 0 < len(pinged) < 30


def test_a_beat_is_said_after_so_long_without_a_message_and_not_before(door, live, tell):
    client = live(door, beat=5)
    client.wait_for_control("live")
    quiet = time.monotonic()
    tell(["a"])
    client.wait_for_id("a")
    client.wait_for_control("beat")
    assert time.monotonic() - quiet > 4.9
    # It implies cursors, and its own is the end of what there is.
    assert "at" in client.events[0]
    assert resumed(live(door, since=client.controls("beat")[0]["at"])) == []
