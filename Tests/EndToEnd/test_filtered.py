"""Who asked for some entities only is not expired by the others: the cursor moves on over what was passed."""

from clients import resumed
from programs import eventually

KEPT = 50
HISTORY = {"max_events_per_account": KEPT}


def test_who_asked_for_some_entities_is_not_expired_by_the_others(gateway, mock_broker, sync, live, event_stream, tell):
    door = gateway(mock_broker.bootstrap, history=HISTORY, limits__max_wait="10m")
    everything, filtered = live(door), live(door, ent="note", with_="at")
    stream = event_stream(door, ent="note")
    filtered.wait_for_control("live")
    stream.wait_for("live")
    # A position in each partition: what the cursor does not name is another matter.
    for partition in range(4):
        tell([f"first{partition}"], partition=partition)
    everything.wait_for_events(4)
    begin = sync(door).page()["at"]
    waiting = sync(door)
    waiting.send(since=begin, ent="note", wait=600)
    # Four times as many events as are kept, of which no note is one.
    for number in range(4 * KEPT // 10):
        tell(range(number * 10, (number + 1) * 10))
        everything.wait_for_events(4 + (number + 1) * 10)
        # The newest cursor is served with the log as it is now, and brings nothing of what was passed over.
        assert resumed(live(door, since=filtered.cursors[-1], ent="note")) == [], number
    assert filtered.ids == stream.ids == []
    # Cursors are given at the latest when half of what is kept was passed over: so none is ever behind the log.
    beats = len(filtered.controls("beat"))
    assert beats >= 4 * KEPT // (KEPT // 2) - 1, filtered.texts
    tell(["wanted"], entity="note")
    assert [event["id"] for event in filtered.wait_for_events(1)] == ["wanted"]
    eventually(lambda: stream.ids == ["wanted"], 10, "the event")
    # The poll has waited on, and its cursor is one to go on from, though nearly all before it is gone.
    answer = waiting.answer()
    assert answer.status == 200, answer.text
    assert [event["id"] for event in answer.body["events"]] == ["wanted"]
    # Who was away has missed one note; who wants everything has missed something, and is told so.
    page = sync(door).page(since=begin, ent="note")
    assert [event["id"] for event in page["events"]] == ["wanted"]
    assert resumed(live(door, since=begin, ent="note")) == ["wanted"]
    all_of_it = live(door, since=begin)
    all_of_it.wait_for_control("live")
    assert [resync["why"] for resync in all_of_it.controls("resync")] == ["expired"]
    tell(["next"], entity="note")
    assert [event["id"] for event in waiting.page(since=answer.body["at"], ent="note", wait=50)["events"]] == ["next"]
