"""Writes numbered events at a steady rate, whatever happens to the brokers."""

import json
import random
import subprocess
import threading
import time

from kafka_writer import log_of
from programs import KCAT
from stage import PARTITIONS, TOPIC

# Long enough that no message is given up while there is trouble; the producer keeps them and their order.
PRODUCER = {"acks": "all", "enable.idempotence": "true", "message.timeout.ms": 0, "socket.timeout.ms": 8000,
            "request.timeout.ms": 6000, "queue.buffering.max.ms": 5, "reconnect.backoff.max.ms": 1000}


def produce_to(bootstrap, partition):
    """A kcat that writes each line of its input."""
    options = [word for name, value in PRODUCER.items() for word in ("-X", f"{name}={value}")]
    return subprocess.Popen([*KCAT, "-P", "-b", bootstrap, "-t", TOPIC, "-p", str(partition), *options],
                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, bufsize=0)


class Writer:
    """One kcat a partition. An account has events in three partitions, seldom in the third, which its first cursors
    therefore do not name; its ids carry account, partition and a number that grows by one."""

    def __init__(self, stage, accounts, rate, seed):
        self.bootstrap, self.accounts, self.rate = stage.plaintext, accounts, rate
        self.random = random.Random(f"writer {seed}")
        self.numbers = {}
        # By partition: what was given to the running kcat; what was given to those that ended too early.
        self.given = [[] for _ in range(PARTITIONS)]
        self.lost_producers = []
        self.producers = [produce_to(self.bootstrap, partition) for partition in range(PARTITIONS)]
        self.acknowledged = set()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._write, daemon=True)
        self.thread.start()

    def _write(self):
        begin, written = time.monotonic(), 0
        while not self.stopping.wait(0.05):
            due = int((time.monotonic() - begin) * self.rate)
            while written < due:
                self._event()
                written += 1

    def _event(self):
        at = self.random.randrange(len(self.accounts))
        home = at % PARTITIONS
        partition = (home + self.random.choices((0, 1, 3), (70, 25, 5))[0]) % PARTITIONS
        key = self.accounts[at], partition
        number = self.numbers[key] = self.numbers.get(key, 0) + 1
        identity = f"{self.accounts[at]}.{partition}-{number}"
        record = {"account_id": self.accounts[at], "entity": "incidents::incident", "id": identity, "type": "updated"}
        try:
            self.producers[partition].stdin.write(json.dumps(record).encode() + b"\n")
            self.given[partition].append(identity)
        except OSError:
            # What it had not written is not in the log, which alone is what clients are measured by.
            self.lost_producers.append(partition)
            self.given[partition] = []
            self.producers[partition] = produce_to(self.bootstrap, partition)

    def finish(self):
        """Waits until everything is acknowledged; by account and partition, what stands in the log."""
        self.stopping.set()
        self.thread.join(30)
        for partition, producer in enumerate(self.producers):
            producer.stdin.close()
            try:
                status = producer.wait(120)
            except subprocess.TimeoutExpired:
                status = None
            if status == 0:
                self.acknowledged.update(self.given[partition])
            else:
                self.lost_producers.append(partition)
        logs = {}
        for partition in range(PARTITIONS):
            for account, identity in log_of(self.bootstrap, TOPIC, partition)[1:]:
                log = logs.setdefault((account, partition), {})
                # A producer that had to be replaced may have written twice: the first place counts.
                log.setdefault(identity, len(log))
        return {key: list(log) for key, log in logs.items()}

    def end(self):
        self.stopping.set()
        self.thread.join(30)
        for producer in self.producers:
            if producer.poll() is None:
                producer.kill()
            producer.wait()
