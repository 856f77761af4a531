"""Brokers in processes of their own: librdkafka's embedded one, and Apache Kafka."""

import json
import os
import shutil
import subprocess
import sys

import pytest

import ports
from programs import PATIENCE, SHARED, Program, eventually


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


class Cluster:
    """Apache Kafka that runs: its addresses by kind, plaintext, tls, sasl, sasl_tls and faults, and the tool that speaks to it."""

    path = SHARED / "kafka/kafka"

    def __init__(self, folder, facts):
        self.folder, self.facts = folder, facts
        self.env = {"KAFKA_TEST_DIR": str(folder)}
        self.bootstrap = facts["bootstrap"]

    def tool(self, *arguments):
        """Runs the tool on this cluster: `tool("kill", "all")`, `tool("topic", "create", "t")`. Returns its output."""
        done = subprocess.run([self.path, *arguments], env={**os.environ, **self.env}, capture_output=True, text=True,
                              timeout=180 * PATIENCE)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def command_of_cluster(folder, *arguments):
    """Runs a cluster until its standard input ends. `arguments` are those of `kafka run`: `--version 3.9`, `--acl`, `--nodes 3`
    at most."""
    missing = None if Cluster.path.exists() else f"{Cluster.path} is missing"
    if shutil.which("java") is None:
        missing = "there is no java"
    if missing:
        unavailable(f"no Apache Kafka: {missing}")
    # It keeps its ports from before it listens on them, which beside other tests on two cores takes a minute and more, and while
    # one of its nodes is down. Told to choose them itself, it would let go what it has chosen.
    return list(map(str, [sys.executable, ports.__file__, Cluster.path, "run", "--until-eof", "--dir", folder, "--port", "PORT",
                          "--wait", "300", *arguments]))


class ApacheKafka(Cluster):
    """A cluster of its own, with these arguments of `kafka run`."""

    def __init__(self, folder, *arguments):
        folder = folder / "cluster"
        self.program = Program(*command_of_cluster(folder, *arguments))
        super().__init__(folder, json.loads(self.program.line('"bootstrap"', within=120)))

    def end(self):
        self.program.process.stdin.close()
        try:
            status = self.program.wait(30)
            assert status == 0, self.program.told()
        finally:
            self.program.end()
