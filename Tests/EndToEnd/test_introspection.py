# Tests: IntrospectionLookup.swift, Connection+Renewal.swift
"""Tokens that are no JWTs, judged by a server of tokens (RFC 7662)."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

from caller import answer, bearer
from clients import EventStream, LiveClient
from gateway import hang_up, rewrite
from programs import eventually
from revoking import status, ticket


def test_tokens_that_are_no_jwts_are_judged_by_the_server_and_its_answers_are_kept(
        gateway, mock_broker, tokens, token_server):
    node = gateway(mock_broker.bootstrap, auth__introspection={**token_server.settings, "timeout": "5s", "cache": "1h"})
    token_server.say = {
        "good": {"active": True, "account_id": "PACC1", "sub": "u1", "exp": int(time.time()) + 3600},
        "a+b/c==": {"active": True, "account_id": "PACC1"},
        "nobody": {"active": True, "sub": "u1"},
        "html": lambda request: request.reply("<html>"),
        "down": lambda request: request.reply("no", 500),
        "away": lambda request: request.server.ends.wait(20),
        "large": lambda request: request.reply(b" " * 65_537),
    }
    expected = {"good": 101, "a+b/c==": 101, "nobody": 401, "stranger": 401, "html": 503, "down": 503, "away": 503,
                "large": 503}
    assert {token: status(node, token) for token in expected} == expected
    # What was said is not asked again; what was not said is.
    again = {token: status(node, token) for token in expected if token != "away"}
    assert again == {token: code for token, code in expected.items() if token != "away"}
    counts = {token: token_server.asked.count(token) for token in again}
    assert counts == {"good": 1, "a+b/c==": 1, "nobody": 1, "stranger": 1, "html": 2, "down": 2, "large": 2}
    code, fields, body = answer(node.host, bearer("down"))
    assert (code, json.loads(body)["code"]) == (503, "not_ready") and int(fields["retry-after"]) > 0
    # JWTs are judged as before, and nothing is said of tokens in the log.
    asked = len(token_server.asked)
    assert status(node, tokens.token("PACC1")) == 101 and status(node, "a.b.c") == 401
    assert len(token_server.asked) == asked
    assert node.wait_for_log("cannot be introspected")
    lines = json.dumps(node.log())
    assert not any(word in lines for word in ("stranger", "nobody", "s€cret"))


def test_those_with_one_token_share_a_question_and_their_streams_go_on_while_it_is_active(
        gateway, mock_broker, token_server, ends_with_test, tmp_path):
    secret = tmp_path / "tickets"
    secret.write_text("s" * 32 + "\n")
    node = gateway(mock_broker.bootstrap, auth__tickets={"secret_file": str(secret)},
                   auth__introspection={**token_server.settings, "timeout": "9s", "cache": "2s"})
    token_server.say = dict.fromkeys(("one", "two", "three"), {"active": True, "account_id": "PACC1"})
    token_server.free.clear()
    with ThreadPoolExecutor(10) as crowd:
        waiting = [crowd.submit(status, node, "one") for _ in range(10)]
        eventually(lambda: token_server.asked, what="the question")
        token_server.free.set()
        assert [each.result() for each in waiting] == [101] * 10
    assert token_server.asked == ["one"]
    clients = [ends_with_test(LiveClient(node, "one", with_="at")) for _ in range(3)]
    stream = ends_with_test(EventStream(node, "one"))
    by_ticket = ends_with_test(EventStream(node, None, ticket=ticket(node, "two")))
    stream.wait_for("live")
    given_away = ends_with_test(LiveClient(node, "three"))
    # Each answer is good for two seconds: the server is asked again and again, once for all of them.
    eventually(lambda: token_server.asked.count("one") >= 4, 60, "questions about a token that is open")
    # What was let in by a ticket comes back with another one. Not 4401: its token is still good.
    by_ticket.wait_until_ended(60)
    bye = by_ticket.events[-1]
    assert bye.name == "bye" and bye.json["code"] == 1012 and bye.json["retry_ms"] >= 1_000
    assert not [each for each in by_ticket.events if each.name == "expiring"]
    ends_with_test(EventStream(node, None, ticket=ticket(node, "two"))).wait_for("live")
    # The server gives a token to another account: the stream of the old one ends.
    token_server.say["three"] = {"active": True, "account_id": "PACC2"}
    assert given_away.wait_until_closed(60) == 4401 and status(node, "three") == 101
    # It is away for a while, and says what it does not say: nobody is closed for that.
    token_server.say["one"] = lambda request: request.reply("no", 500)
    failed = token_server.asked.count("one")
    eventually(lambda: token_server.asked.count("one") >= failed + 2, 60, "questions while it is away")
    token_server.say["one"] = {"active": True, "account_id": "PACC1"}
    active = token_server.asked.count("one")
    eventually(lambda: token_server.asked.count("one") >= active + 3, 60, "questions afterwards")
    assert [client.closed for client in clients] == [None] * 3
    # Nothing ends of which they would have to be told.
    assert all(not client.controls("expiring") and not client.controls("token") for client in clients)
    token_server.say["one"] = {"active": False}
    for client in clients:
        assert client.wait_until_closed(60) == 4401
    stream.wait_until_ended()
    assert stream.events[-1].json["code"] == 4401


def test_a_reload_keeps_what_a_server_has_said_and_another_server_is_asked_anew(gateway, mock_broker, token_server):
    node = gateway(mock_broker.bootstrap, reload_interval="0s", auth__introspection={**token_server.settings, "cache": "1h"})
    token_server.say = {"good": {"active": True, "account_id": "PACC1"}}
    assert status(node, "good") == 101
    for number, (changes, asked) in enumerate([
            ({"cache": "30m"}, 1), ({"timeout": "9s"}, 1), ({"url": token_server.settings["url"] + "/2"}, 2)], 1):
        rewrite(node, auth={**node.settings["auth"], "introspection": {**node.settings["auth"]["introspection"], **changes}})
        hang_up(node)
        node.wait_for_log("settings reloaded", count=number)
        # Loops use what was read a moment after the line.
        eventually(lambda: status(node, "good") == 101 and len(token_server.asked) == asked,
                   what=lambda: f"{asked} questions; {token_server.asked}")


def test_a_stream_goes_on_with_a_token_that_the_server_accepts(gateway, mock_broker, token_server, ends_with_test):
    node = gateway(mock_broker.bootstrap, auth__introspection={**token_server.settings, "cache": "1h", "timeout": "9s"})
    end = int(time.time()) + 600
    token_server.say = {
        "first": {"active": True, "account_id": "PACC1", "exp": end - 1},
        "next": {"active": True, "account_id": "PACC1", "exp": end}, "others": {"active": True, "account_id": "PACC2"},
        "down": lambda request: request.reply("no", 500)}
    kept, refused, gone = (ends_with_test(LiveClient(node, "first", **{"with": "at"})) for _ in range(3))

    def send(client, token):
        client.socket.send(json.dumps({"token": token}))
    # One that cannot be checked now changes nothing and is not answered. What comes meanwhile is judged afterwards, the newest
    # of it; who leaves meanwhile is forgotten.
    token_server.free.clear()
    for client in (kept, gone):
        send(client, "down")
    eventually(lambda: "down" in token_server.asked, what="the question")
    for token in ("others", "first", "next"):
        send(kept, token)
    # It has read them when it answers this.
    assert kept.socket.ping().wait(60)
    gone.socket.close()
    send(refused, "others")
    token_server.free.set()
    assert eventually(lambda: kept.controls("token"), what="the answer") == [{"exp": end}]
    refused.wait_until_closed()
    assert refused.closed == 4401 and kept.closed is None
    assert token_server.asked.count("others") == 1
    send(kept, "nobody")
    kept.wait_until_closed()
    assert kept.closed == 4401 and kept.controls("token") == [{"exp": end}]
