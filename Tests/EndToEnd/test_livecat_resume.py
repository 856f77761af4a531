"""livecat's three ways of coming back, against the gateway itself."""

import json
import signal

import pytest

from kafka_admin import create_topic
from programs import event, eventually, produce


def write(broker, *numbers):
    produce(broker.bootstrap, "incidents", [event("PACC1", f"x-{number}") for number in numbers], partition=1)


def ids(out):
    return [json.loads(line)["id"] for line in out.splitlines()]


@pytest.fixture
def options(tokens, tmp_path):
    """A token's file and a cursor's, as livecat takes them."""
    (tmp_path / "token").write_text(tokens.token("PACC1"))
    return ["--token-file", tmp_path / "token", "--cursor-file", tmp_path / "place"]


@pytest.mark.parametrize("form", [[], ["--sse"], ["--sync", "--wait", "20"]], ids=["websocket", "sse", "sync"])
def test_what_came_meanwhile_is_told_first(gateway, mock_broker, run_livecat, options, form, topic_name):
    url = gateway(mock_broker.bootstrap).url
    # Without an event there is only the cursor of now.
    assert run_livecat("--sync", *options, url)[:2] == (0, b"")
    write(mock_broker, 1, 2, 3)
    assert ids(run_livecat(*form, "--count", "2", *options, url)[1]) == ["x-1", "x-2"]
    write(mock_broker, 4)
    status, out, err = run_livecat(*form, "--count", "2", "--verify", *options, url)
    assert status == 0 and ids(out) == ["x-3", "x-4"] and "0 missing, 0 doubled, 0 resyncs" in err


@pytest.mark.parametrize("form", [[], ["--sse"], ["--sync", "--wait", "20"]], ids=["websocket", "sse", "sync"])
def test_a_gateway_that_is_killed_costs_nothing(gateway, kafka, livecat, options, form, topic_name):
    """On Apache Kafka: the embedded broker knows no times, so that a gateway which starts with it has no past."""
    brokers, topic = kafka.bootstrap["plaintext"], topic_name
    create_topic(brokers, topic)

    def write(*numbers):
        produce(brokers, topic, [event("PACC1", f"x-{number}") for number in numbers])
    write(0)
    first = gateway(brokers, stays=True, kafka__topics=[topic])
    program = livecat(*form, "--reconnect", "--verify", "--count", "6", *options, first.url)
    # The first cursor says where the record is; so what is written from here on is told.
    eventually(options[-1].exists, what="the first cursor")
    write(1, 2)
    assert ids(program.line() + program.line()) == ["x-1", "x-2"]
    first.program.signal(signal.SIGKILL)
    assert first.program.wait() == -signal.SIGKILL
    write(3, 4)
    gateway(brokers, kafka__topics=[topic], listen=[first.host])
    assert ids(program.line() + program.line()) == ["x-3", "x-4"]
    write(5, 6)
    status, out, err = program.finish()
    assert status == 0 and ids(out) == ["x-5", "x-6"] and "0 missing, 0 doubled, 0 resyncs" in err


def test_another_epoch_is_told_and_gone_on_from(gateway, mock_broker, run_livecat, options):
    run_livecat("--sync", *options, gateway(mock_broker.bootstrap).url)
    write(mock_broker, 1)
    renewed = gateway(mock_broker.bootstrap, history__epoch=2)
    status, out, err = run_livecat("--sync", *options, renewed.url)
    assert (status, out) == (0, b"") and "resync (epoch): what was missed cannot be given" in err
    write(mock_broker, 2)
    assert ids(run_livecat("--count", "1", *options, renewed.url)[1]) == ["x-2"]
