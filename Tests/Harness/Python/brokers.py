"""Brokers in processes of their own: librdkafka's embedded one, and Apache Kafka."""

import itertools
import json
import os
import shutil
import subprocess

import pytest

from programs import PATIENCE, SHARED, Program, eventually, is_free, lane


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


# Each node has its ports in a block of its own. Clusters listen on them up to minutes after they are begun: other processes
# have other blocks, up to 30,200, from where on the tests in Swift have theirs.
NODE_PORTS, LANE_PORTS = 10, 690
FIRST_PORTS = itertools.cycle(range(19_000 + LANE_PORTS * lane(), 19_000 + LANE_PORTS * (lane() + 1), 3 * NODE_PORTS))


def free_block():
    """The first port of three nodes, which nobody listens on and which this process has not given to a cluster of late."""
    for first in itertools.islice(FIRST_PORTS, LANE_PORTS // NODE_PORTS):
        if all(map(is_free, range(first, first + 3 * NODE_PORTS))):
            return first
    raise AssertionError("no block of ports is free")


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
    # Beside other tests on two cores a node has its port open after a minute and more.
    return [Cluster.path, "run", "--until-eof", "--dir", folder, "--port", free_block(), "--wait", "300", *arguments]


class ApacheKafka(Cluster):
    """A cluster of its own on free ports, with these arguments of `kafka run`."""

    def __init__(self, folder, *arguments):
        folder = folder / "cluster"
        self.program = Program(*command_of_cluster(folder, *arguments))
        super().__init__(folder, json.loads(self.program.line('"bootstrap"', within=120)))

    def end(self):
        self.program.process.stdin.close()
        try:
            self.program.wait(30)
        finally:
            self.program.end()
