# Tests: History.swift, ConnectionLoop.swift, UsedTickets.swift, Reactor/Process.swift
"""The wall clock of a node is set, by an hour and by a day, forward and back, while clients are connected."""

import email.utils
import itertools
import secrets
import time

import pytest

from caller import first
from clients import EventStream, LiveClient, Sync, resumed
from gateway import static_tokens, ticket_of
from metrics import scrape
from processes import comes_to_rest
from programs import eventually
from wire import get, upgrade

# A sanitizer's runtime wants to be the first library.
pytestmark = [pytest.mark.slow, pytest.mark.unsanitized]

HOUR, DAY = 3600, 86_400


def now_at(door):
    """The time that a node gives in its answers, in seconds ahead of the right one."""
    return email.utils.parsedate_to_datetime(first(door.host, get("/"))[1]["date"]).timestamp() - time.time()


@pytest.fixture
def door(gateway, mock_broker, tmp_path, faults):
    """A gateway whose clock can be set, that takes a token that never ends, tokens that do, and tickets."""
    secret = tmp_path / "secret"
    secret.write_text(secrets.token_hex(32))
    return gateway(mock_broker.bootstrap, env=faults.env, auth__tokens=str(static_tokens(tmp_path, ["PACC1"])),
                   auth__tickets={"secret_file": str(secret)})


@pytest.fixture
def join(door, ends_with_test):
    """Opens clients with the token that never ends."""
    return lambda kind, **words: ends_with_test(kind(door, "token-PACC1", **words))


def cursor_that_counts(sync):
    """One that was issued before the node has looked at its topics by a new clock may be refused as of another epoch: never served
    in part."""
    def counts():
        cursor = sync.page()["at"]
        return cursor if sync.ask(since=cursor).status == 200 else None
    return eventually(counts, 20, "a cursor that counts")


def test_nobody_who_is_connected_notices_a_clock_that_is_set(door, tokens, join, tell, faults, live):
    clients = [join(LiveClient), live(door, with_="at"), join(EventStream)]
    waiting, token = join(Sync), tokens.token("PACC1")
    numbers, told = itertools.count(), []

    before = 0
    for ahead in (HOUR, 0, -HOUR, 0, DAY, 0, -DAY, DAY, 0):
        # By a clock that stands before the birth of the topic no cursor is of this topic.
        if waits := before >= 0:
            waiting.send(since=cursor_that_counts(waiting), wait=60)
            eventually(lambda: 'livegate_connections{kind="sync"} 1\n' in door.asked("/metrics")[1], what="a wait")
        faults.set_clock(ahead)
        before = ahead
        told.append(str(next(numbers)))
        tell(told[-1:])
        for client in clients:
            eventually(lambda: client.ids == told, what=lambda: f"{told}; {client.ids}")
        if waits:
            answer = waiting.answer()
            assert answer.status == 200 and [one["id"] for one in answer.body["events"]] == told[-1:], (ahead, answer)
        assert abs(now_at(door) - ahead) < HOUR / 2
        assert door.readyz()[0] == 200 and door.status("/livez") == 200
        eventually(lambda: comes_to_rest(door.program.pid), 30, "that the gateway rests")
    # Tokens that last for an hour have ended by a clock that is a day ahead, and let in again when it is right.
    faults.set_clock(DAY)
    assert first(door.host, upgrade(token))[0] == 401
    ticket = ticket_of(door, tokens.token("PACC1", "--expires", "48h"))
    faults.set_clock(0)
    assert first(door.host, upgrade(token))[0] == 101
    # A ticket of a clock that was ahead is a day too good, and still lets in but once.
    assert first(door.host, upgrade(path=f"/live/v1?ticket={ticket}"))[0] == 101
    faults.set_clock(2 * DAY)
    assert first(door.host, upgrade(path=f"/live/v1?ticket={ticket}"))[0] == 401
    faults.set_clock(0)
    assert first(door.host, upgrade(path=f"/live/v1?ticket={ticket}"))[0] == 401
    assert [client.closed for client in clients[:2]] == [None, None] and not clients[2].has_ended
    assert not [line for line in door.log() if line["level"] == "error"]


def test_a_cursor_of_a_clock_that_was_ahead_is_refused_and_one_of_before_is_served(door, join, tell, faults):
    watch = join(LiveClient, with_="at")
    tell(["0"])
    before = watch.wait_for_events(1)[0]["at"]
    faults.set_clock(HOUR)
    tell(["1"])
    watch.wait_for_events(2)
    during = cursor_that_counts(join(Sync))
    assert resumed(join(LiveClient, since=before)) == ["1"]
    faults.set_clock(0)
    # Until the node has looked at its topic by the clock of now, it refuses the cursors that it gives.
    cursor_that_counts(join(Sync))
    tell(["2"])
    watch.wait_for_events(3)
    refused = join(LiveClient, since=during)
    resync = refused.wait_for_control("resync")
    assert resync["why"] == "ahead"
    assert resumed(join(LiveClient, since=resync["at"])) == []
    tell(["3"])
    assert refused.wait_for_id("3") == ["3"]
    assert resumed(join(LiveClient, since=before)) == ["1", "2", "3"]


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_drain_goes_on_at_its_pace_when_the_clock_is_set(gateway, mock_broker, live, faults, jump):
    door = gateway(mock_broker.bootstrap, env=faults.env, lifecycle={"drain_delay": "0s", "drain_window": "6s"})
    clients = [live(door) for _ in range(8)]
    door.program.signal()
    eventually(lambda: any(client.closed for client in clients), what="the first close")
    faults.set_clock(jump)
    closed = [client.wait_until_closed() for client in clients]
    assert closed == [1012] * 8 and door.program.wait() == 0
    stopped = door.log("stopped")[-1]
    assert stopped["level"] == "notice"


def test_a_clock_that_is_set_moves_no_start(door, faults):
    def starts():
        metrics = scrape(door.admin)
        return metrics["process_start_time_seconds"], metrics["livegate_start_time_seconds"]

    before = starts()
    for ahead in (HOUR, -DAY, 0):
        faults.set_clock(ahead)
        eventually(lambda: abs(now_at(door) - ahead) < HOUR / 2, what="the clock")
        assert starts() == before
