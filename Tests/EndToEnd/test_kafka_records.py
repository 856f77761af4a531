"""Whatever may stand in a topic of Apache Kafka: bad records, odd ids, transactions, compression, 10 MB. Compaction:
test_cursors_and_logs.py."""

import functools
import json
import signal
import subprocess

from gateway import skip_counts
from kafka_admin import create_topic
from kafka_wire import produce_exactly
from programs import KCAT, event, eventually, produce

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


# Texts that Unicode calls equal, that differ in case or in blanks, belong to different customers.
NEAR = ["caf\u00e9", "cafe\u0301", "CAF\u00c9", "cafe", " cafe", "\u212a", "K", "k"]


def exactly(bootstrap, topic, records, escaped=True):
    produce_exactly(bootstrap, topic, [{"value": json.dumps(record, ensure_ascii=escaped)} for record in records])


def compressed(codec):
    def write(bootstrap, topic, records):
        produce(bootstrap, topic, records, compression_codec=codec, linger_ms=50)
    return write


def large(bootstrap, topic, records):
    record = {"changes": ["x" * 1000] * 9_980, **records[0]}
    assert 10_000_000 < len(json.dumps(record)) < 10_485_000
    produce(bootstrap, topic, [record, *records[1:]], message_max_bytes=10_485_760)


# By name: the account, the ids of its events, and how they are written.
KINDS = {
    "odd ids, escaped": ("ODD1", ODD, exactly), "odd ids as they are": ("ODD2", ODD, functools.partial(exactly, escaped=False)),
    **{f"account {account!a}": (account, ["P", str(at)] * 2, exactly) for at, account in enumerate(NEAR)},
    **{codec: (codec, [f"P{at}" for at in range(1000)], compressed(codec)) for codec in ("gzip", "snappy", "lz4", "zstd")},
    "ten megabytes": ("LARGE", ["large", "next"], large),
}


def test_records_of_every_kind_arrive_whole_in_order_and_at_whom_they_are_for(kafka, gateway, live, topic_name):
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name)
    running = gateway(bootstrap, kafka__topics=[topic_name])
    clients = {name: live(running, account) for name, (account, _, _) in KINDS.items()}
    for account, ids, write in KINDS.values():
        write(bootstrap, topic_name, [event(account, identity, more="x" * 200) for identity in ids])
    for name, (_, ids, _) in KINDS.items():
        clients[name].wait_for(len(ids))
    running.stop()
    for name, (_, ids, _) in KINDS.items():
        assert clients[name].ids == ids, name
        for text in clients[name].texts:
            pairs = json.loads(text, object_pairs_hook=list)
            assert [key for key, _ in pairs] == ["ent", "id", "type"], name
            assert not any(ord(character) < 0x20 for character in text), name


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
    # It hangs: that is told, and of which partition.
    line = running.wait_for_log("a partition does not answer or does not advance")
    why = "an open transaction blocks the records after it"
    assert (line["topic"], line["partition"]) == (topic_name, 0) and why in line["reason"]
    verbose = running.asked("/readyz?verbose")[1]
    assert f"[-]broker partition 0 of the topic {topic_name} does not advance: {why}" in verbose, verbose
    torn.signal(signal.SIGKILL)
    # The same name again: Kafka aborts what was open.
    produce(bootstrap, topic_name, [event("PACC1", "after")], transactional_id=topic_name)
    assert client.wait_for_id("after") == [f"committed-{at}" for at in range(50)] + ["behind", "after"]
