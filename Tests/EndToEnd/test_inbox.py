# Tests: MarkBody.swift, ArchiveMessages.swift
"""`/inbox/v1`: what happened last to each thing, what of it a person has not seen, and that reading is told to all devices."""

import json
import time

import pytest

from archives import archive_id, archive_line
from clients import EventStream, LiveClient
from programs import eventually

JSON = {"Content-Type": "application/json"}
# The node's default `history.max_timestamp_delay`.
HOUR = 3_600_000


@pytest.fixture
def node(archived):
    def start(**changes):
        # Streams of one person are to be on different loops.
        door = archived(loops=2, **changes)
        # A node is ready before its archive is.
        eventually(lambda: archive_line(door) == "[+]archive ok", 20, "the archive")
        return door
    return start


def unread(inbox):
    """Things with what is unread of each, in their order."""
    return [(thing["id"], thing["unread"]) for thing in inbox["things"]]


def filled(archive, tell, names, **words):
    """Written, and stored."""
    before = len(archive.ids)
    for name in names:
        tell([name], **words)
    eventually(lambda: len(archive.ids) == before + len(names), 20, lambda: f"{names} in {archive.ids}")


def test_what_is_unread_is_counted_for_each_person(node, archive, tell, past):
    door = node()
    filled(archive, tell, ["a", "b", "a", "c", "a", "b"])
    filled(archive, tell, ["a"], account="PACC2")
    amy, ben = past(door, "amy"), past(door, "ben")
    inbox = amy.inbox()
    assert unread(inbox) == [("b", 2), ("a", 3), ("c", 1)]
    assert (inbox["unread_things"], inbox["more"]) == (3, False) and inbox["at"]
    events = amy.page()["events"]
    # A thing stands with its last event, as a page has it.
    assert [{name: thing[name] for name in events[0]} for thing in inbox["things"]] == [events[0], events[1], events[2]]
    second_a = [event for event in events if event["id"] == "a"][1]
    amy.mark(ent="incident", id="a", aid=second_a["aid"])
    assert unread(amy.inbox()) == [("b", 2), ("a", 1), ("c", 1)] and amy.inbox()["unread_things"] == 3
    # It never goes back, and what changes nothing is no error.
    for event in [event for event in events if event["id"] == "a"][1:]:
        amy.mark(ent="incident", id="a", aid=event["aid"])
    assert unread(amy.inbox()) == [("b", 2), ("a", 1), ("c", 1)]
    amy.mark(aid=events[2]["aid"])
    assert unread(amy.inbox()) == [("b", 1), ("a", 1), ("c", 0)] and amy.inbox()["unread_things"] == 2
    assert unread(amy.inbox(unread=1)) == [("b", 1), ("a", 1)]
    amy.mark(aid=events[0]["aid"])
    assert unread(amy.inbox()) == [("b", 0), ("a", 0), ("c", 0)]
    assert (amy.inbox()["unread_things"], amy.inbox(unread=1)["things"]) == (0, [])
    # Nobody else has read any of it, in this account or in another one.
    assert unread(ben.inbox()) == [("b", 2), ("a", 3), ("c", 1)]
    assert unread(past(door, "amy", account="PACC2").inbox()) == [("a", 1)]
    filled(archive, tell, ["c"])
    assert unread(amy.inbox()) == [("c", 1), ("b", 0), ("a", 0)]
    # 999 are counted and no more.
    tell(["a"] * 998, account="PACC3")
    eventually(lambda: len(archive.ids) == 8 + 998)
    busy = past(door, "amy", account="PACC3")
    for count in (998, 999, 999, 999):
        assert unread(busy.inbox()) == [("a", count)]
        filled(archive, tell, ["a"], account="PACC3")
    door.stop()
    assert unread(past(node(), "amy").inbox()) == [("c", 1), ("b", 0), ("a", 0)]


def test_an_inbox_is_walked_filtered_and_limited(node, archive, tell, past):
    door = node()
    names = [f"T{number}" for number in range(7)]
    filled(archive, tell, names)
    filled(archive, tell, ["N1", "N2"], entity="note")
    amy = past(door, "amy")
    whole = amy.inbox()["things"]
    assert [thing["id"] for thing in whole] == ["N2", "N1", *names[::-1]]
    seen, words = [], {"limit": 4}
    for more in (True, True, False):
        page = amy.inbox(**words)
        assert page["more"] == more and page["unread_things"] == 9 and page["at"]
        seen += page["things"]
        words["before"] = page["things"][-1]["aid"]
    assert seen == whole
    notes = amy.inbox(ent="note")
    assert unread(notes) == [("N2", 1), ("N1", 1)] and notes["unread_things"] == 9
    assert len(amy.inbox(ent="note,incident")["things"]) == 9 and amy.inbox(ent="call")["things"] == []
    amy.mark(ent="note", id="N1", aid=whole[1]["aid"])
    assert unread(amy.inbox(ent="note", unread=1)) == [("N2", 1)]
    for limit, count in [(1, 1), (8, 8), (9, 9), (10, 9)]:
        page = amy.inbox(limit=limit)
        assert (len(page["things"]), page["more"]) == (count, count < 9)


def test_all_streams_of_a_person_are_told_on_every_loop(node, archive, tell, past, tokens, ends_with_test):
    door = node()
    filled(archive, tell, ["a", "b"])

    def stream(person, account="PACC1", kind=LiveClient, **words):
        return ends_with_test(kind(door, tokens.signed(account, sub=person), **words))
    # So many that there are some on each loop.
    amy, ben, other = ([stream(*who, with_="at") for _ in range(6)] for who in (["amy"], ["ben"], ["amy", "PACC2"]))
    events, plain = stream("amy", kind=EventStream), stream("amy")
    for client in [*amy, *ben, *other]:
        client.wait_for_control("live")
    events.wait_for("live")
    client = past(door, "amy")
    last, first = client.page()["events"]
    client.mark(ent="incident", id="a", aid=first["aid"])
    # Neither what changes nothing nor what would go back is told.
    client.mark(ent="incident", id="a", aid=first["aid"])
    client.mark(aid=last["aid"])
    client.mark(ent="incident", id="b", aid=last["aid"])
    client.mark(aid=first["aid"])
    wanted = [{"ent": "incident", "id": "a", "aid": first["aid"]}, {"aid": last["aid"]}]
    for client in amy:
        client.wait_for_control("read", count=2)
    events.wait_for("read", count=2)
    # What comes behind the marks.
    tell(["c"])
    tell(["c"], account="PACC2")
    for client in [*amy, *ben, *other, plain]:
        client.wait_for_id("c")
    events.wait_for(None)
    assert all(client.controls("read") == wanted for client in amy)
    assert [event.json for event in events.events if event.name == "read"] == wanted
    # Another person, another account of a person of that name, and who has no control messages.
    assert not any(client.controls("read") for client in [*ben, *other])
    assert [list(message) for message in plain.messages] == [["ent", "id", "type"]]


def test_a_mark_counts_for_what_comes_and_touches_nobody_else(node, archive, tell, past):
    door = node()
    early = past(door, "amy", account="PACC3")

    def ahead(milliseconds):
        return archive_id("PACC3", "incident", "soon", "updated", int(time.time() * 1000) + milliseconds, 0, 0)
    # Of a thing that has no event yet it counts when that comes.
    early.mark(ent="incident", id="soon", aid=ahead(HOUR // 2))
    filled(archive, tell, ["soon", "soon", "other"], account="PACC3")
    assert unread(early.inbox()) == [("other", 1), ("soon", 0)] and early.inbox()["unread_things"] == 1
    # It may be stamped as far ahead as an event. The clock goes on meanwhile: what is on the near side of the limit stays there.
    assert early.read(ent="incident", id="soon", aid=ahead(HOUR)).status == 204
    answer = early.read(aid=ahead(HOUR + 600_000))
    assert (answer.status, answer.body["code"]) == (400, "bad_request")
    check_ids_of_others(door, archive, tell, past)


def check_ids_of_others(door, archive, tell, past):
    """An id of another account or server is a moment and nothing else."""
    filled(archive, tell, ["a", "b"])
    filled(archive, tell, ["secret"], account="PACC2")
    amy, stranger = past(door, "amy"), past(door, "amy", account="PACC2")
    secret = stranger.page()["events"][0]
    # Read up to then: of the own account all that was before it.
    amy.mark(aid=secret["aid"])
    assert unread(amy.inbox()) == [("b", 0), ("a", 0)] and unread(stranger.inbox()) == [("secret", 1)]
    assert [event["id"] for event in amy.page(before=secret["aid"])["events"]] == ["b", "a"]
    assert amy.page(after=secret["aid"])["events"] == []
    # A thing of another account is one that has no event here.
    amy.mark(ent="incident", id="secret", aid=secret["aid"])
    assert unread(stranger.inbox()) == [("secret", 1)]
    assert amy.page(ent="incident", id="secret")["events"] == []


def mark_of(size):
    """A body of so many bytes."""
    start = json.dumps({"aid": archive_id("PACC1", "note", "N", "made", 1000, 0, 0), "x": ""})[:-2]
    return start + "x" * (size - len(start) - 2) + '"}'


# What is sent, by its name, and the status.
BODIES = {
    "as long as may be": (mark_of(4096), JSON, 204), "longer": (mark_of(4097), JSON, 400),
    "with a character set": ('{"aid": "%s"}' % archive_id("A", "e", "i", "t", 1000, 0, 0),
                             {"Content-Type": "Application/JSON; charset=utf-8"}, 204),
    "plain text": ("{}", {"Content-Type": "text/plain"}, 400), "no type": ("{}", {}, 400), "empty": ("", JSON, 400),
    "half": ("{", JSON, 400), "a list": ("[]", JSON, 400), "nothing in it": ("{}", JSON, 400),
    "a number": ('{"aid": 7}', JSON, 400), "no id": ('{"aid": ""}', JSON, 400),
}


def test_a_body_that_is_no_mark_is_refused_and_ends_the_connection(node, past):
    door = node()
    for name, (body, headers, status) in BODIES.items():
        amy = past(door, "amy")
        answer = amy.ask("/inbox/v1/read", "POST", body, headers)
        assert answer.status == status, (name, answer)
        if status == 204:
            assert amy.inbox()["things"] == [], f"{name}: the connection goes on"
        else:
            assert (answer.body["code"], answer.fields["connection"]) == ("bad_request", "close"), name
            assert amy.http.sock is None or amy.http.sock.recv(1) == b"", name
