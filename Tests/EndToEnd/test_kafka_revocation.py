# Tests: ControlSource.swift, ControlIntake.swift, ControlWriter.swift
"""Revocations in a topic of Apache Kafka: read back by a node that starts, kept when the topic goes or is made anew."""

import json
import re
import time

import pytest

from caller import answer, bearer
from clients import LiveClient
from gateway import static_tokens
from kafka_admin import create_topic, delete_topic
from programs import event, eventually, produce, run
from revoking import later, metric, revoke, settings_of, status

OLD = int(time.time()) - 100


@pytest.fixture
def kafka(own_kafka):
    """One that may be hurt."""
    return own_kafka


@pytest.fixture
def control(kafka, topic):
    """The name of a control topic that is not there yet."""
    return f"{topic}-control"


def readiness(node):
    return node.asked("/readyz?verbose")[1]


def is_made(bootstrap, control):
    """Whether a topic that was deleted could be created anew, with a record; to be asked until then."""
    try:
        create_topic(bootstrap, control, 1)
        produce(bootstrap, control, ['{"revoke":{"account":"PACC4"}}'])
        return True
    except AssertionError:
        return False


def test_a_node_reads_back_what_was_revoked_and_keeps_it_when_the_topic_is_made_anew(kafka, node, control, tokens):
    bootstrap = kafka.bootstrap["plaintext"]
    account, person, one = (tokens.signed("PACC1", iat=OLD), tokens.signed("PACC2", iat=OLD, sub="u1"),
                            tokens.signed("PACC3", iat=OLD, jti="t1"))
    first = node(control__topic=control, ready=False, lifecycle__drain_window="1s")
    eventually(lambda: "[+]window ok" in readiness(first)
               and f"[-]control the topic {control} does not exist" in readiness(first), within=60)
    assert first.readyz()[0] == 503 and status(first, account) == 503
    # Nothing comes into being by being written to.
    code, out, err = run("livegate", "revoke", "--config", settings_of(first), "--account", "PACC1")
    assert (code, out, err.count("\n")) == (69, "", 1)
    assert err.startswith(f"livegate revoke: not acknowledged by the topic {control}: ")
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
        assert status(running, tokens.signed("PACC1", iat=later())) == 101
    assert second.log("the control topic is read")[0]["count"] == 3

    older = LiveClient(first, tokens.signed("PACC5", iat=OLD))
    assert metric(first, "livegate_control_records_rejected_total") == 0
    delete_topic(bootstrap, control)
    eventually(lambda: is_made(bootstrap, control), 60, "the topic again")
    for running in first, second:
        eventually(lambda: status(running, tokens.signed("PACC4", iat=OLD)) == 401, within=60)
        assert [status(running, token) for token in (account, person, one)] == [401] * 3
        # What stood in the old topic last may not have been read: who was not meant comes back with a new token.
        eventually(lambda: status(running, tokens.signed("PACC5", iat=OLD)) == 401)
        assert running.log("control topic recreated") and running.log("control records lost")
        eventually(lambda: status(running, tokens.signed("PACC5", iat=int(time.time()))) == 101)
    client = LiveClient(first, tokens.signed("PACC5", iat=int(time.time())))
    assert older.wait_until_closed(60) == 4401
    assert client.closed is None
    # One that starts knows what it finds.
    third = node(control__topic=control)
    assert not third.log("control records lost") and status(third, tokens.signed("PACC5", iat=OLD)) == 101


@pytest.mark.unsanitized
def test_a_loss_under_a_clock_that_was_set_back_opens_no_door_and_is_told(kafka, node, control, tokens, faults):
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, control, 1)
    # Where topics have no ids, a log of the same name is known by what was read of the one before.
    produce(bootstrap, control, ['{"revoke":{"account":"PACC2"}}'] * 3)
    door = node(control__topic=control, env=faults.env, kafka__broker_grace="1s")
    late = tokens.signed("PACC1", iat=int(time.time()) - 1800)
    assert status(door, late) == 101
    faults.set_clock(-3600)
    delete_topic(bootstrap, control)
    eventually(lambda: is_made(bootstrap, control), 60, "the topic again")
    # By the clock of the node this token is of the future, and was good when the records were lost.
    eventually(lambda: status(door, late) == 503, 60, "the loss")
    # So is one of now, which therefore says nothing of when it was issued: a node whose clock is wrong lets nobody new in.
    assert status(door, tokens.signed("PACC1", iat=int(time.time()))) == 503
    told = eventually(lambda: re.search(r"^\[-\]control .* the clock was set back: .*$", readiness(door), re.M))
    assert door.readyz()[0] == 503
    assert told[0].replace("[-]control ", "control: ") in json.loads(door.asked("/admin/status")[1])["problems"]
    assert len(door.log("tokens are valid here only from a future time on")) == 1
    faults.set_clock(0)
    eventually(lambda: door.readyz()[0] == 200 and status(door, late) == 401, what="all to be well again")
    assert status(door, tokens.signed("PACC1", iat=int(time.time()))) == 101


def records_left(node, part):
    """What `/readyz` says that this part still has to read; None while it says nothing of it."""
    found = re.search(rf"^\[-\]{part} .* (\d+) records.* left$", readiness(node), re.M)
    return int(found[1]) if found else None


def test_brokers_that_go_while_a_node_reads_back_open_no_door(kafka, hurt, gateway, topic, control, tokens):
    plain, count = kafka.bootstrap["plaintext"], 1_500
    create_topic(plain, control, 1)
    produce(plain, topic, [event("PACC1", str(number), note="x" * 200) for number in range(count)],
            batch_num_messages=20)
    # Fetches bring whole batches: small ones come in a moment each, whatever the rate. The one that matters is the last.
    produce(plain, control, ['{"revoke":{"token":"%s"}}' % (str(number) + "t" * 200) for number in range(count)]
            + ['{"revoke":{"account":"PACC1"}}'], batch_num_messages=20)
    old = tokens.signed("PACC1", iat=OLD)
    hurt("fault", "all", "drip", "40000")
    node = gateway(kafka.bootstrap["faults"], ready=False, kafka__topics=[topic], control__topic=control,
                   history__max_events_per_account=2 * count,
                   kafka__settings={"fetch.message.max.bytes": 20_000, "socket.timeout.ms": 6000})
    eventually(lambda: all(0 < (records_left(node, part) or 0) < count - 50 for part in ("window", "control")), 60,
               lambda: f"a part of both; {readiness(node)}")
    hurt("fault", "all", "refuse")
    node.wait_for_log("no Kafka broker can be reached", within=30)
    assert node.readyz()[0] == 503 and status(node, old) == 503 and status(node, tokens.token("PACC2")) == 503
    hurt("fault", "all", "pass")
    node.wait_until_ready(60)
    assert status(node, old) == 401 and status(node, tokens.token("PACC2")) == 101
    assert node.log("the control topic is read")[0]["count"] == count + 1
    assert json.loads(node.asked("/admin/accounts/PACC1")[1])["events"] == count


def test_what_cannot_be_read_opens_no_door(kafka, hurt, node, control, tokens, tmp_path):
    plain = kafka.bootstrap["plaintext"]
    create_topic(plain, control, 1)
    for account in ("PACC1", "PACC2", "PACC3"):
        produce(plain, control, ['{"revoke":{"account":"%s"}}' % account])
    # A broker that was killed would look through its log when it starts, and cut it there.
    hurt("stop", "all")
    damage_batch(kafka, control, 1)
    hurt("start-node", "all")
    door = node(control__topic=control, auth__tokens=str(static_tokens(tmp_path, ["PACC9"])))
    door.wait_for_log("unreadable control records")
    old = {account: tokens.signed(account, iat=OLD) for account in ("PACC1", "PACC2", "PACC3", "PACC4")}
    # Nobody can know who was meant: everybody fetches a token. Until a new one would be good nobody is sent for it.
    eventually(lambda: {account: status(door, token) for account, token in old.items()} == dict.fromkeys(old, 401))
    details = {account: json.loads(answer(door.host, bearer(token))[2])["detail"] for account, token in old.items()}
    assert details["PACC1"] == details["PACC3"] == "token was revoked"
    assert details["PACC2"] == details["PACC4"] == "token is older than what was revoked: fetch a new one"
    assert [status(door, tokens.signed(account)) for account in old] == [101] * 4
    # A fixed token says nothing of when it was issued, and has no successor: its client comes again.
    code, fields, _ = answer(door.host, bearer("token-PACC9"))
    assert code == 503 and 30 <= int(fields["retry-after"]) <= 35
    assert metric(door, "livegate_control_records_rejected_total") == 1
    assert metric(door, "livegate_revocations_kept") == 2
    problem, = json.loads(door.asked("/admin/status")[1])["problems"]
    assert problem.startswith("revocations: records of the control topic were lost")
    assert door.readyz()[0] == 200
    revoke(door, "--account", "PACC2", "--subject", "u1")
    eventually(lambda: status(door, tokens.signed("PACC2", iat=OLD, sub="u1")) == 401)


def damage_batch(kafka, topic, number):
    """Changes the last byte but one of a batch on the broker's disk, which its checksum then no longer fits. A batch is its
    first offset in 8 bytes, its length in 4 and so many bytes."""
    log, = kafka.folder.glob(f"**/{topic}-0/00000000000000000000.log")
    data = bytearray(log.read_bytes())
    end = 0
    for _ in range(number + 1):
        end += 12 + int.from_bytes(data[end + 8:end + 12], "big")
    data[end - 2] ^= 0x55
    log.write_bytes(data)
