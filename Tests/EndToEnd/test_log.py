# Tests: ConnectionLog.swift
"""The log of a gateway with clients: what a peer says forges nothing and betrays nothing, and who does not read stops
nothing."""

import asyncio
import datetime
import fcntl
import json
import os
import re
import threading

import pytest

from caller import Caller
from gateway import static_tokens
from programs import PATIENCE, event, eventually, produce
from rawclient import RawClient, play, until
from wire import ask, connect, frame, upgrade

LEVELS = {"trace", "debug", "info", "notice", "warning", "error", "critical"}
FORGERY = '\u2028{"time":"2000-01-01T00:00:00.000Z","level":"notice","message":"forged"}\u0085\x1b[31m"\\ é'


def records(lines):
    """Each line as an object with time, level and message."""
    told = [json.loads(line) for line in lines]
    for record in told:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["time"])
        datetime.datetime.fromisoformat(record["time"])
        assert record["level"] in LEVELS and record["message"]
    return told


def say_everything(door, tokens):
    """Whatever a peer can put into a request or a frame; returns the secrets among it."""
    good = tokens.token("PACC1")
    secrets = ["SECRETQUERY", "SECRETBEARER", "SECRETCOOKIE", *good.split(".")]
    requests = [
        upgrade(good, path="/live/v1?access_token=SECRETQUERY&x=" + "%0a%1b"),
        upgrade("SECRETBEARER"), upgrade("a.SECRETBEARER.c"), upgrade(good + "SECRETBEARER"),
        upgrade(good, headers=["Cookie: SECRETCOOKIE", "X-Forwarded-For: " + FORGERY]),
        f"GET /{FORGERY}?SECRETQUERY HTTP/1.1\r\nHost: h\r\n\r\n".encode(),
        b"GET /\x1b[31m\n{\"forged\":1} HTTP/1.1\r\nHost: h\r\n\r\n",
        f"FORGED{FORGERY} / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic SECRETBEARER\r\n\r\n".encode(),
        b"GET / HTTP/1.1\r\nHost: h\r\nX: a\n{\"forged\":1}\r\n\r\n",
        f"POST /live/v1?SECRETQUERY HTTP/1.1\r\nHost: {FORGERY}\r\nUser-Agent: {FORGERY}\r\n\r\n".encode(),
    ]
    for request in requests:
        # Who was let in leaves with a reason of its own.
        ask(door.host, request + frame(0x8, b"\x03\xe8" + ("\n" + FORGERY).encode()), 10 * PATIENCE)
    return secrets


@pytest.mark.parametrize("form", ["json", "text"])
def test_peers_can_neither_forge_a_line_nor_put_secrets_into_it(gateway, mock_broker, tokens, form):
    door = gateway(mock_broker.bootstrap, log={"level": "trace", "format": form})
    secrets = say_everything(door, tokens)
    secrets.append(tokens.token("PACC1"))
    eventually(lambda: sum("refused" in line for line in door.program.err) >= 5, what="lines about refusals")
    door.program.signal()
    assert door.program.wait() == 0
    log = "\n".join(door.program.err)
    for secret in secrets:
        assert secret not in log
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]", log)
    if form == "json":
        assert "forged" not in {record["message"] for record in records(door.program.err)}
    else:
        assert all(re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z [a-z]+ ", line) for line in door.program.err)


def test_a_log_that_nobody_reads_stops_nothing_and_tells_what_was_dropped(gateway, mock_broker, tmp_path):
    pipe = tmp_path / "log"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, 4096)
    account = "é" * 127
    file = static_tokens(tmp_path, ["one"])
    file.write_text(file.read_text().replace('"one"', json.dumps(account)))
    door = gateway(mock_broker.bootstrap, auth={"tokens": str(file)},
                   stays=True, around=["/bin/sh", "-c", f'exec "$@" 2>{pipe}', "sh"])
    visits = 2000

    async def scenario():
        steady = await RawClient.open(door.host, "token-one")
        # Each visit is two lines: opened and closed. More of them than pipe and queue hold.
        for _ in range(visits // 50):
            visitors = await asyncio.gather(*(RawClient.open(door.host, "token-one", listen=False) for _ in range(50)))
            for visitor in visitors:
                visitor.drop()
        await asyncio.to_thread(produce, mock_broker.bootstrap, "incidents", [event(account, n) for n in range(100)])
        await until(lambda: len(steady.messages) == 100 or steady.close, what="events beside a log that nobody reads")
        assert steady.ids == [str(number) for number in range(100)]

    play(scenario())
    lines = []
    os.set_blocking(reading, True)
    reader = threading.Thread(target=lambda: lines.extend(open(reading, encoding="utf-8")), daemon=True)
    reader.start()
    eventually(lambda: any("lines were dropped" in line for line in lines), what="the line that tells of the drop")
    door.program.signal()
    assert door.program.wait() == 0
    reader.join(10 * PATIENCE)
    told = records(lines)
    dropped = sum(record.get("dropped", 0) for record in told)
    visited = sum(record["message"] in ("connection opened", "connection closed") for record in told)
    assert dropped > 0 and told[-1]["message"] == "stopped"
    # Of every line it is known what became of it; a few that are neither opened nor closed may be among the dropped.
    assert 2 * (visits + 1) <= visited + dropped <= 2 * (visits + 1) + 20


def closes(door, count):
    return [(line["by"], line.get("code")) for line in
            (door.wait_for_log("connection closed", count=number + 1) for number in range(count))]


def test_the_log_says_who_closed_and_with_which_code(gateway, mock_broker, tmp_path):
    account = 'P"A\\C\u2028C{"a":1}'
    file = static_tokens(tmp_path, ["one"])
    file.write_text(file.read_text().replace('"one"', json.dumps(account)))
    door = gateway(mock_broker.bootstrap, auth={"tokens": str(file)})

    def opened(request=upgrade("token-one")):
        peer = connect(door.host)
        peer.sendall(request)
        assert peer.recv(4096).startswith(b"HTTP/1.1 ")
        return peer

    events = b"GET /live/v1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer token-one\r\nAccept: text/event-stream\r\n\r\n"
    with opened() as leaves:
        leaves.sendall(frame(0x8, b"\x0f\xa0"))
        assert closes(door, 1) == [("client", 4000)]
    # An account with quotes and separators stands escaped in it.
    line = door.program.line('"message":"connection opened"')
    assert records([line])[0]["account"] == account and "\u2028" not in line
    with opened() as breaks:
        breaks.sendall(frame(0x3))
        assert closes(door, 2)[1:] == [("gateway", 1002)]
    opened().close()
    assert closes(door, 3)[2:] == [("client", 1006)]
    opened(events).close()
    assert closes(door, 4)[3:] == [("client", None)]
    with opened(), opened(events):
        door.program.signal()
        assert closes(door, 6)[4:] == [("gateway", 1012)] * 2
        assert door.program.wait() == 0


def test_refusals_and_failures_of_tls_are_told_once_in_a_while(tls_door, certificates):
    door, context = tls_door(), certificates.client()
    for _ in range(20):
        ask(door.host, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        with Caller(door.host, context) as caller:
            caller.send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            caller.head(404)
    for sentence, facts in {"request refused": {"level": "info", "status": 404, "code": "not_found"},
                            "TLS failed": {"level": "info", "reason": "plain_http"}}.items():
        line = door.wait_for_log(sentence)
        assert {name: line[name] for name in facts} == facts
        assert len(door.log(sentence)) == 1, sentence
    stopped = door.stop()
    assert "not_found=20" in stopped["refused"] and "tls_plain_http=20" in stopped["ended"]


def test_the_log_of_a_normal_day_fits_on_a_page(gateway, mock_broker, tokens):
    """With the default level nothing is written for a client that comes, is served and goes, or that is refused."""
    door = gateway(mock_broker.bootstrap, log={})
    token = tokens.token("PACC1")
    for _ in range(60):
        with connect(door.host) as peer:
            peer.sendall(upgrade(token))
            assert peer.recv(4096).startswith(b"HTTP/1.1 101 ")
    for path in ("/nothing", "/live/v1", "/sync/v1"):
        with connect(door.host) as peer:
            peer.sendall(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            assert peer.recv(4096).startswith(b"HTTP/1.1 4")
    produce(mock_broker.bootstrap, "incidents", [event("PACC1", number) for number in range(500)])
    stopped = door.stop()
    assert stopped["connections"] == 60 and len(door.program.err) < 15, door.program.told()
    assert {line["level"] for line in door.log()} == {"notice"}
