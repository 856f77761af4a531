"""nginx with the files of deploy/nginx before two nodes."""

import signal

import pytest

from balancers import PHONE, assert_places_are_of_phones, cut
from gateway import posted
from programs import eventually
from wire import connect

FILES = ["nginx/x-forwarded-for.conf", "nginx/passed-through.conf"]


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
    poll.send(since=poll.page()["at"], wait=50)
    streams.append(event_stream(site, context=context))
    tell(["a"])
    eventually(lambda: all(stream.ids == ["a"] for stream in streams), 20, "the event at each stream")
    page = poll.answer()
    assert page.status == 200 and [event["id"] for event in page.body["events"]] == ["a"]
    assert poll.ask(since="gone").status == 400
    assert poll.page(since=page.body["at"])["events"] == []
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
def test_a_node_that_goes_gets_no_new_client_and_a_reload_loses_nobody(
        site, file, live, event_stream, sync, context, tell):
    site = site(file, lifecycle={"drain_delay": "0s", "drain_window": "60s"})
    clients = [live(site, context=context) for _ in range(4)]
    eventually(lambda: sum(site.opened()) == 4, 20, "the openings")
    streams, poll = [event_stream(site, context=context) for _ in range(2)], sync(site, context=context)
    poll.send(since=poll.page()["at"], wait=50)
    eventually(lambda: site.waiting() == 1, 20, "the wait")
    site.reload(meanwhile=lambda: clients.append(live(site, context=context)))
    clients += [live(site, context=context) for _ in range(2)]
    tell(["a"])
    eventually(lambda: all(client.ids == ["a"] for client in clients + streams), 20, "the event at each client")
    assert [event["id"] for event in poll.answer().body["events"]] == ["a"]
    assert all(client.closed is None for client in clients) and not any(stream.has_ended for stream in streams)
    site.nodes[0].program.signal(signal.SIGTERM)
    eventually(lambda: is_closed(site.nodes[0]), 20, "that the node takes nobody")
    before = site.opened()
    new = [live(site, context=context) for _ in range(5)]
    eventually(lambda: sum(site.opened()) == sum(before) + 5, 20, "the openings")
    assert site.opened() == [before[0], before[1] + 5]
    tell(["b"])
    eventually(lambda: all(client.ids == ["b"] for client in new), 20, "the event at each client")


def is_closed(node):
    try:
        connect(node.host).close()
        return False
    except ConnectionRefusedError:
        return True


def test_a_request_that_an_unready_node_refuses_is_served_by_the_other(site, live, sync, context):
    site = site(FILES[0], unready="a")
    clients = [live(site, context=context) for _ in range(4)]
    assert sync(site, context=context).page()["events"] == []
    eventually(lambda: site.opened() == [0, 4], 20, lambda: f"the openings: {site.opened()}")
    assert all(client.closed is None for client in clients)
    eventually(lambda: site.nodes[0].log("request refused"), 20, "the line of a refusal")


def test_a_node_that_is_drained_by_hand_keeps_its_clients_and_the_other_one_gets_the_new(site, live, sync, context, tell):
    """nginx asks nobody for readiness: what the node refuses it asks the other one."""
    site = site(FILES[0])
    clients = [live(site, context=context) for _ in range(2)]
    eventually(lambda: site.opened() == [1, 1], 20, lambda: f"the openings: {site.opened()}")
    assert posted(site.nodes[0], "/admin/drain?window=1h")[0] == 202
    clients += [live(site, context=context) for _ in range(4)]
    assert sync(site, context=context).page()["events"] == []
    eventually(lambda: site.opened() == [1, 5], 20, lambda: f"the openings: {site.opened()}")
    assert posted(site.nodes[0], "/admin/undrain")[0] == 200
    clients += [live(site, context=context) for _ in range(2)]
    # To the one with the fewest.
    eventually(lambda: site.opened() == [3, 5], 20, lambda: f"the openings: {site.opened()}")
    tell(["a"])
    eventually(lambda: all(client.ids == ["a"] for client in clients), 20, "the event at each client")
    assert all(client.closed is None for client in clients)
