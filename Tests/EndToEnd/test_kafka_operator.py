# Tests: KafkaReport.swift
"""What the operator is told when Kafka cannot be read: one clear line for each cause, and no flood of it."""

import datetime
import json
import subprocess

import pytest

from kafka_admin import DESCRIBE, LIVEGATE, create_topic, grant, login, tls
from programs import run

pytestmark = pytest.mark.slow

# At most one line of a cause in so many seconds; the clocks of the limit and of the line differ by less than the rest.
INTERVAL, SLACK = 10, 0.5


@pytest.fixture(scope="module")
def stranger_authority(tmp_path_factory):
    """The certificate of an authority that has signed nothing."""
    folder = tmp_path_factory.mktemp("authority")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                    folder / "key.pem", "-out", folder / "ca.pem", "-days", "2", "-subj", "/CN=stranger"],
                   check=True, capture_output=True)
    return str(folder / "ca.pem")


def troubles(kafka, older_kafka, stranger_authority, nobody):
    """By name: address, settings, topic, what the line says, and the fact that it names."""
    at, older = kafka.bootstrap, older_kafka.bootstrap
    wrong_authority = {**tls(kafka), "ssl.ca.location": stranger_authority}
    return {
        "wrong password": (at["sasl"], login(kafka, "PLAIN", password="wrong-secret"), "open",
                           "refuses the login; check the user and password in kafka.settings", ("broker", at["sasl"])),
        "wrong password over scram": (older["sasl"], login(older_kafka, "SCRAM-SHA-256", password="wrong-secret"), "open",
                                      "refuses the", ("broker", older["sasl"])),
        "scram": (at["sasl"], login(kafka, "SCRAM-SHA-512"), "open", "librdkafka before 2.6.1", ("broker", at["sasl"])),
        "wrong authority": (at["tls"], wrong_authority, "open", "check ssl.ca.location", ("broker", at["tls"])),
        "no authority": (at["tls"], {"security.protocol": "ssl"}, "open", "check ssl.ca.location", ("broker", at["tls"])),
        "no certificate": (older["tls"], tls(older_kafka), "open", "check ssl.certificate.location", ("broker", older["tls"])),
        "no topic": (at["plaintext"], {}, "nowhere", "the topic does not exist", ("topic", "nowhere")),
        "no right to see": (at["sasl"], login(kafka, "PLAIN"), "hidden", "grant Describe and Read", ("topic", "hidden")),
        "no right to read": (at["sasl"], login(kafka, "PLAIN"), "described", "grant Read on it", ("topic", "described")),
        "nobody there": (nobody, {}, "open", "refuses connections", ("broker", nobody)),
        "no such host": ("nowhere.invalid:9092", {}, "open", "the name of the Kafka broker is not known",
                         ("broker", "nowhere.invalid:9092")),
        "tls to plain": (at["plaintext"], tls(kafka), "open", "speaks no TLS", ("broker", at["plaintext"])),
        "plain to tls": (at["tls"], {}, "open", "check security.protocol", ("broker", at["tls"])),
        "plain to sasl": (at["sasl"], {}, "open", "check security.protocol", ("broker", at["sasl"])),
    }


def seconds(line):
    return datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp()


def test_each_cause_is_one_clear_line(kafka, older_kafka, gateway, stranger_authority, port, tmp_path):
    """All of them at once, because each takes more than ten seconds."""
    plain = kafka.bootstrap["plaintext"]
    for topic in ("open", "hidden", "described"):
        create_topic(plain, topic)
    create_topic(older_kafka.bootstrap["plaintext"], "open")
    grant(plain, LIVEGATE, "described", DESCRIBE)
    cases = troubles(kafka, older_kafka, stranger_authority, port.address)
    running = {name: gateway(address, ready=False, kafka__topics=[topic], kafka__settings=settings)
               for name, (address, settings, topic, _, _) in cases.items()}
    if running["scram"].wait_for_log("starting")["library"] != "librdkafka 2.0.2":
        # A newer one is let in, and then has no right to see the topic.
        del cases["scram"]
    for name, (_, _, _, sentence, (fact, value)) in cases.items():
        told = running[name].wait_for_log(sentence, within=30)
        assert told["level"] in ("warning", "error") and told[fact] == value, name
    # The check before a start says the same; who may not see topics is not told that there is none.
    asked = connected(tmp_path, kafka.bootstrap["sasl"], login(kafka, "PLAIN"), ["hidden", "described", "nowhere"])
    assert [line.partition(" ")[0] for line in asked] == ["[+]kafka.brokers"] + 3 * ["[-]kafka.topics"], asked
    assert "grant Describe and Read" in asked[1] and "grant Read on it" in asked[2] and "nowhere" in asked[3], asked
    refused = connected(tmp_path, kafka.bootstrap["sasl"], login(kafka, "PLAIN", password="wrong-secret"), ["open"])
    assert "refuses the login; check the user and password" in refused[0] and "wrong-secret" not in refused[0], refused
    # Until what goes on has been told again.
    running["nobody there"].wait_for_log("no Kafka broker can be reached", within=60, count=3)
    for name, (_, _, _, sentence, (fact, value)) in cases.items():
        judge(name, running[name], sentence, value if fact == "topic" else "no Kafka broker can be reached")


def connected(folder, address, settings, topics):
    """What `check --connect` says of brokers and topics."""
    path = folder / "livegate.yaml"
    kafka = {"brokers": address, "topics": topics, "settings": settings}
    path.write_text(json.dumps({"auth": {"anonymous": "PACC1"}, "admin": "unix:admin.sock", "listen": "unix:live.sock",
                                "kafka": kafka}))
    status, out, err = run("livegate", "check", "--connect", "--config", path, within=60)
    assert status == 78, (out, err)
    return out.splitlines()


def judge(name, gateway, sentence, missing):
    status, why = gateway.readyz()
    assert status == 503 and missing in why, (name, why)
    lines = [line for line in gateway.log() if line["level"] in ("warning", "error", "critical")]
    told = {}
    for line in lines:
        told.setdefault((line["message"], line.get("broker"), line.get("topic"), line.get("setting")), []).append(line)
    # The cause, and that no broker is left; before them, at start, what the settings let expect.
    expected = (sentence, "no Kafka broker can be reached", "a setting may be a mistake")
    assert all(any(part in line["message"] for part in expected) for line in lines), (name, lines)
    for again in told.values():
        times = [seconds(line) for line in again]
        assert all(later - earlier >= INTERVAL - SLACK for earlier, later in zip(times, times[1:])), (name, again)
    everything = "\n".join(gateway.program.err)
    assert "secret" not in everything, name
    assert not any("group" in line.get("reason", "").lower() for line in lines), name
    assert gateway.program.process.poll() is None and not gateway.program.out
