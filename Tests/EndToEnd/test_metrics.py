# Tests: Administration+Answers.swift, ConnectionLoop+Reporting.swift, History+Reporting.swift, IngestReport.swift
"""What the administration says of a node, held against what its clients counted."""

import datetime
import json
import re
import socket
import subprocess
import time

import pytest

from asker import Asker
from clients import LiveClient, served
from metrics import scrape, total
from processes import descriptors
from programs import eventually, event, produce
from wire import PING, connect, frame, upgrade


@pytest.fixture
def asker(door):
    return Asker(door.admin)


def settled(asker, holds):
    """The metrics, once they say so: what was sent is counted when the kernel has it, a moment later than a client may."""
    return eventually(lambda: (lambda metrics: metrics if holds(metrics) else None)(scrape(asker)), 20,
                      lambda: f"sums; {scrape(asker)}")


def test_the_sums_hold_for_clients_of_all_kinds(door, asker, tell, live, event_stream, sync, tokens):
    plain, cursors, stream = live(door), live(door, **{"with": "at"}), event_stream(door)
    changed = live(door, mode="changed")
    filtered = live(door, ent="note")
    poller = sync(door)
    begin = poller.page()["at"]
    for client in (cursors, changed):
        client.wait_for_control("live")
    stream.wait_for("live")
    eventually(lambda: total(scrape(asker), "livegate_connections") == 5, what="five streams")
    tell(range(50))
    tell(["n1", "n2"], entity="note")
    tell(["other"], account="PACC2")
    for client in (plain, cursors):
        client.wait_for_events(52)
    filtered.wait_for_events(2)
    eventually(lambda: len(stream.ids) == 52, 20, "all events in the stream")
    pages = [poller.page(since=begin, limit=20), poller.page(since=begin, limit=500)]
    resumed = live(door, since=cursors.events[9]["at"])
    served(resumed)
    answers = [poller.ask(since="nonsense"), poller.ask(since=begin[:-2] + "zz")]
    assert [answer.status for answer in answers] == [400, 400]
    # What was written and who asked for it say how many there must be.
    assert [len(client.events) for client in (plain, cursors, filtered, resumed)] == [52, 52, 2, 42]
    assert [len(page["events"]) for page in pages] == [20, 52]
    counted, polled = 52 + 52 + 2 + 42, 20 + 52

    def agreed():
        """The metrics and the signals of the same moment. Several events may be one signal, and either side may count it first."""
        metrics, signals = scrape(asker), sum("changed" in message for message in changed.messages)
        everything = counted + signals + 52 + polled
        return (metrics, signals) if total(metrics, "livegate_deliveries_total") == everything else None

    metrics, signals = eventually(agreed, 20, lambda: f"sums; {scrape(asker)}")
    assert total(metrics, "livegate_deliveries_total", kind="websocket") == counted + signals
    assert total(metrics, "livegate_deliveries_total", kind="event_stream") == 52
    assert total(metrics, "livegate_deliveries_total", kind="sync") == polled
    assert metrics["livegate_delivery_seconds_count"] == total(metrics, "livegate_deliveries_total")
    # Pages and what was resumed have no age.
    assert metrics["livegate_event_age_seconds_count"] == 52 * 3 + 2 + signals
    assert total(metrics, "livegate_records_total", outcome="event") == 53
    assert total(metrics, "livegate_records_total") == 53
    # Six streams and three pages.
    assert total(metrics, "livegate_handshakes_total", outcome="accepted") == 6 + 3
    assert total(metrics, "livegate_handshakes_total", outcome="bad_cursor") == 2
    assert metrics["livegate_accounts"] == 1 and metrics['livegate_connections{kind="event_stream"}'] == 1
    waiting = sync(door)
    waiting.send(since=poller.page(since=begin)["at"], wait=50)
    eventually(lambda: scrape(asker)['livegate_connections{kind="sync"}'] == 1, what="a request that waits")
    waiting.end()
    plain.end()
    metrics = settled(asker, lambda m: total(m, "livegate_connections") == 5)
    assert total(metrics, "livegate_handshakes_total", outcome="accepted") == (
        total(metrics, "livegate_connections") + total(metrics, "livegate_closes_total"))
    # Four answers, the client that said goodbye, and the one that left while it waited.
    assert metrics['livegate_closes_total{code="1000"}'] == 5 and metrics['livegate_closes_total{code="cut"}'] == 1
    assert metrics["livegate_sends_total"] > 0


def test_bytes_are_counted_as_they_come_and_go_over_the_wire(door, asker, tokens):
    names = ["livegate_received_bytes_total", "livegate_sent_bytes_total"]
    before = [scrape(asker)[name] for name in names]
    request, ping = upgrade(tokens.token("PACC1")), frame(PING, b"12345")
    with connect(door.host) as peer:
        peer.sendall(request)
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            assert (byte := peer.recv(1)), answer
            answer += byte
        peer.sendall(ping)
        pong = peer.recv(7, socket.MSG_WAITALL)
        assert pong[2:] == b"12345"
        wanted = [then + len(moved) for then, moved in zip(before, (request + ping, answer + pong))]
        settled(asker, lambda metrics: [metrics[name] for name in names] == wanted)


@pytest.mark.parametrize("path", ["/admin/disconnect?account=PACC1", "/admin/drain?window=1s"])
def test_the_sums_hold_for_those_who_are_closed_in_a_burst(door, asker, mock_broker, live, event_stream, path):
    """Events and closes meet in the same moments: what a client still got is counted, and nothing else."""
    # Who connects and asks for nothing is let go after handshake_timeout.
    assert total(scrape(asker), "livegate_connections") == 0
    clients = [live(door) for _ in range(20)]
    streams = [event_stream(door) for _ in range(10)]
    eventually(lambda: total(scrape(asker), "livegate_connections") == 30, what="thirty connections")
    ids = [str(number) for number in range(4000)]
    produce(mock_broker.bootstrap, "incidents", [event("PACC1", identity) for identity in ids])
    # They are in the middle of it.
    clients[0].wait_for_events(1)
    assert asker.ask("POST", path)[0] in (200, 202)
    for client in clients:
        assert client.wait_until_closed() == 1012
    for stream in streams:
        stream.wait_until_ended()
    # Each has got the first of them, so many as came before its end.
    assert all(told == ids[:len(told)] for told in [client.ids for client in clients] + [stream.ids for stream in streams])
    counted = sum(len(client.events) for client in clients)
    streamed = sum(len(stream.ids) for stream in streams)
    assert counted > 0
    metrics = settled(asker, lambda m: total(m, "livegate_connections") == 0)
    assert total(metrics, "livegate_deliveries_total", kind="websocket") == counted
    assert total(metrics, "livegate_deliveries_total", kind="event_stream") == streamed
    assert metrics["livegate_delivery_seconds_count"] == counted + streamed
    assert metrics['livegate_closes_total{code="1012"}'] == 30


def test_a_scrape_is_one_of_prometheus_and_says_how_the_node_is(door, asker, tell, live):
    client = live(door)
    eventually(lambda: total(scrape(asker), "livegate_connections") == 1, what="the stream")
    tell(["a"])
    client.wait_for_events(1)
    # Stamps say how old events are.
    metrics = settled(asker, lambda m: m["livegate_event_age_seconds_count"] == 1)
    assert metrics['livegate_event_age_seconds_bucket{le="60"}'] == 1
    assert metrics["livegate_event_age_seconds_sum"] >= metrics["livegate_delivery_seconds_sum"] >= 0
    body = asker.ask("GET", "/metrics")[2]
    done = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert metrics["livegate_ready"] == 1 and metrics["livegate_draining"] == 0 and metrics["livegate_kafka_up"] == 1
    assert metrics["process_resident_memory_bytes"] > 1e6
    assert abs(metrics["process_start_time_seconds"] - time.time()) < 600
    assert abs(metrics["livegate_start_time_seconds"] - metrics["process_start_time_seconds"]) < 120
    assert re.search(rb'livegate_build_info\{version="[^"]+",librdkafka="[^"]+",openssl="3[^"]+"\} 1', body)
    # The asker's own connection stands between two questions, too.
    eventually(lambda: scrape(asker)["process_open_fds"] == descriptors(door.program.pid) > 5, what="the same number")


def test_status_and_listings_are_what_they_should_be(door, asker, tell, live, event_stream, sync):
    clients = [live(door, "PACC1"), live(door, "PACC1"), event_stream(door, "PACC2")]
    tell(range(3))
    clients[0].wait_for_events(3)
    status = eventually(lambda: (lambda s: s if s["connections"] == {"websocket": 2, "event_stream": 1, "sync": 0}
                                 else None)(asker.json("/admin/status")), what="three connections")
    assert status["state"] == "ready" and status["ready"] is True and status["problems"] == []
    assert [(entry["account"], entry["connections"]) for entry in status["accounts"]] == [("PACC1", 2), ("PACC2", 1)]
    assert all(entry["requests_per_minute"] >= 1 and entry["refusals_per_minute"] == 0 for entry in status["accounts"])
    assert [len(status["rates"][name]) for name in ("events", "deliveries", "handshakes")] == [3, 3, 3]
    assert {entry["partition"] for entry in status["lag"]} == set(range(4))
    assert status["log"]["events"] == 3 and status["log"]["accounts"] >= 1
    started = datetime.datetime.fromisoformat(status["started"].replace("Z", "+00:00"))
    assert abs(started.timestamp() - time.time()) < 600
    late = eventually(lambda: asker.json("/admin/status")["delivery_ms"]["p99"], what="a quantile")
    assert late > 0
    lines = [json.loads(line) for line in asker.ask("GET", "/admin/connections")[2].splitlines()]
    assert len(lines) == 3 and len({line["id"] for line in lines}) == 3
    assert all(list(line) == ["id", "account", "subject", "peer", "kind", "since", "behind_ms", "deliveries", "sent_bytes"]
               for line in lines)
    assert {line["peer"] for line in lines} == {"127.0.0.1"} and all(line["sent_bytes"] > 100 for line in lines)
    of_one = asker.ask("GET", "/admin/connections?account=PACC2&unknown=1")[2].splitlines()
    assert [json.loads(line)["kind"] for line in of_one] == ["event_stream"]
    assert len(asker.ask("GET", "/admin/connections?limit=1")[2].splitlines()) == 1
    for query in ("limit=0", "limit=100001", "limit=x", "limit=1&limit=1", "account=", "account=a&account=b"):
        assert asker.ask("GET", f"/admin/connections?{query}")[0] == 400, query
    account = asker.json("/admin/accounts/PACC1")
    assert (account["account"], account["connections"], account["events"]) == ("PACC1", 2, 3)
    assert account["oldest"] <= account["newest"] and account["partitions"] == [
        {"topic": "incidents", "partition": 0, "position": 3}]
    assert asker.ask("GET", "/admin/accounts/NOBODY")[0] == 404
    kafka = asker.json("/admin/kafka")
    (topic,) = kafka["topics"]
    assert topic["topic"] == "incidents" and len(topic["partitions"]) == 4
    first = eventually(lambda: (lambda p: p if p["end"] == 3 else None)(
        asker.json("/admin/kafka")["topics"][0]["partitions"][0]), what="the end of the partition")
    assert (first["position"], first["lag"]) == (3, 0) and first["leader"] is not None and first["last_message"]
    assert all(re.fullmatch(r".+:\d+", broker) for broker in kafka["brokers"]) and kafka["brokers"]
    assert asker.json("/admin/charts")["interval_seconds"] == 5


def test_an_operator_disconnects_an_account(door, asker, live, event_stream, tokens, ends_with_test):
    def clients(account, *arguments):
        return [ends_with_test(LiveClient(door, tokens.token(account, *arguments))) for _ in range(2)]

    ann, bob = clients("PACC1", "--subject", "ann"), clients("PACC1", "--subject", "bob")
    plain, stream, others = live(door), event_stream(door), clients("PACC2", "--subject", "ann")
    eventually(lambda: total(scrape(asker), "livegate_connections") == 8, what="eight connections")
    for query in ("", "?account=PACC1&account=PACC2"):
        assert asker.ask("POST", f"/admin/disconnect{query}")[0] == 400
    assert asker.ask("GET", "/admin/disconnect?account=PACC1")[0] == 405
    # One user of it, and nobody else; then all of the others.
    for query, closed, left in (("&subject=nobody", [], 8), ("&subject=ann", ann, 6), ("", [*bob, plain], 2)):
        count = len(closed) + (query == "")
        assert asker.json(f"/admin/disconnect?account=PACC1{query}", "POST") == {"closed": count}
        assert [client.wait_until_closed() for client in closed] == [1012] * len(closed)
        settled(asker, lambda m: total(m, "livegate_connections") == left)
        listed = [json.loads(line) for line in asker.ask("GET", "/admin/connections")[2].splitlines()]
        assert sum(one["subject"] == "ann" for one in listed) == (4 if left == 8 else 2), listed
    stream.wait_until_ended()
    assert scrape(asker)['livegate_closes_total{code="1012"}'] == 6 and [client.closed for client in others] == [None, None]
    lines = [door.wait_for_log("closed by an operator", count=number) for number in (1, 2, 3)]
    assert [(line["account"], line.get("subject"), line["count"]) for line in lines] == [
        ("PACC1", "nobody", 0), ("PACC1", "ann", 2), ("PACC1", None, 4)]


def test_a_listing_that_nobody_reads_holds_one_piece(gateway, mock_broker, tokens, ends_with_test):
    """Many connections, a listing that is not read: the node goes on, and the one who reads gets all of them once."""
    # Made once: each is a program that runs.
    door, token = gateway(mock_broker.bootstrap), tokens.token("PACC1")
    clients = [ends_with_test(LiveClient(door, token)) for _ in range(300)]
    assert len(clients) == 300
    asker = Asker(door.admin)
    eventually(lambda: total(scrape(asker), "livegate_connections") == 300, what="300 connections")
    silent = Asker(door.admin)
    for _ in range(50):
        silent.send("GET", "/admin/connections?limit=100000")
    lines = asker.ask("GET", "/admin/connections?limit=100000")[2].splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == len(lines) == 300
    old = Asker(door.admin)
    old.send("GET", "/admin/connections?limit=100000", version="HTTP/1.0")
    body = old.file.read().partition(b"\r\n\r\n")[2]
    assert len(body.splitlines()) == 300
    assert asker.ask("HEAD", "/admin/connections")[0] == 200 and asker.ask("GET", "/livez")[0] == 200
