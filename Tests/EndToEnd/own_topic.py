"""A topic of Apache Kafka for one test alone, nodes on it, and a writer: fixtures of the tests of cursors."""

import pytest

from clients import incident
from kafka_admin import create_topic
from programs import produce


@pytest.fixture
def topic(kafka, request):
    """A topic for this test alone, of four partitions."""
    name = request.node.name.replace("_", "-")[:100]
    create_topic(kafka.bootstrap["plaintext"], name, 4)
    return name


@pytest.fixture
def node(kafka, gateway, topic):
    """Starts nodes on that topic."""
    return lambda **changes: gateway(kafka.bootstrap["plaintext"], kafka__topics=[topic], **changes)


@pytest.fixture
def write(kafka, topic):
    def begin(ids, account="PACC1", partition=0):
        records = [incident(account, str(name)) for name in ids]
        produce(kafka.bootstrap["plaintext"], topic, records, partition=partition)
    return begin


def resumed(client):
    client.wait_for_control("live", within=30)
    assert not client.controls("resync"), client.texts
    return client.ids
