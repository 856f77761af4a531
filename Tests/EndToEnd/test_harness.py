"""The harness itself: the embedded broker is a broker, and programs end with their tests."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from asker import Asker
from programs import KCAT, ROOT, SHARED, eventually, produce
from shared_brokers import VARIABLE


def consumed(bootstrap, topic):
    done = subprocess.run([*KCAT, "-C", "-b", bootstrap, "-t", topic, "-e", "-q", "-f", "%k %s\n"],
                          capture_output=True, timeout=300, check=True)
    return sorted(done.stdout.decode().splitlines())


def test_what_kcat_produces_to_the_embedded_broker_comes_back(mock_broker):
    mock_broker.topic("made-later", 2)
    produce(mock_broker.bootstrap, "made-later", ["one", {"two": 2}], partition=1)
    produce(mock_broker.bootstrap, "made-later", [("key", "three")])
    assert consumed(mock_broker.bootstrap, "made-later") == [" one", ' {"two": 2}', "key three"]


def test_the_embedded_broker_goes_down_and_comes_up(mock_broker):
    produce(mock_broker.bootstrap, "incidents", ["one"])
    mock_broker.down()
    refused = subprocess.run(["kcat", "-L", "-b", mock_broker.bootstrap, "-m", "1"], capture_output=True, timeout=300)
    assert refused.returncode != 0
    mock_broker.up()
    eventually(lambda: consumed(mock_broker.bootstrap, "incidents") == [" one"])


def test_what_kcat_could_not_deliver_is_an_error(mock_broker):
    mock_broker.down()
    with pytest.raises(AssertionError, match="Delivery failed"):
        produce(mock_broker.bootstrap, "incidents", ["one"], message_timeout_ms=1000)


def test_kcat_waits_for_a_broker_that_comes_back(mock_broker, start):
    mock_broker.down()
    writer = start(*KCAT, "-P", "-b", mock_broker.bootstrap, "-t", "incidents", "-p", "0")
    writer.send("one")
    writer.process.stdin.close()
    writer.line("brokers are down")
    mock_broker.up()
    assert writer.wait(60) == 0
    assert consumed(mock_broker.bootstrap, "incidents") == [" one"]


def test_who_asks_the_administration_asks_again_where_its_connection_was_closed(gateway, mock_broker):
    asker = Asker(gateway(mock_broker.bootstrap, limits__handshake_timeout="100ms").admin)
    # It has said nothing for too long.
    assert asker.ended()
    assert asker.ask("GET", "/livez")[0] == 200


def test_apache_kafka_takes_what_kcat_produces(kafka, topic_name):
    kafka.tool("topic", "create", topic_name, "--partitions", "1")
    produce(kafka.bootstrap["plaintext"], topic_name, ["one"])
    assert consumed(kafka.bootstrap["plaintext"], topic_name) == [" one"]


RUN = "import shared_brokers, sys; print(shared_brokers.Run().folder, flush=True); sys.stdin.read()"
USER = """
import shared_brokers, sys
cluster = shared_brokers.shared_cluster("shared")
print(cluster.bootstrap["plaintext"], flush=True)
sys.stdin.read()
"""


@pytest.mark.kafka
def test_all_processes_of_a_run_have_one_cluster_which_ends_with_the_run_alone(start):
    env = {"PYTHONPATH": str(ROOT / "Tests/Harness/Python"), "LIVEGATE_SHARED": str(SHARED)}
    first = start(sys.executable, "-c", RUN, env=env)
    folder = Path(first.line("/"))
    try:
        users = [start(sys.executable, "-c", USER, env={**env, VARIABLE: str(folder)}) for _ in range(3)]
        address, = {user.line("127.0.0.1:", within=120) for user in users}
        # Among them the one that has started it.
        for user in users:
            user.signal(signal.SIGKILL)
            user.wait()
        produce(address, "still-there", ["one"])
        assert consumed(address, "still-there") == [" one"]
        first.signal(signal.SIGKILL)
        eventually(lambda: not (folder / "shared/cluster").exists(), 30, "the end of the cluster")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_program_and_what_it_started_end_with_their_test(start):
    program = start("/bin/sh", "-c", "sleep 1000 & echo $!; wait")
    child = program.line("").strip()
    program.end()
    eventually(lambda: subprocess.run(["kill", "-0", child], capture_output=True).returncode != 0)
