"""The door: what is refused, how, and what is let in."""

import json
import time

import pytest

from caller import Caller
from gateway import static_tokens
from programs import PATIENCE
from wire import KEY, ask, connect, get, upgrade

GOOD = upgrade("token-PACC1")


@pytest.fixture
def door(gateway, mock_broker, tmp_path):
    return gateway(mock_broker.bootstrap, auth={"tokens": str(static_tokens(tmp_path, ["PACC1"]))})


def changed(old, new, count=1):
    assert old.encode() in GOOD
    return GOOD.replace(old.encode(), new.encode(), count)


def header(line):
    return GOOD.replace(b"Host: localhost\r\n", b"Host: localhost\r\n" + line.encode("latin-1") + b"\r\n")


BAD_REQUESTS = {
    "transfer-encoding beside content-length": header("Transfer-Encoding: chunked\r\nContent-Length: 0"),
    "content-length twice": header("Content-Length: 0\r\nContent-Length: 0"),
    "content-length with a sign": header("Content-Length: +0"),
    "content-length as a list": header("Content-Length: 0, 0"),
    "bare line feed": GOOD.replace(b"Upgrade: websocket\r\n", b"Upgrade: websocket\n"),
    "bare carriage return": header("X-A: a\rb"),
    "nul": header("X-A: a\0b"),
    "folded line": header("X-A: a\r\n b"),
    "space before the colon": header("X-A : b"),
    "two hosts": header("Host: other"),
    "no host": GOOD.replace(b"Host: localhost\r\n", b""),
    "no name": header(": b"),
}

BAD_UPGRADES = {
    "short key": changed(KEY, "AAAA"),
    "key that is no base64": changed(KEY, "!" * 24),
    "key twice": header(f"Sec-WebSocket-Key: {KEY}"),
    "no key": changed(f"Sec-WebSocket-Key: {KEY}\r\n", ""),
    "connection without upgrade": changed("Connection: Upgrade", "Connection: keep-alive"),
    "http/1.0": changed("HTTP/1.1", "HTTP/1.0"),
    "a body": header("Content-Length: 3") + b"abc",
}


def problem(answer):
    """Status, code and header lines of a refusal, checked for what all of them have."""
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    status = int(lines[0].split()[1])
    assert len(answer) < 1024
    assert fields["content-type"] == "application/problem+json"
    assert "close" in fields["connection"].split(", ")
    assert int(fields["content-length"]) == len(body)
    told = json.loads(body)
    assert list(told)[:4] == ["type", "title", "status", "code"] and told["status"] == status and told["detail"]
    return status, told["code"], fields


REFUSED = {
    "another address": (b"GET /elsewhere HTTP/1.1\r\nHost: h\r\n\r\n", 404, "not_found"),
    "another method": (b"POST /live/v1 HTTP/1.1\r\nHost: h\r\n\r\n", 405, "method_not_allowed"),
    "a long target": (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: h\r\n\r\n", 414, "target_too_long"),
    "many fields": (b"GET / HTTP/1.1\r\nHost: h\r\n" + b"X: y\r\n" * 120 + b"\r\n", 431, "header_too_large"),
    "a long field": (b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"y" * 20000 + b"\r\n\r\n", 431, "header_too_large"),
    "http/2.0": (b"GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505, "version"),
    "no token": (upgrade(None), 401, "invalid_token"),
    "a wrong token": (upgrade("wrong"), 401, "invalid_token"),
    **{f"version {version}": (changed("Version: 13", f"Version: {version}"), 426, "upgrade_required")
       for version in ("12", "8", "14", "013")},
    **{name: (request, 400, "bad_request") for name, request in BAD_REQUESTS.items()},
    **{name: (request, 400, "bad_upgrade") for name, request in BAD_UPGRADES.items()},
}
# What a refusal says besides.
SAID = {405: ("allow", "GET"), 401: ("www-authenticate", 'Bearer error="invalid_token"'), 426: ("sec-websocket-version", "13")}


def test_each_refusal_has_its_status_and_code(door):
    for name, (request, status, code) in REFUSED.items():
        found, found_code, fields = problem(ask(door.host, request))
        assert (found, found_code) == (status, code), name
        field, value = SAID.get(status, ("connection", "close"))
        assert fields[field].startswith(value), name
    # A plain GET is answered in plain words.
    head, _, body = ask(door.host, b"GET /live/v1 HTTP/1.1\r\nHost: h\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ") and body == b"Client did not request a WebSocket."
    # Head and body come in one piece.
    with connect(door.host) as peer:
        peer.sendall(upgrade("wrong"))
        assert problem(peer.recv(65536))[0] == 401


def test_a_request_has_its_time_from_its_first_byte_on_however_it_drips(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap, limits={"handshake_timeout": "1s"})
    with connect(door.host) as peer, Caller(door.host) as kept:
        kept.send(get("/sync/v1", tokens.token("PACC1")))
        kept.page()
        answered = time.monotonic()
        peer.sendall(b"GET /live/v1 HTTP/1.1\r\n")
        peer.settimeout(0.1)
        answer, drips = b"", 0
        while not answer:
            peer.sendall(b"X-%d: y\r\n" % drips)
            drips += 1
            assert drips < 300, "dripping bytes prolong the handshake"
            try:
                answer = peer.recv(65536)
            except TimeoutError:
                pass
        assert problem(answer)[:2] == (408, "timeout")
        # Between two requests a connection may be idle for longer than a request may take; a later one has the same time.
        kept.socket.settimeout(max(0.1, answered + 2 - time.monotonic()))
        with pytest.raises(TimeoutError):
            kept.more()
        begun = time.monotonic()
        kept.socket.settimeout(20 * PATIENCE)
        kept.send(b"GET /sync/v1 HTTP/1.1\r\n")
        assert problem(kept.rest())[:2] == (408, "timeout") and time.monotonic() - begun > 0.9
