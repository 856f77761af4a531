# Tests: SQLiteArchive.swift, ArchiveLog.swift, CleanPages.swift
"""An archive whose process is killed in the middle of a write, or before a sync or a statement, while it is filled, erased and
overwritten: whoever opens it next finds a whole file, with each event once, and in the end no byte of what was erased. Between,
another program opens it, which writes the log into the file as SQLite does it, with all that rows have left in pages."""

import os
import signal
import sqlite3
import subprocess

import pytest

from programs import PROGRAMS

# A sanitizer's runtime wants to be the first library.
pytestmark = pytest.mark.unsanitized

# So many calls lie between two kills: the program makes some 9,000.
STRIDE = 61


def run(archive, **env):
    done = subprocess.run([PROGRAMS / "storekill", "archive", archive], env={**os.environ, **env}, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode == 0, done.stdout.split()


def things(archive):
    """The names of what it holds, of each account."""
    with sqlite3.connect(archive) as file:
        if not file.execute("SELECT 1 FROM sqlite_master WHERE name = 'things'").fetchall():
            return {}
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = file.execute("SELECT a.name, t.name FROM accounts a JOIN streams s ON s.account = a.id "
                            "JOIN things t ON t.stream = s.id").fetchall()
        events = file.execute("SELECT count(*), (SELECT events FROM archive) FROM events").fetchone()
        (position,) = file.execute("SELECT next FROM positions").fetchone() or (0,)
    # One event a thing.
    assert events == (len(rows), len(rows)), "an event is there twice, or was lost"
    found = {}
    for account, name in rows:
        found.setdefault(account, set()).add(name)
    assert found.get("KEPT", set()) == kept(position)
    return found


def kept(end):
    return {f"{offset * 7919 % 997}-KEPT" for offset in range(end) if offset % 2 or offset >= 600}


def erased_bytes(archive):
    return [ending for ending in ("", "-wal") if os.path.exists(f"{archive}{ending}")
            and b"ERASED" in open(f"{archive}{ending}", "rb").read()]


def test_whenever_it_is_killed_an_archive_is_whole_and_has_no_byte_of_what_was_erased(killer, tmp_path):
    after = {"filling": 0, "erasing": 0, "erased": 0}
    nth = 1
    while True:
        archive = tmp_path / f"archive-{nth}"
        ended, said = run(archive, LD_PRELOAD=str(killer), TEST_KILL_AT=str(nth), TEST_KILL_HALF="1")
        if ended:
            break
        if "erased" in said:
            assert erased_bytes(archive) == [], f"killed at call {nth}"
        opened = things(archive) if nth % 2 else None
        if opened is not None:
            after["erased" if said else "erasing" if len(opened.get("KEPT", ())) == 300 else "filling"] += 1
        assert run(archive) == (True, ["erased", "closed"])
        assert erased_bytes(archive) == [], f"killed at call {nth}"
        assert things(archive) == {"KEPT": kept(800)}
        nth += STRIDE
    print(f"{after} of {nth // STRIDE} kills")
    assert all(count > 3 for count in after.values())
