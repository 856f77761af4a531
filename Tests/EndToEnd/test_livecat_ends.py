# Tests: Cat+Connection.swift, livecat/Main.swift
"""How livecat ends: each kind of end with its status, and the signals. All words and statuses are tested in EndingTests."""

import signal

import pytest

from scripts import answers, closes, event_stream, serve


def breaks(frame):
    """A WebSocket that sends a frame and keeps what it is answered."""
    def script(connection):
        connection.upgrade()
        connection.send(frame)
        connection.peer.frames.append(connection.receive()[:2])
    return script


def cut(connection):
    connection.upgrade()
    connection.text("one")


def half(connection):
    connection.head()
    connection.send('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"events":[],"at":"1","more":false}')


TOO_LARGE = b"\x82\x7f" + (64 * 2**20 + 1).to_bytes(8, "big")

# Options, what the server does, and then: the status, standard output, what is told, and what the server gets.
ENDS = {
    "a clean close": ([], closes(1001, "bye"), 0, b"", 'disconnected (code: 1001, reason: "bye")', []),
    "another close": ([], closes(4401, "why\u00fc"), 3, b"", 'disconnected (code: 4401, reason: "why\u00fc")', []),
    "a close without a code": ([], closes(None), 3, b"", "code: 1005", []),
    "a cut": ([], cut, 3, b"one\n", "error: connection lost (code: 1006)", []),
    "a frame that is masked": ([], breaks(b"\x81\x81\0\0\0\0a"), 3, b"", "code: 1002", [("close", 1002)]),
    "a text that is none": ([], breaks(b"\x81\x01\xff"), 3, b"", "code: 1007", [("close", 1007)]),
    "a message over 64 MiB": ([], breaks(TOO_LARGE), 3, b"", "code: 1009", [("close", 1009)]),
    "a refusal": ([], answers("404 No\x9b", "\x1b[2J" + "b" * 9000), 1, b"", "404 No\\u{9b}\n\\u{1b}[2J" + "b" * 4000, []),
    "no HTTP": ([], lambda c: (c.head(), c.send("SSH-2.0-OpenSSH_9.2\r\n")), 2, b"", "error: the answer is broken", []),
    "nobody listens": ([], None, 2, b"", "refused", []),
    "a proxy's refusal": (["--proxy"], answers("407 No", ""), 2, b"", "error: the proxy answered 407", []),
    "the end of an event stream": (["--sse"], event_stream("data: x\n\n"), 3, b"x\n", "the server ended the stream", []),
    "no event stream": (["--sse"], answers("200 OK", "hello"), 1, b"", "200", []),
    "a refused page": (["--sync"], answers("400 Bad", '{"code":"bad_cursor"}'), 1, b"", "bad_cursor", []),
    "a refused mark": (["--mark-read", "m"], answers("403 No", '{"code":"forbidden"}'), 1, b"", "forbidden", []),
    "half a page": (["--sync"], half, 2, b"", "error: ", []),
    "no token": (["--token-file", "/nowhere/none"], serve, 66, b"", "/nowhere/none", []),
}


@pytest.mark.parametrize("options, script, status, out, told, frames", ENDS.values(), ids=ENDS)
def test_each_end_has_its_status_and_its_words(peer, run_livecat, options, script, status, out, told, frames):
    server = peer(script)
    if script is None:
        server.end()
    words = [*options, server.host, "ws://far.example/x"] if options == ["--proxy"] else [*options, server.url]
    ended, shown, err = run_livecat(*words)
    assert (ended, shown) == (status, out) and told in err and "\x1b" not in err, err
    # Of a refusal's body no more than 4 KiB is shown.
    assert server.frames == frames and err.count("b") < 4100


def test_a_message_of_64_mib_is_taken(peer, run_livecat):
    size = 64 * 2**20
    status, out, _ = run_livecat(peer(lambda c: (c.upgrade(), c.binary(b"z" * size), c.close())).url)
    assert status == 0 and len(out) == size + 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_say_goodbye(peer, livecat, number):
    server = peer(serve)
    program = livecat(server.url)
    assert "connected" in program.notice()
    program.signal(number)
    assert program.finish()[0] == 0 and server.frames == [("close", 1000, "")]


def test_a_second_signal_does_not_wait(peer, livecat):
    def script(connection):
        connection.upgrade()
        connection.receive()
        connection.text("closing")
        connection.more()
        connection.more()
    program = livecat(peer(script).url)
    assert "connected" in program.notice()
    program.signal()
    assert program.line() == b"closing\n"
    program.signal()
    status, _, err = program.finish()
    assert status == 0 and "no answer to the close" not in err
