"""What the table of parameters allows at each address, what it refuses, and what it does not look at."""

import json

import pytest

from programs import PATIENCE
from wire import ask, connect, upgrade

NAMES = ",".join(f"n{number}" for number in range(17))
LONG = "n" * 65

BOTH = [
    ("since=a&since=b", "since"), ("since=a&since=%", "since"), ("with=", "with"), ("with", "with"),
    ("with=x", "with"), ("with=id", "with"), ("with=at,", "with"), ("with=,at", "with"), ("with=AT", "with"), ("with=at,%20ts", "with"),
    ("with=%", "with"), ("with=at&with=ts", "with"), ("ent=", "ent"), ("ent", "ent"), ("ent=a,", "ent"),
    ("ent=a,,b", "ent"), ("ent=%ff", "ent"), ("ent=%4", "ent"), ("ent=a&ent=b", "ent"), (f"ent={NAMES}", "ent"),
    (f"ent={LONG}", "ent"),
]
LIVE = [
    ("mode=", "mode"), ("mode", "mode"), ("mode=all", "mode"), ("mode=Changed", "mode"),
    ("mode=changed&mode=changed", "mode"), ("beat=4", "beat"), ("beat=301", "beat"), ("beat=0", "beat"),
    ("beat=", "beat"), ("beat", "beat"), ("beat=5s", "beat"), ("beat=+5", "beat"), ("beat=-5", "beat"),
    ("beat=%205", "beat"), ("beat=5.0", "beat"), ("beat=5&beat=5", "beat"), ("beat=99999999999999999999", "beat"),
]
SYNC = [
    ("limit=0", "limit"), ("limit=", "limit"), ("limit=-1", "limit"), ("limit=+1", "limit"), ("limit=1.5", "limit"),
    ("limit=x", "limit"), ("limit=1&limit=1", "limit"), ("wait=", "wait"), ("wait=-1", "wait"), ("wait=+1", "wait"),
    ("wait=1s", "wait"), ("wait=%201", "wait"), ("wait=0&wait=0", "wait"), ("upto=a&upto=a", "upto"),
]


def get(path, token, *more):
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}", *more]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def refused(door, request, name):
    """The whole answer is 400 `bad_parameter` with the name, and the connection ends with it."""
    answer = ask(door.host, request, 10 * PATIENCE)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n") and len(answer) < 1024, (name, answer)
    assert b"\r\nContent-Type: application/problem+json" in head and b"\r\nConnection: close" in head, name
    problem = json.loads(body)
    assert list(problem) == ["type", "title", "status", "code", "detail"]
    assert problem["code"] == "bad_parameter" and name in problem["detail"], (name, problem)


@pytest.mark.parametrize("form", ["stream", "event stream", "sync"])
def test_each_value_outside_its_range_is_refused(door, tokens, form):
    token = tokens.token("PACC1")
    for query, name in BOTH + (SYNC if form == "sync" else LIVE):
        request = {"stream": lambda: upgrade(token, f"/live/v1?{query}"), "sync": lambda: get(f"/sync/v1?{query}", token),
                   "event stream": lambda: get(f"/live/v1?{query}", token, "Accept: text/event-stream")}[form]
        refused(door, request(), name)


def test_what_lies_within_is_taken_and_what_is_not_of_an_address_ignored(door, tokens, sync):
    for query in ("", "x=1&x=2", "since=", "since=%", "with=at,at", "with=ts,at", "with=at%2Cts", "with=aid", f"ent={NAMES[:-4]}",
                  f"ent={LONG[1:]}", "ent=a%2Cb", "ent=a,a", "mode=changed", "beat=5", "beat=300", "beat=005",
                  "limit=0&limit=x&wait=&wait=-1", "Beat=1", "%ff=1", "&&"):
        with connect(door.host, 10 * PATIENCE) as peer:
            peer.sendall(upgrade(tokens.token("PACC1"), f"/live/v1?{query}"))
            assert peer.recv(4096).startswith(b"HTTP/1.1 101 "), query
    peer = sync(door)
    for query in ("", "x=1&x=2", "with=at,ts", "with=ts", "with=aid", f"ent={NAMES[:-4]}", f"ent={LONG[1:]}", "mode=&mode=x",
                  "beat=1&beat=1", "limit=1", "limit=99999999999999999999", "wait=0", "wait=99999999999999999999",
                  "limit=007&wait=00", "upto=x", "upto=", "upto=%", "upto=x&wait=30"):
        assert peer.page(raw=query)["events"] == [], query
