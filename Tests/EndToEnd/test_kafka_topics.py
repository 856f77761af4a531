"""Topics that are not there yet, grow, go, come again or lose their beginning, while the gateway runs."""

import json
import subprocess

import pytest

from caller import answer, bearer
from clients import resumed
from kafka_admin import create_topic, delete_records, delete_topic, grow_topic
from kafka_writer import recreate_topic
from programs import KCAT, event, eventually, produce


@pytest.fixture
def kafka(own_kafka):
    """One that may be hurt."""
    return own_kafka


def topics_of(bootstrap):
    listed = subprocess.run([*KCAT, "-L", "-J", "-b", bootstrap], capture_output=True, timeout=300, check=True)
    return {topic["topic"]: len(topic["partitions"]) for topic in json.loads(listed.stdout)["topics"]}


def numbered(count, name="P"):
    return [event("PACC1", f"{name}{at}") for at in range(count)]


def test_nobody_is_let_in_before_the_topic_exists_and_then_it_is_read_from_its_beginning(
        kafka, gateway, tokens, topic_name):
    bootstrap = kafka.bootstrap["plaintext"]
    running = gateway(bootstrap, ready=False, kafka__topics=[topic_name])
    assert running.wait_for_log("the topic does not exist")["topic"] == topic_name
    status, fields, body = answer(running.host, bearer(tokens.token("PACC1")))
    problem = json.loads(body)
    assert (status, problem["code"]) == (503, "not_ready") and int(fields["retry-after"]) >= 1
    assert answer(running.host, "")[0] == 401
    status, why = running.readyz()
    assert status == 503 and topic_name in why
    # It has asked for the topic by name, and Kafka is set to make topics that are asked for.
    assert topic_name not in topics_of(bootstrap)
    create_topic(bootstrap, topic_name, 3)
    for partition in range(3):
        produce(bootstrap, topic_name, numbered(5), partition=partition)
    running.wait_until_ready()
    assert running.wait_for_log("the topic is there now")["topic"] == topic_name
    assert answer(running.host, bearer(tokens.token("PACC1")))[0] == 101
    eventually(lambda: running.readyz()[0] == 200)
    assert running.stop()["records"] == 15


def test_partitions_that_are_added_are_read_from_their_beginning_and_belong_to_cursors(kafka, gateway, live, topic_name):
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name, 1)
    running = gateway(bootstrap, kafka__topics=[topic_name])
    client = live(running, with_="at")
    begin = client.wait_for_control("live")["at"]
    for partitions in (2, 5, 12):
        grow_topic(bootstrap, topic_name, partitions)
        eventually(lambda: topics_of(bootstrap)[topic_name] == partitions)
        # Written before the gateway can have seen the partition.
        produce(bootstrap, topic_name, numbered(10, f"{partitions}-"), partition=partitions - 1)
        # Promised within 4 s; the rest is for a busy machine.
        client.wait_for_id(f"{partitions}-9", within=12)
    grown = [f"{partitions}-{at}" for partitions in (2, 5, 12) for at in range(10)]
    assert client.ids == grown
    # The second time falls into the ten seconds in which a cause is told once.
    assert [line["count"] for line in running.log("partitions were added")][:1] == ["1"]
    # A cursor of before them is good here, and on a node that knows them from its start.
    other = gateway(bootstrap, kafka__topics=[topic_name])
    assert resumed(live(running, since=begin)) == grown and sorted(resumed(live(other, since=begin))) == sorted(grown)
    # Each of many partitions keeps its order.
    clients = [client, live(running), live(other)]
    for partition in range(12):
        produce(bootstrap, topic_name, numbered(100, f"{partition} "), partition=partition)
    for each in clients:
        for partition in range(12):
            each.wait_for_id(f"{partition} 99")
            of_partition = [identity for identity in each.ids if identity.startswith(f"{partition} ")]
            assert of_partition == [f"{partition} {at}" for at in range(100)]
        assert each.closed is None
    assert running.readyz()[0] == 200


# An older librdkafka says that a topic has gone, a newer one does not.
@pytest.mark.parametrize("library", ["", "newer_librdkafka"])
def test_a_topic_that_goes_refuses_nobody_and_is_read_from_its_beginning_when_it_is_recreated(
        kafka, gateway, live, library, request, topic_name):
    bootstrap = kafka.bootstrap["plaintext"]
    env = request.getfixturevalue(library) if library else None
    create_topic(bootstrap, topic_name, 2)
    produce(bootstrap, topic_name, numbered(20, "before "))
    running = gateway(bootstrap, env=env, kafka__topics=[topic_name], kafka__broker_grace="1s")
    client = live(running, "PACC1")
    delete_topic(bootstrap, topic_name)
    assert running.wait_for_log("the topic was deleted")["topic"] == topic_name
    eventually(lambda: running.readyz()[0] == 503, what="unreadiness after the grace")
    assert topic_name in running.readyz()[1]
    later = live(running, "PACC1")
    assert topic_name not in topics_of(bootstrap)
    create_topic(bootstrap, topic_name, 2)
    # Without cursors there is no other way to be told that positions have lost their meaning.
    for listener in (client, later):
        assert listener.wait_until_closed() == 4409
    back = live(running, "PACC1")
    produce(bootstrap, topic_name, numbered(3, "again "))
    assert back.wait_for_id("again 2") == ["again 0", "again 1", "again 2"]
    eventually(lambda: running.readyz()[0] == 200, what="readiness")
    running.stop()
    assert len(running.log("the topic was deleted")) == len(running.log("the topic is there now")) == 1
    assert [line["message"] for line in running.troubles()] == [
        running.log(told)[0]["message"] for told in ("the topic was deleted", "sending resync to all clients")]
    delete_topic(bootstrap, topic_name)


@pytest.mark.parametrize("count", [3, 30], ids=["shorter", "longer"])
def test_a_topic_recreated_at_once_is_read_from_its_beginning_and_everybody_resyncs(
        kafka, gateway, live, event_stream, topic_name, count):
    """Before the next metadata refresh, and with records that were first read after the last one."""
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name)
    running = gateway(bootstrap, kafka__topics=[topic_name])
    plain, client, stream = live(running), live(running, with_="at"), event_stream(running)
    client.wait_for_control("live")
    stream.wait_for("live")
    produce(bootstrap, topic_name, numbered(20, "old "))
    plain.wait_for(20)
    # The first is from before the topic had a record: it names nothing.
    cursors = [client.cursors[0], client.wait_for_events(20)[-1]["at"]]
    recreate_topic(bootstrap, topic_name, 1)
    produce(bootstrap, topic_name, numbered(count, "new "))
    resync = client.wait_for_control("resync", within=30)
    client.wait_for_control("live", count=2)
    produce(bootstrap, topic_name, [event("PACC1", "after")])
    client.wait_for_id("after")
    assert resync["why"] == "epoch"
    assert [name for message in client.messages for name in message if name in ("live", "resync")] == ["live", "resync", "live"]
    messages = [message["id"] if "id" in message else "resync" for message in client.messages if "live" not in message]
    at = messages.index("resync")
    news = [f"new {number}" for number in range(count)]
    # librdkafka goes on at its old place in a log that is long enough, until the node has seen that it is another one.
    begin = news.index(messages[20]) if at > 20 else 0
    assert messages[:20] == [f"old {number}" for number in range(20)] and messages[20:at] == news[begin:][:at - 20]
    # From its beginning, where nothing of it was delivered before.
    told, wanted = messages[at + 1:], [*news, "after"]
    assert told == wanted if at == 20 else (
        told == wanted[-len(told):] and wanted.index(told[0]) <= news.index(messages[at - 1]) + 1)
    assert stream.wait_for("resync").json["why"] == "epoch"
    # Who knows no cursors cannot be told: it is closed.
    assert plain.wait_until_closed() == 4409
    for old in cursors:
        assert live(running, since=old).wait_for_control("resync")["why"] == "epoch"
    assert "after" in resumed(live(running, since=resync["at"]))


def test_a_topic_recreated_while_no_node_runs_is_another_epoch_for_accounts_without_events_too(kafka, gateway, live, topic_name):
    """Their cursors name a record of another account, which the new log has not. Here no topic has an id (librdkafka 2.0.2)."""
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name)
    running = gateway(bootstrap, kafka__topics=[topic_name])
    witness = live(running, "PACC2")
    produce(bootstrap, topic_name, [event("PACC2", f"old {number}") for number in range(20)])
    witness.wait_for(20)
    cursor = live(running, with_="at").wait_for_control("live")["at"]
    running.stop()
    recreate_topic(bootstrap, topic_name, 1)
    # Missed by a client that is believed: it stands before the offset of its cursor.
    produce(bootstrap, topic_name, [event("PACC1", "missed"), *(event("PACC2", f"new {number}") for number in range(40))])
    running = gateway(bootstrap, kafka__topics=[topic_name])
    assert live(running, since=cursor).wait_for_control("resync", within=30)["why"] == "epoch"


def test_a_log_that_lost_its_beginning_is_read_from_where_it_begins_with_one_line(kafka, hurt, gateway, live, topic_name):
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name)
    running = gateway(kafka.bootstrap["faults"], kafka__topics=[topic_name])
    plain, client = live(running, "PACC1"), live(running, "PACC1", with_="at")
    produce(bootstrap, topic_name, numbered(10))
    plain.wait_for(10)
    # What is written while the gateway is cut off has gone when it is back. To stop the process would not do: a fetch that
    # waits at the broker is answered with the first records that are written, into the socket of whoever sleeps.
    hurt("fault", "all", "refuse")
    produce(bootstrap, topic_name, numbered(10, "late "))
    delete_records(bootstrap, topic_name, 0, before=18)
    hurt("fault", "all", "pass")
    produce(bootstrap, topic_name, numbered(1, "next "))
    client.wait_for_id("next 0")
    assert client.ids == [f"P{at}" for at in range(10)] + ["late 8", "late 9", "next 0"]
    # Eight records are lost: nobody is left in the belief that nothing was.
    control = [name for message in client.messages for name in message if name in ("live", "resync")]
    assert control == ["live", "resync", "live"]
    assert client.controls("resync")[0]["why"] == "expired"
    assert plain.wait_until_closed() == 4409
    running.wait_for_log("the log no longer holds our position")
    lost = running.log("the log no longer holds our position")
    assert [(line["topic"], line["partition"], line["offset"]) for line in lost] == [(topic_name, "0", "10")]
    assert running.readyz()[0] == 200 and client.closed is None
