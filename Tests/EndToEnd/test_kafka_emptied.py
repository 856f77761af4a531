"""A log that was emptied while a client was away. What its topic is configured to keep says nothing of what was deleted: a
node that comes later has to refuse cursors that do not name the partition, or the client misses an event in silence."""

import subprocess

import pytest

from clients import resumed
from kafka_admin import create_topic, delete_records, set_config
from programs import KCAT, event, eventually, produce


def is_empty(bootstrap, topic, partition):
    """Asked at its beginning: kcat reads to the end."""
    done = subprocess.run([*KCAT, "-C", "-b", bootstrap, "-t", topic, "-p", str(partition), "-o", "beginning", "-e", "-q"],
                          capture_output=True, timeout=300, check=True)
    return not done.stdout


def delete_by_hand(bootstrap, topic):
    delete_records(bootstrap, topic, 1, 1)


def purge_and_widen_again(bootstrap, topic):
    """As operators empty a topic: a retention of a moment, and afterwards the one that it had."""
    set_config(bootstrap, topic, "retention.ms", 1)
    eventually(lambda: is_empty(bootstrap, topic, 1), 60, "retention")
    set_config(bootstrap, topic, "retention.ms", None)


@pytest.mark.parametrize("empty", [delete_by_hand, purge_and_widen_again])
def test_a_cursor_from_before_an_event_that_was_deleted_is_refused_by_who_never_read_it(
        kafka, gateway, live, empty, topic_name):
    bootstrap, topic = kafka.bootstrap["plaintext"], topic_name
    create_topic(bootstrap, topic, 2)
    running = gateway(bootstrap, kafka__topics=[topic])
    client = live(running, with_="at")
    client.wait_for_control("live")
    produce(bootstrap, topic, [event("PACC1", "read")], partition=0)
    client.wait_for_id("read")
    cursor = client.cursors[-1]
    client.end()
    produce(bootstrap, topic, [event("PACC1", "missed")], partition=1)
    empty(bootstrap, topic)

    # Who read it still gives it.
    back = live(running, since=cursor)
    back.wait_for_id("missed")
    assert resumed(back) == ["missed"]
    later = live(gateway(bootstrap, kafka__topics=[topic]), since=cursor)
    later.wait_for_control("live")
    assert later.controls("resync"), later.texts
