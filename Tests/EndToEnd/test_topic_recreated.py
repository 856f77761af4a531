"""A topic that is recreated before the next metadata refresh, and longer than it was, on Apache Kafka: with records that
were first read after the last refresh."""

import pytest

from clients import resumed
from kafka_writer import recreate_topic


@pytest.mark.slow
def test_a_topic_recreated_under_a_running_node_makes_everybody_resync(kafka, topic, node, write, live, event_stream):
    bootstrap = kafka.bootstrap["plaintext"]
    door = node()
    plain, client, stream = live(door), live(door, with_="at"), event_stream(door)
    client.wait_for_control("live")
    stream.wait_for("live")
    write(range(5))
    # The first is from before the topic had a record: it names nothing.
    cursors = [client.cursors[0], client.wait_for_events(5)[-1]["at"]]
    recreate_topic(bootstrap, topic)
    write([f"new{number}" for number in range(10)])
    resync = client.wait_for_control("resync", within=30)
    assert resync["why"] == "epoch" and stream.wait_for("resync").json["why"] == "epoch"
    # Who knows no cursors cannot be told: it is closed.
    assert plain.wait_until_closed() == 4409
    client.wait_for_control("live", count=2)
    write(["after"])
    client.wait_for_id("after")
    for old in cursors:
        assert live(door, since=old).wait_for_control("resync")["why"] == "epoch"
    assert "after" in resumed(live(door, since=resync["at"]))
