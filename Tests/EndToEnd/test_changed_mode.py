"""`mode=changed`: that something has changed and no more, at most once in an interval; what it was, /sync/v1
says. What it is owed when, and that no beat claims what it is owed, is a matter of rows of LiveStreamTests."""

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


def test_its_cursors_are_those_of_the_log(door, live, sync, tell, watcher):
    peer = sync(door)
    begin = at = peer.page()["at"]
    quiet = live(door, mode="changed", since=begin)
    served(quiet)
    assert changes(quiet) == []
    got = []
    for number in range(3):
        tell([f"{number}a", f"{number}b"])
        wait_for_changes(watcher, number + 1)
        # What it was /sync/v1 says.
        while len(got) < 2 * number + 2:
            page = peer.page(since=at, wait=50)
            got += [event["id"] for event in page["events"]]
            at = page["at"]
    assert got == ["0a", "0b", "1a", "1b", "2a", "2b"]
    # The last may be told of 2b alone: then its own comes at the end of the interval.
    last = eventually(lambda: [change["at"] for change in changes(watcher)
                               if resumed(live(door, since=change["at"])) == []], 20, lambda: f"the last: {watcher.texts}")[0]
    # With `since` it is told at once, before it is live, and once however much it was.
    back = live(door, mode="changed", since=begin)
    served(back)
    assert [next(iter(message)) for message in back.messages] == ["changed", "live"]
    after = live(door, since=last)
    assert resumed(after) == []
    tell(["next"])
    assert after.wait_for_id("next") == ["next"]


def test_a_filter_a_resync_and_an_event_stream_are_as_elsewhere(door, live, event_stream, tell):
    notes, stream = live(door, mode="changed", ent="note"), event_stream(door, mode="changed")
    refused = live(door, mode="changed", since="x")
    assert refused.wait_for_control("resync")["why"] == "invalid"
    for client in (notes, refused):
        client.wait_for_control("live")
    stream.wait_for("live")
    tell(["a"], entity="incident")
    tell(["b"], entity="note")
    for client in (notes, refused):
        wait_for_changes(client, 1)
    changed = stream.wait_for("changed")
    assert changed.data == f'{{"at":"{changed.id}"}}' and stream.messages == []
    tell(["c"], entity="incident")
    tell(["d"], entity="note")
    wait_for_changes(notes, 2)
    # Each says where it stands: behind "b" and behind "d", of which the incidents between were none.
    assert [resumed(live(door, since=change["at"])) for change in changes(notes)] == [["c", "d"], []]
