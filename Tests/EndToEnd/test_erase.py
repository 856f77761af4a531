# Tests: Ingest+Erasing.swift, ControlCommands.swift, GatewayServer+Control.swift
"""`livegate erase`: nothing of an account from before is served any more, and nobody else notices."""

import time

import pytest

from clients import LiveClient, resumed
from kafka_admin import create_topic
from kafka_wire import produce_exactly
from programs import event, eventually, produce, run
from revoking import settings_of


@pytest.fixture
def node(gateway, mock_broker):
    """A gateway that reads the control topic."""
    mock_broker.topic("control", 2)
    return lambda **changes: gateway(mock_broker.bootstrap, control__topic="control", **changes)


def erase(node, account):
    assert run("livegate", "erase", "--config", settings_of(node), "--account", account) == (0, "", "")


def test_clients_of_the_account_resync_on_every_node_and_nobody_else_does(node, live, sync, tell):
    nodes = [node(), node()]
    meant = [live(door, with_="at") for door in nodes] + [live(nodes[0], account="PACC1", since="")]
    others = [live(door, account="PACC2", with_="at") for door in nodes]
    plain = live(nodes[1])
    begin = [meant[0].wait_for_control("live")["at"], others[0].wait_for_control("live")["at"]]
    tell(["a", "b"])
    tell(["c"], account="PACC2")
    for client in meant:
        client.wait_for_id("b")
    for client in others:
        client.wait_for_id("c")
    erase(nodes[0], "PACC1")
    for client in meant:
        eventually(lambda: {"expired"} <= {reset["why"] for reset in client.controls("resync")})
    # Who has no cursors cannot be told, and is closed to come back.
    assert plain.wait_until_closed() == 4409
    tell(["d"])
    tell(["e"], account="PACC2")
    for client in meant:
        client.wait_for_id("d")
    for client in others:
        assert client.wait_for_id("e") == ["c", "e"] and not client.controls("resync")
    for door in nodes:
        # What was before is gone, what came since is not.
        old = sync(door).ask(since=begin[0])
        assert (old.status, old.body["code"], old.body["why"]) == (410, "resync", "expired")
        cursor = meant[nodes.index(door)].controls("resync")[-1]["at"]
        assert [message["id"] for message in sync(door).page(since=cursor)["events"]] == ["d"]
        kept = sync(door, account="PACC2").page(since=begin[1])
        assert [message["id"] for message in kept["events"]] == ["c", "e"]
        line, = door.log("erased: nothing of the account")
        assert (line["level"], line["account"], line["count"]) == ("notice", "PACC1", 2)
    # It may be repeated.
    count = len(meant[0].controls("resync"))
    erase(nodes[0], "PACC1")
    eventually(lambda: len(meant[0].controls("resync")) == count + 1)
    tell(["f"])
    meant[0].wait_for_id("f")
    assert meant[0].closed is None and not others[0].controls("resync")


@pytest.mark.kafka
def test_a_node_that_starts_reads_the_past_again_and_serves_nothing_of_it(kafka, topic, gateway, tokens):
    """Kafka still has what was erased, and gives it to whoever starts; as it gives the record that erases."""
    bootstrap, control = kafka.bootstrap["plaintext"], f"{topic}-control"
    create_topic(bootstrap, control, 1)

    def start():
        return gateway(bootstrap, kafka__topics=[topic], control__topic=control)

    def client(door, account="PACC1", **words):
        return LiveClient(door, tokens.token(account), **words)
    first = start()
    begin = {account: client(first, account, with_="at").wait_for_control("live")["at"] for account in ("PACC1", "PACC2")}
    follower = client(first, with_="at")
    follower.wait_for_control("live")
    produce(bootstrap, topic, [event("PACC1", "a"), event("PACC2", "b")])
    produce(bootstrap, topic, [event("PACC1", "c")], partition=1)
    follower.wait_for_events(2)
    erase(first, "PACC1")
    cursor = follower.wait_for_control("resync")["at"]
    # A record whose producer is slow: it comes after the erasure and is stamped before.
    late = {"value": '{"account_id":"PACC1","entity":"incidents::incident","id":"late","type":"updated"}',
            "timestamp": int(time.time() * 1000) - 60_000}
    produce_exactly(bootstrap, topic, [late], 1)
    produce(bootstrap, topic, [event("PACC1", "d")])
    # Who is connected gets both.
    follower.wait_for_id("late")
    follower.wait_for_id("d")
    first.stop()
    second = start()
    refused = client(second, since=begin["PACC1"])
    assert refused.wait_for_control("resync")["why"] == "expired"
    refused.wait_for_control("live")
    # A cursor of after it would need "late", which is never given.
    again = client(second, since=cursor)
    assert again.wait_for_control("resync")["why"] == "expired"
    again.wait_for_control("live")
    assert resumed(client(second, "PACC2", since=begin["PACC2"])) == ["b"]
    produce(bootstrap, topic, [event("PACC1", "marker")])
    assert refused.wait_for_id("marker") == again.wait_for_id("marker") == ["marker"]
