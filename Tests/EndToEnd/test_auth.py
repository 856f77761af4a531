"""Tokens at the door of a running gateway."""

import base64
import json
import socket
import time

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from caller import answer, bearer
from gateway import static_tokens
from programs import eventually, produce

def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.fixture
def open_gateway(gateway, mock_broker):
    return gateway(mock_broker.bootstrap)


def refused(host, more, reason):
    status, fields, body = answer(host, more)
    assert status == 401
    assert fields["www-authenticate"].startswith('Bearer error="invalid_token"')
    assert reason in fields["www-authenticate"]
    assert fields["content-type"] == "application/problem+json"
    problem = json.loads(body)
    assert problem["status"] == 401 and problem["code"] == "invalid_token" and reason in problem["detail"]
    assert len(body) < 1024


def test_what_comes_without_a_good_token_is_refused_with_a_reason(open_gateway, tokens):
    good = tokens.token("PACC1")
    header, payload, signature = good.split(".")
    rows = [
        ("", "no token"),
        ("Authorization: Basic YTpi\r\n", "Bearer"),
        (bearer(good) * 2, "once"),
        (bearer(f"{part({'alg': 'none'})}.{payload}."), "signature"),
        (bearer(f"{part({'alg': 'none'})}.{payload}.AAAA"), "algorithm"),
        (bearer(f"{header}.{part({'iss': 'test', 'account_id': 'PACC2'})}.{signature}"), "signature"),
        (bearer(f"{header}.{payload}"), "three parts"),
        (bearer("x" * 9000), "8192 bytes"),
        (bearer(tokens.token("PACC1", "--issuer", "other")), "issuer"),
        (bearer(tokens.token("PACC1", "--audience", "other")), "audience"),
        (bearer(tokens.token("PACC1", "--claim", "acc")), "account"),
    ]
    for more, reason in rows:
        refused(open_gateway.host, more, reason)
    assert answer(open_gateway.host, bearer(good))[0] == 101


def test_an_expired_token_is_told_its_time(open_gateway, tokens):
    token = tokens.token("PACC1", "--expires", "1s")
    expiry = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))["exp"]
    eventually(lambda: time.time() > expiry)
    refused(open_gateway.host, bearer(token), time.strftime("expired at %Y-%m-%dT%H:%M:%SZ", time.gmtime(expiry)))


def test_at_its_expiry_a_connection_is_closed_with_4401(open_gateway, tokens):
    def join(token):
        return token, connect(open_gateway.url, additional_headers={"Authorization": f"Bearer {token}"})

    token, client = tokens.joined_for_a_moment("PACC1", join)
    expiry = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))["exp"]
    with client:
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=180)
    assert closed.value.rcvd.code == 4401
    assert time.time() >= expiry - 0.01


def test_a_bad_token_is_refused_before_the_node_is_ready(gateway, tokens):
    # Nobody listens at the broker's address.
    waiting = gateway("127.0.0.1:1", ready=False)
    eventually(lambda: waiting.status("/livez") == 200, 20)
    refused(waiting.host, bearer("abc"), "three parts")
    assert answer(waiting.host, bearer(tokens.token("PACC1")))[0] == 503


def test_static_tokens_and_anonymous_callers_get_their_accounts(gateway, mock_broker, tmp_path):
    file = static_tokens(tmp_path, ["PACC1", "PACC2"])
    running = gateway(mock_broker.bootstrap, auth={"tokens": str(file), "anonymous": "PUBLIC"})
    with connect(running.url, additional_headers={"Authorization": "Bearer token-PACC1"}) as one, \
            connect(running.url, additional_headers={"Authorization": "Bearer token-PACC2"}) as two, \
            connect(running.url) as anonymous:
        produce(mock_broker.bootstrap, "incidents", [
            {"account_id": account, "entity": "incidents::incident", "id": account, "type": "created"}
            for account in ("PACC2", "PUBLIC", "PACC1", "OTHER")])
        for client, account in ((one, "PACC1"), (two, "PACC2"), (anonymous, "PUBLIC")):
            assert json.loads(client.recv(timeout=120)) == {"ent": "incident", "id": account, "type": "created"}
    refused(running.host, bearer("token-PACC3"), "not known")


def test_tokens_stand_in_no_log_and_no_answer(open_gateway, tokens):
    good = tokens.token("PACC1", "--subject", "somebody")
    bad = good[:-8] + "AAAAAAAA"
    assert answer(open_gateway.host, bearer(good))[0] == 101
    status, fields, body = answer(open_gateway.host, bearer(bad))
    assert status == 401
    open_gateway.program.end()
    told = "\n".join(open_gateway.program.out + open_gateway.program.err) + str(fields) + body
    for token in (good, bad):
        for piece in token.split("."):
            assert piece not in told
