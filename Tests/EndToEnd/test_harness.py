"""The harness itself: the embedded broker is a broker, and programs end with their tests."""

import subprocess

import pytest

from asker import Asker
from programs import KCAT, eventually, produce


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


def test_apache_kafka_takes_what_kcat_produces(kafka):
    kafka.tool("topic", "create", "harness", "--partitions", "1")
    produce(kafka.bootstrap["plaintext"], "harness", ["one"])
    assert consumed(kafka.bootstrap["plaintext"], "harness") == [" one"]


def test_a_program_and_what_it_started_end_with_their_test(start):
    program = start("/bin/sh", "-c", "sleep 1000 & echo $!; wait")
    child = program.line("").strip()
    program.end()
    eventually(lambda: subprocess.run(["kill", "-0", child], capture_output=True).returncode != 0)
