# Tests: Screen.swift, TerminalMode.swift
"""livecat on a terminal."""

import json
import signal
import subprocess
import threading

from test_livecat_ends import closes
from test_livecat_pipe import greet, serve

BLUE, GREEN, PLAIN, CLEAR = "\x1b[34m", "\x1b[32m", "\x1b[39m", "\r\x1b[K"


def test_it_looks_as_wscat(peer, terminal):
    program = terminal(peer(greet('{"ent":"incident"}')).url)
    program.expect(f"{GREEN}connected (press CTRL+C to quit){PLAIN}\r\n")
    program.expect("> ")
    program.expect(f'{BLUE}< {{"ent":"incident"}}{PLAIN}\r\n')
    program.expect(f'{GREEN}disconnected (code: 1000, reason: ""){PLAIN}\r\n')
    assert program.finish() == 0 and program.is_restored()


def test_without_colours(peer, terminal):
    for options, env in ((["--no-color"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"})):
        program = terminal(*options, peer(greet("one")).url, env=env)
        program.expect("connected (press CTRL+C to quit)\r\n")
        program.expect("< one\r\n")
        assert program.finish() == 0 and BLUE not in program.shown and GREEN not in program.shown


def test_control_characters_of_a_peer_are_escaped(peer, terminal):
    def script(connection):
        connection.upgrade()
        connection.text("a\x1b[2Jb\nc\x9bd\u2028e")
        connection.binary(b"\x00\x1b\xff")
        connection.close(4000, "bad\x07")
    program = terminal(peer(script).url)
    program.expect("< a\\u{1b}[2Jb\\nc\\u{9b}d\\u{2028}e")
    program.expect("< 001bff")
    program.expect('(code: 4000, reason: "bad\\u{7}")')
    assert program.finish() == 3


def test_lines_are_edited_and_sent(peer, terminal):
    server = peer(serve)
    program = terminal(server.url)
    program.expect("> ")
    program.type("helo\x1b[Dl\x05 w\u00f6rldx\x7f\r")
    program.expect("> hello w\u00f6rld\r\n")
    program.type("second\r")
    program.expect("> second\r\n")
    program.type("\x1b[A\x1b[A!\r")
    program.expect("> hello w\u00f6rld!\r\n")
    program.type("\r\x04")
    assert program.finish() == 0 and program.is_restored()
    assert server.frames == [("text", "hello w\u00f6rld"), ("text", "second"), ("text", "hello w\u00f6rld!"), ("text", ""),
                             ("close", 1000, "")]


def test_what_comes_leaves_the_line_being_typed_alone(peer, terminal):
    def script(connection):
        connection.upgrade()
        connection.receive()
        connection.text("news")
        connection.peer.frames.append(connection.receive())
        connection.close()
    server = peer(script)
    program = terminal(server.url)
    program.expect("> ")
    program.type("go\rhalf")
    program.expect(f"{BLUE}< news{PLAIN}\r\n{CLEAR}> half")
    program.type(" done\r")
    assert program.finish() == 0 and server.frames == [("text", "half done")]


def test_a_long_line_stays_on_its_row(peer, terminal):
    server = peer(serve)
    program = terminal(server.url, columns=20)
    program.expect("> ")
    program.type("0123456789" * 3)
    program.expect("> 34567890123456789\r\x1b[19C")
    program.type("\r\x04")
    assert program.finish() == 0 and server.frames[0] == ("text", "0123456789" * 3)


def test_control_c_and_control_d_say_goodbye(peer, terminal):
    for key in ("\x03", "\x04"):
        server = peer(serve)
        program = terminal(server.url)
        program.expect("> ")
        program.type(key)
        assert program.finish() == 0 and program.is_restored() and server.frames == [("close", 1000, "")]


def test_a_hang_up_says_goodbye(peer, terminal):
    server = peer(serve)
    program = terminal(server.url)
    program.expect("> ")
    program.process.send_signal(signal.SIGHUP)
    assert program.finish() == 0 and server.frames == [("close", 1000, "")]


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


def test_slash_commands(peer, terminal):
    server = peer(serve)
    program = terminal("--slash", server.url)
    program.expect("> ")
    program.type("/ping a\r/what\r")
    program.expect("error: unrecognized slash command")
    program.type("/close 4001 bye\r")
    assert program.finish() == 0 and server.frames == [("ping", b"a"), ("close", 4001, "bye")]


def test_pings_and_pongs(peer, terminal):
    def script(connection):
        connection.upgrade()
        connection.ping(b"p")
        connection.close()
    program = terminal("-P", peer(script).url)
    program.expect(f'{BLUE}< received ping (data: "p"){PLAIN}')
    assert program.finish() == 0


def test_executed_messages_have_no_prompt(peer, terminal):
    def script(connection):
        connection.upgrade()
        connection.text(connection.receive()[1])
        connection.serve()
    server = peer(script)
    program = terminal("-x", "hi", "-w", "1", server.url)
    program.expect("hi\r\n")
    assert program.finish() == 0 and program.shown == "hi\r\n" and server.frames == [("close", 1000, "")]


def test_json_has_no_prompt(peer, terminal):
    program = terminal("--json", peer(greet("one")).url)
    program.expect('"text":"one"}\r\n')
    assert program.finish() == 0 and "> " not in program.shown
    lines = [line for line in program.shown.splitlines() if line.startswith("{")]
    assert [json.loads(line)["type"] for line in lines] == ["open", "message", "close"]


def test_output_into_a_pipe_stays_clean(peer, terminal):
    server = peer(lambda c: (c.upgrade(), c.text(c.receive()[1]), c.serve()))
    program = terminal(server.url, stdout=subprocess.PIPE)
    program.expect("connected")
    program.type("typed\n")
    assert program.process.stdout.readline() == b"typed\n"
    program.type("\x04")
    assert program.finish() == 0 and program.process.stdout.read() == b""


def test_a_refusal_on_a_terminal(peer, terminal):
    program = terminal(peer(lambda c: c.refuse("401 No", body="why")).url)
    program.expect("error: unexpected server response: 401 No")
    program.expect("why")
    assert program.finish() == 1 and program.is_restored()


def test_reconnecting_keeps_the_prompt(peer, terminal):
    may_answer = threading.Event()
    server = peer(closes(1012, "retry_ms=200"), lambda connection: (may_answer.wait(), serve(connection)))
    program = terminal("--reconnect", server.url)
    program.expect("reconnecting in 0.2 s")
    program.type("early\r")
    program.expect("error: not connected")
    may_answer.set()
    program.expect("connected (press")
    program.type("late\r\x04")
    assert program.finish() == 0 and server.frames == [("text", "late"), ("close", 1000, "")]
