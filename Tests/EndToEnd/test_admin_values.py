# Tests: Administration+Answers.swift, ConnectionLoop+Reporting.swift
"""What the administration says of a node and of one client, each value of it."""

import contextlib
import json
import socket
import threading

import pytest

from asker import Asker
from balancers import NOBODY
from caller import first, narrow
from metrics import scrape
from programs import event, eventually, produce
from wire import upgrade


@pytest.fixture
def node_in(gateway, mock_broker):
    """A node that is in this state, or comes to it."""
    def begin(state):
        if state == "starting":
            return gateway(NOBODY, ready=False)
        mock_broker.topic("control")
        door = gateway(mock_broker.bootstrap, kafka__broker_grace="never" if state == "waiting" else "1s",
                       control__topic="control")
        if state == "draining":
            assert Asker(door.admin).ask("POST", "/admin/drain?window=0s")[0] == 202
        if state in ("failing", "waiting"):
            mock_broker.down()
        return door
    return begin


# By state: the parts of /readyz that are wrong, the parts that problems are told of, and whether brokers are there. That none
# answers is believed after a while; where they may be away for ever the node goes on being ready.
STATES = {"starting": ({"window", "broker"}, {"window", "broker"}, None), "ready": (set(), set(), 1),
          "draining": ({"draining"}, {"draining"}, 1), "failing": ({"broker", "control"}, {"broker", "control"}, 0),
          "waiting": (set(), {"broker", "control"}, 0)}


@pytest.mark.parametrize("state", STATES)
def test_the_state_of_a_node(node_in, mock_broker, tokens, state):
    wrong, problems, up = STATES[state]
    is_ready = not wrong
    door = node_in(state)
    door.wait_for_log("listening")
    asker = Asker(door.admin)

    def reading():
        """All that is said of it, in three places."""
        lines, found, metrics = door.asked("/readyz?verbose")[1].splitlines(), asker.json("/admin/status"), scrape(asker)
        return ({line.partition("]")[2].partition(" ")[0] for line in lines if line[1] == "-"},
                {text.partition(":")[0] for text in found["problems"]}, found["state"], found["ready"],
                [metrics[f"livegate_{name}"] for name in ("ready", "draining")],
                up is None or {metrics["livegate_kafka_up"], metrics["livegate_control_up"]})

    expected = (wrong, problems, "ready" if is_ready else state, is_ready, [is_ready, state == "draining"], up is None or {up})
    eventually(lambda: reading() == expected, 30, lambda: f"{expected}, not {reading()}")
    if state == "starting":
        refuses_before_it_is_ready(door, tokens)
    elif state == "draining":
        assert asker.ask("POST", "/admin/undrain")[0] == 200
        eventually(lambda: reading()[3:5] == (True, [1, 0]), 20, "what undrain does")
    elif state == "waiting":
        gone = "no Kafka broker can be reached"
        told = asker.json("/admin/status")["problems"]
        # Each with the reason that the log has.
        assert [text.partition(gone)[0] for text in told] == ["broker: ", "control: "], told
        mock_broker.up()
        eventually(lambda: (reading()[1], reading()[5]) == (set(), {1}), 30, lambda: f"all to be well again: {reading()}")


def refuses_before_it_is_ready(door, tokens):
    """Callers with a good token are told so; others learn nothing."""
    bad = (401, "invalid_token")
    for token, refusal in ((tokens.token("PACC1"), (503, "not_ready")), (None, bad), ("abc", bad)):
        code, fields, body = first(door.host, upgrade(token))
        assert (code, json.loads(body)["code"]) == refusal and (code == 401 or int(fields["retry-after"]) > 0)
    assert door.status("/livez") == 200 and door.status("/readyz") == 503


@pytest.mark.unsanitized
def test_how_long_a_client_has_been_behind(gateway, mock_broker, tokens, live):
    door = gateway(mock_broker.bootstrap, limits={"max_lag": "1h"}, history={"max_events_per_account": 1_000_000})
    asker, quick = Asker(door.admin), live(door)

    def behind():
        lines = [json.loads(line) for line in asker.ask("GET", "/admin/connections")[2].splitlines()]
        return {line["deliveries"]: line["behind_ms"] for line in lines}

    with narrow(door.host, tokens.token("PACC1")) as slow:
        eventually(lambda: len(asker.ask("GET", "/admin/connections")[2].splitlines()) == 2, what="two connections")
        assert set(behind().values()) == {0}
        written = 0

        def falls_behind():
            nonlocal written
            produce(mock_broker.bootstrap, "incidents", [event("PACC1", written + number) for number in range(5_000)])
            written += 5_000
            quick.wait_for_events(written)
            return behind().get(written) == 0 and max(behind().values()) > 0
        eventually(falls_behind, 60, lambda: f"that one is behind: {behind()}")
        since = max(behind().values())
        eventually(lambda: max(behind().values()) > since, what="that it grows")
        slow.socket.settimeout(None)

        def read():
            with contextlib.suppress(OSError):
                while slow.socket.recv(1 << 20):
                    pass
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        eventually(lambda: behind() == {written: 0}, 60, lambda: f"that it has caught up: {behind()}")
        slow.socket.shutdown(socket.SHUT_RDWR)
        reader.join()
