"""`since` on a WebSocket: what came after it, then what comes; or a resync, and never a gap."""

import pytest

from clients import resumed, served
from programs import event, produce


def texts(client):
    """Each message in a word: the id of an event, or the name of a control message."""
    return [message.get("id") or next(iter(message)) for message in client.messages]


def test_without_since_a_stream_begins_from_now_on(door, live, tell):
    early = live(door)
    tell(["before"])
    early.wait_for_id("before")
    first = live(door, with_="at")
    first.wait_for_control("live")
    tell(["after"])
    first.wait_for_id("after")
    assert texts(first) == ["live", "after"]


def test_since_gives_what_came_after_it_then_says_live_then_gives_what_comes(door, live, tell):
    first = live(door, with_="at")
    begin = first.wait_for_control("live")["at"]
    tell(range(5), partition=0)
    tell(range(5, 9), partition=1)
    first.wait_for_events(9)
    clients = [live(door, since=cursor) for cursor in [begin] + [event["at"] for event in first.events]]
    for client in clients:
        served(client)
    tell(["new"])
    for gone, client in enumerate(clients):
        client.wait_for_id("new")
        assert texts(client) == first.ids[gone:9] + ["live", "new"]


def test_since_implies_cursors_and_says_nothing_of_time_stamps(door, live, tell):
    first = live(door, with_="at")
    begin = first.wait_for_control("live")["at"]
    tell(["a"])
    assert [list(event) for event in live(door, since=begin).wait_for_events(1)] == [["ent", "id", "type", "at"]]
    assert list(live(door, since=begin, with_="ts").wait_for_events(1)[0]) == ["ent", "id", "type", "at", "ts"]


def test_a_resumed_stream_can_be_resumed_from_each_of_its_cursors(door, live, tell):
    first = live(door, with_="at")
    begin = first.wait_for_control("live")["at"]
    for partition in range(4):
        tell([f"{partition}/{number}" for number in range(3)], partition=partition)
    first.wait_for_events(12)
    second = live(door, since=begin)
    at_end = served(second)["at"]
    assert second.ids == first.ids
    for gone, event in enumerate(second.events, 1):
        assert resumed(live(door, since=event["at"])) == first.ids[gone:]
    assert resumed(live(door, since=at_end)) == []


def test_exactly_as_many_events_behind_as_are_kept_are_served_and_one_more_is_expired(gateway, mock_broker, live, tell):
    door = gateway(mock_broker.bootstrap, history__max_events_per_account=10)
    first = live(door, with_="at")
    tell(["0"])
    cursor = first.wait_for_events(1)[0]["at"]
    tell(range(1, 11))
    first.wait_for_events(11)
    assert resumed(live(door, since=cursor)) == [str(number) for number in range(1, 11)]
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


def test_another_number_in_the_settings_is_another_epoch(gateway, mock_broker, live, tell):
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
    # Another account's cursor of another epoch is invalid before it is anything else.
    assert live(new, "PACC2", since=cursor).wait_for_control("resync")["why"] == "invalid"


@pytest.fixture
def cursor(door, live, tell):
    first = live(door, with_="at")
    tell(["only"])
    return first.wait_for_events(1)[0]["at"]


def test_what_is_no_cursor_is_invalid_and_the_stream_goes_on(door, live, tell, cursor):
    wrong = ["", "x", cursor[:-1], cursor + "A", cursor + "=", cursor[:5] + "!" + cursor[6:], "A" * 6000,
             cursor[0].swapcase() + cursor[1:], cursor[:-1] + ("A" if cursor[-1] != "A" else "B")]
    clients = [live(door, since=text) for text in wrong]
    clients += [live(door, raw=raw) for raw in ("since", "since=%", f"since={cursor}%4", f"since=%zz{cursor}")]
    for client in clients:
        resync = client.wait_for_control("resync")
        assert resync["why"] == "invalid" and resync["at"]
        client.wait_for_control("live")
    tell(["next"])
    for client in clients:
        client.wait_for_id("next")
        assert texts(client) == ["resync", "live", "next"]


def test_a_cursor_of_another_account_is_invalid(door, live, cursor):
    assert live(door, "PACC2", since=cursor).wait_for_control("resync")["why"] == "invalid"
    assert resumed(live(door, "PACC1", since=cursor)) == []


def test_a_cursor_of_an_account_in_one_partition_has_at_most_64_characters_that_are_safe_in_a_url(cursor):
    assert len(cursor) <= 64
    assert set(cursor) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


# A sanitizer's runtime wants to be the first library.
@pytest.mark.unsanitized
def test_the_cursor_of_a_clock_that_is_two_minutes_ahead_is_ahead(gateway, mock_broker, live, tell, clock_ahead):
    ahead, right = gateway(mock_broker.bootstrap, env=clock_ahead(120)), gateway(mock_broker.bootstrap)
    first = live(ahead, with_="at")
    tell(["0"])
    early = first.wait_for_events(1)[0]["at"]
    client = live(right, since=early)
    assert client.wait_for_control("resync")["why"] == "ahead"
    tell(["1"])
    client.wait_for_id("1")
    assert texts(client) == ["resync", "live", "1"]


# A sanitizer's runtime wants to be the first library.
@pytest.mark.unsanitized
def test_the_cursor_of_a_clock_that_is_half_a_minute_ahead_is_served(gateway, mock_broker, live, tell, clock_ahead):
    ahead, right = gateway(mock_broker.bootstrap, env=clock_ahead(30)), gateway(mock_broker.bootstrap)
    first = live(ahead, with_="at")
    tell(["0", "1"])
    client = live(right, since=first.wait_for_events(2)[0]["at"])
    served(client)
    assert texts(client) == ["1", "live"]


def test_joins_in_the_middle_of_a_burst_have_neither_gap_nor_double(door, live, mock_broker):
    """Each comes back from where the one before it was, while events come."""
    begin = live(door, with_="at").wait_for_control("live")["at"]
    watch = live(door, since=begin)
    total, clients = 20 * 250, []
    for burst in range(20):
        produce(mock_broker.bootstrap, "incidents", [event("PACC1", str(burst * 250 + at)) for at in range(250)])
        # Not from the very last: at the end there is something left to be given.
        clients.append(live(door, since=(watch.cursors or [begin])[-2:][0]))
    watch.wait_for_id(str(total - 1))
    assert watch.ids == [str(number) for number in range(total)]
    for client in clients:
        client.wait_for_id(str(total - 1))
        served(client)
        first = int(client.ids[0])
        assert client.ids == [str(number) for number in range(first, total)]
