# Tests: MetricTable.swift, NodeReport.swift, NodeReadiness.swift, Administration+Answers.swift
"""Each outcome that a metric tells apart is provoked, and stands in the next scrape; nothing else of the same metric does."""

import json
import ssl

import pytest

from asker import Asker
from caller import answer, bearer, first
from clients import LiveClient
from gateway import hang_up, rewrite
from issuers import KeyServer, TokenServer
from metrics import scrape, total
from one_thread import RECEIVE_BYTES, StoppedThread
from programs import event, eventually, produce
from wire import PING, connect, frame, get, upgrade


def samples(asker, name):
    """The values of a metric by that of its one label; those that are 0 are left out."""
    return {key.split('"')[1]: value for key, value in scrape(asker).items() if key.startswith(name + "{") and value}


def holds(asker, name, values):
    """A metric has these values and no others, as soon as what was done is counted."""
    eventually(lambda: samples(asker, name) == values, 20, lambda: f"{name}: {samples(asker, name)}, not {values}")


def test_keys_and_questions_about_tokens(gateway, mock_broker, tokens, certificates, tmp_path, ends_with_test):
    keys = ends_with_test(KeyServer(certificates, tokens))
    keys.publish("a")
    keys.begin()
    server = ends_with_test(TokenServer(certificates, tmp_path))
    server.say = {"good": {"active": True, "account_id": "PACC1"}, "down": lambda request: request.reply("no", 500)}
    door = gateway(mock_broker.bootstrap, auth__jwt=keys.settings(keys_refresh="1h", keys_cooldown="1h"),
                   auth__introspection=server.settings)
    asker = Asker(door.admin)
    assert samples(asker, "livegate_introspections_total") == {}
    holds(asker, "livegate_key_fetches_total", {"ok": 1})
    keys.broken = True
    assert answer(door.host, bearer(tokens.token("PACC1", "--kid", "b")))[0] == 503
    holds(asker, "livegate_key_fetches_total", {"ok": 1, "failed": 1})
    for token, count in (("good", 1), ("stranger", 2), ("other", 1), ("down", 3)):
        for _ in range(count):
            answer(door.host, bearer(token))
    # What was answered is kept, what could not be is asked again.
    holds(asker, "livegate_introspections_total", {"active": 1, "inactive": 2, "failed": 3})


def test_readings_of_the_settings(gateway, mock_broker):
    door = gateway(mock_broker.bootstrap, reload_interval="0s")
    asker = Asker(door.admin)
    assert scrape(asker)["livegate_last_reload_successful"] == 1
    counts = {}
    # A broken file stays wrong for as long as nobody mends it.
    for level, outcome in (("loud", "failed"), ("loud", "failed"), ("info", "ok"), ("loud", "failed")):
        rewrite(door, log={"level": level})
        hang_up(door)
        counts[outcome] = counts.get(outcome, 0) + 1
        holds(asker, "livegate_reloads_total", counts)
        assert scrape(asker)["livegate_last_reload_successful"] == (outcome == "ok")


def test_tls_handshakes(tls_door, certificates):
    door, context = tls_door(), certificates.client()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    asker = Asker(door.admin)
    session = None
    for _ in range(3):
        with context.wrap_socket(connect(door.host), server_hostname="localhost", session=session) as peer:
            assert peer.session_reused == (session is not None)
            session = peer.session
    holds(asker, "livegate_tls_handshakes_total", {"full": 1, "resumed": 2})
    with connect(door.host) as peer:
        peer.sendall(b"GET / HTTP/1.1\r\n\r\n")
        peer.recv(4096)
    holds(asker, "livegate_tls_handshakes_total", {"full": 1, "resumed": 2, "failed": 1})


def test_refusals_by_their_code(gateway, mock_broker, tokens, ends_with_test):
    door = gateway(mock_broker.bootstrap, auth__origins=["https://app.example.com"],
                   limits={"max_connections": 2, "max_connections_per_subject": 1})
    asker, ann, bob = Asker(door.admin), *(tokens.token("PACC1", "--subject", name) for name in ("ann", "bob"))
    inside = [ends_with_test(LiveClient(door, token)) for token in (ann, bob)]
    other = tokens.token("PACC1", "--subject", "other")
    for request, status in [
        (upgrade(ann), 429), (upgrade(other), 503), (upgrade(), 401), (get("/elsewhere"), 404), (get("/live/v1", ann), 400),
        (upgrade(other, headers=["Origin: https://evil.example"]), 403), (get("/sync/v1?limit=0", other), 400),
        (get("/sync/v1?since=x", other), 400), (b"GET\r\n\r\n", 400), (get("/sync/v1").replace(b"GET", b"PUT", 1), 405),
    ]:
        assert first(door.host, request)[0] == status, request
    holds(asker, "livegate_handshakes_total", {
        "accepted": 2, "too_many": 1, "overloaded": 1, "invalid_token": 1, "not_found": 1, "not_a_websocket": 1,
        "forbidden": 1, "bad_parameter": 1, "bad_cursor": 1, "bad_request": 1, "method_not_allowed": 1})
    holds(asker, "livegate_token_refusals_total", {"missing": 1})
    line = door.wait_for_log("request refused: its page's origin is not listed")
    assert (line["level"], line["origin"]) == ("notice", "https://evil.example")
    # The node is full, which is a warning; streams that it has are served, and the place of one who leaves is free.
    line = door.wait_for_log("the node is at a limit")
    assert (line["level"], line["limit"], line["peer"]) == ("warning", "max_connections 2", "127.0.0.1")
    _, fields, body = first(door.host, upgrade(other))
    assert json.loads(body)["code"] == "overloaded" and 1 <= int(fields["retry-after"]) <= 5
    produce(mock_broker.bootstrap, "incidents", [event("PACC1", "x")])
    assert [client.wait_for_id("x") for client in inside] == [["x"], ["x"]]
    inside[0].end()
    eventually(lambda: first(door.host, upgrade(other))[0] == 101, what="the place of the one who left")


def test_what_leaves_the_log_and_who_is_told(gateway, mock_broker, live):
    door = gateway(mock_broker.bootstrap, history={"max_events_per_account": 5, "max_log_bytes": "1MiB"})
    asker = Asker(door.admin)
    client = live(door, with_="at")
    client.wait_for_control("live")
    produce(mock_broker.bootstrap, "incidents", [event("PACC1", number) for number in range(20)])
    client.wait_for_events(20)
    holds(asker, "livegate_log_evictions_total", {"count": 15})
    for since in (client.events[0]["at"], client.events[1]["at"], "nonsense"):
        live(door, since=since).wait_for_control("resync")
    holds(asker, "livegate_resyncs_total", {"expired": 2, "invalid": 1})
    assert scrape(asker)["livegate_log_events"] == 5
    # The memory of all logs that is full.
    produce(mock_broker.bootstrap, "incidents", [event(f"A{number}", "x" * 200) for number in range(10_000)])
    eventually(lambda: total(scrape(asker), "livegate_records_total", outcome="event") == 10_020, 30, "all records")
    metrics, left = scrape(asker), samples(asker, "livegate_log_evictions_total")
    assert metrics["livegate_log_bytes"] <= 1 << 20 and set(left) == {"count", "bytes"} and left["count"] == 15
    assert left["bytes"] + metrics["livegate_log_events"] == 10_005


@pytest.mark.slow
@pytest.mark.unsanitized
def test_a_partition_that_is_not_read(gateway, mock_broker, tokens, ends_with_test):
    """A loop of clients stands still, and owes more and more: ingest stops reading, and is behind the end of the partition."""
    door = gateway(mock_broker.bootstrap, loops=1)
    asker, count = Asker(door.admin), 90_000
    with connect(door.host) as peer:
        peer.sendall(upgrade(tokens.token("PACC1")))
        assert peer.recv(4096).startswith(b"HTTP/1.1 101 ")
        loop = ends_with_test(StoppedThread(
            door.program.process.pid, "recvfrom", lambda: peer.sendall(frame(PING, b"")), RECEIVE_BYTES))

        def write(first, end):
            produce(mock_broker.bootstrap, "incidents", [event("PACC1", number) for number in range(first, end)])

        def read(metrics):
            return total(metrics, "livegate_records_total", outcome="event")

        # Of a partition the embedded broker keeps 5 MiB: what is written faster than the node reads it would be lost. From
        # 65,536 on it reads no more.
        for end in range(15_000, 60_001, 15_000):
            write(end - 15_000, end)
            eventually(lambda: read(scrape(asker)) == end, 60, lambda: f"{end} records read, not {read(scrape(asker))}")
        write(60_000, count)

        def lag(kind):
            return total(scrape(asker), f"livegate_kafka_lag_{kind}", partition="0")

        def is_known():
            """To the record: what was read and what is left is all that was written."""
            metrics = scrape(asker)
            left = total(metrics, "livegate_kafka_lag_records")
            return left > 0 and left + read(metrics) == count

        eventually(is_known, 60, lambda: f"a lag: {lag('records')}")
        assert total(scrape(asker), "livegate_kafka_lag_records") == lag("records")
        before = lag("seconds")
        eventually(lambda: lag("seconds") > before, 20, "that it grows while nothing is read")
        loop.go_on()
    eventually(lambda: lag("records") == lag("seconds") == 0, 60, lambda: f"no lag: {lag('records')}")
