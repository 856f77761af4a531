# Tests: ArchiveWriter.swift, ArchiveWriter+Positions.swift
"""A node that is killed in the middle of its archive's n-th write, or before its n-th sync or statement: whoever comes next has
each event once, and no gap."""

import signal

import pytest

from archives import Archive
from programs import event, eventually, produce

# A sanitizer's runtime wants to be the first library.
pytestmark = [pytest.mark.unsanitized, pytest.mark.slow]

# Each start takes a second: every so manieth call, from another one on in each sweep.
STRIDE = 9


def test_whenever_a_node_is_killed_its_archive_has_each_event_once(gateway, mock_broker, tmp_path, killer):
    killed, nth = 0, 1
    while True:
        # A topic for each: those that are killed later read no more than the first.
        topic, archive, written = f"killed-{nth}", Archive(tmp_path / f"archive-{nth}.db"), []
        mock_broker.topic(topic, 3)

        def write():
            for partition in range(3):
                names = [f"{len(written) + number}" for number in range(7)]
                produce(mock_broker.bootstrap, topic, [event("PACC1", name) for name in names], partition=partition)
                written.extend(names)

        def start(**words):
            return gateway(mock_broker.bootstrap, kafka__topics=[topic], archive__store=archive.store, **words)

        def live():
            """How it ended."""
            door = start(ready=False, env={
                "LD_PRELOAD": str(killer), "TEST_KILL_AT": str(nth), "TEST_KILL_HALF": str(nth % 2)})
            write()
            process = door.program.process
            eventually(lambda: process.poll() is not None or sorted(archive.ids) == sorted(written), 30)
            if process.poll() is None:
                # It made fewer calls than that, or makes the rest at its end.
                door.program.signal()
            ended = door.program.wait(30)
            assert ended in (0, -signal.SIGKILL), door.program.told()
            return ended
        write()
        if live() == 0:
            break
        # Some are killed once more, in what they make of the file that was left.
        if killed % 5 == 0:
            live()
        killed += 1
        door = start()
        archive.wait_for(written)
        assert archive.gaps == [] and archive.rows("PRAGMA integrity_check") == [("ok",)]
        door.stop()
        nth += STRIDE
    print(f"{killed} kills")
    assert killed > 10
