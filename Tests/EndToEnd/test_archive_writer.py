# Tests: ArchiveFeeder.swift, ArchiveFeeder+Keeping.swift, ArchiveFeeder+Trouble.swift, ArchiveAccess.swift,
# ArchiveReport.swift, ArchiveCounts.swift, BehindReader.swift, GatewayServer+Archive.swift, ArchiveIntake.swift,
# RangeReader.swift, ArchiveStores.swift
"""The archive's writer inside a node: what was written to Kafka stands in the file, each event once, whatever happens."""

import pytest

from archives import archive_line, metric
from programs import eventually, run
from revoking import settings_of


@pytest.fixture
def node(archived):
    return archived


def test_what_is_written_to_kafka_stands_in_the_file_with_its_position(node, archive, tell):
    def is_well(door):
        eventually(lambda: archive_line(door) == "[+]archive ok")
        assert archive.gaps == []
        assert metric(door, "livegate_archive_gaps_total") == metric(door, "livegate_archive_errors_total") == 0
        eventually(lambda: metric(door, "livegate_archive_lag_seconds") == 0)
    tell(["a", "b"])
    door = node()
    tell(["c"])
    archive.wait_for(["a", "b", "c"])
    assert archive.positions[0] == 3
    is_well(door)
    # The next one goes on where the file ends.
    door.stop()
    tell(["d"])
    door = node()
    tell(["e"])
    archive.wait_for(["a", "b", "c", "d", "e"])
    assert archive.positions[0] == 5
    is_well(door)
    door.stop()
    # Rows are counted when a file is opened, and then every five seconds.
    door = node()
    eventually(lambda: metric(door, "livegate_archive_rows") == 5)
    assert metric(door, "livegate_archive_bytes") > 8192
    is_well(door)


ERASED = "nothing of the account from before it is in the archive"


def test_what_is_erased_leaves_no_byte_in_the_file(erasing, archive, tell):
    """It is told once and overwritten once, however often the node starts and reads of it again. How soon: test_bounds.py."""
    door = erasing()

    def erase():
        status, out, err = run("livegate", "erase", "--config", settings_of(door), "--account", "SECRETACCOUNT")
        assert (status, out) == (0, ""), err
        line = door.wait_for_log(ERASED)
        assert (line["account"], line["events"]) == ("SECRETACCOUNT", 1)
        eventually(lambda: not archive.has("SECRETACCOUNT") and not archive.has("secret-thing"), 60)
    # The first of its log: what is read once more stands behind a record that was stored.
    tell(["secret-thing"], account="SECRETACCOUNT")
    tell(["kept"], account="PACC2")
    archive.wait_for(["secret-thing", "kept"])
    erase()
    assert archive.ids == ["kept"]
    # After it the account goes on.
    tell(["new"], account="SECRETACCOUNT")
    archive.wait_for(["kept", "new"])
    # What was read after the log was proved last is read once more, and this broker gives no past of the control topic.
    eventually(lambda: tell(["kept"], account="PACC2") or archive.sure >= 3)
    door.stop()
    for _ in range(2):
        door = erasing()
        tell(["kept"], account="PACC2")
        eventually(lambda: archive_line(door) == "[+]archive ok")
        assert archive.rows("SELECT to_overwrite FROM archive") == [(0,)]
        assert "new" in archive.ids and not door.log(ERASED)
        door.stop()
    # Said again, it is done and told again.
    door = erasing()
    erase()
