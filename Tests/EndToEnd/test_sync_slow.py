# Tests: Connection+Sync.swift, Connection+Closing.swift
"""An answer of `/sync/v1` that its client takes slowly: it has max_lag for it, whatever becomes of the connection then."""

import socket
import time

import pytest

from asker import Asker
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


# Longer than the 3 s that are for the last words of a connection.
SLOW_SECONDS = 5


def ask(door, tokens, peer, connection):
    """Asks for all events, with a receive buffer that is small, so that the answer waits in the gateway."""
    host, _, port = door.host.rpartition(":")
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.settimeout(20 * PATIENCE)
    peer.connect((host, int(port)))
    peer.sendall(f"GET /sync/v1?since={door.since}&limit={EVENTS} HTTP/1.1\r\nHost: x\r\nConnection: {connection}\r\n"
                 f"Authorization: Bearer {tokens.token('PACC1')}\r\n\r\n".encode())


def read_head(peer):
    """The length of the body that follows, and what has come of it."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = peer.recv(64)
        assert piece, head
        head += piece
    return int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]), head.partition(b"\r\n\r\n")[2]


def read_slowly(peer, body, length):
    """The rest of the answer: slowly at first, for less than max_lag."""
    slow_until = time.monotonic() + SLOW_SECONDS
    while time.monotonic() < slow_until and (chunk := peer.recv(256)):
        body += chunk
        time.sleep(0.05)
    while len(body) < length and (chunk := peer.recv(65536)):
        body += chunk
    return body


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
def test_an_answer_may_take_as_long_as_max_lag_to_leave(door, tokens, connection):
    with socket.socket() as peer:
        ask(door, tokens, peer, connection)
        length, body = read_head(peer)
        assert len(read_slowly(peer, body, length)) == length
        if connection == "close":
            assert peer.recv(1) == b""
        else:
            peer.settimeout(2)
            with pytest.raises(TimeoutError):
                peer.recv(1)


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
def test_an_answer_on_its_way_is_read_to_its_end_in_a_drain(door, tokens, connection, live):
    bystander = live(door)
    with socket.socket() as peer:
        ask(door, tokens, peer, connection)
        length, body = read_head(peer)
        assert Asker(door.admin).ask("POST", "/admin/drain?window=0s")[0] == 202
        # The moment of all has come.
        assert bystander.wait_until_closed(60) == 1012
        assert len(read_slowly(peer, body, length)) == length
        # The connection ends behind it, whatever was agreed on before.
        assert peer.recv(1) == b""


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
