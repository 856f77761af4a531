"""Every record that stands beside the mapping's tests, through Kafka and the gateway to clients of its accounts."""

import itertools
import json
import re
import uuid
from collections import Counter

import pytest

from gateway import skip_counts
from kafka_admin import create_topic
from kafka_wire import produce_exactly
from metrics import scrape, total
from programs import ROOT, eventually

FILES = sorted((ROOT / "Tests/LiveUpdatesTests/Records").glob("*.jsonl"))
# Stand in the records where no account is to be read from, or belong to nobody.
STRANGERS = ["PEVIL", "PACC3"]


def make_topic(kafka, topic):
    """Records are old, and on a machine whose clock is behind they come from the future."""
    create_topic(kafka.bootstrap["plaintext"], topic, retention_ms=-1, message_timestamp_after_max_ms=2**63 - 1)


def own(topic, tag):
    """Others have records of the same topics. What a preset reads from a name stands at its beginning and its end."""
    return re.sub(r"^(__debezium-heartbeat\.)?[^.]+", rf"\g<0>-{tag}", topic)


def left_by(record):
    """The account that a row of Debezium leaves with this record, which is told the same; None mostly."""
    if "message" not in record["expect"] or not (record["value"] or "").startswith("{"):
        return None
    value = json.loads(record["value"])
    change = value.get("payload", value)
    if not isinstance(change, dict) or change.get("op") != "u" or not change.get("before"):
        return None
    before, after = (change[name].get("account_id") for name in ("before", "after"))
    return before if before and before != after else None


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_records_of_real_producers_reach_the_clients_they_are_for(file, kafka, gateway, live):
    assert len(FILES) == 7
    tag = uuid.uuid4().hex[:8]
    first, *records = map(json.loads, file.read_text().splitlines())
    for record in records:
        record["topic"] = own(record["topic"], tag)
    topics = list(dict.fromkeys(record["topic"] for record in records))
    for topic in topics:
        make_topic(kafka, topic)
    running = gateway(kafka.bootstrap["plaintext"], kafka__topics=topics, events=first["settings"])
    expected = {account: [] for account in STRANGERS}
    for record in records:
        expected.setdefault(record["expect"].get("account", STRANGERS[0]), [])
    clients = {account: live(running, account) for account in expected}
    # Order is promised within a partition, so another topic waits for what came before.
    for topic, run in itertools.groupby(records, key=lambda record: record["topic"]):
        run = list(run)
        produce_exactly(kafka.bootstrap["plaintext"], topic, run)
        for record in run:
            if "message" in record["expect"]:
                expected[record["expect"]["account"]].append(record["expect"]["message"])
                if left := left_by(record):
                    expected[left].append(record["expect"]["message"])
        for account, client in clients.items():
            client.wait_for(len(expected[account]))
    # The last ones may be such that nobody is told of them.
    eventually(lambda: total(scrape(running.admin), "livegate_records_total") == len(records), 30, "every record")
    stopped = running.stop()
    for account, client in clients.items():
        assert client.wait_until_closed() == 1012
        assert client.messages == expected[account], account
        assert all(list(message) == ["ent", "id", "type"] for message in client.messages)
    assert stopped["records"] == len(records)
    assert bool(any(map(left_by, records))) == (file.stem in ("debezium", "debezium-schema"))
    skipped = Counter(record["expect"]["skip"] for record in records if "skip" in record["expect"])
    assert Counter(skip_counts(stopped)) == skipped
