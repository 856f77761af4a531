# Tests: Connection+Sync.swift
"""/sync/v1: pages after a cursor, the long poll, and what is answered where a cursor cannot be read. Those
that can be read and not be served are in test_resume.py."""

import re
import socket
import threading
import time

import pytest

from caller import Caller
from clients import Sync
from programs import PATIENCE, eventually
from wire import CURSOR, connect, get

PAGE = rf'\{{"events":\[(.*)\],"at":"({CURSOR})","more":(true|false)\}}'
EVENT = rf'\{{"ent":"incident","id":"([^"]*)","type":"updated","at":"{CURSOR}","ts":\d{{13}}\}}'


@pytest.fixture
def peer(door, sync):
    return sync(door)


@pytest.fixture
def begin(peer):
    """A cursor before everything."""
    return peer.page()["at"]


def ids(page):
    return [event["id"] for event in page["events"]]


def test_a_page_has_the_form_of_the_protocol_and_is_as_long_as_asked_for(peer, begin, tell):
    answer = peer.ask(wait=30)
    # Without since there is a fresh cursor and nothing else, at once.
    assert answer.status == 200 and re.fullmatch(PAGE, answer.text)
    assert (answer.body["events"], answer.body["more"]) == ([], False)
    assert answer.fields["cache-control"] == "no-store" and answer.fields["content-type"] == "application/json"
    tell(["0", "1"])
    eventually(lambda: len(peer.page(since=begin)["events"]) == 2)
    answer = peer.ask(since=answer.body["at"])
    events, at, more = re.fullmatch(PAGE, answer.text).groups()
    assert re.fullmatch(f"{EVENT},{EVENT}", events).groups() == ("0", "1") and more == "false"
    assert [ids(peer.page(since=event["at"])) for event in answer.body["events"]] == [["1"], []]
    assert ids(peer.page(since=at)) == []
    tell(range(2, 7))
    eventually(lambda: len(peer.page(since=begin)["events"]) == 7)
    at, pages = begin, []
    while not pages or pages[-1]["more"]:
        pages.append(peer.page(since=at, limit=3))
        at = pages[-1]["at"]
    assert [len(page["events"]) for page in pages] == [3, 3, 1]
    assert sum(map(ids, pages), []) == [str(number) for number in range(7)]
    whole = peer.page(since=begin, limit=7)
    assert len(whole["events"]) == 7 and whole["more"] is False
    # Who knows of a cursor waits for the node to have read as far, which it has, and for nothing else.
    begun = time.monotonic()
    last = peer.page(since=whole["at"], upto=whole["at"], wait=50)
    assert (last["events"], last["more"]) == ([], False) and time.monotonic() - begun < 40
    assert ids(peer.page(since=begin, upto=whole["at"])) == ids(whole)


def test_a_client_that_finishes_behind_its_requests_gets_all_answers_and_then_the_end(door, tokens, peer, begin, tell):
    """As `nc -N` does, and HAProxy without abortonclose. A wait ends with its client's half: nobody can tell who has left."""
    token = tokens.token("PACC1")
    tell(["0"])
    eventually(lambda: len(peer.page(since=begin)["events"]) == 1)
    at = peer.page()["at"]
    for request, statuses in (
            (get("/sync/v1", token), [200]), (get(f"/sync/v1?since={begin}", token), [200]),
            (get(f"/sync/v1?since={at}&wait=50", token), [200]), (get("/sync/v1?since=x", token), [400]),
            (get("/sync/v1", token) * 3, [200] * 3), (get("/sync/v1", token) + b"GET /sync", [200]),
            (get("/sync/v1?limit=0", token), [400]), (get("/nothing"), [404])):
        with connect(door.host) as client:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            said = b"".join(iter(lambda: client.recv(65536), b""))
        assert [int(status) for status in re.findall(rb"HTTP/1.1 (\d+) ", said)] == statuses, (request, said)


def test_a_limit_and_a_wait_over_the_nodes_are_the_nodes(gateway, mock_broker, sync, tell):
    peer = sync(gateway(mock_broker.bootstrap, limits={"max_sync_events": 4, "max_wait": "300ms"}))
    begin = peer.page()["at"]
    for wait in (50, 10 ** 30):
        assert ids(peer.page(since=begin, wait=wait)) == []
    tell(range(9))
    eventually(lambda: ids(peer.page(since=begin)))
    for limit in (4, 5, 500, 10 ** 30):
        page = peer.page(since=begin, limit=limit)
        assert len(page["events"]) == 4 and page["more"] is True, limit
    assert len(peer.page(since=begin)["events"]) == 4


def test_wait_is_answered_by_the_first_event(peer, begin, door, sync, tell):
    pages = []
    waiting = threading.Thread(target=lambda: pages.append(peer.page(since=begin, wait=30)), daemon=True)
    waiting.start()
    # While it waits another one is answered: nothing is there yet. What another account gets is none for it.
    other = sync(door, "PACC2")
    before = other.page()["at"]
    tell(["theirs"], account="PACC2")
    assert ids(other.page(since=before, wait=30)) == ["theirs"]
    assert ids(sync(door).page(since=begin)) == [] and not pages
    tell(["a"])
    waiting.join(10 * PATIENCE)
    assert [ids(page) for page in pages] == [["a"]]
    # What is there already is not waited for.
    assert ids(peer.page(since=begin, wait=30)) == ["a"]
    # It ends without an event too, with a cursor to go on with.
    for wait in (0, 1):
        started = time.monotonic()
        page = peer.page(since=pages[0]["at"], wait=wait)
        assert ids(page) == [] and page["more"] is False and time.monotonic() - started >= wait - 0.05
    tell(["b"])
    assert ids(peer.page(since=page["at"], wait=50)) == ["b"]


def test_refusals_may_not_be_kept_and_after_that_of_a_cursor_the_connection_goes_on(peer, begin, sync, door, tokens):
    other = sync(door, "PACC2").page()["at"]
    wrong = ["", "x", begin[:-1], begin + "A", begin + "=", "A" * 6000, other]
    # Changed in any character, to any of a few others.
    wrong += [begin[:at] + sign + begin[at + 1:] for at in range(len(begin)) for sign in "A_z9" if sign != begin[at]]
    wrong += [begin[:length] for length in range(len(begin))]
    for text in wrong:
        answer = peer.ask(since=text)
        assert (answer.status, answer.body["code"]) == (400, "bad_cursor"), text
        assert list(answer.body) == ["type", "title", "status", "code", "detail"]
        assert answer.fields["cache-control"] == "no-store" and "connection" not in answer.fields
    for raw in ("since=%", f"since={begin}%4", "since"):
        assert peer.ask(raw=raw).body["code"] == "bad_cursor"
    # They are answered in their order when they come at once: good ones, a refusal and a wait between them.
    queries = [f"?since={begin}", "?since=x", f"?since={begin}&wait=1", "?since=y", f"?since={begin}"]
    token = tokens.token("PACC1")
    with Caller(door.host) as caller:
        caller.send(b"".join(get(f"/sync/v1{query}", token) for query in queries))
        for status in (200, 400, 200, 400, 200):
            caller.body(caller.head(status))
        caller.send(get("/sync/v1?mode=x", token, ["Connection: close"]))
        assert "\r\nConnection: close" in (head := caller.head(200)) and caller.body(head) and caller.rest() == b""
    for peer, method, status, code in ((sync(door), "POST", 405, "method_not_allowed"),
                                       (Sync(door, None), "GET", 401, "invalid_token")):
        answer = peer.ask(method)
        assert (answer.status, answer.body["code"]) == (status, code)
        assert answer.fields["cache-control"] == "no-store" and answer.fields["connection"] == "close"
        if status == 405:
            assert answer.fields["allow"] == "GET"


def test_a_client_that_goes_away_frees_its_wait(door, tokens, begin):
    before = door.descriptors()
    line = f"GET /sync/v1?since={begin}&wait=50 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {tokens.token('PACC1')}\r\n\r\n"
    peers = [connect(door.host) for _ in range(50)]
    for peer in peers:
        peer.sendall(line.encode())
    eventually(lambda: door.descriptors() >= before + 50)
    for peer in peers:
        peer.close()
    eventually(lambda: door.descriptors() <= before, 10, "the descriptors of the waits")
