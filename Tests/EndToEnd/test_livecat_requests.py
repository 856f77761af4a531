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
