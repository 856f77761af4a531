# Tests: Connection+Sync.swift, Connection+Closing.swift
"""An answer of `/sync/v1` that its client takes slowly: it has max_lag for it, whatever becomes of the connection then."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor

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


@pytest.mark.slow
@pytest.mark.parametrize("way", ["a calm day", "a drain"])
def test_an_answer_may_take_as_long_as_max_lag_to_leave(door, tokens, live, way):
    with socket.socket() as kept, socket.socket() as closing, ThreadPoolExecutor(2) as pool:
        peers = {"keep-alive": kept, "close": closing}
        begun = {}
        for connection, peer in peers.items():
            ask(door, tokens, peer, connection)
            begun[connection] = read_head(peer)
        if way == "a drain":
            bystander = live(door)
            assert Asker(door.admin).ask("POST", "/admin/drain?window=0s")[0] == 202
            # The moment of all has come.
            assert bystander.wait_until_closed(60) == 1012
        read = {connection: pool.submit(read_slowly, peer, begun[connection][1], begun[connection][0])
                for connection, peer in peers.items()}
        for connection, peer in peers.items():
            assert len(read[connection].result()) == begun[connection][0], connection
            if way == "a drain" or connection == "close":
                # In a drain the connection ends behind it, whatever was agreed on before.
                assert peer.recv(1) == b"", connection
            else:
                peer.settimeout(2)
                with pytest.raises(TimeoutError):
                    peer.recv(1)
