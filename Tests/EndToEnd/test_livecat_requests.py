# Tests: PersistentConnection.swift
"""Where livecat's requests go: addresses, redirects, proxies. What is in a request is tested in CatSettingsTests."""

import base64
import socket

import pytest

from scripts import greet, redirect, tunnel


@pytest.mark.parametrize("options, url", [
    ({}, "http://127.0.0.1:{port}"), ({"family": socket.AF_INET6}, "ws://[::1]:{port}"), ({"path": "socket"}, "ws+unix:{path}:"),
    ({"path": "socket"}, "ws+unix:socket:"),
], ids=["IPv4", "IPv6", "a socket file", "a socket file of the folder"])
def test_each_kind_of_address_is_reached(peer, run_livecat, tmp_path, monkeypatch, options, url):
    monkeypatch.chdir(tmp_path)
    server = peer(greet("one"), **options)
    url = url.format(port=getattr(server, "port", None), path=tmp_path / "socket")
    assert run_livecat(f"{url}/live/v1?a=b%20c")[:2] == (0, b"one\n")
    host = "localhost" if "path" in options else url.split("//")[1]
    lines = server.heads[0].split("\r\n")
    assert lines[:4] == ["GET /live/v1?a=b%20c HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade"]
    assert len(base64.b64decode(server.field("Sec-WebSocket-Key")[0])) == 16


def test_redirects_are_followed_when_asked_up_to_the_limit(peer, run_livecat):
    server = peer(redirect(302, "/new"))
    status, _, err = run_livecat(server.url)
    assert status == 1 and "302" in err and "moved" in err and server.connections == 1
    server = peer(redirect(307, "../new?x"), greet("one"))
    assert run_livecat("-L", f"{server.url}/a/b/c")[:2] == (0, b"one\n")
    assert server.target() == "/a/new?x"
    server = peer(redirect(301, "/again"))
    assert run_livecat("-L", "--max-redirects", "3", server.url)[0] == 1
    assert server.connections == 4


def test_credentials_stay_with_the_server_they_are_meant_for(peer, run_livecat, tmp_path):
    (tmp_path / "token").write_text("secret")
    other = peer(greet("one"))
    away = peer(redirect(302, "/new"), redirect(302, f"http://{other.host}/x"))
    words = ["-L", "-H", "X-A: 1", "-H", "Cookie: c", "--host", "example", "--token-file", tmp_path / "token"]
    assert run_livecat(*words, away.url)[0] == 0
    for head in (0, 1):
        assert (away.field("Authorization", head), away.field("Cookie", head)) == (["Bearer secret"], ["c"]), head
    assert other.field("Authorization") == other.field("Cookie") == []
    assert other.field("X-A") == ["1"] and other.field("Host") == [other.host]


def asks_for_a_token(connection):
    """A server that waits for `done`, and then says what a Livegate does when a token ends."""
    frames = connection.peer.frames
    connection.upgrade()
    while ("text", "done") not in frames:
        frames.append(connection.receive())
    connection.text('{"live":{"at":"1"}}', '{"expiring":{"exp":1}}')
    # With the second answer the first message was dealt with, and what it led to was sent.
    for payload in (b"1", b"2"):
        connection.ping(payload)
        while ("pong", payload) not in frames:
            frames.append(connection.receive())
    connection.close()


@pytest.mark.parametrize("words", [
    ["--token-file", "{file}"], ["-s", "livegate.v1", "-s", "bearer.{secret}"], ["-x", '{{"token":"{secret}"}}'],
    ["-H", "Authorization: Bearer {secret}"], ["-H", "Cookie: a={secret}"], ["-H", "X-Api-Key: {secret}"],
    ["--auth", "{secret}:x"],
], ids=lambda words: words[-1].split(":")[0])
def test_a_server_elsewhere_is_given_no_token_whatever_it_says(peer, run_livecat, tmp_path, words):
    secret = "geheim"
    (tmp_path / "token").write_text(secret)
    other = peer(asks_for_a_token)
    home = peer(redirect(302, f"http://{other.host}/x"))
    words = [word.format(file=tmp_path / "token", secret=secret) for word in words]
    lines = b'{"token":"%s"}\ndone\n' % secret.encode()
    status, _, err = run_livecat("-L", "--count", 9, "--with", "at", "-x", "hello", *words, home.url, data=lines)
    assert status == 0 and other.frames[0] == ("text", "hello"), err
    assert "not sent: a token is for the server that was named" in err
    given = repr((other.heads, other.frames, err))
    assert secret not in given and base64.b64encode(secret.encode() + b":x").decode() not in given


def test_a_ticket_is_not_carried_elsewhere(peer, run_livecat):
    other = peer(greet("one"))
    home = peer(redirect(302, "/y?ticket=geheim"), redirect(302, f"http://{other.host}/login?to=%2Fx%3Fticket%3Dgeheim"))
    status, _, err = run_livecat("-L", home.url + "/live/v1?ticket=geheim")
    assert (status, other.connections, home.connections) == (1, 0, 2)
    assert "redirect not followed" in err and "geheim" not in err


@pytest.mark.parametrize("form", ["{}", "http://u:p@{}"])
def test_a_proxy_leads_to_the_server_and_gets_its_own_credentials(peer, run_livecat, form):
    proxy = peer(tunnel(greet("one")))
    words = ["--proxy", form.format(proxy.host), "--auth", "a:b", "ws://far.example/x"]
    assert run_livecat(*words)[:2] == (0, b"one\n")
    assert proxy.heads[0].startswith("CONNECT far.example:80 HTTP/1.1\r\nHost: far.example:80")
    assert proxy.heads[1].startswith("GET /x HTTP/1.1\r\nHost: far.example\r\n")
    assert proxy.field("Proxy-Authorization", 0) == (["Basic dTpw"] if "@" in form else [])
    assert proxy.field("Authorization", 0) == proxy.field("Proxy-Authorization", 1) == []
    assert proxy.field("Authorization", 1) == ["Basic YTpi"]
