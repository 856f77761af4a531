# Tests: NodeRevocations.swift, ControlSource.swift, ControlWriter.swift, GatewayServer+Control.swift, ControlCommands.swift, ArchiveCommand.swift, HorizonRepair.swift
"""What is revoked by the control topic: who is closed, who is refused, and that nothing lets them in again. How soon:
test_bounds.py."""

import asyncio
import json
import time

import pytest

import jose
from clients import EventStream, LiveClient, Sync
from gateway import hang_up, posted, rewrite, static_tokens
from programs import PATIENCE, eventually, produce, run
from revoking import later, metric, revoke, status, ticket
from rawclient import RawClient, play, until
from wire import ask, get, upgrade

OLD = int(time.time()) - 100


@pytest.fixture
def broker(mock_broker):
    mock_broker.topic("control", 2)
    return mock_broker


@pytest.fixture
def node(gateway, broker, tmp_path):
    """A gateway that reads the control topic."""
    secret = tmp_path / "tickets"
    secret.write_text("s" * 32 + "\n")
    return lambda **changes: gateway(
        broker.bootstrap, control__topic="control", auth__tickets={"secret_file": str(secret)},
        auth__tokens=str(static_tokens(tmp_path, ["PACC1", "PACC3"])), **changes)


def by_protocol(token):
    return [f"Sec-WebSocket-Protocol: livegate.v1, bearer.{jose.text(token.encode())}"]


def test_who_is_meant_is_closed_and_refused_and_nobody_else(node, tokens, tell):
    node = node()
    rows = [
        ("PACC1", {"sub": "u1", "jti": "t1"}, ["--account", "PACC1"], "account"),
        ("PACC2", {"sub": "u1", "jti": "t2"}, ["--account", "PACC2", "--subject", "u1"], "subject"),
        ("PACC4", {"sub": "u1", "jti": "t" * 300}, ["--token", "t" * 300], "token"),
    ]
    others = [tokens.signed(account, **claims) for account, claims in (
        ("PACC2", {"sub": "u2", "iat": OLD}), ("PACC2", {"iat": OLD}), ("PACC4", {"sub": "u1", "jti": "t", "iat": OLD}),
        ("PACC3", {"sub": "u1", "iat": OLD}))]
    kept = [LiveClient(node, token, with_="at") for token in others] + [LiveClient(node, "token-PACC3")]
    for account, claims, words, kind in rows:
        token = tokens.signed(account, iat=OLD, **claims)
        bought = ticket(node, token)
        socket, plain = LiveClient(node, token, with_="at"), LiveClient(node, token)
        stream, waiting = EventStream(node, token), Sync(node, token)
        at = waiting.page()["at"]
        waiting.send(since=at, wait=50)
        socket.wait_for_control("live")
        stream.wait_for("live")
        eventually(lambda: metric(node, 'livegate_connections{kind="sync"}') == 1)
        revoke(node, *words)
        assert socket.wait_until_closed() == plain.wait_until_closed() == 4403
        assert socket.controls("bye") == [{"code": 4403, "why": "revoked"}]
        stream.wait_until_ended()
        assert stream.events[-1].name == "bye" and stream.events[-1].json == {"code": 4403, "why": "revoked"}
        refused = waiting.answer()
        assert refused.status == 401 and refused.body["detail"] == "token was revoked"
        # Whatever brings it.
        assert status(node, token) == 401
        assert b" 401 " in ask(node.host, upgrade(None, f"/live/v1?ticket={bought}")).split(b"\r\n")[0]
        assert b" 401 " in ask(node.host, upgrade(None, headers=by_protocol(token))).split(b"\r\n")[0]
        assert b" 401 " in ask(node.host, get("/ticket/v1", token).replace(b"GET", b"POST", 1)).split(b"\r\n")[0]
        assert metric(node, f'livegate_revocations_total{{kind="{kind}"}}') == 1
        kept.append(LiveClient(node, tokens.signed(account, **{**claims, "iat": later()}), with_="at"))
    # A fixed token says nothing of when it was issued.
    assert status(node, "token-PACC1") == 401
    # A stream that would go on with one of them ends.
    eventually(lambda: kept[-1].controls("live"))
    last = tokens.signed(rows[-1][0], iat=OLD, **rows[-1][1])
    kept[-1].socket.send(json.dumps({"token": last}))
    assert kept.pop().wait_until_closed() == 4403
    assert [client.closed for client in kept] == [None] * len(kept)
    # Their loop has gone over them, and they are still told what comes.
    tell(["after"], account="PACC3")
    for client in kept[3], kept[len(others)]:
        client.wait_for_id("after")
    assert node.log("revoked: connections")[0]["account"] == "PACC1"


def test_whoever_comes_while_something_is_revoked_is_not_let_in_for_good(node, tokens):
    node = node(loops=2)
    old = tokens.signed("PACC1", iat=OLD)

    async def scenario():
        clients, is_shut = [], False
        writer = asyncio.create_task(asyncio.to_thread(revoke, node, "--account", "PACC1"))
        end = time.monotonic() + 60 * PATIENCE
        while not is_shut:
            # A command that has failed lets everybody in for ever.
            assert time.monotonic() < end and not (writer.done() and writer.exception()), writer
            try:
                clients.append(await RawClient.open(node.host, old))
            except AssertionError as refusal:
                is_shut = b" 401 " in refusal.args[0]
                assert is_shut, refusal
        await writer
        for client in clients:
            await until(lambda: client.close is not None)
            assert client.close == (4403, "revoked")
    play(scenario())
    assert metric(node, 'livegate_connections{kind="websocket"}') == 0


def test_what_cannot_be_read_is_counted_and_changes_nothing(node, broker, tokens):
    node = node()
    token = tokens.signed("PACC1", iat=OLD)
    client = LiveClient(node, token)
    bad = ["x", "{}", '{"revoke":{"account":"PACC1"},"why":"x"}', '{"revoke":{"account":"PACC1","account":"PACC1"}}',
           json.dumps({"revoke": {"account": "PACC1", "before": int(time.time()) + 3600}}), '{"erase":{"account":"PACC1","before":1}}',
           '{"revoke":{"account":"PACC1","x":"' + "x" * 70_000 + '"}}', b'{"revoke":{"account":"PACC1\xff"}}']
    produce(broker.bootstrap, "control", bad)
    eventually(lambda: metric(node, "livegate_control_records_rejected_total") == len(bad))
    lines = node.log("a control record is ignored")
    assert len({line["reason"] for line in lines}) == len(lines) >= 5 and lines[0]["offset"] == 0
    assert status(node, tokens.signed("PACC1", iat=OLD)) == 101 and client.closed is None
    # What follows is read.
    newer = LiveClient(node, tokens.signed("PACC1", iat=OLD + 1))
    produce(broker.bootstrap, "control", ['{"revoke":{"account":"PACC1","before":%d}}' % (OLD + 1)])
    assert client.wait_until_closed() == 4403
    assert status(node, tokens.signed("PACC1", iat=OLD + 1)) == 101 and newer.closed is None
    # From the future is what any token may say that is to outlive what is revoked.
    assert status(node, tokens.signed("PACC1", iat=int(time.time()) + 3600)) == 401


def test_the_loss_of_the_topic_opens_nothing_whatever_the_node_is_told_meanwhile(node, broker, tokens):
    node = node(kafka__broker_grace="1s", reload_interval="0s", lifecycle__drain_delay="0s", lifecycle__drain_window="1h")
    old = tokens.signed("PACC1", iat=OLD)
    assert "[+]control ok" in node.asked("/readyz?verbose")[1]
    revoke(node, "--account", "PACC1")
    eventually(lambda: status(node, old) == 401)
    new = tokens.signed("PACC1", iat=later())
    client = LiveClient(node, new)
    broker.down()
    eventually(lambda: "[-]control no Kafka broker" in node.asked("/readyz?verbose")[1], within=30)
    assert client.closed is None and status(node, old) == 401 and status(node, new) == 101
    rewrite(node, limits={**node.settings["limits"], "max_lag": "9s"})
    hang_up(node)
    node.wait_for_log("settings reloaded")
    assert status(node, old) == 401 and status(node, new) == 101 and status(node, "token-PACC1") == 401
    assert posted(node, "/admin/drain?window=1h")[0] == 202
    # What is shut out stays so before anything else is said.
    eventually(lambda: status(node, new) == 503)
    assert status(node, old) == 401 and client.closed is None
    assert posted(node, "/admin/undrain")[0] == 200
    eventually(lambda: status(node, new) == 101)
    broker.up()
    node.wait_until_ready(30)
    assert client.closed is None and status(node, old) == 401
    revoke(node, "--account", "PACC1", "--subject", "u1")
    eventually(lambda: metric(node, 'livegate_revocations_total{kind="subject"}') == 1)
    broker.down()
    eventually(lambda: "[-]control no Kafka broker" in node.asked("/readyz?verbose")[1], within=30)
    assert status(node, old) == 401
    node.program.signal()
    # Its listeners close at once; the second one ends the drain.
    eventually(lambda: node.readyz() == (503, "draining\n"))
    node.program.signal()
    assert node.program.wait() == 0
    assert client.wait_until_closed() == 1012


def test_a_wait_whose_fixed_token_is_gone_is_answered_with_401(node, tmp_path):
    node = node(reload_interval="0s")
    waiting, other, client = Sync(node, "token-PACC3"), Sync(node, "token-PACC1"), LiveClient(node, "token-PACC3")
    for each in waiting, other:
        each.send(since=each.page()["at"], wait=50)
    eventually(lambda: metric(node, 'livegate_connections{kind="sync"}') == 2)
    static_tokens(tmp_path, ["PACC1"])
    hang_up(node)
    refused = waiting.answer()
    assert refused.status == 401 and refused.body["code"] == "invalid_token"
    assert refused.body["detail"] == "token is not known here"
    assert client.wait_until_closed() == 4403
    assert metric(node, 'livegate_connections{kind="sync"}') == 1


# Settings, arguments, status, and what is said.
REFUSED = [
    ("revoke", "", ["--account", "A"], 78, "livegate revoke: control.topic is not set"),
    ("revoke", "control: {topic: c}\nlisen: x\n", ["--account", "A"], 78, "lisen: no such key"),
    ("revoke", "control: {topic: incidents}\n", ["--account", "A"], 78, "control.topic: 'incidents' is also in kafka.topics"),
    ("erase", "", ["--account", "A"], 78, "livegate erase: control.topic is not set"),
    ("erase", "control: {topic: c}\n", [], 64, "'--account' is needed"),
    ("erase", "control: {topic: c}\n", ["--account", ""], 64, "account must be a text"),
    ("erase", "control: {topic: c}\n", ["--account", "a\nb"], 64, "account must be a text"),
    ("erase", "control: {topic: c}\n", ["--account", "x" * 256], 64, "account must be a text"),
    ("archive", "", [], 78, "livegate archive: archive.store is not set: there is no horizon"),
    ("archive", "", ["--horizon", "yesterday"], 64, "is not a whole number"),
    ("archive", "", ["--horizon", "-1"], 64, "is not a whole number"),
    ("archive", "archive: {store: 'sqlite:/nowhere/archive'}\n", ["--horizon", "1"], 69, "livegate archive: archive.store: "),
    ("archive", "archive: {store: 'postgresql://livegate@%2Fnowhere/db'}\n", [], 69, "livegate archive: archive.store: "),
]


def test_nothing_is_written_that_no_node_would_read(tmp_path):
    for verb, text, arguments, status, words in REFUSED:
        (tmp_path / "livegate.yaml").write_text(text)
        code, out, err = run("livegate", verb, "--config", tmp_path / "livegate.yaml", *arguments)
        assert (code, out) == (status, "") and words in err, (verb, text, arguments, err)
        assert status == 64 or err.count("\n") == 1, err
