# Tests: CatSettings+Protocol.swift, CatSettings.swift, LivecatCommand.swift
"""What livecat asks a server for, and where it goes."""

import base64
import socket

import pytest

from test_livecat_pipe import greet


def test_the_request_is_what_a_server_expects(peer, run_livecat):
    server = peer(greet())
    assert run_livecat(f"{server.url}/live/v1?a=b%20c")[0] == 0
    lines = server.heads[0].split("\r\n")
    assert lines[:5] == ["GET /live/v1?a=b%20c HTTP/1.1", f"Host: {server.host}", "Upgrade: websocket",
                         "Connection: Upgrade", lines[4]]
    assert len(base64.b64decode(server.field("Sec-WebSocket-Key")[0])) == 16
    assert server.field("Sec-WebSocket-Version") == ["13"] and server.field("Authorization") == []


@pytest.mark.parametrize("form", ["ws://{}/x", "http://{}/x", "HTTP://{}/x", "{}/x"])
def test_addresses(peer, run_livecat, form):
    server = peer(greet("one"))
    assert run_livecat(form.format(server.host))[:2] == (0, b"one\n")
    assert server.heads[0].startswith("GET /x HTTP/1.1\r\n")


def test_ipv6_addresses(peer, run_livecat):
    server = peer(greet("one"), family=socket.AF_INET6)
    assert run_livecat(f"ws://[::1]:{server.port}/")[:2] == (0, b"one\n")
    assert server.field("Host") == [f"[::1]:{server.port}"]


def test_unix_sockets(peer, run_livecat, tmp_path, monkeypatch):
    path = tmp_path / "socket"
    server = peer(greet("one"), path=path)
    assert run_livecat(f"ws+unix:{path}:/live/v1?x=1")[:2] == (0, b"one\n")
    assert server.heads[0].startswith("GET /live/v1?x=1 HTTP/1.1\r\n") and server.field("Host") == ["localhost"]
    monkeypatch.chdir(tmp_path)
    assert run_livecat("ws+unix:socket")[:2] == (0, b"one\n")


def test_headers_of_the_command_line(peer, run_livecat):
    server = peer(greet())
    assert run_livecat("-H", "X-A: 1", "--header=x-a:  2 ", "-H", "Authorization: Bearer t", "-H", "Upgrade: h2c",
                       "-o", "http://origin", "--host", "example", "-s", "a", "-s", "b", "-p", "13", server.url)[0] == 0
    assert server.field("X-A") == ["2"] and server.field("Authorization") == ["Bearer t"]
    assert server.field("Upgrade") == ["websocket"] and server.field("Origin") == ["http://origin"]
    assert server.field("Host") == ["example"] and server.field("Sec-WebSocket-Protocol") == ["a, b"]


def test_version_8_has_its_own_name_for_the_origin(peer, run_livecat):
    server = peer(greet())
    assert run_livecat("-p", "8", "-o", "http://origin", server.url)[0] == 0
    assert server.field("Sec-WebSocket-Version") == ["8"] and server.field("Sec-WebSocket-Origin") == ["http://origin"]


def test_a_subprotocol_that_is_not_chosen_is_no_error(peer, run_livecat):
    assert run_livecat("-s", "livegate.v1", peer(greet("one")).url)[:2] == (0, b"one\n")


def test_basic_authentication(peer, run_livecat):
    server = peer(greet())
    basic = ["Basic " + base64.b64encode(b"user:p\xc3\xa4ss").decode()]
    assert run_livecat("--auth", "user:p\u00e4ss", server.url)[0] == 0
    assert server.field("Authorization") == basic
    assert run_livecat(f"ws://user:p%C3%A4ss@{server.host}/")[0] == 0
    assert server.field("Authorization") == basic
    assert run_livecat("-H", "Authorization: Bearer t", "--auth", "user:p\u00e4ss", server.url)[0] == 0
    assert server.field("Authorization") == basic


def test_the_token_file_is_read_anew_at_each_connection(peer, run_livecat, tmp_path):
    token = tmp_path / "token"
    token.write_text("one\n")
    def first(connection):
        connection.upgrade()
        token.write_text("  two  \n")
        connection.close(4401, "token expired")
    server = peer(first, greet())
    assert run_livecat("--reconnect", "--token-file", token, server.url)[0] == 0
    assert server.field("Authorization", 0) == ["Bearer one"] and server.field("Authorization", 1) == ["Bearer two"]


def redirect(status, location):
    return lambda connection: connection.refuse(f"{status} Elsewhere", f"Location: {location}", body="moved")


def test_redirects_are_followed_only_when_asked(peer, run_livecat):
    server = peer(redirect(302, "/new"), greet("one"))
    status, _, err = run_livecat(server.url)
    assert status == 1 and "302" in err and "moved" in err
    server = peer(redirect(307, "../new?x"), greet("one"))
    assert run_livecat("-L", f"{server.url}/a/b/c")[:2] == (0, b"one\n")
    assert server.heads[1].startswith("GET /a/new?x HTTP/1.1\r\n")


def test_redirects_end_at_the_limit(peer, run_livecat):
    server = peer(redirect(301, "/again"))
    assert run_livecat("-L", "--max-redirects", "3", server.url)[0] == 1
    assert server.connections == 4
    server = peer(redirect(301, "/again"))
    assert run_livecat("-L", server.url)[0] == 1
    assert server.connections == 11


def test_credentials_stay_with_the_server_they_are_meant_for(peer, run_livecat, tmp_path):
    (tmp_path / "token").write_text("secret")
    other = peer(greet("one"))
    credentials = [["-H", "Authorization: Bearer t", "-H", "Cookie: c"], ["--auth", "u:p"],
                   ["--token-file", tmp_path / "token"]]
    for options in credentials:
        same = peer(redirect(302, "/new"), greet("one"))
        assert run_livecat("-L", "-H", "X-A: 1", "--host", "example", *options, same.url)[0] == 0
        assert same.field("Authorization") == same.field("Authorization", 0) != []
        assert same.field("Cookie") == same.field("Cookie", 0)
        away = peer(redirect(302, f"http://{other.host}/x"))
        assert run_livecat("-L", "-H", "X-A: 1", "--host", "example", *options, away.url)[0] == 0
        assert other.field("Authorization") == other.field("Cookie") == []
        assert other.field("X-A") == ["1"] and other.field("Host") == [other.host]


def tunnel(connection):
    """A proxy that stands in for the server behind it."""
    connection.head()
    connection.send("HTTP/1.1 200 Connection established\r\n\r\n")
    greet("one")(connection)


def test_proxies(peer, run_livecat):
    for form in ["{}", "http://{}"]:
        proxy = peer(tunnel)
        assert run_livecat("--proxy", form.format(proxy.host), "ws://far.example/x")[:2] == (0, b"one\n")
        assert proxy.heads[0] == "CONNECT far.example:80 HTTP/1.1\r\nHost: far.example:80"
        assert proxy.heads[1].startswith("GET /x HTTP/1.1\r\nHost: far.example\r\n")


def test_proxies_that_want_credentials(peer, run_livecat):
    proxy = peer(tunnel)
    assert run_livecat("--proxy", f"http://u:p@{proxy.host}", "--auth", "a:b", "ws://far.example/x")[0] == 0
    assert proxy.field("Proxy-Authorization", 0) == ["Basic dTpw"] and proxy.field("Authorization", 0) == []
    assert proxy.field("Authorization", 1) == ["Basic YTpi"] and proxy.field("Proxy-Authorization", 1) == []


def test_a_proxy_that_refuses_is_no_connection(peer, run_livecat):
    proxy = peer(lambda c: c.refuse("407 Proxy Authentication Required"))
    status, _, err = run_livecat("--proxy", proxy.host, "ws://far.example/x")
    assert status == 2 and "error: the proxy answered 407" in err
