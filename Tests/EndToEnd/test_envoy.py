"""Envoy with the file of deploy/envoy before two nodes."""

from balancers import PHONE, assert_places_are_of_phones, cut
from programs import eventually

FILE = "envoy/envoy.yaml"


def test_every_kind_of_client_passes_and_the_log_names_the_phone(
        site, certificates, live, event_stream, sync, tell):
    site, context = site(FILE), certificates.client()
    streams = [live(site, context=context), event_stream(site, context=context), live(site, context=context)]
    poll = sync(site, context=context)
    poll.send(since=poll.page()["at"], wait=50)
    streams.append(event_stream(site, context=context))
    tell(["a"])
    eventually(lambda: all(stream.ids == ["a"] for stream in streams), 20, "the event at each stream")
    page = poll.answer()
    assert page.status == 200 and [event["id"] for event in page.body["events"]] == ["a"]
    eventually(lambda: sum(site.opened()) == 4, 20, lambda: f"the openings: {site.opened()}")
    assert 0 not in site.opened() and set(sum(site.peers(), [])) == {PHONE}
    assert sum(site.listed(), []) == [PHONE] * 4
    for stream in streams:
        cut(stream)

    def ends():
        return [line["peer"] for node in site.nodes for line in node.log("connection closed")]
    eventually(lambda: len(ends()) == 4, 20, lambda: f"the ends of the streams: {ends()}")
    assert set(ends()) == {PHONE}
    assert_places_are_of_phones(site, lambda: live(site, context=context))


def test_a_node_that_was_never_ready_gets_nobody(site, certificates, live):
    site, context = site(FILE, unready="a"), certificates.client()
    for _ in range(3):
        live(site, context=context)
    eventually(lambda: site.opened() == [0, 3], 20, lambda: f"the openings: {site.opened()}")
    assert site.nodes[0].log("request refused") == []
