"""Tokens at the door of a running gateway."""

import base64
import json

import pytest
from websockets.sync.client import connect

from caller import answer, bearer
from gateway import static_tokens
from programs import produce


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
    return str(fields) + body


def test_what_comes_without_a_good_token_is_refused_with_a_reason(open_gateway, tokens):
    good = tokens.token("PACC1")
    header, payload, signature = good.split(".")
    others = {**json.loads(base64.urlsafe_b64decode(payload + "==")), "account_id": "PACC2"}
    rows = [
        ("", "no token"),
        ("Authorization: Basic YTpi\r\n", "Bearer"),
        (bearer(good) * 2, "once"),
        (bearer(f"{part({'alg': 'none'})}.{payload}."), "signature"),
        (bearer(f"{part({'alg': 'none'})}.{payload}.AAAA"), "algorithm"),
        (bearer(f"{header}.{part(others)}.{signature}"), "signature"),
        (bearer(f"{header}.{part({**others, 'aud': 'other'})}.{signature}"), "audience"),
        (bearer(f"{header}.{payload}"), "three parts"),
        (bearer("x" * 9000), "8192 bytes"),
        (bearer(tokens.token("PACC1", "--issuer", "other")), "issuer"),
        (bearer(tokens.token("PACC1", "--audience", "other")), "audience"),
        (bearer(tokens.token("PACC1", "--claim", "acc")), "account"),
    ]
    said = "".join(refused(open_gateway.host, more, reason) for more, reason in rows)
    assert answer(open_gateway.host, bearer(good))[0] == 101
    open_gateway.program.end()
    # Nothing of a token stands in an answer or in the log.
    said += "\n".join(open_gateway.program.out + open_gateway.program.err)
    for piece in (*good.split("."), "x" * 9000, "AAAA"):
        assert piece not in said


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
