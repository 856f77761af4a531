# Tests: Connection+Sync.swift
"""An answer of `/sync/v1` that its client takes slowly: it has max_lag for it, whatever becomes of the connection then."""

import socket
import time

import pytest

from programs import PATIENCE, event, produce

# Events of 300 bytes, more than both kernels hold for a connection.
EVENTS = 10_000
EVENTS_AT_ONCE = 5_000


@pytest.fixture
def door(gateway, mock_broker, live):
    door = gateway(mock_broker.bootstrap, limits={"max_lag": "60s", "max_sync_events": EVENTS},
                   history={"max_events_per_account": EVENTS})
    client = live(door, with_="at")
    door.since = client.wait_for_control("live")["at"]
    for begin in range(0, EVENTS, EVENTS_AT_ONCE):
        produce(mock_broker.bootstrap, "incidents",
                [event("PACC1", f"{number}-{'x' * 250}") for number in range(begin, begin + EVENTS_AT_ONCE)])
        client.wait_for_events(begin + EVENTS_AT_ONCE)
    return door


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
def test_an_answer_may_take_as_long_as_max_lag_to_leave(door, tokens, connection):
    host, _, port = door.host.rpartition(":")
    with socket.socket() as peer:
        # Small, so that the answer waits in the gateway.
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.settimeout(20 * PATIENCE)
        peer.connect((host, int(port)))
        peer.sendall(f"GET /sync/v1?since={door.since}&limit={EVENTS} HTTP/1.1\r\nHost: x\r\nConnection: {connection}\r\n"
                     f"Authorization: Bearer {tokens.token('PACC1')}\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += peer.recv(64)
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = head.partition(b"\r\n\r\n")[2]
        # Slowly for longer than the 3 s that are for the last words of a connection, and for less than max_lag.
        slow_until = time.monotonic() + 5
        while time.monotonic() < slow_until and (chunk := peer.recv(256)):
            body += chunk
            time.sleep(0.05)
        while len(body) < length and (chunk := peer.recv(65536)):
            body += chunk
        assert len(body) == length
        if connection == "close":
            assert peer.recv(1) == b""
        else:
            peer.settimeout(2)
            with pytest.raises(TimeoutError):
                peer.recv(1)


def test_a_later_request_has_the_time_of_a_first_one_from_its_first_byte_on(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap, limits={"handshake_timeout": "1s"})
    host, _, port = door.host.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20 * PATIENCE) as peer:
        peer.sendall(f"GET /sync/v1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {tokens.token('PACC1')}\r\n\r\n".encode())
        assert peer.recv(65536).startswith(b"HTTP/1.1 200 ")
        # Between two requests a connection may be idle for longer than a request may take.
        peer.settimeout(2)
        with pytest.raises(TimeoutError):
            peer.recv(1)
        begun = time.monotonic()
        peer.settimeout(20 * PATIENCE)
        peer.sendall(b"GET /sync/v1 HTTP/1.1\r\n")
        assert peer.recv(65536).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - begun > 0.9
