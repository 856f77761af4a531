"""The clients, seen from the harness: a process of their own, because they need a processor of their own."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path


class Crowd:
    def __init__(self, folder, address, accounts, clients, seed):
        self.folder, self.clients = folder, clients
        self.errors = open(folder / "population.log", "w+")
        self.process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("population.py"), address, str(clients), str(seed), *accounts],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.lock = threading.Lock()

    def order(self, do, **more):
        with self.lock:
            try:
                self.process.stdin.write(json.dumps({"do": do, **more}) + "\n")
                self.process.stdin.flush()
                line = self.process.stdout.readline()
            except OSError:
                line = ""
            if not line:
                self.process.wait(30)
                raise AssertionError(f"the clients' process has ended: {Path(self.errors.name).read_text()[-2000:]}")
            return json.loads(line)

    def wait_until_live(self, within):
        end = time.monotonic() + within
        while (live := self.order("status")["live"]) < self.clients:
            assert time.monotonic() < end, f"only {live} of {self.clients} clients are live after {within} s"
            time.sleep(0.5)

    def cut(self, fraction):
        return self.order("cut", fraction=fraction)

    def finish(self, logs, within):
        """Waits until every client has everything, or the time is over; what they have written down."""
        expected = {}
        for (account, _), ids in logs.items():
            expected.setdefault(account, []).extend(ids)
        (self.folder / "expected.json").write_text(json.dumps(expected))
        self.order("expect", file=str(self.folder / "expected.json"))
        end = time.monotonic() + within
        while self.order("status")["incomplete"] and time.monotonic() < end:
            time.sleep(0.5)
        self.order("write", file=str(self.folder / "records.json"))
        return json.loads((self.folder / "records.json").read_text())

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.errors.close()
