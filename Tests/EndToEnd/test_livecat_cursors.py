# Tests: Cat+Cursors.swift, livecat/Files.swift
"""livecat with a Livegate's cursors: resuming, event streams, /sync/v1. What is made of each message is tested in
CatReadingTests."""

import json
import os
import re
import time

import pytest

from programs import eventually
from scripts import answers, event_stream, streams


def event(identity, cursor=None, entity="incident"):
    more = f',"at":"{cursor}"' if cursor else ""
    return f'{{"ent":"{entity}","id":"{identity}","type":"created"{more}}}'


def page(at, *events, more=False):
    return answers("200 OK", f'{{"events":[{",".join(events)}],"at":"{at}","more":{str(more).lower()}}}')


def test_reconnecting_goes_on_behind_the_last_message(peer, run_livecat):
    again = {"code": 1012, "reason": "restart retry_ms=0"}
    server = peer(streams('{"live":{"at":"1"}}', **again), streams(event("a", "2"), event("b", "3"), **again),
                  streams('{"resync":{"why":"epoch","at":"4"}}', **again), streams(**again), streams(event("c", "5")))
    _, out, _ = run_livecat("--reconnect", "--with", "at", server.url)
    assert [server.target(at) for at in range(5)] == [
        "/?with=at", *(f"/?with=at&since={cursor}" for cursor in "1344")]
    assert out.decode().splitlines() == [event("a", "2"), event("b", "3"), event("c", "5")]


def test_a_cursor_file_carries_over_a_restart(peer, run_livecat, tmp_path):
    file = tmp_path / "place"
    first = peer(streams('{"live":{"at":"1"}}', event("a", "2"), event("b", "3"), event("c", "4")))
    run_livecat("--cursor-file", file, "--with", "ts", "--count", "2", first.url)
    # What --count cuts off is not in the file.
    assert first.target() == "/?with=at,ts" and file.read_text() == "3\n" and os.listdir(tmp_path) == ["place"]
    second = peer(streams('{"beat":{"at":"5"}}'))
    run_livecat("--cursor-file", file, "--since", "elsewhere", second.url)
    assert second.target() == "/?with=at&since=3" and file.read_text() == "5\n"


def test_a_cursor_that_cannot_be_kept_is_told(peer, run_livecat, tmp_path):
    server = peer(streams(event("a", "1")))
    status, out, err = run_livecat("--cursor-file", tmp_path / "no" / "place", server.url)
    assert status == 74 and out and "error: cannot keep the cursor in" in err


def test_killed_at_any_moment_it_misses_nothing(peer, livecat, tmp_path):
    """The output is read through a pipe until the kill; what the next run begins with may repeat, not skip."""
    file, total = tmp_path / "place", 3000

    def script(connection):
        connection.upgrade()
        since = re.search(r"since=(\d+)", connection.peer.heads[-1])
        for number in range(int(since.group(1)) + 1 if since else 1, total + 1):
            connection.text(event(f"x-{number}", number))
        connection.close()
    server, seen, runs = peer(script), [], 0
    while not seen or seen[-1] < total:
        program = livecat("--cursor-file", file, server.url)
        wanted = 100 + 37 * runs
        lines = []
        while len(lines) < wanted and (line := program.line()):
            lines.append(line)
        program.process.kill()
        rest = program.finish()[1]
        numbers = [json.loads(line)["at"] for line in (b"".join(lines) + rest).splitlines(keepends=True)
                   if line.endswith(b"\n")]
        numbers = [int(number) for number in numbers]
        assert not numbers or numbers[0] <= (seen[-1] if seen else 0) + 1, f"a gap before {numbers[0]}: {seen[-1:]}"
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True
        seen += numbers
        runs += 1
        assert runs < 200
    assert runs > 1 and set(seen) == set(range(1, total + 1))


def test_verify_counts_over_all_connections(peer, run_livecat):
    again = {"code": 1012, "reason": "retry_ms=0"}
    server = peer(streams(event("x-1", "1"), event("x-2", "2"), **again), streams(event("x-2", "2"), event("x-5", "5")))
    status, out, err = run_livecat("--reconnect", "--verify", "--with", "at", server.url)
    assert status == 3 and out.count(b"\n") == 4
    assert "missing: incident x-3 to x-4\n" in err
    assert err.endswith("verified: 4 events, 2 missing, 1 doubled, 0 resyncs\n")


def test_an_event_stream_reads_as_a_websocket_does(peer, run_livecat):
    server = peer(event_stream('event: live\nid: 1\ndata: {"at":"1"}\n\n', f"id: 2\ndata: {event('a')}\n\n", ": comment\n\n",
                               'event: changed\nid: 3\ndata: {"at":"3"}\n\n',
                               'event: bye\ndata: {"code":1001,"why":"server stops"}\n\n'))
    status, out, err = run_livecat("--sse", "--ent", "incident", server.url.replace("ws", "http") + "/live/v1")
    assert status == 0 and out.decode().splitlines() == [event("a"), '{"changed":true,"at":"3"}']
    assert server.target() == "/live/v1?ent=incident" and server.field("Accept") == ["text/event-stream"]
    assert not server.field("Upgrade")
    assert "live: everything before was delivered\n" in err
    assert err.endswith('disconnected (code: 1001, reason: "server stops")\n')


def test_an_event_stream_is_resumed_by_its_ids_and_keeps_its_cursor(peer, run_livecat, tmp_path):
    server = peer(event_stream(f"id: 7\ndata: {event('a')}\n\n", 'event: bye\ndata: {"code":1012,"why":"r","retry_ms":0}\n\n'),
                  event_stream(f"id: 8\ndata: {event('b')}\n\n", f"id: 9\ndata: {event('c')}\n\n", ends=False))
    words = ["--sse", "--reconnect", "--count", "2", "--cursor-file", tmp_path / "place"]
    status, out, err = run_livecat(*words, server.url + "/live/v1")
    assert status == 0 and out.decode().splitlines() == [event("a"), event("b")]
    assert server.target() == "/live/v1?since=7" and "reconnecting in 0.0 s" in err
    assert (tmp_path / "place").read_text() == "8\n"


def test_sync_catches_up_and_ends(peer, run_livecat, tmp_path):
    server = peer(page("2", event("a", "1"), event("b", "2"), more=True), page("3", event("c", "3")))
    status, out, _ = run_livecat("--sync", "--since", "0", "--cursor-file", tmp_path / "place",
                                 server.url.replace("ws", "http") + "/live/v1?ent=incident")
    assert status == 0 and out.decode().splitlines() == [event("a", "1"), event("b", "2"), event("c", "3")]
    assert [server.target(at) for at in range(2)] == [f"/sync/v1?ent=incident&since={at}" for at in (0, 2)]
    assert (tmp_path / "place").read_text() == "3\n" and server.connections == 2


@pytest.mark.parametrize("options, document, out", [
    (["--sync"], page("1", event("a", "1")), event("a", "1")),
    (["--archive", "--reconnect"],
     answers("200 OK", '{"events":[{"ent":"a","id":"b","type":"c","aid":"d"}],"more":false,"gaps":[]}'),
     '{"ent":"a","id":"b","type":"c","aid":"d"}'),
], ids=["sync", "archive"])
def test_a_document_is_asked_for_again_when_a_refusal_says_so(peer, run_livecat, options, document, out):
    begin = time.monotonic()
    server = peer(answers("503 Busy", "{}", "Retry-After: 1"), document)
    status, shown, err = run_livecat(*options, server.url)
    assert (status, shown.decode()) == (0, out + "\n") and time.monotonic() - begin >= 1 and "503" in err
    assert 1.0 <= float(re.search(r"reconnecting in ([0-9.]+) s", err)[1]) <= 2.0 and server.connections == 2


@pytest.mark.parametrize("option, path", [("--archive", "/archive/v1"), ("--inbox", "/inbox/v1")])
def test_a_page_of_the_past_is_one_request_of_a_server(peer, run_livecat, option, path):
    server = peer(answers("503 Busy", "{}", "Retry-After: 1"))
    status, out, err = run_livecat(option, f"http://{server.host}")
    assert (status, out, server.connections, server.target()) == (1, b"", 1, path) and "503" in err and "reconnecting" not in err


def test_sync_comes_back_after_a_loss(peer, run_livecat):
    server = peer(page("1", event("a", "1"), more=True), lambda c: c.head(), page("2", event("b", "2")))
    assert run_livecat("--sync", server.url)[0] == 2
    server = peer(page("1", event("a", "1"), more=True), lambda c: c.head(), page("2", event("b", "2")))
    status, out, _ = run_livecat("--sync", "--reconnect", server.url)
    assert status == 0 and out.decode().splitlines() == [event("a", "1"), event("b", "2")]
    assert server.target() == "/?since=1"


def test_sync_and_a_long_poll_end_at_once_by_a_signal(peer, livecat):
    def hold(connection):
        connection.head()
        connection.more()
    server = peer(hold)
    program = livecat("--sync", "--wait", "60", server.url)
    eventually(lambda: server.heads, what="the request")
    program.signal()
    assert program.finish()[0] == 0
