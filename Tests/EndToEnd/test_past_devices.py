"""The screen of LiveClient's article Archive.md on a real gateway: two devices of one person, one of which is killed."""

import json
import signal
import sqlite3
from contextlib import closing

import pytest

from archives import archive_line
from programs import PROGRAMS, Program, eventually

EVENTS, THINGS = 120, 40


class Device:
    """`device("show 20")` gives what it shows then."""

    def __init__(self, host, token, file):
        self.file = file
        self.program = Program(PROGRAMS / "pastdevices", f"http://{host}/live/v1", "amy", token, file)
        self.program.line("open", 20)

    def __call__(self, line="shown"):
        asked = len(self.program.out)
        self.program.send(line)
        eventually(lambda: len(self.program.out) > asked, 20, lambda: f"{line}: {self.program.told()}")
        return json.loads(self.program.out[asked])

    def waits_for(self, **wanted):
        """Until it shows that."""
        def comes():
            shown = self()
            return all(shown.get(name) == value for name, value in wanted.items()) and shown
        return eventually(comes, 30, lambda: f"{wanted}: {self()}")

    def is_stored(self, count):
        """Whether so many events stand in its file as complete."""
        with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, timeout=10)) as database:
            return database.execute("SELECT count(*) FROM live_list_items").fetchone()[0] == count

    def end(self):
        self.program.end()


@pytest.fixture
def device(tokens, tmp_path, ends_with_test):
    token = tokens.signed("PACC1", sub="amy")
    return lambda door, name: ends_with_test(Device(door.host, token, tmp_path / f"{name}.sqlite"))


def aids(events):
    return [event["aid"] for event in events]


def test_two_devices_show_the_same_past_and_the_same_badge(archived, archive, tell, past, device):
    door = archived()
    eventually(lambda: archive_line(door) == "[+]archive ok", 20, "the archive")
    for partition in range(4):
        tell([f"T{number % THINGS}" for number in range(EVENTS) if number % 4 == partition], partition=partition)
    tell(["secret"], account="PACC2")
    eventually(lambda: len(archive.ids) == EVENTS + 1, 20, "the events")
    amy = past(door, "amy")
    whole = aids(amy.page(limit=500)["events"])

    # Opened for the first time: a page, live from there on. Older ones come when somebody has use for them.
    one, two = device(door, "one"), device(door, "two")
    for shown in one, two:
        shown.waits_for(aids=whole[:50], isComplete=False, isOld=False, badge=THINGS)
    one("show 500")
    one.waits_for(aids=whole, isComplete=True)
    tell(["new"])
    eventually(lambda: len(archive.ids) == EVENTS + 2, 20, "it")
    new = aids(amy.page(limit=1)["events"])
    one.waits_for(aids=new + whole, isComplete=True, badge=THINGS + 1)
    two.waits_for(aids=new + whole[:50], badge=THINGS + 1)

    # Read on one device: at once there, and on the other when the server has it.
    assert one("read new")["badge"] == THINGS
    two.waits_for(badge=THINGS)
    assert two()["things"][0] == {"id": "new", "unread": 0}
    one.waits_for(pending=0, badge=THINGS)

    # Without a network, and killed with the mark that was made then. The gateway has gone, too: what was kept is shown.
    eventually(lambda: one.is_stored(EVENTS + 1), 20, "the events on the device")
    one("offline")
    read = one()["things"][1]["id"]
    shown = one(f"read {read}")
    assert (shown["badge"], shown["pending"]) == (THINGS - 1, 1)
    one.program.signal(signal.SIGKILL)
    assert one.program.wait() == -signal.SIGKILL
    door.stop()
    again = device(door, "one")
    assert again("show 500")["badge"] == THINGS - 1
    shown = again.waits_for(aids=new + whole, isComplete=True, isOld=True, badge=THINGS - 1, pending=1)
    assert {line["id"]: line["unread"] for line in shown["things"]}[read] == 0

    # What happened meanwhile comes on top of what was kept, with nothing missing between, and the mark is sent.
    tell([f"L{number}" for number in range(3)])
    back = archived(listen=[door.host])
    # Before that it has a 503 for whoever asks.
    eventually(lambda: archive_line(back) == "[+]archive ok" and len(archive.ids) == EVENTS + 5, 20, "the late ones")
    amy = past(back, "amy")
    late = aids(amy.page(limit=3)["events"])
    again.waits_for(aids=late + new + whole, isComplete=True, isOld=False)
    badge = THINGS - 1 + 3
    again.waits_for(pending=0, badge=badge)
    two.waits_for(badge=badge)
    assert amy.inbox()["unread_things"] == badge
    assert {line["id"]: line["unread"] for line in amy.inbox(limit=500)["things"]}[read] == 0
    for line in again()["things"], two()["things"]:
        assert [thing["id"] for thing in line] == [thing["id"] for thing in amy.inbox(limit=20)["things"]]

    # A mark that was made elsewhere while nobody listened is there after the next `live`.
    two("offline")
    amy.mark(aid=late[0])
    two("online")
    for shown in again, two:
        shown.waits_for(badge=0)

    # What the archive may lack is told to whom pages back there.
    assert again()["gaps"] == two()["gaps"] == 0
    back.stop()
    archive.change("INSERT INTO gaps (topic, partition, first, last) SELECT 'incidents', 0, ts - 2000, ts - 1000 FROM "
                   "(SELECT min(stamp) AS ts FROM positions WHERE stamp > 0)")
    door = archived()
    three = device(door, "three")
    three("show 500")
    three.waits_for(aids=late + new + whole, isComplete=True, gaps=1)
    # Also at the next start, whose events look whole without them.
    eventually(lambda: three.is_stored(len(late + new + whole)), 20, "the events on the device")
    three.end()
    door.stop()
    device(door, "three").waits_for(aids=(late + new + whole)[:500], isOld=True, gaps=1, badge=0)
