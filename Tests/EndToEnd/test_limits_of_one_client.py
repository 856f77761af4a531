# Tests: LimitsTable.swift
"""What one client may send: frames and bytes within a second, requests on a connection; plain and over TLS."""

import contextlib
import json
import re

import pytest

from brokers import MockBroker
from caller import Caller
from clients import LiveClient, Sync
from gateway import launch
from metrics import scrape
from programs import PROGRAMS, event, eventually, produce, starter
from wire import BINARY, CLOSE, MORE, PING, TEXT, frame, get, upgrade

MESSAGES, BYTES, REQUESTS = 20, 4096, 3


@pytest.fixture(scope="module", params=["plain", "tls"])
def stage(request, tmp_path_factory, tokens, certificates):
    """A gateway that is plain or not, and the context to speak with it."""
    with contextlib.ExitStack() as ending:
        start = starter(ending)
        broker = MockBroker(start(PROGRAMS / "mockbroker", "incidents:4"))
        is_secure = request.param == "tls"
        door = launch(start, tmp_path_factory.mktemp("stage"), tokens, broker.bootstrap,
                      limits={"max_messages_per_second": MESSAGES, "max_inbound_bytes_per_second": BYTES,
                              "max_control_frames_per_second": 1000, "max_requests_per_connection": REQUESTS},
                      **({"tls": certificates.settings["ecdsa"]} if is_secure else {}))
        yield door, certificates.client() if is_secure else None, broker


@pytest.fixture
def said(stage, tokens):
    """Opens a WebSocket and sends bytes in the same packet as the request, or over TLS in a record of their own beside it: what
    comes before the 101 is read behind it. All that is said until the end: the messages, and code and reason of the close."""
    door, context, _ = stage

    def begin(sent, path="/live/v1"):
        with Caller(door.host, context) as peer:
            peer.send(upgrade(tokens.token("PACC1"), path), sent)
            peer.upgraded()
            frames = list(peer.frames())
        assert frames[-1][0] == CLOSE, frames
        return [json.loads(payload) for opcode, payload in frames if opcode == TEXT], peer.received.close
    return begin


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


def test_what_stands_at_a_limit_is_read_and_too_much_is_closed_with_4429_and_a_time_to_come_back(stage, said):
    door, _, _ = stage
    for name, sent in WITHIN.items():
        assert said(sent + NORMAL)[1] == (1000, ""), name
    for name, sent in OVER.items():
        code, reason = said(sent)[1]
        assert code == 4429, name
        assert 1000 <= int(re.fullmatch(r"too many (?:messages|bytes) retry_ms=(\d+)", reason).group(1)) <= 5000, name
    # Those with control messages are told the same time before.
    messages, (code, reason) = said(OVER["messages"], "/live/v1?with=at")
    assert code == 4429 and messages[-1] == {"bye": {"code": 4429, "why": "too much",
                                                     "retry_ms": int(reason.rpartition("=")[2])}}
    # The log names the limit and its value.
    line = door.wait_for_log("it sent too much")
    assert line["account"] == "PACC1" and line["peer"] == "127.0.0.1"
    assert re.search(rf"max_messages_per_second {MESSAGES}$|max_inbound_bytes_per_second {BYTES}$", line["limit"]), line


def test_a_script_that_sends_for_ever_takes_nothing_from_the_others(stage, tokens, ends_with_test):
    """It comes back at once, again and again; others of its account and of another get each event meanwhile."""
    door, context, broker = stage
    others = [ends_with_test(LiveClient(door, tokens.token(account), context)) for account in ("PACC1", "PACC2")]

    def closed():
        return scrape(door.admin).get('livegate_closes_total{code="4429"}', 0)
    before = closed()
    for name in range(20):
        peer = Caller.join(door.host, tokens.token("PACC1"), context=context)
        peer.send(50 * OVER["messages"])
        produce(broker.bootstrap, "incidents", [event(account, str(name)) for account in ("PACC1", "PACC2")])
        for other in others:
            other.wait_for_id(str(name))
        with peer, contextlib.suppress(ConnectionError):
            assert list(peer.frames())[-1][0] == CLOSE and peer.received.close[0] == 4429
    # Whoever was cut off before it could read it as well.
    eventually(lambda: closed() == before + 20, 20, lambda: f"20 closes: {before}, {closed()}")
    assert all(other.closed is None for other in others)


# Requests on one connection

def test_the_answer_to_the_last_request_ends_the_connection(stage, tokens, ends_with_test):
    door, context, _ = stage
    token = tokens.token("PACC1")
    # A refusal that would keep the connection, too.
    for words, status in (({}, 200), ({"since": "nonsense"}, 400)):
        peer = ends_with_test(Sync(door, token, context))
        for _ in range(REQUESTS - 1):
            assert "connection" not in peer.ask(**words).fields
        last = peer.ask(**words)
        assert (last.status, last.fields["connection"]) == (status, "close")
    # Of requests that come at once those within the limit are answered.
    with Caller(door.host, context) as peer:
        peer.send((REQUESTS + 3) * get("/sync/v1", token))
        answer = peer.rest()
    heads = re.findall(rb"HTTP/1\.1 (\d+) .*?\r\n\r\n", answer, re.DOTALL)
    assert heads == REQUESTS * [b"200"]
    assert answer.count(b"\r\nConnection: close\r\n") == 1 and b"Connection: close" in answer.rpartition(b"HTTP/1.1")[2]
