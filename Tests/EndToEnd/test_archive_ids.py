"""`with=aid`: each event's id in the archive, the same on every node and every way, made from its record alone."""

import json
import time

from archives import archive_id
from clients import served
from kafka_wire import produce_exactly
from programs import event

TOPIC = "incidents"


def write(broker, identities, partition, stamp):
    records = [{"value": json.dumps(event("PACC1", identity)), "timestamp": stamp} for identity in identities]
    produce_exactly(broker.bootstrap, TOPIC, records, partition)


def expected(identity, partition, offset, stamp):
    return archive_id("PACC1", "incident", identity, "updated", stamp, partition, offset)


def test_an_id_is_the_same_on_every_node_and_every_way(gateway, mock_broker, archived, archive, live, event_stream, sync, past):
    nodes = [archived(), gateway(mock_broker.bootstrap)]
    begin = live(nodes[0], with_="at").wait_for_control("live")["at"]
    sockets = [live(node, with_="aid") for node in nodes]
    streams = [event_stream(node, with_="ts,aid") for node in nodes]
    for stream in streams:
        stream.wait_for("live")
    now = int(time.time() * 1000)
    stamps = [now, now - 5_000]
    write(mock_broker, ["a", "b\u00e9"], 0, stamps[0])
    write(mock_broker, ["c"], 3, stamps[1])
    wanted = {"a": expected("a", 0, 0, stamps[0]), "b\u00e9": expected("b\u00e9", 0, 1, stamps[0]),
              "c": expected("c", 3, 0, stamps[1])}
    for client in sockets:
        client.wait_for_events(3)
        assert {message["id"]: message["aid"] for message in client.events} == wanted
        # Nothing else was asked for, and no control message is sent for its sake.
        assert [list(message) for message in client.messages] == [["ent", "id", "type", "aid"]] * 3
    for stream in streams:
        stream.wait_for(None, count=3)
        assert {message.json["id"]: message.json["aid"] for message in stream.messages} == wanted
        assert all(list(message.json) == ["ent", "id", "type", "ts", "aid"] for message in stream.messages)
    for node in nodes:
        again = live(node, since=begin, with_="aid")
        served(again)
        assert {message["id"]: message["aid"] for message in again.events} == wanted
        page = sync(node).page(since=begin, with_="aid")
        assert {message["id"]: message["aid"] for message in page["events"]} == wanted
        assert all(list(message) == ["ent", "id", "type", "at", "ts", "aid"] for message in page["events"])
        assert all("aid" not in message for message in sync(node).page(since=begin)["events"])
    archive.wait_for(list(wanted))
    stored = {message["id"]: (message["aid"], message["ts"]) for message in past(nodes[0]).page()["events"]}
    assert stored == {message["id"]: (message["aid"], message["ts"]) for message in sync(nodes[0]).page(
        since=begin, with_="aid")["events"]} and {name: aid for name, (aid, _) in stored.items()} == wanted
    # By stamp first, then partition and offset.
    assert sorted(wanted, key=wanted.get) == ["c", "a", "b\u00e9"]
