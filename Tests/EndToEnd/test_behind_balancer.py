# Tests: Connection+Client.swift
"""Who a client is behind a balancer: PROXY headers, X-Forwarded-For and Forwarded, plain and over TLS, and what becomes of
connections without a header or from elsewhere. The balancers themselves are in test_haproxy.py and test_nginx.py."""

import socket
import ssl
import struct

import pytest

from gateway import ANY
from programs import PATIENCE, eventually
from wire import connect, get, upgrade

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def version1(address, family="TCP4"):
    return f"PROXY {family} {address} {'192.0.2.9' if family == 'TCP4' else '::1'} 4711 443\r\n".encode()


def version2(address, more=b""):
    is_ipv6 = ":" in address
    packed = socket.inet_pton(socket.AF_INET6 if is_ipv6 else socket.AF_INET, address)
    block = packed + packed + struct.pack("!HH", 4711, 443) + more
    return SIGNATURE + bytes([0x21, 0x21 if is_ipv6 else 0x11]) + struct.pack("!H", len(block)) + block


LOCAL = SIGNATURE + b"\x20\x00\0\0"


class Caller:
    """A connection that begins with `prefix`, and speaks TLS behind it where there is a context."""

    def __init__(self, host, prefix=b"", context=None, bytewise=False):
        self.socket = socket.socket(socket.AF_UNIX) if host.startswith("/") else connect(host, 20 * PATIENCE)
        if host.startswith("/"):
            self.socket.connect(host)
        else:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.prefix, self.bytewise, self.incoming, self.outgoing = prefix, bytewise, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context and context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        if self.session:
            self._step(self.session.do_handshake)

    def _step(self, action, *arguments):
        while True:
            try:
                result = action(*arguments)
                self._send(self.outgoing.read())
                return result
            except ssl.SSLWantReadError:
                self._send(self.outgoing.read())
                self.incoming.write(self.socket.recv(65536))

    def _send(self, data):
        data, self.prefix = self.prefix + data, b""
        if self.bytewise:
            for byte in data:
                self.socket.send(bytes([byte]))
        elif data:
            self.socket.sendall(data)

    def send(self, data):
        if self.session:
            self._step(self.session.write, data)
        else:
            self._send(data)

    def head(self):
        """The head of the next answer, without its body, which is thrown away."""
        answer = b""
        while b"\r\n\r\n" not in answer:
            piece = self._step(self.session.read, 65536) if self.session else self.socket.recv(65536)
            assert piece, answer
            answer += piece
        return answer.partition(b"\r\n\r\n")[0].decode()

    def end(self):
        self.socket.close()


@pytest.fixture
def call(ends_with_test):
    return lambda *arguments, **options: ends_with_test(Caller(*arguments, **options))


def opened(door):
    """The addresses that the log names, in the order of the openings."""
    return [line["peer"] for line in door.log("connection opened")]


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_a_proxy_header_names_the_client_and_no_byte_behind_it_is_lost(
        gateway, mock_broker, tokens, certificates, call, secure):
    context = certificates.client() if secure else None
    door = gateway(mock_broker.bootstrap, balancer={"trusted": ["127.0.0.1"], "proxy_protocol": True},
                   **({"tls": certificates.settings["ecdsa"]} if secure else {}))
    token = tokens.token("PACC1")
    rows = [(version1("203.0.113.7"), "203.0.113.7"), (version1("2001:DB8::7", "TCP6"), "2001:db8::7"),
            (version2("203.0.113.8"), "203.0.113.8"), (version2("2001:db8::8"), "2001:db8::8"),
            (version2("::ffff:203.0.113.9"), "203.0.113.9"), (version2("203.0.113.10", b"\x04\0\x01x" * 100), "203.0.113.10"),
            (b"PROXY UNKNOWN\r\n", "127.0.0.1"), (LOCAL, "127.0.0.1")]
    expected = []
    for prefix, address in rows:
        for bytewise in (False, True):
            caller = call(door.host, prefix, context, bytewise)
            caller.send(upgrade(token))
            assert caller.head().startswith("HTTP/1.1 101 "), (prefix, bytewise)
            expected.append(address)
            eventually(lambda: len(opened(door)) == len(expected), 20, "the line of the opening")
    assert opened(door) == expected
    # Nor is one that comes later, in the request's own time.
    late = call(door.host, b"", None)
    late.send(version1("203.0.113.11"))
    if secure:
        late.session = context.wrap_bio(late.incoming, late.outgoing, server_hostname="localhost")
        late._step(late.session.do_handshake)
    late.send(upgrade(token))
    assert late.head().startswith("HTTP/1.1 101 ")
    eventually(lambda: opened(door)[-1] == "203.0.113.11", 20, "the line of the opening")


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_a_connection_without_a_header_is_closed_without_an_answer(
        gateway, mock_broker, tokens, certificates, secure):
    door = gateway(mock_broker.bootstrap, balancer={"trusted": ["127.0.0.1"], "proxy_protocol": True},
                   limits={"handshake_timeout": "2s"}, **({"tls": certificates.settings["ecdsa"]} if secure else {}))
    rows = [(upgrade(tokens.token("PACC1")), "began with something else"), (b"\x16\x03\x01", "began with something else"),
            (b"PROXY TCP4 phone 192.0.2.1 1 2\r\n" + get("/live/v1"), "malformed"),
            (SIGNATURE + b"\x21\x12\0\x0c" + b"\0" * 12, "malformed"), (SIGNATURE + b"\x21\x11\x02\x09", "too long"),
            (b"PROXY UNKNOWN" + b" " * 100, "too long"), (b"PROXY TCP4 ", "not whole within handshake_timeout")]
    for sent, why in rows:
        with connect(door.host) as peer:
            peer.sendall(sent)
            assert end_of(peer) == b"", sent
        eventually(lambda: [line for line in door.log("no PROXY header") if why in line["reason"]], 20, why)
    with connect(door.host) as peer:
        peer.sendall(b"PROXY TCP4 ")
    line = door.wait_for_log("no PROXY header", count=5)
    assert "peer left" in line["reason"] and line["peer"] == "127.0.0.1" and line["level"] == "warning" and line["advice"]
    # A balancer that only opens a connection and closes it, to see whether somebody listens, is no trouble.
    connect(door.host).close()
    assert door.log("stopped") == [] and len(door.log("no PROXY header")) == 5
    door.stop()


def end_of(peer):
    """Everything until the end, which may be a reset: nobody reads what was sent."""
    answer = b""
    try:
        while piece := peer.recv(4096):
            answer += piece
    except ConnectionResetError:
        pass
    return answer


def test_a_peer_that_is_not_trusted_is_closed_without_an_answer(gateway, mock_broker):
    door = gateway(mock_broker.bootstrap, balancer={"trusted": ["10.0.0.0/8", "unix"], "proxy_protocol": True})
    for sent in (version1("10.0.0.1") + get("/live/v1"), get("/live/v1"), b""):
        with connect(door.host) as peer:
            try:
                peer.sendall(sent)
            except OSError:
                pass
            assert end_of(peer) == b""
    line = door.wait_for_log("no PROXY header")
    assert "not in balancer.trusted" in line["reason"] and line["peer"] == "127.0.0.1"
    # One line in ten seconds.
    assert len(door.log("no PROXY header")) == 1


def test_each_request_has_the_client_that_its_header_names(gateway, mock_broker, tokens, call, tmp_path):
    """Refusals are logged with the address; each at the level debug."""
    path = tmp_path / "gate.sock"
    door = gateway(mock_broker.bootstrap, log={"level": "debug"},
                   balancer={"trusted": ["127.0.0.1", "10.0.0.0/8", "unix"], "client_address": "x-forwarded-for"},
                   listen=[ANY, f"unix:{path}"])
    token, host = tokens.token("PACC1"), door.host

    def opening(where, *fields):
        seen = len(opened(door))
        caller = call(where)
        caller.send(upgrade(token, headers=fields))
        assert caller.head().startswith("HTTP/1.1 101 ")
        eventually(lambda: len(opened(door)) > seen, 20, "the line of the opening")
        return opened(door)[-1]
    assert opening(host) == "127.0.0.1" and opening(str(path)) == "unix"
    assert opening(host, "X-Forwarded-For: 198.51.100.1, 203.0.113.7") == "203.0.113.7"
    assert opening(str(path), "X-Forwarded-For: unknown", "X-Forwarded-For: [2001:db8::7]:80, 10.0.0.2") == "2001:db8::7"
    assert opening(host, "X-Forwarded-For: 203.0.113.7, unknown") == "127.0.0.1"
    assert opening(host, "Forwarded: for=203.0.113.7") == "127.0.0.1"
    # Requests of several clients on one connection, with one that names none among them.
    caller = call(host)
    named = []
    for fields in (["X-Forwarded-For: 203.0.113.1"], ["X-Forwarded-For: 203.0.113.2"], [], ["X-Forwarded-For: 203.0.113.3"]):
        caller.send(get("/sync/v1?since=gone&wait=0", token, fields))
        assert caller.head().startswith("HTTP/1.1 4")
        named.append(door.wait_for_log("request refused", count=len(named) + 1)["peer"])
    assert named == ["203.0.113.1", "203.0.113.2", "127.0.0.1", "203.0.113.3"]


def test_behind_two_balancers_the_header_is_read_where_the_proxy_header_names_a_trusted_one(
        gateway, mock_broker, tokens, call):
    door = gateway(mock_broker.bootstrap, balancer={
        "trusted": ["127.0.0.1", "10.0.0.0/8"], "proxy_protocol": True, "client_address": "forwarded"})
    token = tokens.token("PACC1")
    fields = ['Forwarded: for="[2001:db8::7]:80";proto=https, for=10.0.0.3']
    for count, (prefix, expected) in enumerate([
            (version2("10.0.0.2"), "2001:db8::7"), (version1("203.0.113.7"), "203.0.113.7"), (LOCAL, "2001:db8::7")], 1):
        caller = call(door.host, prefix)
        caller.send(upgrade(token, headers=fields))
        assert caller.head().startswith("HTTP/1.1 101 ")
        assert door.wait_for_log("connection opened", count=count)["peer"] == expected
