# Tests: ArchiveFeeder+Trouble.swift, SQLiteArchive.swift
"""What goes wrong with an archive's file, each with the real thing: live streams go on, `/readyz` stays true, what can be read is
served, and the writer goes on where it was."""

import os
import random
import signal
import sqlite3
import subprocess

import pytest

from archives import Archive, archive_line, metric
from programs import eventually, run
from revoking import settings_of

WRONG = "the archive's file is damaged"
# Mounts are this process's own; who is not root gets a user namespace of its own too.
ALONE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]


def is_damaged(file):
    return ".damaged-" in file.name


def kill(door):
    door.program.signal(signal.SIGKILL)
    assert door.program.wait() == -signal.SIGKILL


def head(file):
    """Not SQLite's any more."""
    with file.open("r+b") as opened:
        opened.write(os.urandom(100))


def middle(file):
    """Every page but the first."""
    with file.open("r+b") as opened:
        opened.seek(8192)
        opened.write(random.Random(1).randbytes(file.stat().st_size - 8192))


def end(file):
    os.truncate(file, file.stat().st_size * 2 // 3)


def everything(file):
    file.write_bytes(b"This is no database.\n" * 1000)


@pytest.mark.parametrize("damage", [head, middle, end, everything])
@pytest.mark.parametrize("stop", [lambda door: door.stop(), kill], ids=["stopped", "killed"])
def test_a_file_that_is_damaged_at_the_start_is_set_aside_once_and_made_anew(
        archived, archive, tell, live, past, damage, stop):
    door = archived()
    names = [f"e{number}" for number in range(400)]
    tell(names)
    archive.wait_for(names)
    stop(door)
    # What a killed node had in its log beside the file would mend it, or is all that there is.
    archive.change("PRAGMA wal_checkpoint(TRUNCATE)")
    damage(archive.path)
    door = archived()
    client = live(door)
    tell(["more"])
    client.wait_for_id("more")
    archive.wait_for([*names, "more"])
    eventually(lambda: archive_line(door) == "[+]archive ok")
    line, = door.log(WRONG)
    assert line["level"] == "error" and [str(file) for file in archive.files if is_damaged(file)] == [line["file"]]
    assert past(door).page(limit=1)["events"][0]["id"] == "more"
    assert len(past(door).walk(limit=500)) == 401


def test_bytes_that_flip_under_a_running_node_are_found_by_who_reads_or_writes(archived, archive, tell, live, past):
    door = archived()
    names = [f"e{number}" for number in range(400)]
    tell(names)
    archive.wait_for(names)
    client = live(door)
    # What stands in the log beside it is written into the file, so that it is the file that is read.
    with sqlite3.connect(archive.path, timeout=30) as database:
        eventually(lambda: database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0] == 0)
    middle(archive.path)
    tell(["after"])
    client.wait_for_id("after")

    def is_found():
        past(door).ask("/archive/v1?order=asc&limit=500")
        return door.log(WRONG)
    eventually(is_found, 20)
    tell(["again"])
    archive.wait_for([*names, "after", "again"])
    eventually(lambda: archive_line(door) == "[+]archive ok")
    assert len(past(door).walk(limit=500)) == 402 and door.readyz()[0] == 200
    assert any(is_damaged(file) for file in archive.files)
    assert metric(door, "livegate_archive_errors_total") >= 1 and client.closed is None


def forget_rows(file, table, index, where):
    """Deletes rows that the index goes on naming."""
    def change(*statements):
        with sqlite3.connect(file) as database:
            database.execute("PRAGMA writable_schema = ON")
            for sql, values in statements:
                database.execute(sql, values)
        database.close()
    with sqlite3.connect(file) as database:
        entry, = database.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name = ?", [index])
    database.close()
    change(("DELETE FROM sqlite_master WHERE name = ?", [index]))
    change((f"DELETE FROM {table} WHERE {where}", []))
    change(("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", entry))


def test_an_erasure_ends_where_the_file_names_what_is_not_there(erasing, archive, tell):
    door = erasing()
    tell(["gone"], account="GONE")
    tell(["kept"])
    archive.wait_for(["gone", "kept"])
    door.stop()
    forget_rows(archive.path, "things", "things_last", "name = 'gone'")
    door = erasing()
    assert run("livegate", "erase", "--config", settings_of(door), "--account", "GONE")[0] == 0
    assert door.wait_for_log(WRONG)["level"] == "error"
    archive.wait_for(["kept"])
    eventually(lambda: archive_line(door) == "[+]archive ok")


@pytest.mark.parametrize("is_ours, change, why", [
    (True, "PRAGMA user_version = 1000", "schema 1000 is of another version of Livegate"),
    (False, "CREATE TABLE mine (a TEXT)", "is not an archive of Livegate, and is left unchanged"),
    (True, "UPDATE archive SET server = 'another one'", "it holds events of the Kafka cluster 'another one'"),
], ids=["of a newer version", "of somebody else", "of another cluster"])
def test_a_file_of_others_is_left_alone(archived, archive, tell, live, past, is_ours, change, why):
    if is_ours:
        door = archived()
        tell(["a"])
        archive.wait_for(["a"])
        door.stop()
    archive.change(change)
    before = archive.path.read_bytes()
    door = archived(ready=is_ours)
    if not is_ours:
        assert door.program.wait(30) == 78 and why in door.program.told()
    else:
        client = live(door)
        tell(["b"])
        client.wait_for_id("b")
        # Rolling back takes nobody's live stream away.
        eventually(lambda: why in archive_line(door))
        assert door.readyz()[0] == 200
        refused(past, door)
        door.stop()
    assert archive.path.read_bytes() == before


class Disk:
    """A file system of its own, which only the node sees."""

    def __init__(self, folder, options, prepare=""):
        self.folder = folder
        folder.mkdir()
        self.archive = Archive(folder / "archive.db")
        script = f'mount -t tmpfs -o {options} none "$0" && {prepare or ":"} && exec "$@"'
        self.around = [*ALONE, "sh", "-c", script, str(folder)]

    def does(self, door, *command):
        """Runs a command where the node sees the file system."""
        inside = ["nsenter", "-t", str(door.program.pid), "-m", *(["-U", "--preserve-credentials"] if "-rm" in ALONE else [])]
        done = subprocess.run([*inside, *command], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def disk(tmp_path):
    done = subprocess.run([*ALONE, "true"], capture_output=True, timeout=60)
    if done.returncode != 0:
        pytest.skip(f"no mounts of our own: {done.stderr.decode().strip()}")
    return lambda *words: Disk(tmp_path / "disk", *words)


def refused(past, door):
    """The newest page is not ready where nothing can be read, or the live log does not reach back to it. Within which time: test_bounds.py."""
    for path in ("/archive/v1", "/inbox/v1"):
        answer = past(door, "amy").ask(path)
        assert (answer.status, answer.body["code"]) == (503, "not_ready"), answer
        assert int(answer.fields["retry-after"]) >= 1


def test_a_full_disk_costs_what_is_newest_until_there_is_room(gateway, mock_broker, disk, tell, live, past):
    small = disk("size=2m")
    door = gateway(mock_broker.bootstrap, archive__store=small.archive.store, around=small.around)
    eventually(lambda: archive_line(door) == "[+]archive ok")
    tell(["first"])
    eventually(lambda: past(door).page()["events"])
    client = live(door)
    first, = past(door).page()["events"]
    count = 30_000
    tell(range(count))
    client.wait_for_id(str(count - 1), within=60)
    door.wait_for_log("the archive cannot be written")
    eventually(lambda: "no space is left on the disk" in archive_line(door))
    assert door.readyz()[0] == 200
    # What it holds is served, and nothing says that there is no more.
    page = past(door).page(order="asc", limit=1)
    assert page["events"] == [first]
    refused(past, door)
    tell(["live"])
    client.wait_for_id("live")
    small.does(door, "mount", "-o", "remount,size=256m", str(small.folder))
    door.wait_for_log("the archive is written again", within=60)
    eventually(lambda: metric(door, "livegate_archive_rows") == count + 2, 60)
    eventually(lambda: archive_line(door) == "[+]archive ok")
    page = past(door).page(limit=2)
    assert [event["id"] for event in page["events"]] == ["live", str(count - 1)] and page["gaps"] == []
    assert client.closed is None


def read_only(gateway, broker, disk, folder):
    """A folder that may only be read, and what makes it writable."""
    tied = disk("size=64m", 'mount -o remount,ro "$0"')
    door = gateway(broker.bootstrap, archive__store=tied.archive.store, around=tied.around)
    return door, lambda: tied.does(door, "mount", "-o", "remount,rw", str(tied.folder))


def absent(gateway, broker, disk, folder):
    """A folder that is not there."""
    door = gateway(broker.bootstrap, archive__store=f"sqlite:{folder}/later/archive.db")
    return door, (folder / "later").mkdir


@pytest.mark.parametrize("begin", [read_only, absent])
def test_a_store_that_cannot_be_opened_harms_nobody_and_is_filled_when_it_can(
        gateway, mock_broker, disk, tmp_path, tell, live, past, begin):
    door, repair = begin(gateway, mock_broker, disk, tmp_path)
    client = live(door)
    tell(["a"])
    client.wait_for_id("a")
    door.wait_for_log("the archive cannot be written")
    assert archive_line(door).startswith("[-]archive ") and door.readyz()[0] == 200
    assert metric(door, "livegate_archive_errors_total") >= 1
    refused(past, door)
    repair()
    door.wait_for_log("the archive is written again", within=30)
    eventually(lambda: [event["id"] for event in past(door).page()["events"]] == ["a"])
    eventually(lambda: archive_line(door) == "[+]archive ok")


def test_while_the_store_cannot_be_written_what_it_holds_is_served_and_what_came_since_comes_from_its_cursor(archived, archive, tell, live, past):
    """Another process has begun to write and does not end: SQLite waits, then says that it is locked."""
    door = archived()
    tell(["a"])
    archive.wait_for(["a"])
    client = live(door)
    amy = past(door, "amy")
    first, = amy.page()["events"]
    held = sqlite3.connect(archive.path, isolation_level=None, timeout=30)
    held.execute("BEGIN IMMEDIATE")
    tell(["b"])
    client.wait_for_id("b")
    eventually(lambda: archive_line(door).startswith("[-]archive "), 20)
    assert door.readyz()[0] == 200
    # What the store holds is served, with the cursor from which the rest comes.
    page = amy.page()
    assert page["events"] == [first]
    inbox = amy.ask("/inbox/v1").body
    assert [(thing["id"], thing["unread"]) for thing in inbox["things"]] == [("a", 1)]
    for at in (page["at"], inbox["at"]):
        live(door, since=at).wait_for_id("b")
    answer = amy.read(aid=first["aid"])
    assert (answer.status, answer.body["code"]) == (503, "not_ready")
    held.execute("ROLLBACK")
    held.close()
    archive.wait_for(["a", "b"])
    eventually(lambda: archive_line(door) == "[+]archive ok")
    assert [event["id"] for event in past(door).page()["events"]] == ["b", "a"]
