"""The apps' API, seen from the harness: its process, its port, which is ours all the time, and its events' way to Kafka."""

import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

from api import database, prepare
from programs import PATIENCE, eventually
from stage import PARTITIONS
from writer import produce_to

# An order waits as long as the API may be paused, and while it is started.
ORDER_SECONDS = 60 * PATIENCE


class Service:
    def __init__(self, folder, accounts, rate, seed):
        self.folder, self.rate = folder, rate
        self.file = folder / "incidents.db"
        for left in folder.glob("incidents.db*"):
            left.unlink()
        prepare(self.file, accounts, random.Random(f"incidents {seed}"))
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        # Whoever comes while there is no process waits here for the next one.
        self.socket.listen(1024)
        self.address = "http://127.0.0.1:%d" % self.socket.getsockname()[1]
        self.log = open(folder / "api.log", "w+")
        self.process, self.is_over = None, False
        self.start()
        self.heal()

    def start(self):
        if self.is_over:
            return
        self.process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("api.py"), str(self.socket.fileno()), self.file, str(self.rate)],
            pass_fds=[self.socket.fileno()], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def order(self, **words):
        self._check()
        request = urllib.request.Request(f"{self.address}/order", json.dumps(words).encode(),
                                         {"Content-Type": "application/json"}, method="PUT")
        with urllib.request.urlopen(request, timeout=ORDER_SECONDS) as answer:
            return json.load(answer)

    def _check(self):
        assert self.process.poll() is None, f"the API has ended by itself: {Path(self.log.name).read_text()[-2000:]}"

    def heal(self):
        """It runs, and fails no more."""
        self._check()
        self.process.send_signal(signal.SIGCONT)
        self.order(failing=False)

    def incidents(self, account):
        """All that the account has, as its apps are told it."""
        request = urllib.request.Request(f"{self.address}/incidents?limit=1000",
                                         headers={"Authorization": f"Bearer token-{account}"})
        with urllib.request.urlopen(request, timeout=ORDER_SECONDS) as answer:
            page = json.load(answer)
        assert not page["more"]
        return page["incidents"]

    def results(self):
        """What became of each action that has arrived, one row for each key."""
        opened = database(self.file)
        rows = opened.execute("SELECT key, account, id, value, status FROM results").fetchall()
        opened.close()
        return [dict(zip(("key", "account", "id", "value", "status"), row)) for row in rows]

    def end(self):
        self.is_over = True
        if self.process.poll() is None:
            self.kill()
        self.socket.close()
        self.log.close()


class Lines:
    """Lines on their way into a partition. A kcat that has ended, as it does when all brokers are gone, may have lost any of them:
    the next one writes all of them again. An event that comes twice costs a fetch; one that is lost is missed for ever."""

    def __init__(self, bootstrap, partition):
        self.bootstrap, self.partition = bootstrap, partition
        self.lines = []
        self._begin()

    def _begin(self):
        self.begun = time.monotonic()
        self.producer = produce_to(self.bootstrap, self.partition)
        self._write(b"".join(self.lines))

    def _write(self, text):
        try:
            self.producer.stdin.write(text)
        except OSError:
            # It is replaced in its turn.
            pass

    def add(self, line):
        self.lines.append(line)
        self._write(line)

    def tend(self):
        """Another producer for one that has ended, but not again and again at once."""
        if self.producer.poll() is not None and time.monotonic() - self.begun > 1:
            self.producer.stdin.close()
            self._begin()

    def are_acknowledged(self):
        if not self.producer.stdin.closed:
            self.producer.stdin.close()
        try:
            if self.producer.wait(60) == 0:
                return True
        except subprocess.TimeoutExpired:
            self.producer.kill()
            self.producer.wait()
        self.tend()
        return False

    def end(self):
        if self.producer.poll() is None:
            self.producer.kill()
        self.producer.wait()


class Courier:
    """Takes the API's events to Kafka, in their order, as soon as their changes can be seen; whatever becomes of the API."""

    def __init__(self, stage, service, seed):
        self.file = service.file
        self.random = random.Random(f"courier {seed}")
        self.partitions = [Lines(stage.plaintext, partition) for partition in range(PARTITIONS)]
        self.place = 0
        self.failure = None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        opened = database(self.file)
        try:
            while not self.stopping.wait(0.05):
                self._take(opened)
                for lines in self.partitions:
                    lines.tend()
            self._take(opened)
        except Exception as failure:  # noqa: BLE001: told by the one who waits
            self.failure = failure
        opened.close()

    def _take(self, opened):
        rows = opened.execute("SELECT place, account, id, type FROM outbox WHERE place > ? ORDER BY place", (self.place,))
        for self.place, account, identity, kind in rows.fetchall():
            home = int(account[1:]) % PARTITIONS
            partition = (home + self.random.choices((0, 1), (80, 20))[0]) % PARTITIONS
            record = {"account_id": account, "entity": "incidents::incident", "id": identity, "type": kind}
            self.partitions[partition].add(json.dumps(record).encode() + b"\n")

    def finish(self):
        """Waits until everything that the API has told stands in Kafka; the number of events."""
        self.stopping.set()
        self.thread.join(60 * PATIENCE)
        if self.failure:
            raise AssertionError(f"the events' courier: {self.failure!r}")
        for lines in self.partitions:
            eventually(lines.are_acknowledged, 120, f"that the API's events stand in partition {lines.partition}")
        return sum(len(lines.lines) for lines in self.partitions)

    def end(self):
        self.stopping.set()
        self.thread.join(30)
        for lines in self.partitions:
            lines.end()
