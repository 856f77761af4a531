"""`mode=changed`: that something has changed and no more, at most once in an interval; what it was, /sync/v1 says."""

import re
import time

import pytest

from clients import resumed, served
from programs import eventually
from wire import CURSOR


@pytest.fixture
def watcher(door, live):
    client = live(door, mode="changed")
    client.wait_for_control("live")
    return client


def changes(client):
    return [message for message in client.messages if "changed" in message]


def wait_for_changes(client, count):
    eventually(lambda: len(changes(client)) >= count, 10, f"change {count}: {client.texts}")
    return changes(client)


def test_the_first_is_told_at_once_and_the_rest_of_the_interval_as_one_more_at_its_end(gateway, mock_broker, live, tell):
    door = gateway(mock_broker.bootstrap, limits__changed_interval="2s")
    client = live(door, mode="changed")
    client.wait_for_control("live")
    started = time.monotonic()
    tell(["0"])
    wait_for_changes(client, 1)
    for number in range(1, 6):
        tell([number])
    wait_for_changes(client, 2)
    assert time.monotonic() > started + 2
    tell(["6"])
    live(door, since=client.cursors[0]).wait_for_id("6")
    eventually(lambda: resumed(live(door, since=changes(client)[-1]["at"])) == [], 20, lambda: f"the last: {client.texts}")
    # One at once, and one at the end of each interval. Where the machine stood still, there were more of them.
    assert len(changes(client)) <= 1 + (time.monotonic() - started) / 2
    assert all(re.fullmatch(rf'\{{"changed":true,"at":"{CURSOR}"\}}', text) for text in client.texts[1:])
    assert client.ids == []


def test_sync_says_what_it_was(door, watcher, sync, tell):
    peer = sync(door)
    at = peer.page()["at"]
    got = []
    for number in range(3):
        tell([f"{number}a", f"{number}b"])
        wait_for_changes(watcher, number + 1)
        while len(got) < 2 * number + 2:
            page = peer.page(since=at, wait=50)
            got += [event["id"] for event in page["events"]]
            at = page["at"]
    assert got == ["0a", "0b", "1a", "1b", "2a", "2b"]


def test_with_since_it_is_told_at_once_when_there_is_something_after_it(door, live, tell, watcher):
    begin = watcher.controls("live")[0]["at"]
    quiet = live(door, mode="changed", since=begin)
    served(quiet)
    assert changes(quiet) == []
    tell(range(5))
    at = wait_for_changes(watcher, 1)[0]["at"]
    # All of them are there.
    live(door, since=begin).wait_for_id("4")
    back = live(door, mode="changed", since=begin)
    served(back)
    # However much it was: once, and before it is live.
    assert [next(iter(message)) for message in back.messages] == ["changed", "live"]
    served(live(door, mode="changed", since=at))


def test_from_its_cursor_there_is_nothing_more(door, live, tell, watcher):
    tell(["a"])
    at = wait_for_changes(watcher, 1)[0]["at"]
    after = live(door, since=at)
    assert resumed(after) == []
    tell(["b"])
    assert after.wait_for_id("b") == ["b"]


def test_a_cursor_that_cannot_be_served_is_a_resync_here_too(door, live, tell):
    client = live(door, mode="changed", since="x")
    assert client.wait_for_control("resync")["why"] == "invalid"
    client.wait_for_control("live")
    tell(["a"])
    wait_for_changes(client, 1)


def test_what_the_filter_does_not_pass_is_no_change(door, live, tell):
    client = live(door, mode="changed", ent="note")
    client.wait_for_control("live")
    tell(["a"], entity="incident")
    tell(["b"], entity="note")
    wait_for_changes(client, 1)
    tell(["c"], entity="incident")
    tell(["d"], entity="note")
    wait_for_changes(client, 2)
    # Each says where it stands: behind "b" and behind "d", of which the incidents between were none.
    assert [resumed(live(door, since=change["at"])) for change in changes(client)] == [["c", "d"], []]


def test_as_an_event_stream_it_is_an_event_of_its_name(door, event_stream, tell):
    stream = event_stream(door, mode="changed")
    stream.wait_for("live")
    tell(["a", "b"])
    changed = stream.wait_for("changed")
    assert changed.data == f'{{"at":"{changed.id}"}}'
    assert stream.messages == []


def test_a_beat_claims_nothing_that_a_signal_is_still_owed_for(gateway, mock_broker, live, sync, tell):
    """The second change waits for the end of the interval; what comes before it must stay behind it."""
    door = gateway(mock_broker.bootstrap, limits__changed_interval="8s")
    client = live(door, mode="changed", beat=5)
    client.wait_for_control("live")
    tell(["told"])
    wait_for_changes(client, 1)
    tell(["owed"])
    wait_for_changes(client, 2)
    before = client.texts.index(next(text for text in reversed(client.texts) if "changed" in text))
    for cursor in client.cursors[:before]:
        ids = [event["id"] for event in sync(door).page(since=cursor, wait=50)["events"]]
        assert "owed" in ids, (cursor, client.texts)
