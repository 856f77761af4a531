# Tests: LimitsTable.swift
"""What one client may send: frames and bytes within a second, requests on a connection; plain and over TLS."""

import contextlib
import json
import re

import pytest

from brokers import MockBroker
from clients import LiveClient, Sync, connection
from gateway import launch
from metrics import scrape
from programs import PATIENCE, PROGRAMS, Program, event, eventually, produce
from wire import BINARY, CLOSE, MORE, PING, TEXT, close_of, frame, get, read_frames, upgrade

MESSAGES, BYTES, REQUESTS = 20, 4096, 3


@pytest.fixture(scope="module", params=["plain", "tls"])
def stage(request, tmp_path_factory, tokens, certificates):
    """A gateway that is plain or not, and the context to speak with it."""
    with contextlib.ExitStack() as ending:
        def start(*command, **options):
            program = Program(*command, **options)
            ending.callback(program.end)
            return program

        broker = MockBroker(start(PROGRAMS / "mockbroker", "incidents:4"))
        is_secure = request.param == "tls"
        door = launch(start, tmp_path_factory.mktemp("stage"), tokens, broker.bootstrap,
                      limits={"max_messages_per_second": MESSAGES, "max_inbound_bytes_per_second": BYTES,
                              "max_control_frames_per_second": 1000, "max_requests_per_connection": REQUESTS},
                      **({"tls": certificates.settings["ecdsa"]} if is_secure else {}))
        yield door, certificates.client() if is_secure else None, broker


@pytest.fixture
def opened(stage, tokens, ends_with_test):
    """Opens a WebSocket; returns its socket behind the head of the answer."""
    door, context, _ = stage

    def begin(path="/live/v1"):
        peer = connection(door, context)
        peer.sendall(upgrade(tokens.token("PACC1"), path))
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += peer.recv(1)
        assert head.startswith(b"HTTP/1.1 101 "), head
        return peer
    return begin


def said(peer):
    """All that comes until the end: the messages, and code and reason of the close."""
    with peer:
        frames = list(read_frames(peer))
    assert [opcode for opcode, _ in frames].count(CLOSE) == 1 and frames[-1][0] == CLOSE, frames
    return [json.loads(payload) for opcode, payload in frames if opcode == TEXT], close_of(frames[-1][1])


NORMAL = frame(CLOSE, b"\x03\xe8")
# What may come at once, and what is one too much. Bytes are counted with headers: 6, or 8 from 126 bytes of payload on.
WITHIN = {
    "messages": MESSAGES * frame(TEXT, b"x"),
    "fragments": frame(TEXT, final=False) + (MESSAGES - 2) * frame(MORE, final=False) + frame(MORE),
    "bytes of a message": frame(BINARY, bytes(BYTES - 8 - len(NORMAL))),
    "pings, which are no messages": (MESSAGES + 1) * frame(PING),
}
OVER = {
    "messages": (MESSAGES + 1) * frame(TEXT, b"x"),
    "fragments": frame(TEXT, final=False) + MESSAGES * frame(MORE, final=False),
    "bytes of messages": 5 * frame(BINARY, bytes(BYTES // 4 - 8)),
    "bytes of headers alone": (BYTES // 6 + 1) * frame(PING),
}


@pytest.mark.parametrize("name", WITHIN)
def test_what_stands_at_a_limit_is_read(opened, name):
    peer = opened()
    peer.sendall(WITHIN[name] + NORMAL)
    assert said(peer)[1] == (1000, "")


@pytest.mark.parametrize("name", OVER)
def test_too_much_within_a_second_is_closed_with_4429_and_a_time_to_come_back(opened, name):
    peer = opened()
    peer.sendall(OVER[name])
    code, reason = said(peer)[1]
    assert code == 4429
    assert 1000 <= int(re.fullmatch(r"too many (?:messages|bytes) retry_ms=(\d+)", reason).group(1)) <= 5000


def test_those_with_control_messages_are_told_the_same_time_before(opened):
    peer = opened("/live/v1?with=at")
    peer.sendall(OVER["messages"])
    messages, (code, reason) = said(peer)
    assert code == 4429 and messages[-1].keys() == {"bye"}
    bye = messages[-1]["bye"]
    assert bye == {"code": 4429, "why": "too much", "retry_ms": int(reason.rpartition("=")[2])}


def test_the_log_names_the_limit_and_its_value(stage, opened):
    door, _, _ = stage
    peer = opened()
    peer.sendall(OVER["messages"])
    said(peer)
    line = door.wait_for_log("it sent too much")
    assert line["account"] == "PACC1" and line["peer"] == "127.0.0.1"
    assert re.search(rf"max_messages_per_second {MESSAGES}$|max_inbound_bytes_per_second {BYTES}$", line["limit"]), line


def test_a_script_that_sends_for_ever_takes_nothing_from_the_others(stage, tokens, opened, ends_with_test):
    """It comes back at once, again and again; others of its account and of another get each event meanwhile."""
    door, context, broker = stage
    others = [ends_with_test(LiveClient(door, tokens.token(account), context)) for account in ("PACC1", "PACC2")]

    def closed():
        return scrape(door.admin).get('livegate_closes_total{code="4429"}', 0)
    before = closed()
    for name in range(20):
        peer = opened()
        peer.sendall(50 * OVER["messages"])
        produce(broker.bootstrap, "incidents", [event(account, str(name)) for account in ("PACC1", "PACC2")])
        for other in others:
            other.wait_for_id(str(name))
        with contextlib.suppress(ConnectionError):
            assert said(peer)[1][0] == 4429
    # Whoever was cut off before it could read it as well.
    eventually(lambda: closed() == before + 20, 20, lambda: f"20 closes: {before}, {closed()}")
    assert all(other.closed is None for other in others)


# Requests on one connection

def test_the_answer_to_the_last_request_ends_the_connection(stage, tokens, ends_with_test):
    door, context, _ = stage
    peer = ends_with_test(Sync(door, tokens.token("PACC1"), context))
    for _ in range(REQUESTS - 1):
        assert "connection" not in peer.ask().fields
    last = peer.ask()
    assert (last.status, last.fields["connection"]) == (200, "close")


def test_a_refusal_that_would_keep_the_connection_ends_it_as_the_last(stage, tokens, ends_with_test):
    door, context, _ = stage
    peer = ends_with_test(Sync(door, tokens.token("PACC1"), context))
    for _ in range(REQUESTS - 1):
        assert "connection" not in peer.ask(since="nonsense").fields
    last = peer.ask(since="nonsense")
    assert (last.status, last.fields["connection"]) == (400, "close")


def test_of_requests_that_come_at_once_those_within_the_limit_are_answered(stage, tokens):
    door, context, _ = stage
    with connection(door, context) as peer:
        peer.sendall((REQUESTS + 3) * get("/sync/v1", tokens.token("PACC1")))
        answer = b""
        while chunk := peer.recv(65536):
            answer += chunk
    heads = re.findall(rb"HTTP/1\.1 (\d+) .*?\r\n\r\n", answer, re.DOTALL)
    assert heads == REQUESTS * [b"200"]
    assert answer.count(b"\r\nConnection: close\r\n") == 1 and b"Connection: close" in answer.rpartition(b"HTTP/1.1")[2]
