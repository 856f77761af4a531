"""What tests ask of Kafka's administration, in its own protocol: a JVM for each request would take seconds.

Versions without tagged fields that both Kafka 3.9 and 4.2 accept: CreateTopics 4, DeleteTopics 3, CreatePartitions 1,
DeleteRecords 1, CreateAcls 1, IncrementalAlterConfigs 0 (https://kafka.apache.org/protocol).
"""

import struct

from kafka_wire import array, call, text

TIMEOUT_MS = 20_000
READ, DESCRIBE = 3, 8
TOPIC, LITERAL, ALLOW = 2, 3, 3
LIVEGATE = "User:livegate"
EXISTS_ALREADY = 36


def _first_error(answer, named=True):
    """The error code of the first result, after throttle time and the count of results."""
    at = 8
    if named:
        at += 2 + struct.unpack_from(">h", answer, at)[0]
    return struct.unpack_from(">h", answer, at)[0]


def create_topic(bootstrap, name, partitions=1, replication=1, **config):
    """Settings by keyword, a dot as an underscore: `cleanup_policy="compact"`. A topic that is there stays as it is."""
    settings = [text(key.replace("_", ".")) + text(str(value)) for key, value in config.items()]
    topic = text(name) + struct.pack(">ih", partitions, replication) + array([]) + array(settings)
    error = _first_error(call(bootstrap, 19, 4, array([topic]) + struct.pack(">i?", TIMEOUT_MS, False)))
    assert error in (0, EXISTS_ALREADY), f"CreateTopics {name}: {error}"


def delete_topic(bootstrap, name):
    error = _first_error(call(bootstrap, 20, 3, array([text(name)]) + struct.pack(">i", TIMEOUT_MS)))
    assert error == 0, f"DeleteTopics {name}: {error}"


def grow_topic(bootstrap, name, partitions):
    """More partitions; -1 leaves their places to Kafka."""
    topic = text(name) + struct.pack(">ii", partitions, -1)
    error = _first_error(call(bootstrap, 37, 1, array([topic]) + struct.pack(">i?", TIMEOUT_MS, False)))
    assert error == 0, f"CreatePartitions {name}: {error}"


def delete_records(bootstrap, name, partition, before):
    """The log of the partition begins at offset `before` from now on. To be asked of its leader."""
    topic = text(name) + array([struct.pack(">iq", partition, before)])
    answer = call(bootstrap, 21, 1, array([topic]) + struct.pack(">i", TIMEOUT_MS))
    low, error = struct.unpack_from(">qh", answer, 8 + 2 + len(name) + 4 + 4)
    assert (low, error) == (before, 0), f"DeleteRecords {name}: {error}"


def grant(bootstrap, principal, topic, *operations):
    """Allows `principal` the operations on the topic."""
    rules = [struct.pack(">b", TOPIC) + text(topic) + struct.pack(">b", LITERAL) + text(principal) + text("*")
             + struct.pack(">bb", operation, ALLOW) for operation in operations]
    error = _first_error(call(bootstrap, 30, 1, array(rules)), named=False)
    assert error == 0, f"CreateAcls {topic}: {error}"


def set_config(bootstrap, name, key, value):
    """Sets a configuration of the topic; None gives it back to the broker's default."""
    change = text(key) + struct.pack(">b", 1 if value is None else 0) + text("" if value is None else str(value))
    resource = struct.pack(">b", TOPIC) + text(name) + array([change])
    error = _first_error(call(bootstrap, 44, 0, array([resource]) + struct.pack(">?", False)), named=False)
    assert error == 0, f"IncrementalAlterConfigs {name}: {error}"


def login(kafka, mechanism, user="livegate", password="livegate-secret"):
    return {"security.protocol": "sasl_plaintext", "sasl.mechanism": mechanism, "sasl.username": user,
            "sasl.password": password}


def tls(kafka):
    return {"security.protocol": "ssl", "ssl.ca.location": kafka.facts["ca"]}
