"""Cursors over what Kafka does to its logs: compacted, trimmed, written late. Either everything after a cursor is given, or
it is refused; and nobody is refused without need."""

import json
import subprocess
import time

import pytest

from clients import resumed
from kafka_admin import create_topic, delete_records
from kafka_wire import produce_exactly
from programs import KCAT, event, eventually, produce

HOUR_MS = 3_600_000


def offsets(bootstrap, topic, partition=0):
    """The offsets at which records stand."""
    done = subprocess.run([*KCAT, "-C", "-b", bootstrap, "-t", topic, "-p", str(partition), "-e", "-q", "-f", "%o\n"],
                          capture_output=True, timeout=300, check=True)
    return [int(line) for line in done.stdout.split()]


def test_cursors_are_served_after_their_last_event_was_compacted_away(kafka, gateway, live, topic_name):
    bootstrap, topic = kafka.bootstrap["plaintext"], topic_name
    create_topic(bootstrap, topic, cleanup_policy="compact", segment_ms=100, min_cleanable_dirty_ratio=0.0001,
                 max_compaction_lag_ms=100)
    running = gateway(bootstrap, kafka__topics=[topic])
    client = live(running, with_="at")
    client.wait_for_control("live")
    for at in range(25):
        produce_exactly(bootstrap, topic, [{"key": f"k{at % 5}", "value": json.dumps(event("PACC1", f"P{at}"))}])
    client.wait_for_events(25)
    cursors = client.cursors

    def has_holes():
        # A record closes the segment before it, and only closed ones are cleaned.
        produce_exactly(bootstrap, topic, [{"key": "last", "value": json.dumps(event("PACC1", "last"))}])
        return not any(offset in offsets(bootstrap, topic) for offset in range(20))
    eventually(has_holes, 60, "compaction")
    assert len(cursors) == 26
    fresh = gateway(bootstrap, kafka__topics=[topic])
    left = [identity for identity in resumed(live(fresh, since=cursors[0]))]
    assert set(left) >= {f"P{at}" for at in range(20, 25)} | {"last"}
    for number, cursor in enumerate(cursors):
        # What stands behind the position still: of P0 … P19 nothing, P20 … P24 as far as they come after it.
        behind = [identity for identity in left if identity == "last" or int(identity[1:]) >= number]
        assert resumed(live(fresh, since=cursor)) == behind, f"cursor {number}"


@pytest.mark.parametrize("account", ["PACC1", "PACC2"])
def test_a_node_serves_its_own_fresh_cursor_where_the_log_starts_above_0(node, live, sync, topic, kafka, write, account):
    """To an account that has events there, and to one that has none yet."""
    bootstrap = kafka.bootstrap["plaintext"]
    write(range(10))
    delete_records(bootstrap, topic, 0, 6)
    running = node()
    cursor = sync(running, account).page()["at"]
    write(["next"], account=account)
    client = live(running, account, since=cursor)
    client.wait_for_events(1)
    assert resumed(client) == ["next"]
    # Another node knows only that what was deleted came before its own start; the cursor names the log to both accounts.
    later = live(node(), account, since=cursor)
    later.wait_for_events(1)
    assert resumed(later) == ["next"]


@pytest.mark.parametrize("partition", [0, 1])
def test_a_record_that_is_stamped_an_hour_ago_reaches_who_was_away(mock_broker, gateway, live, partition):
    """In the partition that the cursor names, and in one that it does not: what it is owed goes by when it came."""
    door = gateway(mock_broker.bootstrap, history={"retention": "2m", "max_timestamp_delay": "1m"})
    client = live(door, with_="at")
    client.wait_for_control("live")
    now = int(time.time() * 1000)

    def write(name, timestamp, at):
        produce_exactly(mock_broker.bootstrap, "incidents",
                        [{"value": json.dumps(event("PACC1", name)), "timestamp": timestamp}], partition=at)
    write("first", now, 0)
    client.wait_for_id("first")
    cursor = client.cursors[-1]
    write("late", now - HOUR_MS, partition)
    client.wait_for_id("late")
    # Others come and go, so that the log lets go what it may.
    produce(mock_broker.bootstrap, "incidents", [event("PACC2", number) for number in range(100)], partition=partition)
    write("behind", now + 1, partition)
    client.wait_for_id("behind")
    assert resumed(live(door, since=cursor)) == ["late", "behind"]


@pytest.mark.parametrize("timestamp", [2 ** 63 - 1, -1, 0, "ahead"])
def test_no_time_stamp_of_a_record_stops_a_node_or_refuses_a_cursor(kafka, gateway, live, sync, timestamp, topic_name):
    """In the first record of a log, and in a later one, of the account and of others."""
    bootstrap, topic = kafka.bootstrap["plaintext"], topic_name
    create_topic(bootstrap, topic, 4, message_timestamp_after_max_ms=2 ** 63 - 1)
    stamp = int(time.time() * 1000) + 48 * HOUR_MS if timestamp == "ahead" else timestamp

    def write(name, partition, account="PACC1", **more):
        produce_exactly(bootstrap, topic, [{"value": json.dumps(event(account, name)), **more}], partition=partition)

    def is_served(running, cursor):
        back = live(running, since=cursor)
        back.wait_for_control("live")
        return not back.controls("resync")

    write("odd", 0, account="PACC2", timestamp=stamp)
    door = gateway(bootstrap, kafka__topics=[topic])
    client = live(door, with_="at")
    client.wait_for_control("live")
    for partition in range(2):
        write(f"first{partition}", partition)
    client.wait_for_events(2)
    write("odd", 1, account="PACC2", timestamp=stamp)
    write("odd too", 0, timestamp=stamp)
    client.wait_for_id("odd too")
    assert all([is_served(door, cursor) for cursor in client.cursors]), client.cursors
    # Another node may know the log only from its first record with a good stamp, and so from when this one proved it next.
    other = gateway(bootstrap, kafka__topics=[topic])
    eventually(lambda: is_served(other, sync(door).page()["at"]), 15, "a cursor that another node serves")
    assert door.status("/readyz") == other.status("/readyz") == 200
