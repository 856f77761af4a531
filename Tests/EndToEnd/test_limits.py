# Tests: Connection+Quota.swift, Connection.swift, ConnectionLog.swift, LimitsTable.swift
"""How many connections there may be: of the node, an account, a user and an address, and how many come in a second; plain and
over TLS. Each place comes back at once, whatever way a connection ends."""

import contextlib
import signal
import socket
import ssl
import struct
import threading
import time

import pytest

from brokers import MockBroker
from clients import LiveClient
from limited import Stage, asked, assert_refused, is_in
from programs import PROGRAMS, event, eventually, produce, starter
from wire import CLOSE, event_stream_request, frame, get, upgrade

RESET = struct.pack("ii", 1, 0)


@pytest.fixture(scope="module")
def broker():
    with contextlib.ExitStack() as ending:
        yield MockBroker(starter(ending)(PROGRAMS / "mockbroker", "incidents:4"))


@pytest.fixture(params=["plain", "tls"])
def stage(request, tmp_path, tokens, certificates, broker):
    """Starts gateways with limits."""
    with contextlib.ExitStack() as ending:
        yield lambda **limits: Stage(
            ending, tmp_path, tokens, certificates, broker, request.param == "tls", **limits)


# The ways to hold a place. Of a wait there is no answer yet: on a node with one loop it is there before whoever comes next.

def requests(stage, token):
    with stage.begin() as peer:
        peer.send(get("/sync/v1", token))
        at = peer.page()["at"]
    return {
        "websocket": upgrade(token), "event stream": event_stream_request(token),
        "wait": get(f"/sync/v1?wait=50&since={at}", token),
    }


def hold(stage, name, request):
    """Takes a place; returns the connection."""
    if name != "wait":
        peer, answer = stage.ask(request)
        assert is_in(answer), answer
        return peer
    peer = stage.begin()
    peer.send(request)
    return peer


def leave(peer, way):
    """Ends a connection in one of the ways a client has."""
    with peer, contextlib.suppress(ssl.SSLError):
        if way == "reset":
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        elif way == "half closed":
            # Below TLS, where there is any.
            peer.socket.shutdown(socket.SHUT_WR)
            peer.rest()
        elif way != "close":
            peer.send({"closing handshake": frame(CLOSE, b"\x03\xe8"), "broken frame": frame(0x3)}[way])
            peer.rest()


WAYS = {"websocket": ["closing handshake", "broken frame", "reset", "half closed", "close"],
        "event stream": ["reset", "half closed", "close"], "wait": ["reset", "half closed", "close"]}


def test_the_places_of_a_subject_are_counted_together_and_come_back_in_whatever_way_they_are_left(stage):
    stage = stage(loops=1, max_connections_per_subject=3)
    token, other = stage.token(subject="ann"), stage.token(subject="bob")
    kinds = requests(stage, token)
    for way in {way for ways in WAYS.values() for way in ways}:
        held = {name: hold(stage, name, request) for name, request in kinds.items()}
        # A refused request for a stream or a wait takes nothing; an answer at once needs no place; others are not concerned.
        for request in kinds.values():
            peer, answer = stage.ask(request)
            with peer:
                assert_refused(answer, 429, "too_many")
        for request in (get("/sync/v1", token), upgrade(other), upgrade(stage.token("PACC2", "ann"))):
            peer, answer = stage.ask(request)
            with peer:
                assert is_in(answer), answer
        for name, peer in held.items():
            leave(peer, way if way in WAYS[name] else "close")
        # All three are back, and no more than three.
        back = []

        def come_back():
            peer, answer = stage.ask(kinds["websocket"])
            back.append(peer) if is_in(answer) else peer.end()
            return len(back) == 3
        eventually(come_back, what=f"three places after: {way}")
        peer, answer = stage.ask(kinds["websocket"])
        assert_refused(answer, 429, "too_many")
        # The answer to a close comes when the place is back.
        for peer in back:
            leave(peer, "closing handshake")
    # As many are kept alive between two requests; the next one ends behind its answer.
    kept = [stage.begin() for _ in range(4)]
    for peer in kept:
        peer.send(get("/sync/v1", token))
        peer.page()
    kept[3].rest()
    for peer in kept:
        with peer:
            if peer is not kept[3]:
                peer.send(get("/sync/v1", token))
                peer.page()
    line = stage.door.wait_for_log("client refused: it is at a limit")
    assert line["limit"] == "max_connections_per_subject 3" and line["subject"] == "ann" and line["code"] == "too_many"


def test_a_kept_connection_is_one_handshake_and_its_waits_give_their_place_back_with_each_answer(stage):
    stage = stage(max_connections_per_account=1, max_wait="10ms", max_handshakes_per_second=1)
    token = stage.token()
    # A silent one is none; over TLS the handshake itself counts. Readiness was asked elsewhere.
    spare = [] if stage.is_secure else [stage.begin() for _ in range(5)]
    with stage.begin() as peer:
        for _ in range(20):
            peer.send(get("/sync/v1", token))
            at = peer.page()["at"]
        for _ in range(10):
            peer.send(get(f"/sync/v1?wait=50&since={at}", token))
            peer.page()

        # Idle, it holds nothing; while another one holds the place its next wait is refused, and ends it.
        def comes():
            other, answer = stage.ask(upgrade(token))
            return other if is_in(answer) else other and other.end()
        with eventually(comes, what="a handshake of another second"):
            assert_refused(asked(peer, get(f"/sync/v1?wait=50&since={at}", token)), 429, "too_many")
    for one in spare:
        one.end()


def test_one_address_fills_its_own_places_and_nobody_elses(stage):
    """Silent connections and streams together; who is answered leaves the count, whatever the connection does then."""
    stage = stage(loops=1, max_connections_per_address=4)
    token = stage.token()
    streams = [stage.ask(upgrade(token), "127.0.0.2") for _ in range(2)]
    assert all(is_in(answer) for _, answer in streams)
    silent = [stage.begin("127.0.0.2") for _ in range(2)]
    peer, answer = stage.ask(upgrade(token), "127.0.0.2")
    if stage.is_secure:
        assert answer == b""
    else:
        assert_refused(answer, 429, "too_many")
        peer.end()
    elsewhere, answer = stage.ask(upgrade(token), "127.0.0.3")
    assert is_in(answer)
    # An answer ends the count of a connection that stays: three idle ones, and there is room for another.
    kept = silent.pop()
    assert is_in(asked(kept, get("/sync/v1", token)))
    last, answer = stage.ask(upgrade(token), "127.0.0.2")
    assert is_in(answer)
    line = stage.door.wait_for_log("client refused: it is at a limit")
    assert line["limit"] == "max_connections_per_address 4" and line["peer"] == "127.0.0.2"
    for peer in [elsewhere, kept, last, *silent, *(peer for peer, _ in streams)]:
        peer.end()

    def is_back():
        peers = [stage.ask(upgrade(token), "127.0.0.2") for _ in range(4)]
        for peer, _ in peers:
            if peer:
                peer.end()
        return all(is_in(answer) for _, answer in peers)
    eventually(is_back, what="four places of the address")


def test_handshakes_over_the_rate_are_refused_before_anything_is_paid_for(stage):
    stage = stage(max_handshakes_per_second=2)
    # All are there at once, and a second's worth of them is served.
    stage.door.program.signal(signal.SIGSTOP)
    answers, peers = [], [stage.begin(is_secured=False) for _ in range(20)]
    if not stage.is_secure:
        for peer in peers:
            # Whatever is asked for counts: here nothing that is there.
            peer.send(get("/nothing"))
    began = time.monotonic()
    stage.door.program.signal(signal.SIGCONT)
    for peer in peers:
        answer = b""
        with peer, contextlib.suppress(ConnectionError, ssl.SSLError):
            if stage.is_secure:
                peer.secure(stage.context)
            answer = asked(peer, get("/nothing") if stage.is_secure else b"")
        answers.append(answer)
    refused = [answer for answer in answers if not answer.startswith(b"HTTP/1.1 404 ")]
    # Where the machine stood still meanwhile, there were two more each second.
    assert 2 <= len(answers) - len(refused) <= 2 + 2 * (time.monotonic() - began)
    for answer in refused:
        if stage.is_secure:
            assert answer == b""
        else:
            assert_refused(answer, 503, "overloaded")
    assert stage.door.wait_for_log("the node is at a limit")["limit"] == "max_handshakes_per_second 2"

    # It goes on as soon as there is a handshake again.
    def is_served():
        peer, answer = stage.ask(upgrade(stage.token()))
        if peer:
            peer.end()
        return is_in(answer)
    eventually(is_served, what="a handshake of another second")


def test_a_customers_broken_script_does_not_take_the_node_from_the_others(stage):
    """Its threads connect as fast as they can, as one user from one address; half of them also send as much as they can, and
    are closed for it."""
    stage = stage(max_connections_per_subject=20, max_connections_per_address=30)
    token = stage.token(subject="script")
    others = [LiveClient(stage.door, stage.token("PACC2", "phone"), stage.context) for _ in range(3)]
    stops = threading.Event()
    outcomes = {"in": 0, "refused": 0}
    lock = threading.Lock()

    def run(sends):
        held = []
        while not stops.is_set():
            with contextlib.suppress(OSError):
                peer, answer = stage.ask(upgrade(token), "127.0.0.2")
                with lock:
                    outcomes["in" if is_in(answer) else "refused"] += 1
                if sends and is_in(answer):
                    peer.send(200 * frame(0x1, b"again"))
                if peer:
                    held.append(peer)
            if len(held) > 15:
                held.pop(0).end()
        for peer in held:
            peer.end()
    threads = [threading.Thread(target=run, args=(number % 2 == 0,)) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        for number in range(15):
            produce(stage.broker.bootstrap, "incidents", [event("PACC2", str(number))])
            for other in others:
                other.wait_for_id(str(number))
            # And who comes, comes in.
            peer, answer = stage.ask(upgrade(stage.token("PACC2", "phone")))
            with peer:
                assert is_in(answer), answer
        eventually(lambda: outcomes["in"] > 20 and outcomes["refused"] > 20, 20, lambda: f"{outcomes}")
    finally:
        stops.set()
        for thread in threads:
            thread.join()
    assert all(other.closed is None and other.ids == [str(number) for number in range(15)] for other in others)
    for other in others:
        other.end()
