# Tests: LogTracker+Openings.swift, Audience.swift
"""Plain streams on nodes that start while the broker trims their logs: what stays open brings everything from its opening on."""

import os
import random
import signal
import threading

import pytest

from clients import EventStream
from kafka_admin import create_topic, delete_records
from kafka_writer import ACCOUNTS, BATCH, Writer
from programs import eventually

PARTITIONS = 4
# A longer form is for looking for what is rare.
ROUNDS = int(os.environ.get("LIVEGATE_ROUNDS", "4"))
STREAMS = 12
# How much of a partition stays: what its readers have not read yet, on a machine that is slow.
KEPT = 5 * BATCH


class Trimmer:
    """Deletes what is old from random partitions, at random moments. Offsets are counts: the writer uses no transactions."""

    def __init__(self, bootstrap, topic, writer, chance):
        self.bootstrap, self.topic, self.writer, self.chance = bootstrap, topic, writer, chance
        self.trims = 0
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._trim, daemon=True)
        self.thread.start()

    def _trim(self):
        while not self.stopping.wait(self.chance.uniform(0.02, 0.3)):
            partition = self.chance.randrange(PARTITIONS)
            count = sum(identity.startswith(f"{partition}/") for identity in list(self.writer.acknowledged))
            if count > KEPT:
                delete_records(self.bootstrap, self.topic, partition, count - KEPT)
                self.trims += 1

    def stop(self):
        self.stopping.set()
        self.thread.join(30)


def number(identity):
    return int(identity.partition("/")[2])


def is_over(stream):
    return stream.has_ended if isinstance(stream, EventStream) else stream.closed is not None


def lack(stream, account, since, acknowledged):
    """What a stream that is still open lacks of what was written behind its opening; None where it is whole."""
    for partition in range(PARTITIONS):
        prefix = f"{partition}/"
        expected = [identity for identity in acknowledged if identity.startswith(prefix) and number(identity) >= since
                    and ACCOUNTS[(number(identity) % BATCH) % len(ACCOUNTS)] == account]
        received = [identity for identity in list(stream.ids) if identity.startswith(prefix)]
        missing = set(expected) - set(received)
        if missing:
            return f"{account} lacks {len(missing)} of {len(expected)} in partition {partition}, from {min(missing, key=number)} on"
        if received != sorted(set(received), key=number):
            return f"{account} has partition {partition} out of order or twice"
    return None


@pytest.mark.slow
@pytest.mark.parametrize("kills", ["one", "both"])
def test_what_stays_open_brings_everything(kafka, gateway, live, event_stream, topic_name, kills):
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name, PARTITIONS)
    seed = int(os.environ.get("LIVEGATE_SEED", random.SystemRandom().randrange(10 ** 6)))
    print(f"seed {seed}")
    chance = random.Random(seed)

    def node():
        return gateway(bootstrap, kafka__topics=[topic_name], history__retention="10s", history__max_timestamp_delay="1s")
    writer = Writer(bootstrap, topic_name, PARTITIONS)
    trimmer = Trimmer(bootstrap, topic_name, writer, chance)
    nodes, judged = [node(), node()], 0
    try:
        for _ in range(ROUNDS):
            for index in range(2) if kills == "both" else [chance.randrange(2)]:
                nodes[index].program.signal(signal.SIGKILL)
                nodes[index].program.wait()
                nodes[index] = node()
            streams = []
            for at in range(STREAMS):
                account, opened = chance.choice(ACCOUNTS), chance.choice((live, event_stream))
                stream = opened(chance.choice(nodes), account)
                streams.append((account, stream, writer.next))
                threading.Event().wait(chance.uniform(0, 0.1))
            writer.wait_for_more(PARTITIONS * 2 * BATCH)
            acknowledged = list(writer.acknowledged)
            for account, stream, since in streams:
                # One that was closed lacks nothing in silence.
                eventually(
                    lambda stream=stream, account=account, since=since: is_over(stream) or not lack(stream, account, since, acknowledged),
                    30, lambda stream=stream, account=account, since=since: lack(stream, account, since, acknowledged))
                judged += not is_over(stream)
                stream.end()
    finally:
        trimmer.stop()
        writer.stop()
    assert judged > ROUNDS * STREAMS / 2 and trimmer.trims > ROUNDS
    print(f"{judged} streams of {ROUNDS} rounds, {trimmer.trims} trims, {len(writer.acknowledged)} records")
