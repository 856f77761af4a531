"""Producers that write while something else happens, and what must have reached the clients afterwards."""

import asyncio
import json
import subprocess
import threading

from kafka_admin import create_topic, delete_topic
from programs import KCAT, PATIENCE, event, eventually, produce
from rawclient import until

ACCOUNTS = ["PACC1", "PACC2", "PACC3"]
BATCH = 60


class Writer:
    """Runs of kcat, one after the other, over the partitions in turn. A run that ends well was acknowledged by all replicas
    (`acks=all` is kcat's default), and being idempotent it wrote nothing twice."""

    def __init__(self, bootstrap, topic, partitions):
        self.bootstrap, self.topic, self.partitions = bootstrap, topic, partitions
        self.acknowledged, self.failures = [], []
        self.next = 0
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._write, daemon=True)
        self.thread.start()

    def _write(self):
        while not self.stopping.is_set():
            number = self.next
            self.next += BATCH
            partition = number // BATCH % self.partitions
            ids = [f"{partition}/{number + at}" for at in range(BATCH)]
            records = [event(ACCOUNTS[at % len(ACCOUNTS)], identity) for at, identity in enumerate(ids)]
            try:
                produce(self.bootstrap, self.topic, records, partition=partition, enable_idempotence="true")
                self.acknowledged += ids
            except (AssertionError, subprocess.TimeoutExpired) as failure:
                self.failures.append(str(failure))

    def wait_for_more(self, count=5 * BATCH, within=60.0):
        wanted = len(self.acknowledged) + count
        eventually(lambda: len(self.acknowledged) >= wanted, within, f"acknowledged records; {self.failures[-1:]}")

    def stop(self):
        self.stopping.set()
        self.thread.join(90 * PATIENCE)
        assert not self.thread.is_alive()
        assert self.acknowledged


def log_of(bootstrap, topic, partition):
    """Account and id of each record of the partition, in its order."""
    done = subprocess.run([*KCAT, "-C", "-b", bootstrap, "-t", topic, "-p", str(partition), "-o", "beginning", "-e", "-q"],
                          capture_output=True, timeout=600, check=True)
    records = map(json.loads, done.stdout.splitlines())
    return [(record["account_id"], record["id"]) for record in records]


def judge(writer, clients):
    """`clients` by account. Each has what stands in the log for it, each record once, every partition in its order."""
    logs = [log_of(writer.bootstrap, writer.topic, partition) for partition in range(writer.partitions)]
    assert set(writer.acknowledged) <= {identity for log in logs for _, identity in log}, "Kafka itself lost records"
    for account, client in clients:
        for partition, log in enumerate(logs):
            expected = [identity for owner, identity in log if owner == account]
            prefix = f"{partition}/"

            def received():
                return [identity for identity in client.ids if identity.startswith(prefix)]
            if expected:
                client.wait_for_id(expected[-1], within=30)
            assert received() == expected, f"{account}, partition {partition}"
        assert client.closed is None


class Producer:
    """Numbered events for PACC1, of about 300 bytes each, until told to stop."""

    def __init__(self, bootstrap):
        self.bootstrap, self.count, self.stops = bootstrap, 0, False

    async def run(self):
        kcat = await asyncio.create_subprocess_exec(
            *KCAT, "-P", "-b", self.bootstrap, "-t", "incidents", "-p", "0", "-X", "linger.ms=1", stdin=subprocess.PIPE)
        while not self.stops:
            for _ in range(50):
                kcat.stdin.write(json.dumps(event("PACC1", f"{self.count:0200}", "x" * 60)).encode() + b"\n")
                self.count += 1
            await kcat.stdin.drain()
            await asyncio.sleep(0.001)
        kcat.stdin.close()
        assert await kcat.wait() == 0

    @property
    def ids(self):
        return [f"{number:0200}" for number in range(self.count)]


async def while_producing(producer, condition, what):
    task = asyncio.ensure_future(producer.run())
    await until(lambda: condition() or task.done(), 60, what)
    producer.stops = True
    await task


def recreate_topic(bootstrap, topic, partitions=4):
    """Deletes a topic, makes it again and writes a first record. Deletion goes on behind the answer to it: until it is
    over the topic is there already."""
    def is_made():
        try:
            create_topic(bootstrap, topic, partitions)
            produce(bootstrap, topic, [event("NOBODY", "first")])
            return True
        except AssertionError:
            return False

    delete_topic(bootstrap, topic)
    eventually(is_made, 20, "the topic again")
