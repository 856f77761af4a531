# Tests: Cat+Connection.swift
"""livecat --reconnect. When a client comes back, and after how long, is tested in ReconnectPolicyTests."""

import re
import time

import pytest

from programs import eventually
from scripts import closes, greet, serve

# How a connection ends, what is told of it, and the wait in seconds: no less, and no more.
RETURNS = {
    "retry_ms of a close": (closes(1012, "restart retry_ms=300"), "disconnected (code: 1012, reason: \"restart retry_ms=300\")",
                            0.3, 0.3),
    "a cut": (lambda c: c.upgrade(), "error: connection lost (code: 1006)", 0.5, 1.0),
    # As long as it says, and up to as long again, so that not all come back at once.
    "Retry-After": (lambda c: c.refuse("503 Busy", "Retry-After: 1"), "error: unexpected server response: 503 Busy", 1.0, 2.0),
    "an expired token": (closes(4401, "token expired"), "disconnected (code: 4401, reason: \"token expired\")", 0, 0),
}
ONCE_MORE = closes(1012, "retry_ms=0")

# Options, what happens, and then: the status, and how many connections there were.
STOPS = {
    "refused": ([], [ONCE_MORE, lambda c: c.refuse("403 No")], 1, 2), "revoked": ([], [closes(4403, "revoked")], 3, 1),
    "done": ([], [ONCE_MORE, closes(1000)], 0, 2),
    "no other token": (["-H", "authorization: Bearer old"], [closes(4401, "token expired")], 3, 1),
}


@pytest.mark.parametrize("script, told, least, most", RETURNS.values(), ids=RETURNS)
def test_it_comes_back_as_the_end_says(peer, run_livecat, script, told, least, most):
    begin = time.monotonic()
    status, out, err = run_livecat("--reconnect", peer(script, greet("two")).url)
    assert (status, out) == (0, b"two\n") and time.monotonic() - begin >= least
    wait = re.search(rf"{re.escape(told)}.*\nreconnecting in (\S+) s\n", err)
    assert wait and least <= float(wait[1]) <= most, err


@pytest.mark.parametrize("options, scripts, status, connections", STOPS.values(), ids=STOPS)
def test_it_stops_where_coming_back_changes_nothing(peer, run_livecat, options, scripts, status, connections):
    server = peer(*scripts)
    assert run_livecat("--reconnect", *options, server.url)[:2] == (status, b"")
    assert server.connections == connections


def test_a_token_that_has_expired_is_not_shown_again(peer, livecat, tmp_path):
    file = tmp_path / "token"
    file.write_text("old\n")
    server = peer(closes(4401, "token expired"), greet("two"))
    program = livecat("--reconnect", "--count", "1", "--token-file", file, server.url)
    while "still the one that has expired" not in program.notice():
        pass
    assert server.connections == 1
    file.write_text("new\n")
    assert program.finish()[:2] == (0, b"two\n")
    assert server.field("Authorization", 0) == ["Bearer old"] and server.field("Authorization", 1) == ["Bearer new"]


def test_the_first_attempt_may_fail_too(peer, livecat, tmp_path):
    path = tmp_path / "socket"
    program = livecat("--reconnect", "--count", "1", f"ws+unix:{path}:/")
    assert program.notice().startswith("error: ")
    assert program.notice().startswith("reconnecting in ")
    peer(greet("one"), path=path)
    assert program.finish()[:2] == (0, b"one\n")


def test_count_and_what_is_executed_are_for_all_connections(peer, run_livecat):
    def script(connection):
        connection.upgrade()
        connection.peer.frames.append(connection.receive())
        connection.text("m")
        connection.close(1012, "retry_ms=0")
    server = peer(script)
    assert run_livecat("--reconnect", "--count", "3", "-x", "a", server.url)[:2] == (0, b"m\nm\nm\n")
    assert server.connections == 3 and server.frames == 3 * [("text", "a")]


@pytest.mark.parametrize("options", [[], ["--duration", "1s"]], ids=["by a signal", "by its duration"])
def test_it_can_be_ended_while_it_waits(peer, livecat, options):
    begin = time.monotonic()
    program = livecat("--reconnect", *options, peer(closes(1012, "retry_ms=60000")).url)
    if options:
        assert program.finish()[0] == 0 and time.monotonic() - begin >= 1
        return
    while "reconnecting in 60.0 s" not in program.notice():
        pass
    program.signal()
    assert program.finish()[0] == 0


def test_input_waits_for_the_next_connection(peer, livecat):
    server = peer(closes(1012, "retry_ms=300"), serve)
    program = livecat("--reconnect", server.url)
    while "reconnecting" not in program.notice():
        pass
    program.process.stdin.write(b"late\n")
    program.process.stdin.flush()
    eventually(lambda: server.frames, what="what was written")
    program.signal()
    assert program.finish()[0] == 0
    assert ("text", "late") in server.frames


def test_the_next_token_of_the_file_is_sent_before_the_old_one_ends(peer, livecat, tmp_path):
    file = tmp_path / "token"
    file.write_text("old\n")

    def script(connection):
        connection.upgrade()
        connection.text('{"expiring":{"exp":1795243600}}')
        connection.ping(b"x")
        # The file still holds the old one: nothing is sent of it.
        connection.peer.frames.append(connection.receive())
        file.write_text("")
        connection.text('{"expiring":{"exp":1795243600}}')
        connection.ping(b"y")
        connection.peer.frames.append(connection.receive())
        file.write_text("new\n")
        connection.peer.frames.append(connection.receive())
        connection.text('{"token":{"exp":1795247200}}')
        connection.close()
    server = peer(script)
    _, _, err = livecat("--with", "at", "--token-file", file, server.url).finish()
    assert server.frames == [("pong", b"x"), ("pong", b"y"), ("text", '{"token":"new"}')] and server.connections == 1
    assert "expiring: the token ends at 2026-11-21T" in err and "sent the next token\n" in err
    assert "the next token is accepted, it ends at 2026-11-21T" in err
