# Tests: Connection+AwaitingToken.swift, TokenLookup.swift, KeyLookup.swift
"""Keys that are fetched from an issuer's server: at the start, after a rotation, and when the server is away."""

import secrets
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from caller import answer, bearer, first
from clients import LiveClient
from gateway import Tokens, hang_up, rewrite, ticket_of
from issuers import KeyServer
from programs import eventually
from wire import get


@pytest.fixture
def key_server(certificates, tokens, ends_with_test):
    return ends_with_test(KeyServer(certificates, tokens))


def status(gateway, token):
    return answer(gateway.host, bearer(token))[0]


def test_those_who_wait_for_a_key_share_one_fetch_and_a_node_waits_for_its_first(
        gateway, mock_broker, tokens, key_server, tmp_path, ends_with_test):
    key_server.publish("a")
    node = gateway(mock_broker.bootstrap, ready=False, lifecycle__drain_window="0s", env={"https_proxy": "http://127.0.0.1:1"},
                   auth__jwt=key_server.settings(keys_refresh="1h", keys_cooldown="1h"))
    assert node.wait_for_log("keys cannot be fetched")["issuer"] == "test"
    a, b, c, d = (tokens.token("PACC1", "--kid", name) for name in "abcd")
    assert node.readyz()[0] == 503
    code, fields, body = answer(node.host, bearer(a))
    assert code == 503 and '"not_ready"' in body and int(fields["retry-after"]) > 0

    key_server.begin()
    node.wait_until_ready()
    assert status(node, a) == 101
    fetches = key_server.fetches

    # A rotation: tokens with the new key wait for the one fetch.
    key_server.publish("b", "c")
    key_server.free.clear()
    with ThreadPoolExecutor(12) as crowd:
        waiting = [crowd.submit(status, node, b) for _ in range(10)]
        missing = crowd.submit(status, node, d)
        eventually(lambda: key_server.fetches > fetches, what="the fetch")
        # Those whose keys are known do not wait for those whose are not.
        assert status(node, a) == 101
        key_server.free.set()
        assert [each.result() for each in waiting] == [101] * 10 and missing.result() == 401
        assert status(node, c) == 101 and status(node, a) == 401
        # Random names cost no fetch.
        strangers = [tokens.token("PACC1", "--kid", f"stranger-{number}") for number in range(8)]
        assert set(crowd.map(lambda token: status(node, token), strangers * 10)) == {401}
    assert key_server.fetches == fetches + 1
    # The name is right and the key is another's.
    (tmp_path / "other").mkdir()
    other = Tokens(tmp_path / "other")
    replaced = other.token("PACC1", "--kid", "b")
    assert status(node, replaced) == 401
    # It takes the place of the one before: a signal has it fetched, and who came with the old one is closed.
    left, kept = ends_with_test(LiveClient(node, b)), ends_with_test(LiveClient(node, c))
    key_server.publish("c")
    unchanged = key_server.keys
    key_server.publish("b", by=other)
    key_server.keys += unchanged
    hang_up(node)
    assert eventually(lambda: status(node, replaced) == 101, what="the key that replaces one")
    assert status(node, b) == 401
    assert left.wait_until_closed(60) == 4401 and kept.closed is None
    assert node.stop()


def test_keys_count_for_their_age_and_count_again_when_they_are_fetched_again(
        gateway, mock_broker, tokens, key_server):
    key_server.publish("a")
    key_server.begin()
    node = gateway(mock_broker.bootstrap, auth__jwt=key_server.settings(
        keys_refresh="100ms", keys_cooldown="100ms", keys_max_age="4s"))
    known, unknown = tokens.token("PACC1", "--kid", "a"), tokens.token("PACC1", "--kid", "b")
    key_server.broken = True
    fetches = key_server.fetches
    eventually(lambda: key_server.fetches > fetches + 1, what="a fetch that fails")
    # Nobody can say whether this one is good, unless somebody was told so a moment ago.
    assert eventually(lambda: status(node, unknown) == 503, what="503 for an unknown key")
    node.wait_for_log("keys are too old")
    assert status(node, known) == 503 and node.status("/readyz") == 200
    key_server.broken = False
    assert eventually(lambda: status(node, known) == 101, within=20, what="the keys")


def test_a_reload_keeps_the_keys_of_an_issuer_and_goes_by_the_authorities_that_it_has_read(
        gateway, mock_broker, tokens, certificates, key_server, tmp_path):
    authority, secret = tmp_path / "authority.pem", tmp_path / "secret"
    shutil.copy(certificates.authority, authority)
    secret.write_text(secrets.token_hex(32))

    def reload(said="settings reloaded", **changes):
        rewrite(node, auth={**node.settings["auth"], "jwt": key_server.settings(keys_ca=str(authority), **changes)})
        count = len(node.log(said))
        hang_up(node)
        assert node.wait_for_log(said, count=count + 1)

    key_server.publish("a")
    key_server.begin()
    node = gateway(mock_broker.bootstrap, reload_interval="0s", auth__tickets={"secret_file": str(secret), "lifetime": "5m"},
                   auth__jwt=key_server.settings(keys_ca=str(authority), keys_cooldown="100ms"))
    a, b = (tokens.token("PACC1", "--kid", name) for name in "ab")
    # A file that is broken now was read when it was whole, and is not taken.
    authority.write_text("half a fi")
    key_server.publish("a", "b")
    assert status(node, b) == 101
    reload("settings not reloaded", keys_refresh="1m")
    shutil.copy(certificates.authority, authority)

    # Its server is away: the keys that were fetched go on counting.
    key_server.broken = True
    for changes in ({"keys_refresh": "1m"}, {"keys_max_age": "1h"}, {"algorithms": ["ES256", "RS256"]}):
        reload(**changes)
        assert status(node, a) == 101
    tickets = [ticket_of(node, a) for _ in range(2)]
    assert first(node.host, get(f"/sync/v1?ticket={tickets[0]}"))[0] == 200
    # Another issuer has none of them, and the tickets of this one are none any more.
    reload(issuer="other")
    assert eventually(lambda: status(node, a) == 401, what="the issuer's end")
    assert first(node.host, get(f"/sync/v1?ticket={tickets[1]}"))[0] == 401
