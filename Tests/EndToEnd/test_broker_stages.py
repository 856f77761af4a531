# Tests: KafkaSource.swift, SourceStatus.swift
"""The broker goes away while settings are read anew, in a drain that is taken back, and in the drain of a stop. What a node
does then that starts, is ready or stops at once is in test_kafka_faults.py."""

import signal
import urllib.request

from gateway import rewrite


QUICK = {"socket.timeout.ms": 3000, "reconnect.backoff.max.ms": 500, "fetch.wait.max.ms": 10}


def post(door, path):
    with urllib.request.urlopen(urllib.request.Request(f"http://{door.admin}{path}", method="POST"), timeout=120) as answer:
        return answer.status


def test_settings_are_read_and_a_drain_is_taken_back_while_the_broker_is_away(gateway, mock_broker, live, tell):
    door = gateway(mock_broker.bootstrap, kafka__settings=QUICK, kafka__broker_grace="1h")
    client = live(door)
    mock_broker.down()
    door.wait_for_log("no Kafka broker can be reached", within=30)
    rewrite(door, log={"level": "debug"})
    door.program.signal(signal.SIGHUP)
    assert door.wait_for_log("settings reloaded")["changed"] == "log.level"
    assert post(door, "/admin/drain?window=1h") == 202 and door.readyz()[0] == 503
    assert post(door, "/admin/undrain") == 200 and door.readyz()[0] == 200
    later = live(door, account="PACC2")
    mock_broker.up()
    door.wait_for_log("Kafka answers again", within=30)
    tell(["0"])
    tell(["1"], account="PACC2")
    assert client.wait_for_id("0") == ["0"] and later.wait_for_id("1") == ["1"]
    assert client.closed is None


def test_a_drain_is_the_same_when_the_broker_goes_away_in_it(gateway, mock_broker, live):
    door = gateway(mock_broker.bootstrap, kafka__settings=QUICK, lifecycle={"drain_delay": "1s", "drain_window": "3s"})
    clients = [live(door) for _ in range(6)]
    door.program.signal()
    door.wait_for_log("draining")
    mock_broker.down()
    assert [client.wait_until_closed() for client in clients] == [1012] * 6
    assert door.program.wait() == 0
    assert door.log("stopped")[-1]["closed"] == "1012=6"
