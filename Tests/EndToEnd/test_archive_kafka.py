# Tests: RangeReader.swift, ArchiveFeed.swift
"""The archive beside Apache Kafka: what retention and deletions take before it was read is a gap, and told by every page that
reaches over it; a topic of another life brings neither old ids nor a silence."""

import json
import time

import pytest

from archives import metric
from kafka_admin import delete_records
from kafka_wire import produce_exactly
from kafka_writer import recreate_topic
from programs import event, eventually


@pytest.fixture
def node(kafka, gateway, topic, archive):
    return lambda **changes: gateway(
        kafka.bootstrap["plaintext"], kafka__topics=[topic], archive__store=archive.store, **changes)


@pytest.fixture
def stamped(kafka, topic):
    def write(events, partition=0):
        records = [{"value": json.dumps(event("PACC1", name)), "timestamp": stamp} for name, stamp in events]
        produce_exactly(kafka.bootstrap["plaintext"], topic, records, partition)
    return write


HOUR = 3_600_000


def ids(page):
    return [event["id"] for event in page["events"]]


def test_what_was_deleted_before_it_was_read_is_a_gap_in_its_place(kafka, topic, gateway, archive, stamped, past):
    """But not what is older than what is kept: a new store begins with the oldest record within that."""
    now = int(time.time() * 1000)
    stamped([("over", now - 3 * HOUR), ("a", now - HOUR), ("b", now - 40_000)])

    def node():
        return gateway(kafka.bootstrap["plaintext"], kafka__topics=[topic], archive__store=archive.store, archive__keep="2h",
                       history__retention="90m")
    door = node()
    archive.wait_for(["a", "b"])
    page = past(door).page()
    assert ids(page) == ["b", "a"] and page["gaps"] == []
    door.stop()
    stamped([("lost", now - 30_000), ("lost too", now - 20_000), ("c", now - 10_000)])
    delete_records(kafka.bootstrap["plaintext"], topic, 0, 5)
    door = node()
    archive.wait_for(["a", "b", "c"])
    door.wait_for_log("the archive lacks events that Kafka had already deleted")
    assert metric(door, "livegate_archive_gaps_total") == 1
    gap = {"from": now - 40_000, "to": now - 10_000}
    client = past(door)
    whole = client.page()
    assert ids(whole) == ["c", "b", "a"] and whole["gaps"] == [gap]
    assert client.page(order="asc", limit=1)["gaps"] == []
    assert client.page(limit=1)["gaps"] == [gap] and client.page(order="asc", limit=2)["gaps"] == [gap]
    for words, gaps in [
        ({"from": gap["to"]}, [gap]), ({"from": gap["to"] + 1}, []), ({"to": gap["from"]}, []), ({"to": gap["from"] + 1}, [gap]),
        ({"from": now - 35_000, "to": now - 34_000}, [gap]),
    ]:
        assert client.page(**words)["gaps"] == gaps, words
    door.stop()
    assert past(node()).page()["gaps"] == [gap]


def test_a_topic_that_was_recreated_while_no_node_ran_is_another_epoch_and_read_from_its_beginning(
        kafka, topic, node, archive, stamped, past, live):
    now = int(time.time() * 1000)
    door = node()
    client = live(door, with_="at")
    client.wait_for_control("live")
    stamped([("a", now - 50_000), ("b", now - 40_000)])
    archive.wait_for(["a", "b"])
    cursors = [event["at"] for event in client.wait_for_events(2)]
    old = {event["id"]: event["aid"] for event in past(door).page()["events"]}
    door.stop()
    recreate_topic(kafka.bootstrap["plaintext"], topic)
    # The same offsets, longer than every position, and one of the same stamp: no old id is given to a new event.
    stamped([("n0", now - 50_000), ("n1", now - 30_000), ("n2", now - 20_000)])
    door = node()
    eventually(lambda: {"n0", "n1", "n2"} <= set(archive.ids), 30, lambda: archive.ids)
    page = past(door).page()
    new = {event["id"]: event["aid"] for event in page["events"]}
    assert not {new[name] for name in ("n0", "n1", "n2")} & set(old.values())
    assert page["gaps"] and metric(door, "livegate_archive_gaps_total") >= 1
    for cursor in cursors:
        back = live(door, since=cursor)
        assert back.wait_for_control("resync")["why"] == "epoch"
        back.wait_for_control("live")
        assert back.ids == []


def test_an_archive_reads_what_was_written_while_its_node_was_away(kafka, topic, node, archive, write, past):
    door = node()
    write(range(10))
    archive.wait_for([str(number) for number in range(10)])
    door.stop()
    for partition in range(4):
        write([f"{partition}-{number}" for number in range(2_500)], partition=partition)
    door = node()
    eventually(lambda: metric(door, "livegate_archive_rows") == 10_010, 60)
    assert past(door).page(limit=1)["gaps"] == [] and archive.gaps == []
