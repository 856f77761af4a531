# Tests: SourceStatus.swift
"""`source`: clients with cursors are told when Kafka does not answer, and when it does again. On Apache Kafka, whose proxy
can be silent in a way that a closed connection is not."""

import time
from datetime import datetime

import pytest

from programs import event, eventually, produce
from kafka_admin import create_topic


@pytest.fixture
def kafka(own_kafka):
    """One that may be hurt."""
    return own_kafka


@pytest.fixture
def topic(kafka, topic_name):
    create_topic(kafka.bootstrap["plaintext"], topic_name, 3)
    return topic_name


@pytest.fixture
def watched(kafka, gateway, topic):
    return gateway(kafka.bootstrap["faults"], kafka__topics=[topic], kafka__broker_grace="never")


@pytest.fixture
def write(kafka, topic):
    """Writes events, each to a partition of its own."""
    def begin(*ids):
        for partition, name in enumerate(ids):
            produce(kafka.bootstrap["plaintext"], topic, [event("PACC1", name)], partition=partition)
    return begin


# So long nobody answers before clients are told: AnswerWatch.patience.
SILENCE_SECONDS = 2


@pytest.mark.slow
def test_a_broker_that_does_not_answer_is_told_and_so_is_its_return(hurt, watched, write, live, event_stream):
    early, plain, stream = live(watched, with_="at"), live(watched), event_stream(watched)
    early.wait_for_control("live")
    stream.wait_for("live")
    write("a", "b")
    early.wait_for_events(2)
    # Before this moment nothing was answered.
    before = datetime.fromisoformat(watched.log("listening")[0]["time"]).timestamp() * 1000
    for fault in ("stall", "pause"):
        said = len(early.controls("source"))
        hurt(*(["fault", "all", "stall"] if fault == "stall" else ["pause", "all"]))
        stalled = early.wait_for_control("source", count=said + 1, within=10)
        assert list(stalled) == ["state", "ts"] and stalled["state"] == "stalled"
        # Since when, lies after what was told before, and before now.
        assert before < stalled["ts"] <= time.time() * 1000
        # Who comes meanwhile is let in, and told right after `live`.
        late = live(watched, with_="at")
        late.wait_for_control("source")
        assert [next(iter(message)) for message in late.messages] == ["live", "source"]
        assert late.controls("source")[0] == stalled
        assert watched.status("/readyz") == 200
        hurt(*(["fault", "all", "pass"] if fault == "stall" else ["resume", "all"]))
        for client, count in ((early, said + 2), (late, 2)):
            back = client.wait_for_control("source", count=count, within=20)
            assert back["state"] == "live" and stalled["ts"] < back["ts"] <= time.time() * 1000
        before = stalled["ts"]
        write(f"{fault}1", f"{fault}2", f"{fault}3")
        for client in (early, late, plain):
            for name in ("1", "2", "3"):
                client.wait_for_id(fault + name)
        assert not early.controls("resync") and not late.controls("resync")
    assert [message["state"] for message in early.controls("source")] == ["stalled", "live"] * 2
    assert plain.controls("source") == []
    told = [event for event in stream.events if event.name == "source"]
    assert [event.json["state"] for event in told] == ["stalled", "live"] * 2 and {event.id for event in told} == {None}


@pytest.mark.slow
def test_a_connection_that_is_cut_says_nothing(hurt, watched, write, live):
    client = live(watched, with_="at")
    client.wait_for_control("live")
    # Each round begins with a record of each partition just read: whatever counts as silence began within the round.
    write("a", "b", "c")
    client.wait_for_events(3)
    for number in range(4):
        begin, said = time.monotonic(), len(client.controls("source"))
        hurt("fault", "all", "cut")
        hurt("fault", "all", "pass")
        write(f"{number}a", f"{number}b", f"{number}c")
        for name in "abc":
            client.wait_for_id(f"{number}{name}")
        # Where the machine is slow, there was a real silence, of which a client is told, and of its end.
        if time.monotonic() - begin < SILENCE_SECONDS:
            assert len(client.controls("source")) == said

    def told():
        return [message["state"] for message in client.controls("source")]
    eventually(lambda: told() == ["stalled", "live"] * (len(told()) // 2), 20, lambda: f"an end of each silence: {told()}")
    # Whatever the machine did: a cut alone is never called a silence.
    silences = client.controls("source")
    for stalled, back in zip(silences[::2], silences[1::2], strict=True):
        assert back["ts"] - stalled["ts"] >= 1000 * SILENCE_SECONDS, silences
