"""How livecat ends: statuses, notices, limits."""

import json
import signal
import subprocess
import time

import pytest

from test_livecat_pipe import greet, serve


def closes(code, reason=""):
    return lambda connection: (connection.upgrade(), connection.close(code, reason))


@pytest.mark.parametrize("code", [1000, 1001])
def test_clean_closes(peer, run_livecat, code):
    status, _, err = run_livecat(peer(closes(code, "bye")).url)
    assert status == 0 and f'disconnected (code: {code}, reason: "bye")' in err


@pytest.mark.parametrize("code", [1002, 1003, 1007, 1008, 1009, 1011, 1012, 1013, 3000, 4401, 4403, 4999])
def test_other_closes_are_told_with_their_code(peer, run_livecat, code):
    status, _, err = run_livecat(peer(closes(code, "why\u00fc")).url)
    assert status == 3 and f'disconnected (code: {code}, reason: "why\u00fc")' in err


def test_a_close_without_a_code(peer, run_livecat):
    status, _, err = run_livecat(peer(closes(None)).url)
    assert status == 3 and "code: 1005" in err


def test_a_cut(peer, run_livecat):
    status, out, err = run_livecat(peer(lambda c: (c.upgrade(), c.text("one"))).url)
    assert (status, out) == (3, b"one\n") and "code: 1006" in err


@pytest.mark.parametrize("frame,code", [
    (b"\x81\x81\0\0\0\0a", 1002), (b"\x83\x00", 1002), (b"\x81\x01\xff", 1007), (b"\x88\x01x", 1002), (b"\xc1\x00", 1002),
    (b"\x82\x7f" + (64 * 2**20 + 1).to_bytes(8, "big"), 1009)])
def test_a_broken_frame(peer, run_livecat, frame, code):
    told = []
    def script(connection):
        connection.upgrade()
        connection.send(frame)
        told.append(connection.receive()[1])
    status, _, err = run_livecat(peer(script).url)
    assert status == 3 and f"code: {code}" in err and told == [code]


def test_a_message_of_64_mib_is_taken(peer, run_livecat):
    size = 64 * 2**20
    status, out, _ = run_livecat(peer(lambda c: (c.upgrade(), c.binary(b"z" * size), c.close())).url)
    assert status == 0 and len(out) == size + 1


@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request", "401 Unauthorized", "404 Not Found", "503 Busy"])
def test_another_status_than_101(peer, run_livecat, status):
    body = json.dumps({"code": "x", "detail": "why\x1b[31m"})
    ended, out, err = run_livecat(peer(lambda c: c.refuse(status, body=body)).url)
    assert (ended, out) == (1, b"") and f"error: unexpected server response: {status}" in err and body in err


def test_the_body_of_a_refusal_is_told_up_to_4_kib_and_steers_no_terminal(peer, run_livecat):
    status, _, err = run_livecat(peer(lambda c: c.refuse("500 No\x9b", body="\x1b[2J" + "b" * 9000)).url)
    assert status == 1 and "\x1b" not in err and "\\u{1b}[2J" in err
    assert err.count("b") < 4100 and "b" * 4000 in err


@pytest.mark.parametrize("answer", [
    "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 101 S\r\n\r\n",
    "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAA\r\n\r\n"])
def test_an_answer_that_is_no_upgrade(peer, run_livecat, answer):
    status, _, err = run_livecat(peer(lambda c: (c.head(), c.send(answer))).url)
    assert status == 2 and err.startswith("error: ")


def test_no_network(run_livecat, tmp_path, peer):
    gone = peer(greet())
    gone.end()
    status, _, err = run_livecat(gone.url)
    assert status == 2 and "refused" in err
    assert run_livecat("ws://no-such-name.invalid/")[0] == 2
    assert run_livecat(f"ws+unix:{tmp_path}/none:/")[0] == 2


def test_no_answer_within_ten_seconds_however_slowly_it_trickles(peer, run_livecat):
    def script(connection):
        connection.head()
        for byte in b"HTTP/1.1 101 Switching Protocols and so on for ever":
            connection.send(bytes([byte]))
            time.sleep(0.5)
    begin = time.monotonic()
    status, _, err = run_livecat(peer(script).url)
    assert status == 2 and "within 10 s" in err and 9 < time.monotonic() - begin


def test_a_close_that_is_not_answered_is_given_up_after_five_seconds(peer, livecat):
    def script(connection):
        connection.upgrade()
        connection.receive()
        connection.more()
    program = livecat(peer(script).url)
    assert "connected" in program.notice()
    begin = time.monotonic()
    program.signal()
    status, _, err = program.finish()
    assert status == 0 and "no answer to the close" in err and time.monotonic() - begin > 4.9


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


def test_no_pong_is_a_lost_connection(peer, run_livecat):
    def script(connection):
        connection.upgrade()
        connection.receive()
        connection.more()
    status, _, err = run_livecat("--ping", "100ms", peer(script).url)
    assert status == 3 and "no pong within 10 s" in err


@pytest.mark.parametrize("arguments,told", [
    ([], "URL"), (["-c", "ws://a", "ws://b"], "--connect"), (["ws://a", "ws://b"], "ws://b"), (["ftp://a"], "ftp"),
    (["ws://a:0"], "port"), (["ws://a#b"], "#"), (["--colour", "ws://a"], "--no-color"), (["-l", "80"], "-L"),
    (["-p", "12", "ws://a"], "12"), (["-p", "x", "ws://a"], "-p"), (["-H", "nothing", "ws://a"], "--header"),
    (["-H", "A B: c", "ws://a"], "--header"), (["-H", "A: b\nC: d", "ws://a"], "--header"),
    (["--count", "0", "ws://a"], "--count"), (["--duration", "5", "ws://a"], "30s"), (["--ping", "-1s", "ws://a"], "30s"),
    (["--token-file", "x", "-H", "authorization: y", "ws://a"], "--token-file"),
    (["--token-file", "x", "--auth", "u:p", "ws://a"], "--token-file"), (["-s", "a b", "ws://a"], "token"),
    (["-w", "x", "ws://a"], "seconds"), (["--max-redirects", "x", "ws://a"], "--max-redirects"),
    (["--key", "x", "wss://a"], "--cert"), (["--proxy", "socks://a", "ws://a"], "socks"), (["--json=x", "ws://a"], "--json")])
def test_wrong_use_is_one_line(run_livecat, arguments, told):
    status, out, err = run_livecat(*arguments)
    assert (status, out) == (64, b"") and err.count("\n") == 1 and err.startswith("livecat: ")
    if told.startswith("-p"):
        told = "--protocol"
    assert told in err


@pytest.mark.parametrize("option", ["--token-file", "--ca", "--cert"])
def test_files_that_cannot_be_read(run_livecat, peer, option, tmp_path):
    status, _, err = run_livecat(option, tmp_path / "none", peer(greet()).url)
    assert status == 66 and "none" in err and err.count("\n") == 1


def test_secrets_are_not_told(peer, livecat, run_livecat):
    status, _, err = run_livecat("-H", "Authorization Bearer hush", "ws://a")
    assert status == 64 and "hush" not in err
    server = peer(serve)
    program = livecat("-H", "Authorization: Bearer hush", "--passphrase=hush3", f"ws://u:hush2@{server.host}/",
                      stdin=subprocess.DEVNULL)
    assert "connected" in program.notice()
    with open(f"/proc/{program.process.pid}/cmdline", "rb") as file:
        assert b"hush" not in file.read()
    program.signal()
    assert "hush" not in program.finish()[2]


def test_help_and_version_go_to_standard_output(run_livecat):
    for option, told in (("--help", b"--token-file FILE"), ("-h", b"Exit status"), ("--version", b"livecat 0"), ("-V", b"livecat 0")):
        status, out, err = run_livecat(option)
        assert (status, err) == (0, "") and told in out
