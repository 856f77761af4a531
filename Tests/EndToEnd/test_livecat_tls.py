# Tests: CatSettings+Network.swift
"""livecat over TLS."""

import pytest

from scripts import greet, redirect, tunnel


@pytest.mark.parametrize("url", ["wss://localhost:{}/", "https://localhost:{}/", "wss://127.0.0.1:{}"])
def test_a_certificate_is_verified(peer, run_livecat, certificates, url):
    url = url.format(peer(greet("one"), context=certificates.server()).port)
    assert run_livecat("--ca", certificates.authority, url)[:2] == (0, b"one\n")
    status, _, err = run_livecat(url)
    assert status == 2 and "certificate" in err
    assert run_livecat("-n", url)[:2] == (0, b"one\n")


def test_what_is_wrong_with_a_server_is_told(peer, run_livecat, certificates):
    # Behind a proxy any name leads to the same server.
    proxy = peer(tunnel(greet("one"), certificates.server()))
    old = peer(greet("one"), context=certificates.server("expired"))
    plain = peer(lambda c: (c.more(), c.send("HTTP/1.1 400 Bad Request\r\n\r\n")))
    strict = peer(greet("one"), context=certificates.server(wants_client=True))
    for fault, words, told in [
        ("another name", ["--proxy", proxy.host, "wss://other.example/"], "certificate"), ("expired", [old.url], "expired"),
        ("no TLS", [f"wss://{plain.host}"], ""), ("it wants a client's certificate", [strict.url], ""),
    ]:
        status, out, err = run_livecat("--ca", certificates.authority, *words)
        assert (status, out) == (2, b"") and err.startswith("error: ") and told in err, (fault, err)
    assert run_livecat("--no-check", old.url)[0] == 0


def test_client_certificates(peer, run_livecat, certificates, terminal):
    server = peer(greet("one"), context=certificates.server(wants_client=True))
    common = ["--ca", certificates.authority, "--cert", certificates / "client.pem", server.url]
    assert run_livecat("--key", certificates / "client.key", *common)[:2] == (0, b"one\n")
    locked = ["--key", certificates / "locked.key", *common]
    assert run_livecat("--passphrase", "open sesame", *locked)[:2] == (0, b"one\n")
    assert run_livecat(*locked)[0] == 66
    assert run_livecat("--passphrase=wrong", *locked)[0] == 66
    assert run_livecat("--key", certificates / "server.key", *common)[0] == 66
    status, _, err = run_livecat(*locked, "--passphrase")
    assert status == 64 and "--passphrase" in err
    asked = terminal(*locked, "--passphrase")
    asked.expect("Passphrase: ")
    asked.type("open sesame\n")
    asked.expect("< one")
    assert asked.finish() == 0 and "sesame" not in asked.shown


def test_tls_behind_a_proxy(peer, run_livecat, certificates):
    proxy = peer(tunnel(greet("one"), certificates.server()))
    assert run_livecat("--proxy", proxy.host, "--ca", certificates.authority, "wss://localhost/x")[:2] == (0, b"one\n")
    assert proxy.heads[0].startswith("CONNECT localhost:443 HTTP/1.1\r\n")


def test_a_proxy_that_speaks_tls(peer, run_livecat, certificates):
    proxy = peer(tunnel(greet("one")), context=certificates.server())
    ca = ["--ca", certificates.authority, "--proxy", f"https://{proxy.host}"]
    assert run_livecat(*ca, "ws://far.example/x")[:2] == (0, b"one\n")
    status, _, err = run_livecat(*ca, "wss://far.example/x")
    assert status == 2 and "not supported" in err


def test_credentials_do_not_leave_tls(peer, run_livecat, certificates):
    plain = peer(greet("one"))
    server = peer(redirect(302, f"ws://localhost:{plain.port}/"), context=certificates.server())
    assert run_livecat("-L", "--ca", certificates.authority, "--auth", "u:p", server.url)[0] == 0
    assert server.field("Authorization") != [] and plain.field("Authorization") == []


def test_a_large_message_each_way(peer, run_livecat, certificates):
    def echo(connection):
        connection.upgrade()
        connection.text(connection.receive()[1])
        connection.serve()
    message = b"m" * 3_000_000
    server = peer(echo, context=certificates.server())
    assert run_livecat("--ca", certificates.authority, "--count", "1", server.url, data=message)[:2] == (0, message + b"\n")
