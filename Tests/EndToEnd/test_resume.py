"""`since` on a WebSocket, and on /sync/v1: what came after it, then what comes; or a resync, and never a gap."""

import re

import pytest

from clients import resumed, served
from wire import CURSOR


def texts(client):
    """Each message in a word: the id of an event, or the name of a control message. Not that the source stalls, which is true
    at any time of a machine that stands still."""
    return [message.get("id") or next(iter(message)) for message in client.messages if "source" not in message]


def test_since_gives_what_came_after_it_then_says_live_then_gives_what_comes(door, live, tell):
    early = live(door)
    tell(["before"])
    early.wait_for_id("before")
    # Without it a stream begins from now on.
    first = live(door, with_="at")
    begin = first.wait_for_control("live")["at"]
    for partition in range(4):
        tell([f"{partition}/{number}" for number in range(3)], partition=partition)
    first.wait_for_events(12)
    second = live(door, since=begin)
    at_end = served(second)["at"]
    # A stream that was resumed can be resumed from each of its cursors, too.
    ways = [(live(door, since=cursor), first.ids[gone:12]) for stream in (first, second)
            for gone, cursor in enumerate([begin, *(event["at"] for event in stream.events)])]
    for client, _ in ways:
        served(client)
    ways += [(second, second.ids), (live(door, since=at_end), [])]
    served(ways[-1][0])
    tell(["new"])
    for client, missed in ways:
        client.wait_for_id("new")
        assert texts(client) == missed + ["live", "new"]
    first.wait_for_id("new")
    assert second.ids == first.ids
    assert texts(first) == ["live", *first.ids] and early.wait_for_id("new") == ["before", *first.ids]


def test_exactly_as_many_events_behind_as_are_kept_are_served_and_one_more_is_expired(gateway, mock_broker, live, sync, tell):
    door = gateway(mock_broker.bootstrap, history__max_events_per_account=10)
    first, peer = live(door, with_="at"), sync(door)
    tell(["0"])
    cursor = first.wait_for_events(1)[0]["at"]
    tell(range(1, 11))
    first.wait_for_events(11)
    assert resumed(live(door, since=cursor)) == [str(number) for number in range(1, 11)]
    assert len(peer.page(since=cursor)["events"]) == 10
    tell(["11"])
    first.wait_for_events(12)
    refused = live(door, since=cursor)
    resync = refused.wait_for_control("resync")
    refused.wait_for_control("live")
    assert resync["why"] == "expired" and list(resync) == ["why", "at"]
    tell(["12"])
    refused.wait_for_id("12")
    # The cursor of the resync gives everything that came after it, as the same stream did.
    assert texts(refused) == ["resync", "live", "12"]
    after = live(door, since=resync["at"])
    after.wait_for_control("live")
    assert texts(after) == ["12", "live"]
    gone = peer.ask(since=cursor)
    assert re.fullmatch(r'\{"type":"about:blank","title":"Gone","status":410,"code":"resync","why":"expired",'
                        rf'"at":"{CURSOR}","detail":"[^"]+"\}}', gone.text)
    assert gone.status == 410 and gone.fields["content-type"] == "application/problem+json"
    assert gone.fields["cache-control"] == "no-store" and "connection" not in gone.fields
    tell(["13"])
    assert [event["id"] for event in peer.page(since=gone.body["at"], wait=50)["events"]] == ["13"]


def test_another_number_in_the_settings_is_another_epoch(gateway, mock_broker, live, sync, tell):
    old = gateway(mock_broker.bootstrap)
    new = gateway(mock_broker.bootstrap, history__epoch=2, history__max_events_per_account=2)
    first = live(old, with_="at")
    tell(range(5))
    cursor = first.wait_for_events(5)[0]["at"]
    # It is expired there too: of several reasons the first is told.
    client = live(new, since=cursor)
    assert client.wait_for_control("resync")["why"] == "epoch"
    client.wait_for_control("live")
    assert texts(client) == ["resync", "live"]
    peer = sync(new)
    answer = peer.ask(since=cursor, wait=30)
    assert (answer.status, answer.body["why"]) == (410, "epoch") and peer.page(since=answer.body["at"])["events"] == []
    # Another account's cursor of another epoch is invalid before it is anything else.
    assert live(new, "PACC2", since=cursor).wait_for_control("resync")["why"] == "invalid"


def test_what_is_no_cursor_of_the_account_is_invalid_and_the_stream_goes_on(door, live, tell):
    first = live(door, with_="at")
    tell(["only"])
    cursor = first.wait_for_events(1)[0]["at"]
    wrong = ["", "x", cursor[:-1], cursor + "A", cursor + "=", cursor[:5] + "!" + cursor[6:], "A" * 6000,
             cursor[0].swapcase() + cursor[1:], cursor[:-1] + ("A" if cursor[-1] != "A" else "B")]
    clients = [live(door, since=text) for text in wrong]
    clients += [live(door, raw=raw) for raw in ("since", "since=%", f"since={cursor}%4", f"since=%zz{cursor}")]
    other = live(door, "PACC2", since=cursor)
    for client in [*clients, other]:
        resync = client.wait_for_control("resync")
        assert resync["why"] == "invalid" and resync["at"]
        client.wait_for_control("live")
    assert re.fullmatch(rf'\{{"resync":\{{"why":"invalid","at":"{CURSOR}"\}}\}}', other.texts[0])
    tell(["next"])
    for client in clients:
        client.wait_for_id("next")
        assert texts(client) == ["resync", "live", "next"]
    assert resumed(live(door, since=cursor)) == ["next"] and other.ids == []


# A sanitizer's runtime wants to be the first library.
@pytest.mark.unsanitized
def test_a_cursor_is_ahead_where_its_clock_was_two_minutes_ahead_and_is_served_where_it_was_half_a_minute(
        gateway, mock_broker, live, tell, faults):
    faults.set_clock(120)
    ahead, right = gateway(mock_broker.bootstrap, env=faults.env), gateway(mock_broker.bootstrap)
    first = live(ahead, with_="at")
    tell(["0"])
    client = live(right, since=first.wait_for_events(1)[0]["at"])
    assert client.wait_for_control("resync")["why"] == "ahead"
    faults.set_clock(30)
    tell(["1"])
    client.wait_for_id("1")
    assert texts(client) == ["resync", "live", "1"]
    near = gateway(mock_broker.bootstrap, env=faults.env)
    second = live(near, with_="at")
    tell(["2", "3"])
    client = live(right, since=second.wait_for_events(2)[0]["at"])
    served(client)
    assert texts(client) == ["3", "live"]
