"""Ways to log in to Apache Kafka 4.2 and 3.9, and rights that are granted while the gateway waits."""

import pytest

from programs import event, produce
from kafka_admin import DESCRIBE, LIVEGATE, READ, create_topic, grant, login, tls

# What is tested is how librdkafka logs in, for which no sanitizer looks.
pytestmark = pytest.mark.unsanitized

CLIENT = "User:CN=client"


@pytest.fixture(params=["kafka", "older_kafka"], ids=["4.2", "3.9"])
def either_kafka(request):
    return request.getfixturevalue(request.param)


def certificate(kafka):
    """Key and certificate stand in one file."""
    own = kafka.facts["client_certificate"]
    return {**tls(kafka), "ssl.certificate.location": own, "ssl.key.location": own}


def ways_in(kafka, is_older, is_newer_library):
    """Ways to log in, by name: the broker's address and the settings."""
    scram = {mechanism: ("sasl", login(kafka, mechanism)) for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")}
    if is_newer_library:
        return scram
    ways = {
        "without anything": ("plaintext", {}), "a client certificate": ("tls", certificate(kafka)),
        "PLAIN": ("sasl", login(kafka, "PLAIN")),
        "PLAIN over TLS": ("sasl_tls", {**login(kafka, "PLAIN"), **tls(kafka), "security.protocol": "sasl_ssl"}),
    }
    # Kafka 4 does not accept the SCRAM of Debian's librdkafka, and the older one is set to ask everybody for a certificate.
    return {**ways, **scram} if is_older else {**ways, "TLS": ("tls", tls(kafka))}


@pytest.mark.parametrize("library", ["", "newer_librdkafka"], ids=["", "newer librdkafka"])
def test_each_way_to_log_in_delivers(either_kafka, gateway, live, library, request, topic_name):
    """All of them at once: gateways become ready, and one record comes through each."""
    kafka, plain = either_kafka, either_kafka.bootstrap["plaintext"]
    create_topic(plain, topic_name)
    for principal in (LIVEGATE, CLIENT):
        grant(plain, principal, topic_name, READ, DESCRIBE)
    env = request.getfixturevalue(library) if library else None
    ways = ways_in(kafka, request.node.callspec.params["either_kafka"] == "older_kafka", bool(library))
    nodes = {name: gateway(kafka.bootstrap[kind], ready=False, env=env, kafka__topics=[topic_name], kafka__settings=settings)
             for name, (kind, settings) in ways.items()}
    clients = {name: live(node.wait_until_ready(60)) for name, node in nodes.items()}
    produce(plain, topic_name, [event("PACC1", "PAM4FGS")])
    for name, node in nodes.items():
        assert clients[name].wait_for(1) == [{"ent": "incident", "id": "PAM4FGS", "type": "updated"}], name
        assert node.stop()["records"] == 1, name
        assert not [line for line in node.troubles() if line["part"] == "kafka"], name
        assert "livegate-secret" not in "\n".join(node.program.err), name
        library_name = node.log("starting")[0]["library"]
        assert not library or "2.16.0" in library_name, name
        warned = [line["reason"] for line in node.log("a setting may be a mistake")]
        is_warned = name.startswith("SCRAM") and "2.0.2" in library_name
        assert ["SCRAM" in reason and "2.6.1" in reason for reason in warned] == [True] * is_warned, name


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
