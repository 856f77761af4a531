# Tests: Cat+Connection.swift
"""livecat --reconnect."""

import re
import time

import pytest

from programs import eventually
from test_livecat_ends import closes
from test_livecat_pipe import greet, serve


def test_it_comes_back_after_what_the_server_asked_for(peer, run_livecat):
    server = peer(closes(1012, "restart retry_ms=300"), greet("two"))
    begin = time.monotonic()
    status, out, err = run_livecat("--reconnect", server.url)
    assert (status, out) == (0, b"two\n") and time.monotonic() - begin > 0.3
    assert 'disconnected (code: 1012, reason: "restart retry_ms=300")\nreconnecting in 0.3 s\n' in err
    assert err.count("connected (press") == 2


@pytest.mark.parametrize("script", [
    closes(1001), closes(1002), closes(1011), closes(4408), closes(4409), closes(None), closes(3000),
    lambda c: c.upgrade(), lambda c: c.refuse("500 No"), lambda c: None, lambda c: c.refuse("429 Many")])
def test_it_comes_back_with_backoff(peer, run_livecat, script):
    server = peer(script, greet("two"))
    status, out, err = run_livecat("--reconnect", server.url)
    wait = float(re.search(r"reconnecting in (\S+) s", err).group(1))
    assert (status, out) == (0, b"two\n") and 0.5 <= wait <= 1.0


def test_it_comes_back_at_once_for_a_new_token(peer, run_livecat):
    _, out, err = run_livecat("--reconnect", peer(closes(4401, "token expired"), greet("two")).url)
    assert out == b"two\n" and "reconnecting in 0.0 s" in err


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


def test_it_stops_when_its_only_token_has_expired(peer, run_livecat):
    server = peer(closes(4401, "token expired"), greet("two"))
    status, out, _ = run_livecat("--reconnect", "-H", "authorization: Bearer old", server.url)
    assert (status, out, server.connections) == (3, b"", 1)


def test_it_waits_as_long_as_a_refusal_says(peer, run_livecat):
    begin = time.monotonic()
    _, out, err = run_livecat("--reconnect", peer(lambda c: c.refuse("503 Busy", "Retry-After: 1"), greet("two")).url)
    assert out == b"two\n" and time.monotonic() - begin > 1
    assert 1.0 <= float(re.search(r"reconnecting in (\S+) s", err).group(1)) <= 2.0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 426])
def test_it_stops_where_coming_back_changes_nothing(peer, run_livecat, status):
    server = peer(closes(1012, "retry_ms=0"), lambda c: c.refuse(f"{status} No"))
    ended, _, err = run_livecat("--reconnect", server.url)
    assert ended == 1 and str(status) in err and server.connections == 2


def test_it_stops_when_it_is_done_or_revoked(peer, run_livecat):
    revoked = peer(closes(4403, "revoked"))
    assert run_livecat("--reconnect", revoked.url)[0] == 3 and revoked.connections == 1
    done = peer(closes(1000))
    assert run_livecat("--reconnect", done.url)[0] == 0 and done.connections == 1


def test_the_first_attempt_may_fail_too(peer, livecat, tmp_path):
    path = tmp_path / "socket"
    program = livecat("--reconnect", "--count", "1", f"ws+unix:{path}:/")
    assert program.notice().startswith("error: ")
    assert program.notice().startswith("reconnecting in ")
    peer(greet("one"), path=path)
    assert program.finish()[:2] == (0, b"one\n")


def test_count_counts_over_all_connections(peer, run_livecat):
    def script(connection):
        connection.upgrade()
        connection.text("m")
        connection.close(1012, "retry_ms=0")
    server = peer(script)
    assert run_livecat("--reconnect", "--count", "3", server.url)[:2] == (0, b"m\nm\nm\n")
    assert server.connections == 3


def test_it_can_be_ended_while_it_waits(peer, livecat):
    program = livecat("--reconnect", peer(closes(1012, "retry_ms=60000")).url)
    while "reconnecting in 60.0 s" not in program.notice():
        pass
    program.signal()
    assert program.finish()[0] == 0


def test_duration_counts_over_all(peer, run_livecat):
    begin = time.monotonic()
    assert run_livecat("--reconnect", "--duration", "1s", peer(closes(1012, "retry_ms=60000")).url)[0] == 0
    assert time.monotonic() - begin >= 1


def test_executed_messages_are_sent_to_each_connection(peer, run_livecat):
    def once(connection):
        connection.upgrade()
        connection.peer.frames.append(connection.receive())
        connection.close(1012, "retry_ms=0")
    server = peer(once, serve)
    assert run_livecat("--reconnect", "-x", "a", "-w", "1", server.url)[0] == 0
    assert server.frames == [("text", "a"), ("text", "a"), ("close", 1000, "")]


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
    assert "the next token is taken, it ends at 2026-11-21T" in err
