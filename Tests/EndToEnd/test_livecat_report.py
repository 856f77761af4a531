"""livecat report: a picture of what apps counted, and the statuses of what cannot be read or written."""
import json
import subprocess

import pytest
from programs import PROGRAMS

COUNT = {"day": "2026-11-23", "screen": "list", "manual": 1, "automatic": 3}


def report(*words, text=""):
    return subprocess.run([PROGRAMS / "livecat", "report", *words], input=text, capture_output=True, text=True)


def test_lines_of_a_file_or_of_a_pipe_become_curves_and_a_picture(tmp_path):
    counts, picture = tmp_path / "counts.jsonl", tmp_path / "counts.svg"
    counts.write_text(json.dumps(COUNT) + "\n")
    done = report(counts, "--svg", picture)
    assert (done.returncode, done.stderr) == (0, "") and "2026-11-23" in done.stdout and "25 %" in done.stdout
    assert picture.read_text().startswith("<svg")
    assert report("-", text=counts.read_text()).stdout == done.stdout


@pytest.mark.parametrize("words, text, status, told", [
    ([], "", 64, "FILE"), (["-", "--sgv", "a"], "", 64, "--svg"), (["nowhere"], "", 66, "nowhere"),
    (["-"], "{}\n", 65, "standard input, line 1: no \"day\""), (["-", "--svg", "/nowhere/a"], "", 74, "/nowhere/a"),
])
def test_what_is_wrong_is_told_in_one_line(words, text, status, told):
    done = report(*words, text=text)
    assert done.returncode == status and done.stdout == ""
    assert told in done.stderr and done.stderr.count("\n") == 1 and done.stderr.startswith("livecat report: ")
