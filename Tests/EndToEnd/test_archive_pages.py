# Tests: ArchiveParameters.swift, ArchiveAnswer.swift, Ingest+Joins.swift, ArchiveLines.swift
"""`GET /archive/v1`: pages of an account's past, which stay as they are while new events come, and whose cursor misses nothing."""

import json
import threading
import time

import pytest

from archives import Past, archive_id, archive_line
from clients import served
from kafka_wire import produce_exactly
from programs import event, eventually

HOUR = 3_600_000
ENTITIES = ["incident", "note", "call"]


@pytest.fixture
def written(mock_broker):
    """Writes events with stamps: `written([(id, entity, stamp)], partition, account)`."""
    def write(events, partition=0, account="PACC1"):
        records = [{"value": json.dumps(event(account, name, entity=entity)), "timestamp": stamp}
                   for name, entity, stamp in events]
        produce_exactly(mock_broker.bootstrap, "incidents", records, partition)
    return write


def ids(events):
    return [event["id"] for event in events]


def test_pages_are_stable_while_new_events_come_and_what_was_seen_live_is_in_the_next(archived, archive, tell, past, live):
    door = archived()
    names = [f"old{number}" for number in range(23)]
    for number, name in enumerate(names):
        tell([name], partition=number % 4)
    tell(["other"], account="PACC2")
    archive.wait_for([*names, "other"])
    client, stream = past(door), live(door)
    whole = client.page()["events"]
    assert sorted(ids(whole)) == sorted(names) and whole == sorted(whole, key=lambda event: event["aid"], reverse=True)
    seen, words = [], {"limit": 4}
    for step in range(6):
        page = client.page(**words)
        assert ("at" in page) == (step == 0) and page["more"] == (step < 5)
        seen += page["events"]
        words["before"] = page["events"][-1]["aid"]
        tell([f"new{step}"], partition=step % 4)
        stream.wait_for_id(f"new{step}")
        assert ids(client.page(limit=1)["events"]) == [f"new{step}"]
    assert seen == whole
    # The other way each comes once too, the new ones behind all.
    forth = client.walk(limit=5, order="asc")
    assert forth[:23] == whole[::-1] and ids(forth)[23:] == [f"new{step}" for step in range(6)]
    assert ids(past(door, account="PACC2").page()["events"]) == ["other"]
    assert past(door, account="PACC3").page()["events"] == []


def test_nothing_is_missing_between_a_page_and_the_stream_from_its_cursor(archived, tell, past, live):
    """Nor between an inbox and the stream from its own: each event is a thing of its own."""
    door = archived()
    client = past(door, "amy")
    # A page holds all of them, however long it takes to ask for some.
    streams, names, room, ending = [], [], threading.Semaphore(8), threading.Event()

    def write():
        while room.acquire() and not ending.is_set():
            batch = [f"{len(names) + number}" for number in range(5)]
            tell(batch, partition=len(names) // 5 % 4)
            names.extend(batch)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for wanted in range(40, 440, 80):
            eventually(lambda: len(names) >= wanted)
            room.release(16)
            page, inbox = client.page(limit=500), client.inbox(limit=500)
            streams.append((ids(page["events"]), live(door, since=page["at"])))
            streams.append((ids(inbox["things"]), live(door, since=inbox["at"])))
    finally:
        ending.set()
        room.release()
        writer.join()
    for before, stream in streams:
        served(stream)
        eventually(lambda: set(before) | set(stream.ids) == set(names), 20,
                   lambda: f"without {set(names) - set(before) - set(stream.ids)}")
        assert not stream.controls("resync") and len(set(before)) == len(before)


def test_every_parameter_chooses_what_it_says(archived, archive, written, past):
    now = int(time.time() * 1000)
    # Four of each stamp, over partitions, late ones among them.
    stamps = [now - 9_000 + 1_000 * (number % 7) for number in range(28)]
    rows = [(f"T{number % 5}", ENTITIES[number % 3], stamp) for number, stamp in enumerate(stamps)]
    for partition in range(4):
        written(rows[partition::4], partition)
    door = archived()
    eventually(lambda: len(archive.ids) == 28)
    client = past(door)
    every = client.page(limit=500)["events"]
    assert len(every) == 28
    low, high = every[20]["aid"], every[6]["aid"]

    def chosen(before=None, after=None, from_=None, to=None, ent=None, id=None, order="desc", limit=50):
        fits = [event for event in every
                if (before is None or event["aid"] < before) and (after is None or event["aid"] > after)
                and (from_ is None or event["ts"] >= from_) and (to is None or event["ts"] < to)
                and (ent is None or event["ent"] in ent.split(",")) and (id is None or event["id"] == id)]
        fits = fits if order == "desc" else fits[::-1]
        return fits[:limit], len(fits) > limit
    middle = every[14]["ts"]
    # Of an event that nobody has, of another account and a partition that is not there.
    absent = archive_id("PACC2", "call", "T2", "updated", middle, 9, 0)
    for words in [
        {"before": high}, {"after": low}, {"before": high, "after": low}, {"before": low, "after": high}, {"before": absent},
        {"after": absent}, {"from_": middle}, {"to": middle}, {"from_": middle, "to": middle + 1},
        {"from_": middle + 1, "to": middle}, {"from_": middle, "after": low}, {"from_": middle, "after": high},
        {"to": middle, "before": low}, {"to": middle, "before": high}, {"from_": 0, "to": 2**63}, {"ent": "incident"},
        {"ent": "note,call"}, {"ent": "nothing"}, {"ent": "call", "id": "T2"}, {"ent": "call", "id": "T9"},
        {"ent": "call", "id": "T2", "before": high, "from_": middle - 1_000}, {"from_": every[0]["ts"] + 1},
    ]:
        for order in ("desc", "asc"):
            for limit in (1, 3, len(chosen(**words)[0]) or 1, 28):
                page = client.page(order=order, limit=limit, **words)
                wanted, more = chosen(order=order, limit=limit, **words)
                assert (page["events"], page["more"]) == (wanted, more), (words, order, limit)
                # A cursor stands where the newest event could.
                assert ("at" in page) == (order == "desc" and not words.keys() & {"before", "to"}), words
                assert page["gaps"] == []
        assert client.walk(limit=2, order="asc", **{name: word for name, word in words.items() if name != "after"}) == \
            chosen(order="asc", **{name: word for name, word in words.items() if name != "after"})[0]


def test_a_page_has_as_many_as_it_may_and_no_more(archived, archive, tell, past):
    door = archived()
    tell(range(501))
    eventually(lambda: len(archive.ids) == 501)
    client = past(door, "amy")
    for limit, count, more in [(None, 50, True), (1, 1, True), (499, 499, True), (500, 500, True), (501, 500, True),
                               (2**64, 500, True)]:
        page = client.page(**({} if limit is None else {"limit": limit}))
        assert (len(page["events"]), page["more"]) == (count, more), limit
        inbox = client.inbox(**({} if limit is None else {"limit": limit}))
        assert (len(inbox["things"]), inbox["more"], inbox["unread_things"]) == (count, True, 501), limit
    second = client.page(limit=500, before=client.page(limit=1)["events"][0]["aid"])
    assert (len(second["events"]), second["more"]) == (500, False)


def test_what_is_older_than_what_is_kept_is_not_stored_and_what_is_over_goes_by_its_stamp(archived, archive, written, past):
    now = int(time.time() * 1000)
    door = archived(archive__keep="6s", history__retention="2s", history__max_timestamp_delay="1s")
    written([("old", "note", now - HOUR), ("goes", "note", now), ("stays", "note", now + HOUR)])
    client = past(door)
    eventually(lambda: "stays" in ids(client.page()["events"]))
    # It has been read, and left out.
    assert archive.positions[0] == 3 and "old" not in archive.ids
    eventually(lambda: ids(client.page()["events"]) == ["stays"], 30)
    # Its row goes too, in a step of its own. None of it is a gap: nobody has missed it.
    eventually(lambda: archive.ids == ["stays"], 30)
    assert client.page()["gaps"] == []


def test_who_may_not_ask_is_told_why(door, archived, past, ends_with_test):
    asking = {"page": lambda client: client.ask("/archive/v1"), "inbox": lambda client: client.ask("/inbox/v1"),
              "mark": lambda client: client.read(aid="x")}
    there = archived()
    eventually(lambda: archive_line(there) == "[+]archive ok", 20, "the archive")
    # A token without a person has pages and no inbox.
    assert past(there).page()["events"] == []
    for why, client, refused, answer in [
        ("no archive", lambda: past(door, "amy"), asking, (404, "not_found")),
        ("no person", lambda: past(there), ["inbox", "mark"], (403, "forbidden")),
        ("no token", lambda: ends_with_test(Past(there, None)), asking, (401, "invalid_token")),
    ]:
        for name in refused:
            said = asking[name](client())
            assert (said.status, said.body["code"]) == answer, (why, name)
