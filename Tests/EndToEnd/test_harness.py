"""The harness itself: the embedded broker is a broker, and programs end with their tests."""

import subprocess

from programs import eventually, produce


def consumed(bootstrap, topic):
    done = subprocess.run(["kcat", "-C", "-b", bootstrap, "-t", topic, "-e", "-q", "-f", "%k %s\n"],
                          capture_output=True, timeout=60, check=True)
    return sorted(done.stdout.decode().splitlines())


def test_what_kcat_produces_to_the_embedded_broker_comes_back(mock_broker):
    mock_broker.topic("made-later", 2)
    produce(mock_broker.bootstrap, "made-later", ["one", {"two": 2}], partition=1)
    produce(mock_broker.bootstrap, "made-later", [("key", "three")])
    assert consumed(mock_broker.bootstrap, "made-later") == [" one", ' {"two": 2}', "key three"]


def test_the_embedded_broker_goes_down_and_comes_up(mock_broker):
    produce(mock_broker.bootstrap, "incidents", ["one"])
    mock_broker.down()
    refused = subprocess.run(["kcat", "-L", "-b", mock_broker.bootstrap, "-m", "1"], capture_output=True, timeout=60)
    assert refused.returncode != 0
    mock_broker.up()
    eventually(lambda: consumed(mock_broker.bootstrap, "incidents") == [" one"])


def test_apache_kafka_takes_what_kcat_produces(kafka):
    kafka.tool("topic", "create", "harness", "--partitions", "1")
    produce(kafka.bootstrap["plaintext"], "harness", ["one"])
    assert consumed(kafka.bootstrap["plaintext"], "harness") == [" one"]


def test_a_program_and_what_it_started_end_with_their_test(start):
    program = start("/bin/sh", "-c", "sleep 1000 & echo $!; wait")
    child = program.line("").strip()
    program.end()
    eventually(lambda: subprocess.run(["kill", "-0", child], capture_output=True).returncode != 0)
