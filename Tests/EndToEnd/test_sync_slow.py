# Tests: Connection+Sync.swift, Connection+Closing.swift
"""An answer of `/sync/v1` that its client takes slowly: it has max_lag for it, whatever becomes of the connection then."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from asker import Asker
from caller import Caller
from programs import event, produce
from wire import content_length, get

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


def ask(door, tokens, connection):
    """Asks for all events, with a receive buffer that is small, so that the answer waits in the gateway. The connection behind the
    head, and the length of the body."""
    peer = Caller(door.host, receive_buffer=4096)
    peer.send(get(f"/sync/v1?since={door.since}&limit={EVENTS}", tokens.token("PACC1"), [f"Connection: {connection}"]))
    return peer, content_length(peer.head(200))


def read_slowly(peer, length):
    """How much has come of the answer: slowly at first, for less than max_lag."""
    count, slow_until = len(peer.buffer), time.monotonic() + SLOW_SECONDS
    while time.monotonic() < slow_until and (chunk := peer.socket.recv(256)):
        count += len(chunk)
        time.sleep(0.05)
    while count < length and (chunk := peer.socket.recv(65536)):
        count += len(chunk)
    return count


@pytest.mark.parametrize("way", ["a calm day", "a drain"])
def test_an_answer_may_take_as_long_as_max_lag_to_leave(door, tokens, live, way):
    with ThreadPoolExecutor(2) as pool, contextlib.ExitStack() as ending:
        peers = {connection: ask(door, tokens, connection) for connection in ("keep-alive", "close")}
        for peer, _ in peers.values():
            ending.enter_context(peer)
        if way == "a drain":
            bystander = live(door)
            assert Asker(door.admin).ask("POST", "/admin/drain?window=0s")[0] == 202
            # The moment of all has come.
            assert bystander.wait_until_closed(60) == 1012
        read = {connection: pool.submit(read_slowly, *peer) for connection, peer in peers.items()}
        for connection, (peer, length) in peers.items():
            assert read[connection].result() == length, connection
            if way == "a drain" or connection == "close":
                # In a drain the connection ends behind it, whatever was agreed on before.
                assert peer.socket.recv(1) == b"", connection
            else:
                peer.socket.settimeout(2)
                with pytest.raises(TimeoutError):
                    peer.socket.recv(1)
