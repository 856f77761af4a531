"""Brokers in processes of their own: librdkafka's embedded one, and Apache Kafka."""

import json
import os
import shutil
import subprocess

import pytest

from programs import SHARED, Program, eventually


class MockBroker:
    """librdkafka's embedded broker in a process of its own."""

    def __init__(self, program):
        self.program = program
        self.bootstrap = program.line("127.0.0.1:")

    def order(self, text):
        answered = len(self.program.out)
        self.program.send(text)
        answer = eventually(lambda: self.program.out[answered:], what=f"an answer to '{text}'")[0]
        assert answer == "ok", answer

    def topic(self, name, partitions=1):
        self.order(f"topic {name} {partitions}")

    def down(self):
        self.order("down")

    def up(self):
        self.order("up")


def unavailable(reason):
    """Skips the test, and says why; in CI it must run."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


class ApacheKafka:
    """A cluster of its own on free ports. `arguments` are those of `kafka run`: `--version 3.9`, `--acl`, `--nodes 3`."""

    def __init__(self, folder, *arguments):
        self.path = SHARED / "kafka/kafka"
        missing = None if self.path.exists() else f"{self.path} is missing"
        if shutil.which("java") is None:
            missing = "there is no java"
        if missing:
            unavailable(f"no Apache Kafka: {missing}")
        self.folder = folder / "cluster"
        self.env = {"KAFKA_TEST_DIR": str(self.folder)}
        # Beside other tests on two cores a node has its port open after a minute and more.
        self.program = Program(self.path, "run", "--until-eof", "--port", "0", "--wait", "120", *arguments, env=self.env)
        self.facts = json.loads(self.program.line('"bootstrap"', within=150))
        # By kind of address: plaintext, tls, sasl, sasl_tls, faults.
        self.bootstrap = self.facts["bootstrap"]

    def tool(self, *arguments):
        """Runs the tool on this cluster: `tool("kill", "all")`, `tool("topic", "create", "t")`. Returns its output."""
        done = subprocess.run([self.path, *arguments], env={**os.environ, **self.env}, capture_output=True, text=True,
                              timeout=180)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def end(self):
        self.program.process.stdin.close()
        try:
            self.program.wait(30)
        finally:
            self.program.end()
