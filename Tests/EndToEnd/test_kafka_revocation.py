# Tests: ControlSource.swift, ControlWriter.swift
"""Revocations in a topic of Apache Kafka: read back by a node that starts, kept when the topic goes or is made anew."""

import time

import pytest

from clients import LiveClient
from kafka_admin import create_topic, delete_topic
from programs import eventually, produce, run
from test_revocation import revoke, settings_of, status

OLD, NEW = int(time.time()) - 100, int(time.time()) + 3600


@pytest.fixture
def control(kafka, topic):
    """The name of a control topic that is not there yet."""
    return f"{topic}-control"


def readiness(node):
    return node.asked("/readyz?verbose")[1]


def test_a_node_reads_back_what_was_revoked_and_keeps_it_when_the_topic_is_made_anew(kafka, node, control, tokens):
    bootstrap = kafka.bootstrap["plaintext"]
    account, person, one = (tokens.signed("PACC1", iat=OLD), tokens.signed("PACC2", iat=OLD, sub="u1"),
                            tokens.signed("PACC3", iat=OLD, jti="t1"))
    first = node(control__topic=control, ready=False)
    eventually(lambda: "[+]window ok" in readiness(first)
               and f"[-]control the topic {control} does not exist" in readiness(first), within=60)
    assert first.readyz()[0] == 503 and status(first, account) == 503
    # Nothing comes into being by being written to.
    code, _, err = run("livegate", "revoke", "--config", settings_of(first), "--account", "PACC1")
    assert code == 69 and control in err
    assert f"[-]control the topic {control} does not exist" in readiness(first)
    create_topic(bootstrap, control, 3)
    first.wait_until_ready(60)
    client = LiveClient(first, account)
    revoke(first, "--account", "PACC1")
    revoke(first, "--account", "PACC2", "--subject", "u1")
    revoke(first, "--token", "t1")
    assert client.wait_until_closed() == 4403
    # One that starts has all of it before it lets anybody in.
    second = node(control__topic=control)
    for running in first, second:
        eventually(lambda: [status(running, token) for token in (account, person, one)] == [401] * 3)
        assert status(running, tokens.signed("PACC1", iat=NEW)) == 101
    assert second.log("the control topic is read")[0]["count"] == 3

    def is_made():
        try:
            create_topic(bootstrap, control, 1)
            produce(bootstrap, control, ['{"revoke":{"account":"PACC4"}}'])
            return True
        except AssertionError:
            return False

    client = LiveClient(second, tokens.signed("PACC1", iat=NEW))
    delete_topic(bootstrap, control)
    eventually(is_made, 60, "the topic again")
    for running in first, second:
        eventually(lambda: status(running, tokens.signed("PACC4", iat=OLD)) == 401, within=60)
        assert [status(running, token) for token in (account, person, one)] == [401] * 3
    assert client.closed is None
