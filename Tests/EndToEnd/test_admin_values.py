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
        door = gateway(mock_broker.bootstrap, limits={"broker_grace": "1s"})
        if state == "draining":
            assert Asker(door.admin).ask("POST", "/admin/drain?window=0s")[0] == 202
        if state == "failing":
            mock_broker.down()
        return door
    return begin


@pytest.mark.parametrize("state", ["starting", "ready", "draining", "failing"])
def test_the_state_of_a_node(node_in, tokens, state):
    door = node_in(state)
    door.wait_for_log("listening")
    asker = Asker(door.admin)

    def status():
        return asker.json("/admin/status")

    def parts():
        lines = door.asked("/readyz?verbose")[1].splitlines()
        return {line.partition("]")[2].partition(" ")[0] for line in lines if line[1] == "-"}

    # That no broker answers is believed after a while.
    wrong = {"starting": {"window", "broker"}, "ready": set(), "draining": {"draining"}, "failing": {"broker"}}[state]
    eventually(lambda: parts() == wrong, 30, lambda: f"{state}: {parts()}")
    found = status()
    assert (found["state"], found["ready"]) == (state, state == "ready")
    assert {text.partition(":")[0] for text in found["problems"]} == wrong
    metrics = scrape(asker)
    assert (metrics["livegate_ready"], metrics["livegate_draining"]) == (state == "ready", state == "draining")
    if state == "starting":
        # Callers with a good token are told so; others learn nothing.
        for token, refusal in ((tokens.token("PACC1"), (503, "not_ready")), (None, (401, "invalid_token")),
                               ("abc", (401, "invalid_token"))):
            code, fields, body = first(door.host, upgrade(token))
            assert (code, json.loads(body)["code"]) == refusal and (code == 401 or int(fields["retry-after"]) > 0)
        assert door.status("/livez") == 200 and door.status("/readyz") == 503
    if state == "draining":
        assert asker.ask("POST", "/admin/undrain")[0] == 200
        eventually(lambda: [scrape(asker)[f"livegate_{name}"] for name in ("ready", "draining")] == [1, 0], 20, "what undrain does")


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
