# Tests: URLSessionTransport.swift, RequestChannel.swift, TaskDelegate.swift, QueueLoop.swift
"""The SDK over URLSession: event streams, long polls and documents. This machine's URLSession has no WebSockets."""

import signal

import pytest

from programs import eventually
from scripted_server import Peer


@pytest.fixture
def client(start, tokens):
    """Starts a client that may go these ways."""
    def begin(host, ways, token=None):
        return start("urlsessionclient", f"ws://{host}/live/v1", token or tokens.token("PACC1"), ways)
    return begin


@pytest.fixture
def peer(ends_with_test):
    return lambda *scripts: ends_with_test(Peer(*scripts))


def events(program):
    return [line.split()[1] for line in list(program.out) if line.startswith("event ")]


def assert_each_once(program, names):
    names = [str(name) for name in names]
    eventually(lambda: len(events(program)) >= len(names), 60, program.told)
    assert events(program) == names


@pytest.mark.parametrize("ways", ["eventStream", "longPoll", "polling", "webSocket,eventStream"])
def test_each_way_brings_each_event_once(door, tell, client, ways):
    program = client(door.host, ways)
    program.line("resync start", within=60)
    tell(range(300))
    assert_each_once(program, range(300))
    assert not any(line.startswith("error") for line in program.out)


def test_a_client_in_the_background_goes_on_where_it_was(door, tell, client):
    program = client(door.host, "eventStream")
    program.line("live", within=60)
    program.send("background")
    program.line("disconnected")
    tell(range(10))
    program.send("foreground")
    assert_each_once(program, range(10))
    assert sum(line.startswith("resync") for line in program.out) == 1


def test_a_drain_closes_with_its_code(door, client):
    program = client(door.host, "eventStream")
    program.line("live", within=60)
    door.program.signal(signal.SIGTERM)
    program.line("disconnected the server closed with code 1012", within=60)


def test_a_token_that_is_refused_ends_it(door, client):
    program = client(door.host, "eventStream", token="of-nobody")
    program.line("error nobody is signed in", within=60)
    assert program.wait(60) == 0


def test_a_refusal_says_when_to_come_back(peer, client):
    server = peer(lambda it: it.refuse("503 Service Unavailable", "Retry-After: 600"))
    program = client(server.host, "eventStream", token="secret")
    program.line("why: LiveState.WaitReason", within=60)
    until, since = program.line("waiting(until: Optional("), program.line("connecting(since: ")
    waited = int(until.partition("Optional(")[2].partition(")")[0]) - int(since.partition("since: ")[2].partition(",")[0])
    # Spread by up to a quarter.
    assert 600_000 <= waited <= 900_000
    assert server.field("authorization") == ["Bearer secret"] and server.field("accept") == ["text/event-stream"]


def test_it_follows_no_redirect_and_keeps_no_cookie(peer, client):
    elsewhere = peer(lambda it: it.refuse("200 OK"))
    server = peer(
        lambda it: it.refuse("302 Found", f"Location: http://{elsewhere.host}/live/v1", "Set-Cookie: a=b; Path=/", "Retry-After: 0"))
    program = client(server.host, "eventStream", token="secret")
    program.line("disconnected the server refused with status 302", within=60)
    program.send("refresh")
    eventually(lambda: len(server.heads) >= 2, 60, program.told)
    assert not any("cookie" in head.lower() for head in server.heads)
    assert elsewhere.heads == []


def test_a_stream_that_is_cut_in_its_middle_is_a_loss(peer, client):
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"
    live = 'event: live\r\nid: 1\r\ndata: {"at":"1"}\r\n\r\n'

    def script(it):
        it.head()
        # In two pieces, the second of which ends within an event.
        it.send(head + live[:9])
        it.send(live[9:] + 'id: 2\r\ndata: {"ent":"incident"')
    program = client(peer(script).host, "eventStream", token="secret")
    program.line("live", within=60)
    program.line("disconnected", within=60)
    assert events(program) == []
