# Tests: ArchiveFeeder.swift, ArchiveFeeder+Keeping.swift, ArchiveFeeder+Trouble.swift, ArchiveAccess.swift,
# ArchiveReport.swift, ArchiveCounts.swift, BehindReader.swift, GatewayServer+Archive.swift, ArchiveIntake.swift,
# RangeReader.swift, ArchiveStores.swift
"""The archive's writer inside a node: what was written to Kafka stands in the file, each event once, whatever happens."""

import signal

import pytest

from archives import Archive, archive_line, metric
from programs import eventually, run
from test_revocation import settings_of


@pytest.fixture
def node(archived):
    return archived


def kill(door):
    door.program.signal(signal.SIGKILL)
    assert door.program.wait() == -signal.SIGKILL


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


def test_what_is_erased_leaves_no_byte_in_the_file(erasing, archive, tell):
    door = erasing()
    tell(["kept"], account="PACC2")
    tell(["secret-thing"], account="SECRETACCOUNT")
    archive.wait_for(["kept", "secret-thing"])
    status, out, err = run(
        "livegate", "erase", "--config", settings_of(door), "--account", "SECRETACCOUNT")
    assert (status, out) == (0, ""), err
    line = door.wait_for_log("nothing of the account from before it is in the archive")
    assert (line["account"], line["events"]) == ("SECRETACCOUNT", 1)

    eventually(lambda: not archive.has("SECRETACCOUNT") and not archive.has("secret-thing"), 60)
    assert archive.ids == ["kept"]


def test_a_store_that_is_not_there_at_the_start_harms_nobody_and_is_filled_when_it_is(gateway, mock_broker, tmp_path, live, tell):
    archive = Archive(tmp_path / "later" / "archive.db")
    door = gateway(mock_broker.bootstrap, archive__store=archive.store)
    client = live(door)
    tell(["a"])
    client.wait_for_id("a")
    door.wait_for_log("the archive cannot be written")
    assert archive_line(door).startswith("[-]archive ") and door.readyz()[0] == 200
    assert metric(door, "livegate_archive_errors_total") >= 1
    archive.path.parent.mkdir()
    archive.wait_for(["a"])
    door.wait_for_log("the archive is written again")
    eventually(lambda: archive_line(door) == "[+]archive ok")
