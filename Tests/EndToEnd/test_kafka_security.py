"""Ways to log in to Apache Kafka 4.2 and 3.9, and rights that are granted while the gateway waits."""

import uuid

import pytest

from programs import event, produce
from kafka_admin import DESCRIBE, PREFIXED, READ, create_topic, grant

# What is tested is how librdkafka logs in, for which no sanitizer looks.
pytestmark = pytest.mark.unsanitized

LIVEGATE, CLIENT = "User:livegate", "User:CN=client"


@pytest.fixture(params=["kafka", "older_kafka"], ids=["4.2", "3.9"])
def either_kafka(request):
    return request.getfixturevalue(request.param)


def login(kafka, mechanism, user="livegate", password="livegate-secret"):
    return {"security.protocol": "sasl_plaintext", "sasl.mechanism": mechanism, "sasl.username": user,
            "sasl.password": password}


def tls(kafka):
    return {"security.protocol": "ssl", "ssl.ca.location": kafka.facts["ca"]}


def certificate(kafka):
    """Key and certificate stand in one file."""
    own = kafka.facts["client_certificate"]
    return {**tls(kafka), "ssl.certificate.location": own, "ssl.key.location": own}


def delivers(kafka, gateway, live, kind, settings, env=None):
    """A gateway with these settings becomes ready, and a record comes through."""
    plain = kafka.bootstrap["plaintext"]
    # Its window holds nothing.
    topic = f"granted-{uuid.uuid4().hex}"
    create_topic(plain, topic)
    for principal in (LIVEGATE, CLIENT):
        grant(plain, principal, "granted-", READ, DESCRIBE, pattern=PREFIXED)
    running = gateway(kafka.bootstrap[kind], env=env, kafka__topics=[topic], kafka__settings=settings)
    client = live(running, "PACC1")
    produce(plain, topic, [event("PACC1", "PAM4FGS")])
    assert client.wait_for(1) == [{"ent": "incident", "id": "PAM4FGS", "type": "updated"}]
    stopped = running.stop()
    assert stopped["records"] == 1
    assert not [line for line in running.troubles() if line["part"] == "kafka"]
    assert "livegate-secret" not in "\n".join(running.program.err)
    return running


def test_without_anything(either_kafka, gateway, live):
    delivers(either_kafka, gateway, live, "plaintext", {})


def test_tls_with_the_authority_that_signed(kafka, gateway, live):
    delivers(kafka, gateway, live, "tls", tls(kafka))


def test_a_client_certificate(either_kafka, gateway, live):
    delivers(either_kafka, gateway, live, "tls", certificate(either_kafka))


def test_plain(either_kafka, gateway, live):
    delivers(either_kafka, gateway, live, "sasl", login(either_kafka, "PLAIN"))


def test_plain_over_tls(either_kafka, gateway, live):
    settings = {**login(either_kafka, "PLAIN"), **tls(either_kafka), "security.protocol": "sasl_ssl"}
    delivers(either_kafka, gateway, live, "sasl_tls", settings)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_with_the_older_kafka(older_kafka, gateway, live, mechanism):
    running = delivers(older_kafka, gateway, live, "sasl", login(older_kafka, mechanism))
    warned = running.log("a setting may not be what was meant")
    if "2.0.2" in running.log("starting")[0]["library"]:
        assert ["SCRAM" in line["reason"] and "2.6.1" in line["reason"] for line in warned] == [True]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_with_a_newer_librdkafka(either_kafka, gateway, live, newer_librdkafka, mechanism):
    running = delivers(either_kafka, gateway, live, "sasl", login(either_kafka, mechanism), env=newer_librdkafka)
    assert "2.16.0" in running.log("starting")[0]["library"]
    assert not running.log("a setting may not be what was meant")


def test_a_topic_that_may_be_seen_but_not_read_waits_for_the_right(either_kafka, gateway, live, topic_name):
    plain = either_kafka.bootstrap["plaintext"]
    create_topic(plain, topic_name, 2)
    grant(plain, LIVEGATE, topic_name, DESCRIBE)
    running = gateway(either_kafka.bootstrap["sasl"], ready=False, kafka__topics=[topic_name],
                      kafka__settings=login(either_kafka, "PLAIN"))
    told = running.wait_for_log("grant Read on it")
    assert (told["level"], told["topic"]) == ("error", topic_name)
    status, why = running.readyz()
    assert status == 503 and topic_name in why
    grant(plain, LIVEGATE, topic_name, READ)
    running.wait_until_ready()
    client = live(running, "PACC1")
    produce(plain, topic_name, [event("PACC1", "PAM4FGS")], partition=1)
    assert client.wait_for_id("PAM4FGS") == ["PAM4FGS"]
    running.stop()
    assert len(running.log("grant Read on it")) == 1
