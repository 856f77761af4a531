"""The rule that what others rely on changes with a line in the changelog, on small histories."""

import os
import shutil
import subprocess

import pytest

from Runner import changelog
from programs import ROOT

pytestmark = pytest.mark.unsanitized

NOBODY = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
for role in ("AUTHOR", "COMMITTER"):
    NOBODY |= {f"GIT_{role}_NAME": "Nobody", f"GIT_{role}_EMAIL": "nobody@localhost"}
SETTINGS, METRICS = "Sources/GatewaySettings/LimitsTable.swift", "Sources/Gateway/Admin/MetricTable.swift"
CODES = "Sources/CloseCodes/CloseCode.swift"


class History:
    def __init__(self, folder):
        self.folder = folder
        self.git("init", "--quiet")
        self.write(changelog.CHANGELOG, "## Not released\n")
        self.write(changelog.RULE, "the rule")
        self.write(SETTINGS, 'Setting(\n "limits.max_lag", .duration, default: "30s", "How long.")')
        self.write(METRICS, '.one("livegate_ready", .gauge)')
        self.write(CODES, "static let tokenExpired = CloseCode(rawValue: 4401)")
        self.commit()

    def git(self, *words):
        subprocess.run(["git", "-C", self.folder, *words], check=True, capture_output=True, env=NOBODY)

    def write(self, path, text):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "change")

    def problems(self):
        return [line.split(": ", 1)[1].split(" ", 2)[:2] for line in changelog.problems(self.folder)]


@pytest.fixture
def history(tmp_path):
    return History(tmp_path)


# The file, what stands there afterwards, and what is to be named.
CHANGES = [
    (SETTINGS, 'Setting(\n "limits.max_lag", .duration, default: "20s", "How long.")', [["setting", "limits.max_lag"]]),
    (SETTINGS, 'Setting("limits.max_lag", .duration, default: "30s", "For how long.")', []),
    (SETTINGS, "", [["setting", "limits.max_lag"]]),
    (METRICS, '.one("livegate_ready", .gauge) + .one("livegate_new_total", .counter)', [["metric", "livegate_new_total"]]),
    (CODES, "static let tokenExpired = CloseCode(rawValue: 4402)", [["close", "code"], ["close", "code"]]),
]


@pytest.mark.parametrize("path, text, told", CHANGES)
def test_a_change_without_a_line_is_reported_before_and_after_its_commit(history, path, text, told):
    assert history.problems() == []
    history.write(path, text)
    assert history.problems() == told
    history.commit()
    assert history.problems() == told


def test_a_line_in_the_same_commit_or_one_that_names_it_later_is_enough(history):
    path, text, told = CHANGES[0]
    history.write(path, text)
    history.commit()
    assert history.problems() == told
    history.write(changelog.CHANGELOG, "## Not released\n- `limits.max_lag_of_others` is new.\n")
    assert history.problems() == told
    history.write(changelog.CHANGELOG, "## Not released\n- None.\n\n## 0.1.0\n- `limits.max_lag` is new.\n")
    assert history.problems() == told
    history.write(changelog.CHANGELOG, "# Changes\n\n## Not released\n- `limits.max_lag` is 20s.\n\n## 0.1.0\n")
    assert history.problems() == []
    history.commit()
    path, text, _ = CHANGES[3]
    history.write(path, text)
    history.write(changelog.CHANGELOG, "## Not released\n- There is a new counter.\n")
    history.commit()
    # Of this commit nothing; of the first one, which the changelog does not name any more.
    assert history.problems() == told


def test_a_table_that_moves_to_another_target_is_no_change(history):
    table = history.folder / CODES
    history.write("Sources/WebSocket/CloseCode.swift", table.read_text())
    table.unlink()
    assert history.problems() == []
    history.commit()
    assert history.problems() == []


def test_a_release_begins_anew(history):
    history.write(SETTINGS, "")
    history.commit()
    assert history.problems() != []
    history.git("tag", "v0.2.0")
    assert history.problems() == []


def test_a_checkout_without_history_passes(history, tmp_path):
    history.write(SETTINGS, "")
    history.commit()
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{history.folder}", shallow], check=True, env=NOBODY)
    assert changelog.problems(shallow) == []
    shutil.rmtree(shallow / ".git")
    # Git would find the one above.
    plain = tmp_path.parent / f"{tmp_path.name}-plain"
    shallow.rename(plain)
    assert changelog.problems(plain) == []


def test_the_tables_are_found_where_they_are():
    found = {kind: {name for each, name, *_ in changelog.contract(ROOT) if each == kind}
             for kind in ("setting", "metric", "close code", "refusal")}
    assert {"limits.max_lag", "kafka.brokers", "archive.store"} <= found["setting"] and len(found["setting"]) > 60
    assert {"livegate_ready", "livegate_build_info"} <= found["metric"] and {"4401", "4409"} <= found["close code"]
    assert len(found["refusal"]) > 10
