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


def test_replay_passes_the_filter_and_its_cursor_passes_over_the_others(door, live, tell):
    first = live(door, with_="at")
    begin = first.wait_for_control("live")["at"]
    for number in range(6):
        tell([number], entity=["incident", "note"][number % 2])
    first.wait_for_events(6)
    notes = live(door, since=begin, ent="note")
    at = served(notes)["at"]
    assert notes.ids == ["1", "3", "5"]
    # What came after a note, incidents too.
    [second] = [event["at"] for event in notes.events if event["id"] == "3"]
    assert resumed(live(door, since=second)) == ["4", "5"]
    # Behind the last of everything, whatever passed.
    assert resumed(live(door, since=at)) == []


def test_the_cursor_of_a_page_passes_over_what_the_filter_left_out(door, sync, tell):
    peer = sync(door)
    begin = peer.page()["at"]
    tell(range(5), entity="incident")
    tell(["note"], entity="note")
    # The wait is for a note; the incidents before it do not answer it.
    page = peer.page(since=begin, ent="note", wait=50)
    assert [event["id"] for event in page["events"]] == ["note"] and page["more"] is False
    assert peer.page(since=page["at"])["events"] == []
    tell(["later"], entity="incident")
    page = peer.page(since=page["at"], ent="note", wait=1)
    assert page["events"] == []
    # Without the filter nothing is left either: the cursor has passed it.
    assert peer.page(since=page["at"])["events"] == []


def test_a_filter_fills_its_page_from_among_the_others(door, sync, tell):
    peer = sync(door)
    begin = peer.page()["at"]
    for number in range(8):
        tell([number], entity=["incident", "note"][number % 2])
    eventually(lambda: len(peer.page(since=begin)["events"]) == 8)
    full = peer.page(since=begin, ent="note", limit=3)
    assert [event["id"] for event in full["events"]] == ["1", "3", "5"] and full["more"] is True
    rest = peer.page(since=full["at"], ent="note", limit=3)
    assert [event["id"] for event in rest["events"]] == ["7"] and rest["more"] is False
