"""A producer that goes on writing while Kafka is hurt, and what must have reached the clients afterwards."""

import json
import subprocess
import threading

from clients import incident
from programs import PATIENCE, eventually, produce

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
            records = [incident(ACCOUNTS[at % len(ACCOUNTS)], identity) for at, identity in enumerate(ids)]
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
    done = subprocess.run(["kcat", "-C", "-b", bootstrap, "-t", topic, "-p", str(partition), "-o", "beginning", "-e", "-q"],
                          capture_output=True, timeout=120, check=True)
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
