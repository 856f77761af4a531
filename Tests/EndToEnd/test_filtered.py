"""Who asked for some entities only is not expired by the others: the cursor moves on over what was passed."""

from clients import resumed
from programs import eventually

KEPT = 50
HISTORY = {"max_events_per_account": KEPT}


def fill_each_partition(everything, tell):
    """A position in each partition: what the cursor does not name is another matter."""
    for partition in range(4):
        tell([f"first{partition}"], partition=partition)
    everything.wait_for_events(4)


def write_over(everything, tell):
    """Three times as many events as are kept, of which no note is one."""
    for turn in range(3):
        tell(range(turn * KEPT, (turn + 1) * KEPT))
        everything.wait_for_events(4 + (turn + 1) * KEPT)


def test_a_filtered_poll_waits_on_while_the_log_is_written_over_and_over(gateway, mock_broker, sync, live, tell):
    door = gateway(mock_broker.bootstrap, history=HISTORY)
    everything = live(door)
    fill_each_partition(everything, tell)
    begin = sync(door).page()["at"]
    waiting = sync(door)
    waiting.send(since=begin, ent="note", wait=50)
    write_over(everything, tell)
    tell(["wanted"], entity="note")
    answer = waiting.answer()
    assert answer.status == 200, answer.text
    assert [event["id"] for event in answer.body["events"]] == ["wanted"]
    # Its cursor is one to go on from, though nearly all before it is gone.
    tell(["next"], entity="note")
    assert [event["id"] for event in waiting.page(since=answer.body["at"], ent="note", wait=50)["events"]] == ["next"]


def test_a_filtered_stream_is_given_cursors_for_what_it_passes_over(gateway, mock_broker, live, event_stream, tell):
    """At the latest when half of what is kept was passed over: so no cursor of it is ever behind the log."""
    door = gateway(mock_broker.bootstrap, history=HISTORY)
    everything, filtered = live(door), live(door, ent="note", with_="at")
    stream = event_stream(door, ent="note")
    fill_each_partition(everything, tell)
    filtered.wait_for_control("live")
    stream.wait_for("live")
    for number in range(4 * KEPT // 10):
        tell(range(number * 10, (number + 1) * 10))
        everything.wait_for_events(4 + (number + 1) * 10)
        # The newest cursor is served with the log as it is now, and brings nothing of what was passed over.
        assert resumed(live(door, since=filtered.cursors[-1], ent="note")) == [], number
    assert filtered.ids == stream.ids == []
    beats = len(filtered.controls("beat"))
    assert beats >= 4 * KEPT // (KEPT // 2) - 1, filtered.texts
    tell(["wanted"], entity="note")
    assert [event["id"] for event in filtered.wait_for_events(1)] == ["wanted"]
    eventually(lambda: stream.ids == ["wanted"], 10, "the event")


def test_a_filtered_client_that_was_away_is_not_expired_by_the_others(gateway, mock_broker, sync, live, tell):
    door = gateway(mock_broker.bootstrap, history=HISTORY)
    everything = live(door)
    fill_each_partition(everything, tell)
    begin = sync(door).page()["at"]
    write_over(everything, tell)
    tell(["wanted"], entity="note")
    everything.wait_for_events(5 + 3 * KEPT)
    page = sync(door).page(since=begin, ent="note")
    assert [event["id"] for event in page["events"]] == ["wanted"]
    assert resumed(live(door, since=begin, ent="note")) == ["wanted"]
    # Who wants everything has missed something, and is told so.
    all_of_it = live(door, since=begin)
    all_of_it.wait_for_control("live")
    assert [resync["why"] for resync in all_of_it.controls("resync")] == ["expired"]
