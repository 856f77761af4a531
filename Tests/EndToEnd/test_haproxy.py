"""HAProxy with the files of deploy/haproxy before two nodes."""

import signal
import subprocess

import pytest

from balancers import PHONE, assert_places_are_of_phones, cut, program
from gateway import posted
from programs import eventually

FILES = ["haproxy/x-forwarded-for.cfg", "haproxy/proxy-v2.cfg", "haproxy/passed-through.cfg"]


@pytest.fixture
def context(certificates):
    return certificates.client()


@pytest.mark.parametrize("file", FILES)
def test_every_kind_of_client_passes_and_the_log_names_the_phone(
        site, file, live, event_stream, sync, context, tell):
    site = site(file)
    # What a client says of itself is not believed.
    forged = ["X-Forwarded-For: 203.0.113.9"]
    streams = [live(site, context=context), event_stream(site, headers=forged, context=context),
               live(site, context=context)]
    poll = sync(site, context=context)
    cursor = poll.page()["at"]
    poll.send(since=cursor, wait=50)
    streams.append(event_stream(site, context=context))
    tell(["a"])
    eventually(lambda: all(stream.ids == ["a"] for stream in streams), 20, "the event at each stream")
    page = poll.answer()
    assert page.status == 200 and [event["id"] for event in page.body["events"]] == ["a"]
    # Again on the same connection.
    cursor = page.body["at"]
    assert poll.ask(since="gone").status == 400
    assert poll.page(since=cursor)["events"] == []
    # At both nodes, and not one with the balancer's address.
    eventually(lambda: sum(site.opened()) == 4, 20, lambda: f"the openings: {site.opened()}")
    assert 0 not in site.opened() and set(sum(site.peers(), [])) == {PHONE}
    assert sum(site.listed(), []) == [PHONE] * 4
    eventually(lambda: [line["peer"] for node in site.nodes for line in node.log("request refused")] == [PHONE], 20,
               "the line of the refusal")
    # What leaves without a word gives its connection to the node back, and nothing is written that would show it.
    for stream in streams:
        cut(stream)

    def ends():
        return [line["peer"] for node in site.nodes for line in node.log("connection closed")]
    eventually(lambda: len(ends()) == 4, 20, lambda: f"the ends of the streams: {ends()}")
    assert set(ends()) == {PHONE}
    assert_places_are_of_phones(site, lambda: live(site, context=context))


@pytest.mark.parametrize("file", FILES)
def test_an_unready_node_gets_no_new_client_and_a_reload_loses_nobody(
        site, file, live, event_stream, sync, context, tell):
    site = site(file, lifecycle={"drain_delay": "60s"})
    clients = [live(site, context=context) for _ in range(4)]
    eventually(lambda: sum(site.opened()) == 4, 20, "the openings")
    assert site.opened() == [2, 2]
    streams, poll = [event_stream(site, context=context) for _ in range(2)], sync(site, context=context)
    poll.send(since=poll.page()["at"], wait=50)
    eventually(lambda: site.waiting() == 1, 20, "the wait")
    site.reload(meanwhile=lambda: clients.append(live(site, context=context)))
    clients += [live(site, context=context) for _ in range(2)]
    tell(["a"])
    eventually(lambda: all(client.ids == ["a"] for client in clients + streams), 20, "the event at each client")
    assert [event["id"] for event in poll.answer().body["events"]] == ["a"]
    # Out of service by hand, and back: whoever is there stays, and nobody new comes.
    eventually(lambda: sum(site.opened()) == len(clients + streams), 20, lambda: f"all openings in the logs: {site.opened()}")
    before = site.opened()
    assert posted(site.nodes[1], "/admin/drain?window=1h")[0] == 202
    site.program.line("Server nodes/b is DOWN", within=20)
    new = [live(site, context=context) for _ in range(3)]
    eventually(lambda: sum(site.opened()) == sum(before) + 3, 20, "the openings")
    assert site.opened() == [before[0] + 3, before[1]] and not site.nodes[1].log("request refused")
    assert posted(site.nodes[1], "/admin/undrain")[0] == 200
    site.program.line("Server nodes/b is UP", within=20)
    before = site.opened()
    # It goes on serving for drain_delay: only the balancer knows.
    site.nodes[0].program.signal(signal.SIGTERM)
    site.program.line("Server nodes/a is DOWN", within=20)
    new += [live(site, context=context) for _ in range(5)]
    eventually(lambda: sum(site.opened()) == sum(before) + 5, 20, "the openings")
    assert site.opened() == [before[0], before[1] + 5]
    tell(["b"])
    eventually(lambda: all(client.ids[-1:] == ["b"] for client in clients + new), 20, "the event at each client")
    assert all(client.ids == ["a", "b"] and client.closed is None for client in clients)
    assert all(stream.ids == ["a", "b"] and not stream.has_ended for stream in streams)


@pytest.mark.parametrize("file", FILES)
def test_a_node_that_was_never_ready_gets_nobody(site, file, live, context):
    site = site(file, unready="a")
    site.program.line("Server nodes/a is DOWN", within=20)
    for _ in range(3):
        live(site, context=context)
    eventually(lambda: site.opened() == [0, 3], 20, lambda: f"the openings: {site.opened()}")
    assert site.nodes[0].log("request refused") == []


def test_browsers_may_speak_http_2(site, tokens, certificates):
    site = site(FILES[0])
    done = subprocess.run(
        [program("curl"), "--silent", "--http2", "--cacert", certificates.authority, "--interface", PHONE, "--header",
         f"Authorization: Bearer {tokens.token('PACC1')}", "--write-out", "%{http_version} %{http_code}",
         f"https://{site.host}/sync/v1"], capture_output=True, text=True, timeout=300)
    assert done.stdout.endswith("2 200"), done
