"""Whatever may stand in a topic of Apache Kafka: bad records, odd ids, transactions, compaction, compression, 10 MB."""

import json
import signal
import subprocess

import pytest

from programs import KCAT, event, eventually, produce
from kafka_admin import create_topic
from kafka_wire import produce_exactly
from test_records import skip_counts

BAD = {
    "tombstone": [None],
    "not_json": [
        b"", b" ", b"\xff\xfe{}", b"not json", b"[]", b"[" * 100_000, b'"text"', b'{"account_id":"PACC1"',
        b'{"account_id":"PACC1","entity":"incidents::incident","id":"P","type":"created","more":NaN}',
        json.dumps(event("PACC1", "P")).encode().replace(b'"P"', b'"\xc3\x28"'),
        b'{"account_id":"PACC1","entity":"incidents::incident","id":"P","type":"created","more":' + b'{"a":' * 100_000,
        # In what is used, a lone surrogate is no text.
        rb'{"account_id":"PACC1","entity":"incidents::incident","id":"\ud800","type":"created"}',
    ],
    "ambiguous": [
        b'{"account_id":"PACC2","account_id":"PACC1","entity":"incidents::incident","id":"P","type":"created"}',
        b'{"account_id":"PACC1","entity":"incidents::incident","id":"P","\\u0069d":"Q","type":"created"}',
    ],
    "no_account": [
        json.dumps({"entity": "incidents::incident", "id": "P", "type": "created"}).encode(),
        json.dumps(event(None, "P")).encode(), json.dumps(event("", "P")).encode(),
        json.dumps(event(["PACC1"], "P")).encode(),
    ],
    "no_id": [json.dumps(event("PACC1", identity)).encode() for identity in (None, 1.5, True, "", {}, 2**70)],
    "too_long": [json.dumps(event("PACC1", "x" * 256)).encode()],
}


def test_a_bad_record_is_counted_and_the_next_good_one_arrives(kafka, gateway, live, topic_name):
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name)
    running = gateway(bootstrap, kafka__topics=[topic_name])
    client, stranger = live(running, "PACC1"), live(running, "PACC2")
    expected, number = {}, 0
    for reason, values in BAD.items():
        for value in values:
            good = json.dumps(event("PACC1", f"P{number}"))
            produce_exactly(bootstrap, topic_name, [{"key": "k", "value": value}, {"value": good}])
            number += 1
        expected[reason] = len(values)
    client.wait_for(number)
    stopped = running.stop()
    assert client.ids == [f"P{at}" for at in range(number)]
    assert stranger.messages == []
    counts = skip_counts(stopped)
    assert counts == expected
    told = running.log("record skipped")
    assert {line["reason"] for line in told} == counts.keys() - {"tombstone"}
    assert all(line["topic"] == topic_name and line["partition"] == 0 and line["offset"] >= 0 and line["cause"]
               for line in told)


ODD = ['"', "\\", "\n", "\r\t\b\f", "\0", "\x01\x1f", "\x7f", "\u2028\u2029", "</script>", "é", "e\u0301", "\U0001f6a8",
       '{"ent":"x"}', '","id":"other', "x" * 255, " ", "\ufeff", "\ud7ff\ue000\uffff"]


@pytest.mark.parametrize("escaped", [True, False], ids=["escaped", "as they are"])
def test_odd_ids_come_as_valid_json_of_three_keys(kafka, gateway, live, escaped, topic_name):
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name)
    running = gateway(bootstrap, kafka__topics=[topic_name])
    client = live(running, "PACC1")
    produce_exactly(bootstrap, topic_name, [
        {"value": json.dumps(event("PACC1", identity), ensure_ascii=escaped)} for identity in ODD])
    client.wait_for(len(ODD))
    assert client.ids == ODD
    for text in client.texts:
        pairs = json.loads(text, object_pairs_hook=list)
        assert [name for name, _ in pairs] == ["ent", "id", "type"]
        assert not any(ord(character) < 0x20 for character in text)


def test_accounts_are_told_apart_by_their_bytes(kafka, gateway, live, topic_name):
    """Texts that Unicode calls equal, that differ in case or in blanks, belong to different customers."""
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name)
    running = gateway(bootstrap, kafka__topics=[topic_name])
    near = ["caf\u00e9", "cafe\u0301", "CAF\u00c9", "cafe", " cafe", "\u212a", "K", "k"]
    clients = [live(running, account) for account in near]
    produce_exactly(bootstrap, topic_name,
                    [{"value": json.dumps(event(account, f"P{at}"))} for at, account in enumerate(near)] * 2)
    for at, client in enumerate(clients):
        client.wait_for(2)
    running.stop()
    for at, client in enumerate(clients):
        assert client.ids == [f"P{at}"] * 2


def test_an_aborted_transaction_never_reaches_a_client(kafka, gateway, live, start, topic_name):
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name)
    running = gateway(bootstrap, kafka__topics=[topic_name])
    client = live(running, "PACC1")
    committed = [event("PACC1", f"committed-{at}") for at in range(50)]
    produce(bootstrap, topic_name, committed, transactional_id=topic_name)
    client.wait_for(50)
    # kcat sends what it has read once its buffer is full, and then waits for more within its transaction.
    torn = start(*KCAT, "-P", "-b", bootstrap, "-t", topic_name, "-p", "0", "-X", f"transactional.id={topic_name}")
    for at in range(400):
        torn.send(json.dumps(event("PACC1", f"aborted-{at}", more="x" * 500)))

    def in_the_log():
        read = subprocess.run([*KCAT, "-C", "-b", bootstrap, "-t", topic_name, "-e", "-q", "-X",
                               "isolation.level=read_uncommitted"], capture_output=True, timeout=300)
        return b"aborted-0" in read.stdout
    eventually(in_the_log, 30, "a record of the open transaction in the log")
    # What stands behind an open transaction waits for its end.
    produce(bootstrap, topic_name, [event("PACC1", "behind")])
    torn.signal(signal.SIGKILL)
    # The same name again: Kafka aborts what was open.
    produce(bootstrap, topic_name, [event("PACC1", "after")], transactional_id=topic_name)
    assert client.wait_for_id("after") == [f"committed-{at}" for at in range(50)] + ["behind", "after"]


def consumed(bootstrap, topic):
    """How many records kcat finds in the topic."""
    done = subprocess.run([*KCAT, "-C", "-b", bootstrap, "-t", topic, "-e", "-q", "-f", "%o\n"], capture_output=True,
                          timeout=300, check=True)
    return len(done.stdout.splitlines())


def test_what_compaction_left_arrives_in_order(kafka, gateway, live, topic_name):
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name, cleanup_policy="compact", segment_ms=100, min_cleanable_dirty_ratio=0.0001,
                 max_compaction_lag_ms=100)
    running = gateway(bootstrap, kafka__topics=[topic_name])
    client = live(running, "PACC1")
    produce(bootstrap, topic_name, [("k", event("PACC1", "first"))])
    client.wait_for(1)
    # It sleeps while the log gets its holes.
    running.program.signal(signal.SIGSTOP)
    written = [{"key": f"k{at % 10}", "value": json.dumps(event("PACC1", f"P{at}"))} for at in range(100)]
    for record in written:
        produce_exactly(bootstrap, topic_name, [record])
    last = {"key": "last", "value": json.dumps(event("PACC1", "last"))}

    def has_holes():
        # A record closes the segment before it, and only closed ones are cleaned.
        produce_exactly(bootstrap, topic_name, [last])
        return consumed(bootstrap, topic_name) < 50
    try:
        eventually(has_holes, 30, "compaction")
    finally:
        running.program.signal(signal.SIGCONT)
    ids = [identity for identity in client.wait_for_id("last") if identity not in ("first", "last")]
    assert set(f"P{at}" for at in range(90, 100)) <= set(ids)
    assert len(ids) < 50 and ids == sorted(ids, key=lambda identity: int(identity[1:]))


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_records_arrive(kafka, gateway, live, codec, topic_name):
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name)
    running = gateway(bootstrap, kafka__topics=[topic_name])
    client = live(running, "PACC1")
    produce(bootstrap, topic_name, [event("PACC1", f"P{at}", more="x" * 200) for at in range(1000)],
            compression_codec=codec, linger_ms=50)
    client.wait_for(1000)
    assert client.ids == [f"P{at}" for at in range(1000)]


def test_a_record_of_ten_megabytes_is_delivered_like_any_other(kafka, gateway, live, tmp_path, topic_name):
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name)
    running = gateway(bootstrap, kafka__topics=[topic_name])
    client = live(running, "PACC1")
    large = {"changes": ["x" * 1000] * 9_980, **event("PACC1", "large")}
    value = json.dumps(large)
    assert 10_000_000 < len(value) < 10_485_000
    produce(bootstrap, topic_name, [value, event("PACC1", "next")], message_max_bytes=10_485_760)
    client.wait_for(2)
    assert client.ids == ["large", "next"]
