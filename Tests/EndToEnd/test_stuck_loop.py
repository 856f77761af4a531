# Tests: NodeWatch.swift, LoopHeartbeat.swift, GatewayServer+Stopping.swift, Reply.swift
"""A loop that does not turn, since its thread stands still: what probes say of it, and that the node still ends. How soon:
test_bounds.py."""

import re
import signal
import time

import pytest

from caller import Caller
from one_thread import RECEIVE_BYTES, StoppedThread
from programs import event, eventually, produce
from wire import CLOSE, PING, frame

# Under a sanitizer the thread that is stopped may hold what the sanitizer's own calls wait for.
pytestmark = pytest.mark.unsanitized

# What ingest reads at once from the pipe that wakes it.
WAKE_BYTES = 512


@pytest.fixture
def peers(tokens, ends_with_test):
    """WebSockets that read when they are asked to."""
    return lambda door, count: [ends_with_test(Caller.join(door.host, tokens.token("PACC1"))) for _ in range(count)]


@pytest.fixture
def stand_still(ends_with_test):
    """Stops the thread that reads from a client, or that consumes."""
    def loop_of(door, peer):
        return ends_with_test(StoppedThread(
            door.program.process.pid, "recvfrom", lambda: peer.send(frame(PING, b"")), RECEIVE_BYTES))

    def ingest_of(door, broker):
        return ends_with_test(StoppedThread(
            door.program.process.pid, "read",
            lambda: produce(broker.bootstrap, "incidents", [event("PACC1", "one")]), WAKE_BYTES))

    return loop_of, ingest_of


def test_probes_name_who_does_not_turn_until_it_turns(gateway, mock_broker, peers, stand_still):
    door, stopped = gateway(mock_broker.bootstrap, loops=2), gateway(mock_broker.bootstrap)
    loop_of, ingest_of = stand_still
    loop = loop_of(door, peers(door, 1)[0])
    ingest = ingest_of(door, mock_broker)
    # Another node stops as a whole for as long, as in a debugger, or with its machine.
    stopped.program.signal(signal.SIGSTOP)
    begun = time.monotonic()

    def answers(name):
        status, why = door.asked("/livez")
        return status == 503 and re.fullmatch(rf"{name} has not turned for \d\d s\n", why)

    eventually(lambda: answers(r"loop \d"), 30, "a 503 that names the loop")
    assert door.readyz()[0] == 503 and "[-]loops loop" in door.asked("/readyz?verbose")[1]
    loop.go_on()
    eventually(lambda: answers("ingest"), 30, "a 503 that names ingest")
    ingest.go_on()
    eventually(lambda: door.asked("/livez") == (200, "ok\n"), 30, "that all is well again")
    eventually(lambda: door.readyz() == (200, "ready\n"), 30, "readiness")

    eventually(lambda: time.monotonic() - begun > 12, 30, "that the other node has stopped for long enough")
    stopped.program.signal(signal.SIGCONT)
    for _ in range(15):
        assert stopped.asked("/livez") == (200, "ok\n")
        time.sleep(0.1)


@pytest.mark.parametrize("numbers, code", [((signal.SIGTERM, signal.SIGTERM), 1012), ((signal.SIGINT,), 1001)])
def test_a_loop_that_does_not_turn_keeps_nobody_from_the_end(gateway, mock_broker, peers, stand_still, numbers, code):
    door = gateway(mock_broker.bootstrap, loops=2, lifecycle={"drain_delay": "0s", "drain_window": "1h"})
    clients = peers(door, 24)
    loop = stand_still[0](door, clients[0])
    for count, number in enumerate(numbers, 1):
        door.program.signal(number)
        eventually(lambda: len(door.log("signal received")) == count, what="that the signal is heard")
    eventually(loop.bury, 30, lambda: f"the end; {door.program.told()}")
    assert door.program.wait() == 0
    assert door.log("event loops unresponsive")[0]["level"] == "error"
    # Those of the other loop were told.
    closes = [peer.received.close for peer in clients[1:] if any(opcode == CLOSE for opcode, _ in peer.frames())]
    assert code in [found for found, _ in closes], closes
