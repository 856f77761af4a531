# Tests: ConnectionMachine+Stream.swift, TransportFallback.swift, ClientSession.swift, LiveTransport.swift
"""The SDK behind proxies that let less than a WebSocket through: nothing is lost and nothing doubled by a change of way."""

import itertools
import signal

import pytest

from middleman import Middleman
from programs import eventually


@pytest.fixture
def behind(start, door, tokens, ends_with_test):
    """Starts an SDK client behind a proxy with these manners, and waits until it is live."""
    def begin(*manner):
        middleman = ends_with_test(Middleman(door.host, *manner))
        client = start("sdkclients", f"ws://{middleman.host}/live/v1", tokens.token("PACC1"))
        client.line("2 live", within=60)
        return middleman, client
    return begin


def events(client, reader):
    return [line.split()[2] for line in list(client.out) if line.startswith(f"{reader} event ")]


def assert_each_once(client, names):
    names = [str(name) for name in names]
    for reader in (1, 2):
        eventually(lambda: len(events(client, reader)) >= len(names), 60, client.told)
        assert events(client, reader) == names


@pytest.mark.parametrize("manner, way, asked", [
    ("strips", "eventStream", ["upgrade", "stream"]), ("gathers", "longPoll", ["upgrade", "stream", "poll"])])
def test_upgrades_that_are_swallowed_and_event_streams_that_are_gathered(behind, tell, manner, way, asked):
    middleman, client = behind(manner)
    client.line(f"known  {way}")
    tell(range(100))
    assert_each_once(client, range(100))
    # A stream is asked for once, and polls go on.
    assert middleman.requests[:len(asked)] == asked and set(middleman.requests[len(asked):]) <= {"poll"}
    assert manner == "gathers" or middleman.requests == asked
    # The guess becomes knowledge or is taken back later; here the proxy mends its ways, and the path changes.
    middleman.manner = "passes"
    client.send("online home")
    eventually(lambda: middleman.requests[-1] == "upgrade", 30, client.told)
    tell(range(100, 200))
    assert_each_once(client, range(200))


def test_connections_that_are_cut(behind, tell):
    middleman, client = behind("cuts", 1)
    told = []

    def write_until_streams_were_cut():
        batch = list(itertools.islice(numbers, 5))
        told.extend(batch)
        tell(batch)
        return middleman.count("stream") >= 2
    numbers = itertools.count()
    eventually(write_until_streams_were_cut, 60, client.told)
    assert middleman.count("upgrade") >= 3
    middleman.manner = "passes"
    assert_each_once(client, told)


def test_background_and_no_network(behind, door, tell):
    _, client = behind("passes")
    client.send("background")
    client.line("2 disconnected")
    tell(range(10))
    client.send("foreground")
    # What is not connected yet stops at a path that is said to be gone.
    eventually(lambda: sum("2 live" in line for line in list(client.out)) == 2, 60, client.told)
    assert_each_once(client, range(10))
    # A connection that answers is believed more than a path that is said to be gone.
    client.send("offline")
    tell(range(10, 20))
    assert_each_once(client, range(20))
    door.program.signal(signal.SIGINT)
    client.line("why: LiveState.WaitReason.offline", within=60)
