# Tests: Connection+Client.swift
"""Who a client is behind a balancer: PROXY headers, X-Forwarded-For and Forwarded, plain and over TLS, and what becomes of
connections without a header or from elsewhere. The balancers themselves are in test_balancers.py."""

import contextlib
import socket
import struct

import pytest

from caller import Caller
from gateway import ANY
from programs import eventually
from wire import connect, get, upgrade, version1

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def version2(address, more=b""):
    is_ipv6 = ":" in address
    packed = socket.inet_pton(socket.AF_INET6 if is_ipv6 else socket.AF_INET, address)
    block = packed + packed + struct.pack("!HH", 4711, 443) + more
    return SIGNATURE + bytes([0x21, 0x21 if is_ipv6 else 0x11]) + struct.pack("!H", len(block)) + block


LOCAL = SIGNATURE + b"\x20\x00\0\0"


@pytest.fixture
def call(ends_with_test):
    return lambda *arguments, **options: ends_with_test(Caller(*arguments, **options))


def opened(door):
    """The addresses that the log names, in the order of the openings."""
    return [line["peer"] for line in door.log("connection opened")]


SECURITY = pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])


@SECURITY
def test_a_proxy_header_names_the_client_and_no_byte_behind_it_is_lost(
        gateway, mock_broker, tokens, certificates, call, secure):
    context = certificates.client() if secure else None
    # Behind two balancers the field is read where the PROXY header names a trusted one, or none.
    door = gateway(mock_broker.bootstrap, balancer={"trusted": ["127.0.0.1", "10.0.0.0/8"], "proxy_protocol": True,
                                                    "client_address": "forwarded"},
                   **({"tls": certificates.settings["ecdsa"]} if secure else {}))
    token, expected = tokens.token("PACC1"), []
    field = ['Forwarded: for="[2001:db8::7]:80";proto=https, for=10.0.0.3']
    rows = [(version1("203.0.113.7"), [], "203.0.113.7"), (version1("2001:DB8::7", "TCP6"), [], "2001:db8::7"),
            (version2("203.0.113.8"), [], "203.0.113.8"), (version2("2001:db8::8"), [], "2001:db8::8"),
            (version2("::ffff:203.0.113.9"), [], "203.0.113.9"),
            (version2("203.0.113.10", b"\x04\0\x01x" * 100), [], "203.0.113.10"),
            (b"PROXY UNKNOWN\r\n", [], "127.0.0.1"), (LOCAL, [], "127.0.0.1"), (LOCAL, field, "2001:db8::7"),
            (version2("10.0.0.2"), field, "2001:db8::7"), (version1("203.0.113.7"), field, "203.0.113.7")]
    for prefix, fields, address in rows:
        for bytewise in (False, True):
            caller = call(door.host, context, prefix, bytewise)
            caller.send(upgrade(token, headers=fields))
            caller.head(101)
            expected.append(address)
            eventually(lambda: len(opened(door)) == len(expected), 20, "the line of the opening")
    assert opened(door) == expected
    # Nor is one that comes later, in the request's own time.
    late = call(door.host)
    late.send(version1("203.0.113.11"))
    if secure:
        late.secure(context)
    late.send(upgrade(token))
    late.head(101)
    eventually(lambda: opened(door)[-1] == "203.0.113.11", 20, "the line of the opening")


@SECURITY
def test_a_connection_without_a_header_or_of_a_peer_that_is_not_trusted_is_closed_without_an_answer(
        gateway, mock_broker, tokens, certificates, secure):
    door = gateway(mock_broker.bootstrap, balancer={"trusted": ["127.0.0.1"], "proxy_protocol": True},
                   limits={"handshake_timeout": "2s"}, **({"tls": certificates.settings["ecdsa"]} if secure else {}))
    rows = [(upgrade(tokens.token("PACC1")), "began with something else"), (b"\x16\x03\x01", "began with something else"),
            (b"PROXY TCP4 phone 192.0.2.1 1 2\r\n" + get("/live/v1"), "malformed"),
            (SIGNATURE + b"\x21\x12\0\x0c" + b"\0" * 12, "malformed"), (SIGNATURE + b"\x21\x11\x02\x09", "too long"),
            (b"PROXY UNKNOWN" + b" " * 100, "too long"), (b"PROXY TCP4 ", "not whole within handshake_timeout")]
    for sent, why in rows:
        with Caller(door.host) as peer:
            peer.send(sent)
            assert peer.rest() == b"", sent
        eventually(lambda: [line for line in door.log("no PROXY header") if why in line["reason"]], 20, why)
    with Caller(door.host) as peer:
        peer.send(b"PROXY TCP4 ")
    line = door.wait_for_log("no PROXY header", count=5)
    assert "peer left" in line["reason"] and line["peer"] == "127.0.0.1" and line["level"] == "warning" and line["advice"]
    # A balancer that only opens a connection and closes it, to see whether somebody listens, is no trouble.
    connect(door.host).close()
    # From elsewhere nothing is read, whatever it is.
    for sent in (version1("10.0.0.1") + get("/live/v1"), get("/live/v1"), b""):
        with Caller(door.host, source="127.0.0.9") as peer:
            with contextlib.suppress(ConnectionError):
                peer.send(sent)
            assert peer.rest() == b""
    line = door.wait_for_log("no PROXY header", count=6)
    assert "not in balancer.trusted" in line["reason"] and line["peer"] == "127.0.0.9"
    # One line in ten seconds for each cause.
    assert door.log("stopped") == [] and len(door.log("no PROXY header")) == 6
    door.stop()


def test_each_request_has_the_client_that_its_header_names(gateway, mock_broker, tokens, call, tmp_path):
    """Refusals are logged with the address; each at the level debug."""
    path = tmp_path / "gate.sock"
    door = gateway(mock_broker.bootstrap, log={"level": "debug"},
                   balancer={"trusted": ["127.0.0.1", "10.0.0.0/8", "unix"], "client_address": "x-forwarded-for"},
                   listen=[ANY, f"unix:{path}"])
    token, host, file = tokens.token("PACC1"), door.host, f"unix:{path}"

    def opening(where, *fields):
        seen = len(opened(door))
        caller = call(where)
        caller.send(upgrade(token, headers=fields))
        caller.head(101)
        eventually(lambda: len(opened(door)) > seen, 20, "the line of the opening")
        return opened(door)[-1]
    assert opening(host) == "127.0.0.1" and opening(file) == "unix"
    assert opening(host, "X-Forwarded-For: 198.51.100.1, 203.0.113.7") == "203.0.113.7"
    assert opening(file, "X-Forwarded-For: unknown", "X-Forwarded-For: [2001:db8::7]:80, 10.0.0.2") == "2001:db8::7"
    assert opening(host, "X-Forwarded-For: 203.0.113.7, unknown") == "127.0.0.1"
    assert opening(host, "Forwarded: for=203.0.113.7") == "127.0.0.1"
    # Requests of several clients on one connection, with one that names none among them.
    caller = call(host)
    named = []
    for fields in (["X-Forwarded-For: 203.0.113.1"], ["X-Forwarded-For: 203.0.113.2"], [], ["X-Forwarded-For: 203.0.113.3"]):
        caller.send(get("/sync/v1?since=gone&wait=0", token, fields))
        caller.body(caller.head(400))
        named.append(door.wait_for_log("request refused", count=len(named) + 1)["peer"])
    assert named == ["203.0.113.1", "203.0.113.2", "127.0.0.1", "203.0.113.3"]
