# Tests: SQLiteStore.swift, ListStore.swift
"""A process that is killed in the middle of its n-th write, or before its n-th sync or statement, for n = 1, 2, 3 … until one run
makes no n-th: its store has the finger, the app's rows and the lists of one commit, the last one that was said to be done or the
one after it, never of two."""

import os
import signal
import sqlite3
import subprocess

import pytest

from programs import PROGRAMS

# A sanitizer's runtime wants to be the first library.
pytestmark = pytest.mark.unsanitized

COMMITS = 2


def run(store, **env):
    """Moves the store on. Returns how the process ended, and the last commit that it said was done."""
    done = subprocess.run([PROGRAMS / "storekill", store, str(COMMITS)], env={**os.environ, **env}, capture_output=True,
                          text=True, timeout=300)
    said = done.stdout.split()
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert (done.returncode == 0) == (said[-1:] == ["closed"])
    numbers = [int(word) for word in said if word != "closed"]
    return done.returncode, numbers[-1] if numbers else 0


def kept(store):
    """The number of the commit that the file holds; 0: none."""
    with sqlite3.connect(store) as file:
        if not file.execute("SELECT 1 FROM sqlite_master").fetchall():
            return 0
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert file.execute("SELECT account FROM live_identity").fetchall() == [("PACC1",)]
        fingers = file.execute("SELECT finger, last_success FROM live_areas").fetchall()
        rows = file.execute("SELECT number FROM app ORDER BY id").fetchall()
        tables = {name for name, in file.execute("SELECT name FROM sqlite_master WHERE name LIKE 'live_list%'")}
        assert tables in (set(), {"live_list_areas", "live_lists", "live_list_intervals", "live_list_items"})
        beside = file.execute("SELECT finger FROM live_list_areas").fetchall() if tables else []
        listed = file.execute("SELECT rank, value FROM live_list_items ORDER BY position").fetchall() if tables else []
    if not fingers:
        assert rows == [] and beside == [] and listed == []
        return 0
    (finger, number), = fingers
    assert finger == f"F{number}" and rows == [(number,)] * 3
    # The list was written with the last commit of an odd number.
    written = number - (number + 1) % 2
    assert beside == [(finger,)] and listed == [(written, str(written).encode())] * 2
    return number


def test_whenever_it_is_killed_a_store_is_as_before_or_after_a_commit(killer, tmp_path):
    nth, killed, between = 0, 0, set()
    while True:
        nth += 1
        store = tmp_path / f"store-{nth}"
        ended, said = run(store, LD_PRELOAD=str(killer), TEST_KILL_AT=str(nth), TEST_KILL_HALF="1")
        if ended == 0:
            assert kept(store) == COMMITS
            break
        killed += 1
        found = kept(store)
        assert found in (said, said + 1), f"killed at call {nth}: {found}, after {said} was done"
        between.add(found - said)
        # Whoever comes next goes on from there.
        if nth % 5 == 0:
            assert run(store) == (0, found + COMMITS)
            assert kept(store) == found + COMMITS
    print(f"{killed} kills")
    # It was hit in the middle, and not only before: some commits were whole though nobody had been told.
    assert killed > 20 and between == {0, 1}
