"""Cursors over what Kafka does to its logs: compacted, trimmed, written late. Either everything after a cursor is given, or
it is refused; and nobody is refused without need."""

import json
import signal
import subprocess
import time

import pytest

from clients import resumed
from kafka_admin import create_topic, delete_records, set_config
from kafka_wire import produce_exactly
from programs import KCAT, event, eventually, produce

HOUR_MS = 3_600_000


def offsets(bootstrap, topic, partition=0):
    """The offsets at which records stand."""
    done = subprocess.run([*KCAT, "-C", "-b", bootstrap, "-t", topic, "-p", str(partition), "-o", "beginning", "-e", "-q", "-f",
                           "%o\n"], capture_output=True, timeout=300, check=True)
    return [int(line) for line in done.stdout.split()]


def test_what_compaction_left_arrives_in_order_live_and_after_every_cursor(kafka, gateway, live, topic_name):
    bootstrap, topic = kafka.bootstrap["plaintext"], topic_name
    create_topic(bootstrap, topic, cleanup_policy="compact", segment_ms=100, min_cleanable_dirty_ratio=0.0001,
                 max_compaction_lag_ms=100)
    running, sleeper = gateway(bootstrap, kafka__topics=[topic]), gateway(bootstrap, kafka__topics=[topic])
    client, late = live(running, with_="at"), live(sleeper)
    client.wait_for_control("live")

    def write(name, key):
        produce_exactly(bootstrap, topic, [{"key": key, "value": json.dumps(event("PACC1", name))}])
    write("P0", "k0")
    late.wait_for_id("P0")
    # It sleeps while the log gets its holes.
    sleeper.program.signal(signal.SIGSTOP)
    for at in range(1, 25):
        write(f"P{at}", f"k{at % 5}")
    client.wait_for_events(25)
    cursors = client.cursors

    def has_holes():
        # A record closes the segment before it, and only closed ones are cleaned.
        write("last", "last")
        return not any(offset in offsets(bootstrap, topic) for offset in range(20))
    try:
        eventually(has_holes, 60, "compaction")
    finally:
        sleeper.program.signal(signal.SIGCONT)
    assert len(cursors) == 26
    fresh = gateway(bootstrap, kafka__topics=[topic])
    left = [identity for identity in resumed(live(fresh, since=cursors[0]))]
    assert set(left) >= {f"P{at}" for at in range(20, 25)} | {"last"}
    for number, cursor in enumerate(cursors):
        # What stands behind the position still: of P0 … P19 nothing, P20 … P24 as far as they come after it.
        behind = [identity for identity in left if identity == "last" or int(identity[1:]) >= number]
        assert resumed(live(fresh, since=cursor)) == behind, f"cursor {number}"
    late.wait_for_id("last")
    awake = [int(identity[1:]) for identity in late.ids if identity != "last"]
    assert awake == sorted(awake) and {0, *range(20, 25)} <= set(awake) and len(awake) < 25


def delete_by_hand(bootstrap, topic):
    delete_records(bootstrap, topic, 1, 1)


def purge_and_widen_again(bootstrap, topic):
    """As operators empty a topic: a retention of a moment, and afterwards the one that it had."""
    set_config(bootstrap, topic, "retention.ms", 1)
    eventually(lambda: not offsets(bootstrap, topic, 1), 60, "retention")
    set_config(bootstrap, topic, "retention.ms", None)


@pytest.mark.parametrize("empty", [delete_by_hand, purge_and_widen_again])
def test_a_log_that_was_emptied_refuses_who_would_miss_something_and_nobody_else(
        node, live, sync, topic, kafka, write, empty):
    """What its topic is configured to keep says nothing of what was deleted: a node that comes later has to refuse cursors that
    do not name the partition, or the client misses an event in silence."""
    bootstrap = kafka.bootstrap["plaintext"]
    write(range(10))
    delete_records(bootstrap, topic, 0, 6)
    running = node()
    # A node serves its own fresh cursor, to an account that has events there, and to one that has none yet.
    cursors = {account: sync(running, account).page()["at"] for account in ("PACC1", "PACC2")}
    for account in cursors:
        write(["next"], account=account)
        client = live(running, account, since=cursors[account])
        client.wait_for_events(1)
        assert resumed(client) == ["next"], account
    # Another node knows only that what was deleted came before its own start; the cursor names the log to both accounts.
    other = node()
    for account in cursors:
        later = live(other, account, since=cursors[account])
        later.wait_for_events(1)
        assert resumed(later) == ["next"], account

    client = live(running, "PACC3", with_="at")
    client.wait_for_control("live")
    write(["read"], account="PACC3")
    client.wait_for_id("read")
    cursor = client.cursors[-1]
    client.end()
    reader = live(running, "PACC3")
    write(["missed"], account="PACC3", partition=1)
    reader.wait_for_id("missed")
    empty(bootstrap, topic)
    # Who read it still gives it.
    back = live(running, "PACC3", since=cursor)
    back.wait_for_id("missed")
    assert resumed(back) == ["missed"]
    later = live(node(), "PACC3", since=cursor)
    later.wait_for_control("live")
    assert later.controls("resync"), later.texts


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
