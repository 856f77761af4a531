# Tests: TerminalMode.swift
"""livecat on a terminal."""

import signal
import subprocess
import threading

import pytest

from scripts import closes, serve

BLUE, GREEN, PLAIN, CLEAR = "\x1b[34m", "\x1b[32m", "\x1b[39m", "\r\x1b[K"


def test_it_looks_as_wscat_and_leaves_the_line_being_typed_alone(peer, terminal):
    def script(connection):
        connection.upgrade()
        connection.receive()
        connection.text("news\x1b[2J")
        connection.peer.frames.append(connection.receive())
        connection.close()
    server = peer(script)
    program = terminal(server.url)
    program.expect(f"{GREEN}connected (press CTRL+C to quit){PLAIN}\r\n")
    program.expect("> ")
    program.type("go\rhalf")
    program.expect(f"{BLUE}< news\\u{{1b}}[2J{PLAIN}\r\n{CLEAR}> half")
    program.type(" done\r")
    program.expect(f'{GREEN}disconnected (code: 1000, reason: ""){PLAIN}\r\n')
    assert program.finish() == 0 and program.is_restored() and server.frames == [("text", "half done")]


def test_lines_are_edited_and_sent(peer, terminal):
    server = peer(serve)
    program = terminal("--slash", server.url, columns=20)
    program.expect("> ")
    program.type("helo\x1b[Dl\x05 w\u00f6rldx\x7f\r")
    program.expect("> hello w\u00f6rld\r\n")
    program.type("second\r")
    program.expect("> second\r\n")
    program.type("\x1b[A\x1b[A!\r")
    program.expect("> hello w\u00f6rld!\r\n")
    program.type("0123456789" * 3)
    # A line that is too long for the terminal stays on its row.
    program.expect("> 34567890123456789\r\x1b[19C")
    program.type("\r\r/ping a\r/what\r")
    program.expect("error: unrecognized slash command")
    program.type("/close 4001 bye\r")
    assert program.finish() == 0 and program.is_restored()
    assert server.frames == [("text", "hello w\u00f6rld"), ("text", "second"), ("text", "hello w\u00f6rld!"),
                             ("text", "0123456789" * 3), ("text", ""), ("ping", b"a"), ("close", 4001, "bye")]


@pytest.mark.parametrize("key", ["\x03", "\x04", None], ids=["Ctrl-C", "Ctrl-D", "a hang-up"])
def test_it_says_goodbye(peer, terminal, key):
    server = peer(serve)
    program = terminal(server.url)
    program.expect("> ")
    if key:
        program.type(key)
    else:
        program.process.send_signal(signal.SIGHUP)
    assert program.finish() == 0 and program.is_restored() and server.frames == [("close", 1000, "")]


def test_it_can_be_stopped_and_continued(peer, terminal):
    server = peer(serve)
    program = terminal(server.url)
    program.expect("> ")
    program.type("half")
    program.expect("> half")
    program.process.send_signal(signal.SIGSTOP)
    program.process.send_signal(signal.SIGCONT)
    program.expect("> half")
    program.type("\r\x04")
    assert program.finish() == 0 and server.frames[0] == ("text", "half")


def test_executed_messages_have_no_prompt(peer, terminal):
    def script(connection):
        connection.upgrade()
        connection.text(connection.receive()[1])
        connection.serve()
    server = peer(script)
    program = terminal("-x", "hi", "-w", "1", server.url)
    program.expect("hi\r\n")
    assert program.finish() == 0 and program.shown == "hi\r\n" and server.frames == [("close", 1000, "")]


def test_output_into_a_pipe_stays_clean(peer, terminal):
    server = peer(lambda c: (c.upgrade(), c.text(c.receive()[1]), c.serve()))
    program = terminal(server.url, stdout=subprocess.PIPE)
    program.expect("connected")
    program.type("typed\n")
    assert program.process.stdout.readline() == b"typed\n"
    program.type("\x04")
    assert program.finish() == 0 and program.process.stdout.read() == b""


def test_reconnecting_keeps_the_prompt(peer, terminal):
    may_answer = threading.Event()
    server = peer(closes(1012, "retry_ms=200"), lambda connection: (may_answer.wait(), serve(connection)))
    program = terminal("--reconnect", server.url, env={"NO_COLOR": "1"})
    program.expect("reconnecting in 0.2 s")
    program.type("early\r")
    program.expect("error: not connected")
    may_answer.set()
    program.expect("connected (press")
    program.type("late\r\x04")
    assert program.finish() == 0 and server.frames == [("text", "late"), ("close", 1000, "")]
    assert BLUE not in program.shown and GREEN not in program.shown, "NO_COLOR is set"
