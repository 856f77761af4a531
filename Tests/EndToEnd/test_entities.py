"""`ent`: only these entities, on every surface; cursors pass over the others."""

from urllib.parse import quote

from clients import resumed, served
from programs import eventually

NAMES = ["incident", "note", "état", "with space"]


ASKED = {
    "incident": {"incident"}, "incident,note": {"incident", "note"}, "note,incident": {"incident", "note"}, "note,note": {"note"},
    quote("état"): {"état"}, "with%20space,other": {"with space", "other"}, "other": {"other"}}


def test_only_the_entities_asked_for_are_told(door, live, event_stream, sync, tell):
    begin = sync(door).page()["at"]
    clients = [(live(door, raw=f"ent={asked}"), asked) for asked in ASKED]
    streams = [(event_stream(door, raw=f"ent={asked}"), asked) for asked in ASKED]
    for stream, _ in streams:
        stream.wait_for("live")
    # Everybody is told something behind all that must not be told.
    records = [(f"{number}-{name}", name) for number, name in enumerate([*NAMES * 2, *NAMES, "other"])]
    for identity, name in records:
        tell([identity], entity=name)
    wanted = {asked: [identity for identity, name in records if name in names] for asked, names in ASKED.items()}
    for client, asked in clients:
        assert client.wait_for_id(wanted[asked][-1]) == wanted[asked], asked
    for stream, asked in streams:
        stream.wait_for(None, count=len(wanted[asked]))
        assert stream.ids == wanted[asked], asked
    peer = sync(door)
    eventually(lambda: len(peer.page(since=begin)["events"]) == len(records))
    for asked in ASKED:
        assert [event["id"] for event in peer.page(since=begin, raw=f"ent={asked}")["events"]] == wanted[asked]


def test_cursors_pass_over_what_the_filter_left_out(door, live, sync, tell):
    first, peer = live(door, with_="at"), sync(door)
    begin = first.wait_for_control("live")["at"]
    for number in range(8):
        tell([number], entity=["incident", "note"][number % 2])
    first.wait_for_events(8)
    notes = live(door, since=begin, ent="note")
    at = served(notes)["at"]
    assert notes.ids == ["1", "3", "5", "7"]
    # What came after a note, incidents too; and behind the last of everything, whatever passed.
    [second] = [event["at"] for event in notes.events if event["id"] == "3"]
    assert resumed(live(door, since=second)) == ["4", "5", "6", "7"] and resumed(live(door, since=at)) == []
    # A page is filled from among the others.
    full = peer.page(since=begin, ent="note", limit=3)
    assert [event["id"] for event in full["events"]] == ["1", "3", "5"] and full["more"] is True
    rest = peer.page(since=full["at"], ent="note", limit=3)
    assert [event["id"] for event in rest["events"]] == ["7"] and rest["more"] is False
    # A wait is for a note: the incident before it does not answer it, and its cursor has passed it.
    tell(["incident"], entity="incident")
    tell(["note"], entity="note")
    page = peer.page(since=rest["at"], ent="note", wait=50)
    assert [event["id"] for event in page["events"]] == ["note"] and page["more"] is False
    assert peer.page(since=page["at"])["events"] == []
    # An incident does not answer it where no note follows either: it ends with its time, and its cursor has passed the incident.
    tell(["later"], entity="incident")
    first.wait_for_id("later")
    page = peer.page(since=page["at"], ent="note", wait=1)
    assert page["events"] == [] and peer.page(since=page["at"])["events"] == []
