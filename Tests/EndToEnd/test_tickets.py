# Tests: NodeTickets.swift, Ticket.swift, TicketSecretFile.swift
"""Tickets: bought with a token, each lets in once on a node, and counts as the token that it was bought with."""

import http.client
import json
import re
import secrets

import pytest

from caller import first
from gateway import ticket_of
from programs import PATIENCE
from wire import ask, event_stream_request, get, upgrade


@pytest.fixture
def nodes(gateway, mock_broker, tmp_path):
    """Two nodes with one secret, the second with a newer one before it."""
    old, new = secrets.token_hex(32), secrets.token_hex(32)
    files = {"one": f"{old}\n", "two": f"{new}\n{old}\n"}
    begun = []
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        begun.append(gateway(mock_broker.bootstrap, auth__tickets={"secret_file": str(tmp_path / name)}))
    return begun


def buy(node, token, path="/ticket/v1", body=None, method="POST"):
    """Status, fields and body of the answer; with a list as body it is sent in chunks."""
    with_token = {"Authorization": f"Bearer {token}"} if token else {}
    door = http.client.HTTPConnection(node.host, timeout=20 * PATIENCE)
    door.request(method, path, body=iter(body) if isinstance(body, list) else body, headers=with_token,
                 encode_chunked=isinstance(body, list))
    answer = door.getresponse()
    fields = {name.lower(): value for name, value in answer.getheaders()}
    read = answer.read()
    door.close()
    return answer.status, fields, json.loads(read)


def test_a_ticket_lets_in_once_on_each_node_that_has_the_secret(nodes, tokens):
    one, two = nodes
    token = tokens.token("PACC1")
    ticket = ticket_of(one, token)
    assert re.fullmatch("[A-Za-z0-9_-]{1,1024}", ticket)
    for node in (one, two):
        assert first(node.host, upgrade(path=f"/live/v1?ticket={ticket}"))[0] == 101
        status, fields, body = first(node.host, upgrade(path=f"/live/v1?ticket={ticket}"))
        assert status == 401 and json.loads(body)["code"] == "invalid_token" and "www-authenticate" in fields
    # The first node has not got the newer secret.
    assert first(one.host, get(f"/sync/v1?ticket={ticket_of(two, token)}"))[0] == 401
    for request in (event_stream_request, get):
        path = "/live/v1" if request is event_stream_request else "/sync/v1"
        assert first(two.host, request(path=f"{path}?ticket={ticket_of(one, token)}"))[0] == 200
    # It is used up only when it lets somebody in.
    ticket = ticket_of(one, token)
    for request, status in [
        (get(f"/sync/v1?limit=0&ticket={ticket}"), 400), (get(f"/live/v1?ticket={ticket}"), 400),
        (get(f"/sync/v1?ticket={ticket}", token), 400), (get(f"/elsewhere?ticket={ticket}"), 404),
        (get(f"/sync/v1?ticket={ticket}&ticket={ticket}"), 400), (get(f"/sync/v1?ticket={ticket[:-2]}"), 401),
        (get(f"/sync/v1?ticket={ticket}"), 200), (get(f"/sync/v1?ticket={ticket}"), 401),
    ]:
        assert first(one.host, request)[0] == status, request


def test_a_ticket_counts_as_its_token_and_is_bought_by_a_post_which_needs_no_body(nodes, door, tokens):
    one, two = nodes
    token = tokens.token("PACC2", "--expires", "15s")
    status, fields, body = buy(one, token)
    assert status == 200 and 1 <= body["expires_in"] <= 15
    assert fields["cache-control"] == "no-store" and fields["content-type"] == "application/json"
    # The connection ends with the token, by its close.
    received = ask(two.host, upgrade(path=f"/live/v1?ticket={body['ticket']}"), 40 * PATIENCE)
    assert b"token expired" in received.partition(b"\r\n\r\n")[2]
    assert two.wait_for_log("connection opened")["account"] == "PACC2"
    token = tokens.token("PACC1")
    assert buy(one, token)[2]["expires_in"] == 30
    for body in (None, b"", b"{}", [], [b"{", b"}"]):
        assert buy(one, token, body=body)[0] == 200, body
    empty = "POST /ticket/v1 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n" + f"Authorization: Bearer {token}\r\n"
    # The connection goes on.
    answers = ask(one.host, (empty + "\r\n" + empty + "Connection: close\r\n\r\n").encode(), 20 * PATIENCE)
    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert buy(one, None)[0] == 401 and buy(one, "x")[0] == 401
    status, fields, _ = buy(one, token, method="GET")
    assert (status, fields["allow"]) == (405, "POST")
    assert buy(one, None, f"/ticket/v1?ticket={ticket_of(one, token)}")[0] == 401
    # Without a secret there are no tickets.
    assert buy(door, token)[0] == 404
    assert first(door.host, get(f"/sync/v1?ticket={ticket_of(one, token)}"))[0] == 401
