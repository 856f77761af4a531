# Tests: Cat+Input.swift, Cat.swift, Input.swift, Output.swift
"""livecat in a pipe: what goes in, what comes out."""

import json
import re
import subprocess
import time

import pytest

from programs import eventually
from scripts import greet, serve


def test_each_message_is_a_line_and_nothing_else_is(peer, run_livecat):
    def script(connection):
        connection.upgrade()
        connection.text("one", "\x1b[31mtwo\u00fc", "")
        connection.binary(b"\x00\xff\n\x1b")
        connection.close()
    status, out, err = run_livecat(peer(script).url)
    assert (status, out) == (0, "one\n\x1b[31mtwo\u00fc\n\n".encode() + b"\x00\xff\n\x1b\n")
    assert err == 'connected (press CTRL+C to quit)\ndisconnected (code: 1000, reason: "")\n'


@pytest.mark.parametrize("options, data, frames", [
    ([], b"one\n\n/ping a\r\nlast \xff", [("text", "one"), ("text", ""), ("text", "/ping a"), ("text", "last \ufffd")]),
    (["--binary"], b"\xff\x00\nb\r\n", [("binary", b"\xff\x00"), ("binary", b"b\r")]),
])
@pytest.mark.parametrize("source", ["pipe", "file"])
def test_input_is_sent_a_line_a_message_and_its_end_closes(peer, run_livecat, tmp_path, options, data, frames, source):
    server = peer(serve)
    if source == "pipe":
        status, out, _ = run_livecat(*options, server.url, data=data)
    else:
        (tmp_path / "input").write_bytes(data)
        with open(tmp_path / "input") as file:
            status, out, _ = run_livecat(*options, server.url, stdin=file)
    assert (status, out) == (0, b"") and server.frames == [*frames, ("close", 1000, "")]


def test_what_is_answered_before_the_close_is_still_shown(peer, run_livecat):
    def echo(connection):
        connection.upgrade()
        while (frame := connection.receive())[0] == "text":
            connection.text(frame[1])
        connection.frame(0x88, b"\x03\xe8")
    assert run_livecat(peer(echo).url, data=b"one\ntwo\n")[:2] == (0, b"one\ntwo\n")


@pytest.mark.parametrize("lines", [[f"{number} " + "x" * 1000 for number in range(3000)], 200_000 * ["y"]],
                         ids=["long lines", "many lines"])
def test_much_input_is_sent_whole(peer, livecat, lines):
    server = peer(serve)
    program = livecat(server.url)
    # The pipe is not buffered here: a write that is interrupted takes a part.
    rest = memoryview("\n".join([*lines, ""]).encode())
    while rest:
        rest = rest[program.process.stdin.write(rest):]
    # It ends when the server has all of them: for the answer to a close it waits five seconds.
    eventually(lambda: len(server.frames) >= len(lines), 60, lambda: f"{len(lines)} messages: {len(server.frames)}")
    assert program.finish()[0] == 0
    assert server.frames == [*(("text", line) for line in lines), ("close", 1000, "")]


def test_input_that_is_empty_from_the_start_ends_nothing(peer, run_livecat):
    assert run_livecat(peer(greet("one")).url, data=b"")[:2] == (0, b"one\n")
    assert run_livecat(peer(greet("one")).url, stdin=subprocess.DEVNULL)[:2] == (0, b"one\n")


def test_executed_messages_go_first_and_in_order(peer, run_livecat):
    server = peer(serve)
    assert run_livecat("-x", "a", "--execute=b", "-w", "1", server.url, data=b"c\n")[0] == 0
    assert server.frames == [("text", "a"), ("text", "b"), ("text", "c"), ("close", 1000, "")]


def test_duration_ends_after_so_long(peer, run_livecat):
    # Long enough to connect, however busy the machine is.
    for seconds in (2, 60):
        server = peer(lambda c: (c.upgrade(), c.text("1"), c.serve()))
        begin = time.monotonic()
        status, out, _ = run_livecat("--duration", f"{seconds}s", server.url, data=b"x\n")
        assert status == 0 and time.monotonic() - begin >= seconds
        if server.frames == [("text", "x"), ("close", 1000, "")] and out == b"1\n":
            break
    else:
        raise AssertionError(f"{server.frames} {out}")


def test_json_tells_everything_that_happens(peer, run_livecat):
    def script(connection):
        connection.upgrade("Sec-WebSocket-Protocol: livegate.v1")
        connection.text('say "\u00fc"\n')
        connection.binary(b"\x00\xff")
        connection.ping(b"p")
        connection.pong(b"q\xff")
        connection.close(1001, "server stops")
    status, out, err = run_livecat("--json", "-P", "-s", "livegate.v1", peer(script).url)
    lines = [json.loads(line) for line in out.splitlines()]
    for line in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert (status, lines) == (0, [
        {"type": "open", "subprotocol": "livegate.v1"}, {"type": "message", "text": 'say "\u00fc"\n'},
        {"type": "message", "base64": "AP8="}, {"type": "ping", "text": "p"}, {"type": "pong", "base64": "cf8="},
        {"type": "close", "code": 1001, "reason": "server stops"}])
    assert 'received ping (data: "p")\nreceived pong (data: "q\ufffd")\n' in err


def test_ping_tells_the_round_trip(peer, run_livecat):
    def script(connection):
        connection.upgrade()
        for _ in range(2):
            connection.pong(connection.receive()[1])
        connection.close()
    _, out, err = run_livecat("--ping", "20ms", peer(script).url)
    assert len(re.findall(r"^pong after \d+\.\d\d ms$", err, re.M)) == 2 and out == b""
    assert "received" not in err, "nobody has asked with -P"


def test_slash_commands(peer, run_livecat):
    server = peer(serve)
    status, _, err = run_livecat("--slash", server.url, data=b"/ping a\n/pong b\n/nope\nhi\n/close 4001 go away\nlost\n")
    assert status == 0 and "error: unrecognized slash command" in err
    assert server.frames == [("ping", b"a"), ("pong", b"b"), ("text", "hi"), ("close", 4001, "go away")]


def test_a_closed_pipe_ends_it_quietly(peer, livecat):
    def script(connection):
        connection.upgrade()
        while True:
            connection.text("x" * 1000)
    program = livecat(peer(script).url)
    assert program.line().startswith(b"x")
    program.process.stdout.close()
    status = program.wait()
    err = program.process.stderr.read().decode()
    assert status == 0 and "error" not in err and "roken" not in err


def test_a_reader_that_stalls_holds_the_server_back_and_loses_nothing(peer, livecat):
    total = 40_000
    def script(connection):
        connection.upgrade()
        for number in range(total):
            connection.text(f"{number:06} " + "y" * 1000)
        connection.close()
    program = livecat(peer(script).url)
    program.line()
    try:
        program.process.wait(1)
        raise AssertionError("it ended")
    except subprocess.TimeoutExpired:
        pass
    status, out, _ = program.finish()
    assert status == 0 and [int(line[:6]) for line in out.splitlines()] == list(range(1, total))


def test_a_reader_that_stalls_keeps_nobody_from_ending_it(peer, livecat):
    def script(connection):
        connection.upgrade()
        while True:
            connection.text("x" * 1000)
    program = livecat(peer(script).url)
    program.line()
    try:
        program.process.wait(0.5)
    except subprocess.TimeoutExpired:
        pass
    program.signal()
    assert program.wait() == 0
