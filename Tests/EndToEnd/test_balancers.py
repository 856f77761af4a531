"""HAProxy, nginx, Envoy and Caddy with the files of deploy/, before two nodes."""

import signal
import subprocess

import pytest

from balancers import PHONE, assert_places_are_of_phones, cut, program
from gateway import posted
from programs import eventually
from wire import connect

HAPROXY = ["haproxy/x-forwarded-for.cfg", "haproxy/proxy-v2.cfg", "haproxy/passed-through.cfg"]
NGINX = ["nginx/x-forwarded-for.conf", "nginx/passed-through.conf"]
ENVOY = ["envoy/envoy.yaml"]
CADDY = ["caddy/Caddyfile"]


@pytest.fixture
def context(certificates):
    return certificates.client()


def are_opened(site, *counts):
    """The nodes have opened so many streams each."""
    eventually(lambda: site.opened() == list(counts), 20, lambda: f"the openings {counts}: {site.opened()}")


@pytest.mark.parametrize("file", HAPROXY + NGINX + ENVOY + CADDY)
def test_every_kind_of_client_passes_and_the_log_names_the_phone(
        site, file, live, event_stream, sync, context, tell, tokens, certificates):
    site = site(file)
    # What a client says of itself is not believed.
    forged = ["X-Forwarded-For: 203.0.113.9"]
    streams = [live(site, context=context), event_stream(site, headers=forged, context=context),
               live(site, context=context)]
    poll = sync(site, context=context)
    poll.send(since=poll.page()["at"], wait=50)
    streams.append(event_stream(site, context=context))
    tell(["a"])
    eventually(lambda: all(stream.ids == ["a"] for stream in streams), 20, "the event at each stream")
    page = poll.answer()
    assert page.status == 200 and [event["id"] for event in page.body["events"]] == ["a"]
    # Again on the same connection.
    assert poll.ask(since="gone").status == 400
    assert poll.page(since=page.body["at"])["events"] == []
    # At both nodes, and not one with the balancer's address.
    eventually(lambda: sum(site.opened()) == 4, 20, lambda: f"the openings: {site.opened()}")
    assert 0 not in site.opened() and set(sum(site.peers(), [])) == {PHONE}
    assert sum(site.listed(), []) == [PHONE] * 4
    eventually(lambda: [line["peer"] for node in site.nodes for line in node.log("request refused")] == [PHONE], 20,
               "the line of the refusal")
    if file == HAPROXY[0]:
        # Browsers may speak HTTP/2.
        done = subprocess.run(
            [program("curl"), "--silent", "--http2", "--cacert", certificates.authority, "--interface", PHONE, "--header",
             f"Authorization: Bearer {tokens.token('PACC1')}", "--write-out", "%{http_version} %{http_code}",
             f"https://{site.host}/sync/v1"], capture_output=True, text=True, timeout=300)
        assert done.stdout.endswith("2 200"), done
    # What leaves without a word gives its connection to the node back, and nothing is written that would show it.
    for stream in streams:
        cut(stream)

    def ends():
        return [line["peer"] for node in site.nodes for line in node.log("connection closed")]
    eventually(lambda: len(ends()) == 4, 20, lambda: f"the ends of the streams: {ends()}")
    assert set(ends()) == {PHONE}
    assert_places_are_of_phones(site, lambda: live(site, context=context))


def come_and_reload(site, live, event_stream, sync, context, tell):
    """Those who have come when the balancer was reloaded, of whom it lost nobody: WebSockets, event streams."""
    clients = [live(site, context=context) for _ in range(4)]
    eventually(lambda: sum(site.opened()) == 4, 20, "the openings")
    assert site.kind != "haproxy" or site.opened() == [2, 2]
    streams, poll = [event_stream(site, context=context) for _ in range(2)], sync(site, context=context)
    poll.send(since=poll.page()["at"], wait=50)
    eventually(lambda: site.waiting() == 1, 20, "the wait")
    site.reload(meanwhile=lambda: clients.append(live(site, context=context)))
    clients += [live(site, context=context) for _ in range(2)]
    tell(["a"])
    eventually(lambda: all(client.ids == ["a"] for client in clients + streams), 20, "the event at each client")
    assert [event["id"] for event in poll.answer().body["events"]] == ["a"]
    assert all(client.closed is None for client in clients) and not any(stream.has_ended for stream in streams)
    eventually(lambda: sum(site.opened()) == len(clients + streams), 20, lambda: f"all openings in the logs: {site.opened()}")
    return clients, streams


@pytest.mark.parametrize("file", HAPROXY)
def test_an_unready_node_gets_no_new_client_and_a_reload_loses_nobody(
        site, file, live, event_stream, sync, context, tell):
    site = site(file, lifecycle={"drain_delay": "60s"})
    clients, streams = come_and_reload(site, live, event_stream, sync, context, tell)
    # Out of service by hand, and back: whoever is there stays, and nobody new comes.
    one, two = site.opened()
    assert posted(site.nodes[1], "/admin/drain?window=1h")[0] == 202
    site.program.line("Server nodes/b is DOWN", within=20)
    new = [live(site, context=context) for _ in range(3)]
    are_opened(site, one + 3, two)
    assert not site.nodes[1].log("request refused")
    assert posted(site.nodes[1], "/admin/undrain")[0] == 200
    site.program.line("Server nodes/b is UP", within=20)
    # It goes on serving for drain_delay: only the balancer knows.
    site.nodes[0].program.signal(signal.SIGTERM)
    site.program.line("Server nodes/a is DOWN", within=20)
    new += [live(site, context=context) for _ in range(5)]
    are_opened(site, one + 3, two + 5)
    tell(["b"])
    eventually(lambda: all(client.ids[-1:] == ["b"] for client in clients + new), 20, "the event at each client")
    assert all(client.ids == ["a", "b"] and client.closed is None for client in clients)
    assert all(stream.ids == ["a", "b"] and not stream.has_ended for stream in streams)


@pytest.mark.parametrize("file", NGINX)
def test_a_node_that_goes_gets_no_new_client_and_a_reload_loses_nobody(
        site, file, live, event_stream, sync, context, tell):
    """nginx asks nobody for readiness: what a node refuses it asks the other one, where it reads requests."""
    site = site(file, lifecycle={"drain_delay": "0s", "drain_window": "60s"})
    clients, _ = come_and_reload(site, live, event_stream, sync, context, tell)
    one, two = site.opened()
    if file == NGINX[0]:
        # Out of service by hand, and back: whoever is there stays.
        assert posted(site.nodes[0], "/admin/drain?window=1h")[0] == 202
        clients += [live(site, context=context) for _ in range(4)]
        assert sync(site, context=context).page()["events"] == []
        are_opened(site, one, two + 4)
        assert posted(site.nodes[0], "/admin/undrain")[0] == 200
        # To the one with the fewest.
        clients += [live(site, context=context) for _ in range(2)]
        are_opened(site, one + 2, two + 4)
        one, two = site.opened()
        assert all(client.closed is None for client in clients)
    site.nodes[0].program.signal(signal.SIGTERM)
    eventually(lambda: is_closed(site.nodes[0]), 20, "that the node takes nobody")
    new = [live(site, context=context) for _ in range(5)]
    are_opened(site, one, two + 5)
    tell(["b"])
    eventually(lambda: all(client.ids == ["b"] for client in new), 20, "the event at each client")


def is_closed(node):
    try:
        connect(node.host).close()
        return False
    except ConnectionRefusedError:
        return True


@pytest.mark.parametrize("file", HAPROXY + ENVOY + NGINX[:1])
def test_a_node_that_was_never_ready_serves_nobody(site, file, live, sync, context):
    site = site(file, unready="a")
    if file in HAPROXY:
        site.program.line("Server nodes/a is DOWN", within=20)
    clients = [live(site, context=context) for _ in range(4)]
    assert sync(site, context=context).page()["events"] == []
    are_opened(site, 0, 4)
    assert all(client.closed is None for client in clients)
    # nginx learns it from what the node refuses, and asks the other one; of the others it gets nobody.
    if file in NGINX:
        eventually(lambda: site.nodes[0].log("request refused"), 20, "the line of a refusal")
    else:
        assert site.nodes[0].log("request refused") == []
