# Tests: ArchiveFeeder.swift, ArchiveFeeder+Keeping.swift, ArchiveFeeder+Trouble.swift, ArchiveAccess.swift,
# ArchiveReport.swift, ArchiveCounts.swift, BehindReader.swift, GatewayServer+Archive.swift, ArchiveIntake.swift,
# RangeReader.swift
"""The archive's writer inside a node: what was written to Kafka stands in the file, each event once, whatever happens."""

import signal
import sqlite3

import pytest

from programs import eventually


@pytest.fixture
def archive(tmp_path):
    """The file, and what stands in it."""
    return Archive(tmp_path / "archive.db")


class Archive:
    def __init__(self, path):
        self.path = path
        self.store = f"sqlite:{path}"

    def rows(self, sql):
        """Of the file as it stands; none while there is nothing that could be asked."""
        try:
            with sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=10) as database:
                return database.execute(sql).fetchall()
        except sqlite3.OperationalError:
            return []

    @property
    def ids(self):
        """Ids of things by event, in the order of what happened."""
        return [row[0] for row in self.rows(
            "SELECT t.name FROM events e JOIN things t ON t.id = e.thing ORDER BY e.key")]

    @property
    def positions(self):
        return dict(self.rows("SELECT partition, next FROM positions WHERE topic = 'incidents' ORDER BY partition"))

    @property
    def gaps(self):
        return self.rows("SELECT first, last FROM gaps")

    def wait_for(self, ids):
        eventually(lambda: sorted(self.ids) == sorted(ids), 20, lambda: f"{ids} in {self.ids}")


@pytest.fixture
def node(gateway, mock_broker, archive):
    return lambda **changes: gateway(mock_broker.bootstrap, archive__store=archive.store, **changes)


def metric(door, name):
    line, = [line for line in door.asked("/metrics")[1].splitlines() if line.startswith(f"{name} ")]
    return float(line.split()[1])


def archive_line(door):
    line, = [line for line in door.asked("/readyz?verbose")[1].splitlines() if "]archive" in line]
    return line


def kill(door):
    door.program.process.send_signal(signal.SIGKILL)
    door.program.process.wait()


def test_what_is_written_to_kafka_stands_in_the_file_with_its_position(node, archive, tell):
    tell(["a", "b"])
    door = node()
    tell(["c"])
    archive.wait_for(["a", "b", "c"])
    assert archive.positions[0] == 3 and archive.gaps == []
    assert archive_line(door) == "[+]archive ok"
    eventually(lambda: metric(door, "livegate_archive_rows") == 3)
    assert metric(door, "livegate_archive_bytes") > 8192
    assert metric(door, "livegate_archive_gaps_total") == metric(door, "livegate_archive_errors_total") == 0
    eventually(lambda: metric(door, "livegate_archive_lag_seconds") == 0)


def test_a_restart_goes_on_where_the_file_ends(node, archive, tell):
    door = node()
    tell(["a"])
    archive.wait_for(["a"])
    door.stop()
    tell(["b"])
    door = node()
    tell(["c"])
    archive.wait_for(["a", "b", "c"])
    door.stop()
    assert archive.positions[0] == 3 and archive.gaps == []


def test_no_event_is_missing_or_doubled_where_the_node_is_killed_again_and_again(node, archive, tell):
    written = []
    for round in range(6):
        door = node()
        for step in range(5):
            written += [f"{round}-{step}-{n}" for n in range(20)]
            tell(written[-20:], partition=step % 2)
        if round % 2:
            eventually(lambda: len(archive.ids) >= len(written) - 60)
        kill(door)
    node()
    archive.wait_for(written)
    assert archive.gaps == []
