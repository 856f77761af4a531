# Tests: Cat+Cursors.swift, livecat/Files.swift
"""livecat with a Livegate's cursors: resuming, event streams, /sync/v1."""

import json
import os
import re
import time

import pytest

from programs import eventually

from test_livecat_pipe import greet

OTHER_FORMS = ("--sse", "--sync")


def event(identity, cursor=None, entity="incident"):
    more = f',"at":"{cursor}"' if cursor else ""
    return f'{{"ent":"{entity}","id":"{identity}","type":"created"{more}}}'


def target(server, head=-1):
    return server.heads[head].split(" ")[1]


def streams(*messages, code=1000, reason=""):
    """A WebSocket that says something and closes."""
    def script(connection):
        connection.upgrade()
        connection.text(*messages)
        connection.close(code, reason)
    return script


def answers(status, body, *fields):
    def script(connection):
        connection.refuse(status, "Content-Type: application/json", *fields, body=body)
    return script


def page(at, *events, more=False):
    return answers("200 OK", f'{{"events":[{",".join(events)}],"at":"{at}","more":{str(more).lower()}}}')


def event_stream(*events, ends=True):
    """A chunked stream, an event a chunk, which ends or stays."""
    def script(connection):
        connection.head()
        connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n")
        for text in ("retry: 1500\n\n", *events):
            connection.send(f"{len(text.encode()):x}\r\n{text}\r\n")
        if ends:
            connection.send("0\r\n\r\n")
        else:
            connection.more()
    return script


def test_options_become_parameters_in_place_of_the_urls_own(peer, run_livecat):
    server = peer(greet("x"))
    run_livecat("--since", "a-_b", "--with", "at,ts", "--ent", "incident,note", "--mode", "changed", "--beat", "5",
                server.url + "/live/v1?since=old&x=1")
    assert target(server) == "/live/v1?x=1&with=at,ts&ent=incident,note&mode=changed&beat=5&since=a-_b"


def test_without_them_the_url_and_messages_stay_as_they_are(peer, run_livecat):
    server = peer(greet('{"live":{"at":"x"}}', event("a-1", "one")))
    _, out, err = run_livecat(server.url + "/live/v1?a=%zz&a=")
    assert target(server) == "/live/v1?a=%zz&a=" and out.count(b"\n") == 2 and "live:" not in err


def test_control_messages_are_told_and_events_printed(peer, run_livecat):
    server = peer(streams('{"live":{"at":"1"}}', event("a", "2"), '{"resync":{"why":"expired","at":"3"}}',
                          '{"source":{"state":"stalled","ts":1795240000000}}', '{"beat":{"at":"4"}}',
                          '{"changed":true,"at":"5"}', '{"bye":{"code":1012,"why":"restart","retry_ms":7}}', '{"new":{}}',
                          "text", code=1001))
    _, out, err = run_livecat("--with", "at", server.url)
    assert out.decode().splitlines() == [event("a", "2"), '{"changed":true,"at":"5"}', "text"]
    assert err.splitlines()[1:-1] == [
        "live: everything before was told", "resync (expired): what was missed cannot be given",
        "source stalled since 2026-11-21T05:46:40.000Z", "beat: nothing new",
        'bye (code: 1012, reason: "restart", retry_ms: 7)', "a control message that this version does not know"]


def test_with_json_control_messages_are_messages(peer, run_livecat):
    server = peer(streams('{"live":{"at":"1"}}', event("a", "2")))
    _, out, err = run_livecat("--json", "--since", "0", server.url)
    texts = [line["text"] for line in map(json.loads, out.splitlines()) if line["type"] == "message"]
    assert texts == ['{"live":{"at":"1"}}', event("a", "2")] and "live:" not in err


def test_reconnecting_goes_on_behind_the_last_message(peer, run_livecat):
    again = {"code": 1012, "reason": "restart retry_ms=0"}
    server = peer(streams('{"live":{"at":"1"}}', **again), streams(event("a", "2"), event("b", "3"), **again),
                  streams('{"resync":{"why":"epoch","at":"4"}}', **again), streams(**again), streams(event("c", "5")))
    _, out, _ = run_livecat("--reconnect", "--with", "at", server.url)
    assert [target(server, at) for at in range(5)] == [
        "/?with=at", *(f"/?with=at&since={cursor}" for cursor in "1344")]
    assert out.decode().splitlines() == [event("a", "2"), event("b", "3"), event("c", "5")]


def test_count_counts_events_alone(peer, run_livecat):
    server = peer(streams('{"live":{"at":"1"}}', event("a", "2"), '{"beat":{"at":"3"}}', event("b", "4"), event("c", "5")))
    assert run_livecat("--with", "at", "--count", "2", server.url)[1].count(b"\n") == 2


def test_a_cursor_file_carries_over_a_restart(peer, run_livecat, tmp_path):
    file = tmp_path / "place"
    first = peer(streams('{"live":{"at":"1"}}', event("a", "2")))
    run_livecat("--cursor-file", file, "--with", "ts", first.url)
    assert target(first) == "/?with=at,ts" and file.read_text() == "2\n" and os.listdir(tmp_path) == ["place"]
    second = peer(streams('{"beat":{"at":"3"}}'))
    run_livecat("--cursor-file", file, "--since", "elsewhere", second.url)
    assert target(second) == "/?with=at&since=2" and file.read_text() == "3\n"


def test_what_count_cuts_off_is_not_in_the_cursor_file(peer, run_livecat, tmp_path):
    file = tmp_path / "place"
    server = peer(streams(event("a", "1"), event("b", "2"), event("c", "3")))
    run_livecat("--cursor-file", file, "--count", "2", server.url)
    assert file.read_text() == "2\n"


def test_since_counts_while_the_cursor_file_holds_none(peer, run_livecat, tmp_path):
    file = tmp_path / "place"
    file.write_text("\n")
    server = peer(greet())
    run_livecat("--cursor-file", file, "--since", "here", server.url)
    assert target(server) == "/?with=at&since=here" and file.read_text() == "\n"


def test_a_cursor_file_that_cannot_be_used_is_told(peer, run_livecat, tmp_path):
    file = tmp_path / "place"
    file.write_text("two words\n")
    status, _, err = run_livecat("--cursor-file", file, "ws://127.0.0.1:1")
    assert status == 66 and "holds no cursor" in err
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


def test_verify_forgives_what_a_resync_says(peer, run_livecat):
    server = peer(streams(event("x-1", "1"), '{"resync":{"why":"expired","at":"8"}}', event("x-9", "9")))
    status, _, err = run_livecat("--verify", "--since", "0", server.url)
    assert status == 0 and err.endswith("verified: 2 events, 0 missing, 0 doubled, 1 resyncs\n")


def test_verify_works_without_cursors(peer, run_livecat):
    status, _, err = run_livecat("--verify", peer(greet(event("x-1"), event("x-3"))).url)
    assert status == 3 and "1 missing" in err


# Event streams


def test_an_event_stream_reads_as_a_websocket_does(peer, run_livecat):
    server = peer(event_stream('event: live\nid: 1\ndata: {"at":"1"}\n\n', f"id: 2\ndata: {event('a')}\n\n", ": comment\n\n",
                               'event: changed\nid: 3\ndata: {"at":"3"}\n\n',
                               'event: bye\ndata: {"code":1001,"why":"server stops"}\n\n'))
    status, out, err = run_livecat("--sse", "--ent", "incident", server.url.replace("ws", "http") + "/live/v1")
    assert status == 0 and out.decode().splitlines() == [event("a"), '{"changed":true,"at":"3"}']
    assert target(server) == "/live/v1?ent=incident" and server.field("Accept") == ["text/event-stream"]
    assert not server.field("Upgrade")
    assert "live: everything before was told\n" in err
    assert err.endswith('disconnected (code: 1001, reason: "server stops")\n')


def test_an_event_stream_is_resumed_by_its_ids(peer, run_livecat):
    server = peer(event_stream(f"id: 7\ndata: {event('a')}\n\n", 'event: bye\ndata: {"code":1012,"why":"r","retry_ms":0}\n\n'),
                  event_stream(f"id: 8\ndata: {event('b')}\n\n", ends=False))
    status, out, err = run_livecat("--sse", "--reconnect", "--count", "2", server.url + "/live/v1")
    assert status == 0 and out.decode().splitlines() == [event("a"), event("b")]
    assert target(server) == "/live/v1?since=7" and "reconnecting in 0.0 s" in err


def test_an_event_stream_keeps_its_cursor(peer, run_livecat, tmp_path):
    server = peer(event_stream(f"id: 7\ndata: {event('a')}\n\n", f"id: 8\ndata: {event('b')}\n\n", ends=False))
    run_livecat("--sse", "--count", "1", "--cursor-file", tmp_path / "place", server.url)
    assert (tmp_path / "place").read_text() == "7\n"


def test_an_event_stream_that_just_ends_is_lost(peer, run_livecat):
    status, _, err = run_livecat("--sse", peer(event_stream("data: x\n\n")).url)
    assert status == 3 and "the server ended the stream" in err


def test_an_event_stream_may_be_refused(peer, run_livecat):
    status, _, err = run_livecat("--sse", peer(answers("401 Unauthorized", '{"code":"invalid_token"}')).url)
    assert status == 1 and "401" in err and "invalid_token" in err
    status, out, err = run_livecat("--sse", peer(answers("200 OK", "hello")).url)
    assert status == 1 and not out and "200" in err


@pytest.mark.parametrize("form", OTHER_FORMS)
@pytest.mark.parametrize("option", ["-xa", "-sa", "--deflate", "--ping=5s", "--binary", "--slash", "-p13"])
def test_what_only_a_websocket_has_is_wrong_use(run_livecat, form, option):
    status, _, err = run_livecat(form, option, "ws://127.0.0.1:1")
    assert status == 64 and f"has no meaning with {form}" in err


# /sync/v1


def test_sync_catches_up_and_ends(peer, run_livecat, tmp_path):
    server = peer(page("2", event("a", "1"), event("b", "2"), more=True), page("3", event("c", "3")))
    status, out, _ = run_livecat("--sync", "--since", "0", "--cursor-file", tmp_path / "place",
                                 server.url.replace("ws", "http") + "/live/v1?ent=incident")
    assert status == 0 and out.decode().splitlines() == [event("a", "1"), event("b", "2"), event("c", "3")]
    assert [target(server, at) for at in range(2)] == [f"/sync/v1?ent=incident&since={at}" for at in (0, 2)]
    assert (tmp_path / "place").read_text() == "3\n" and server.connections == 2


def test_sync_without_a_cursor_fetches_one(peer, run_livecat, tmp_path):
    server = peer(page("9"))
    assert run_livecat("--sync", "--cursor-file", tmp_path / "place", server.url + "/sync/v1")[:2] == (0, b"")
    assert target(server) == "/sync/v1" and (tmp_path / "place").read_text() == "9\n"


def test_sync_with_a_wait_goes_on(peer, run_livecat):
    server = peer(page("1", event("a", "1")), page("2", event("b", "2")), page("3", event("c", "3"), event("d", "4")))
    status, out, _ = run_livecat("--sync", "--wait", "20", "--count", "3", server.url)
    assert status == 0 and out.decode().splitlines() == [event("a", "1"), event("b", "2"), event("c", "3")]
    assert [target(server, at) for at in range(3)] == ["/?wait=20", "/?wait=20&since=1", "/?wait=20&since=2"]


def test_sync_takes_the_cursor_of_a_resync(peer, run_livecat):
    server = peer(answers("410 Gone", '{"status":410,"code":"resync","why":"expired","at":"5","detail":"d"}'),
                  page("6", event("a", "6")))
    status, out, err = run_livecat("--sync", "--verify", "--since", "1", server.url)
    assert status == 0 and out.decode().splitlines() == [event("a", "6")] and target(server) == "/?since=5"
    assert "resync (expired)" in err and "1 resyncs" in err


def test_sync_waits_as_a_refusal_says(peer, run_livecat):
    begin = time.monotonic()
    server = peer(answers("503 Busy", "{}", "Retry-After: 1"), page("1", event("a", "1")))
    status, out, err = run_livecat("--sync", server.url)
    assert status == 0 and out and time.monotonic() - begin >= 1 and "503" in err
    # As long as it says, and up to as long again, so that not all come back at once.
    assert 1.0 <= float(re.search(r"reconnecting in ([0-9.]+) s", err)[1]) <= 2.0


def test_sync_ends_where_the_server_refuses(peer, run_livecat):
    for status in ("400 Bad", "503 Busy", "200 OK"):
        server = peer(answers(status, '{"code":"bad_cursor"}'))
        ended, _, err = run_livecat("--sync", server.url)
        assert ended == 1 and status[:3] in err and "bad_cursor" in err and server.connections == 1


def test_half_a_page_is_no_page(peer, run_livecat):
    def script(connection):
        connection.head()
        connection.send('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"events":[],"at":"1","more":false}')
    status, out, _ = run_livecat("--sync", peer(script).url)
    assert (status, out) == (2, b"")


def test_sync_comes_back_after_a_loss(peer, run_livecat):
    server = peer(page("1", event("a", "1"), more=True), lambda c: c.head(), page("2", event("b", "2")))
    assert run_livecat("--sync", server.url)[0] == 2
    server = peer(page("1", event("a", "1"), more=True), lambda c: c.head(), page("2", event("b", "2")))
    status, out, _ = run_livecat("--sync", "--reconnect", server.url)
    assert status == 0 and out.decode().splitlines() == [event("a", "1"), event("b", "2")]
    assert target(server) == "/?since=1"


def test_sync_does_not_hammer_a_server_that_does_not_wait(peer, run_livecat):
    server = peer(page("1"))
    run_livecat("--sync", "--wait", "20", "--duration", "2s", server.url)
    assert server.connections <= 4


def test_sync_and_a_long_poll_end_at_once_by_a_signal(peer, livecat):
    def hold(connection):
        connection.head()
        connection.more()
    server = peer(hold)
    program = livecat("--sync", "--wait", "60", server.url)
    eventually(lambda: server.heads, what="the request")
    program.signal()
    assert program.finish()[0] == 0


def test_the_forms_exclude_one_another(run_livecat):
    assert run_livecat("--sse", "--sync", "ws://127.0.0.1:1")[0] == 64
    assert run_livecat("--mode", "all", "ws://127.0.0.1:1")[0] == 64
    assert run_livecat("--sync", "--mode", "changed", "ws://127.0.0.1:1")[0] == 64
