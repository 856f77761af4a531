# Tests: GatewayProcess.swift
"""The program that measures the gateway: that it ends, however it does, and leaves nothing."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from programs import PROGRAMS, eventually

# It measures, which says nothing beside others.
pytestmark = pytest.mark.quiet


def processes_of(parent):
    """The processes that a process has started and that still run, with the words of their command lines."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        state, ppid = stat[stat.rindex(")") + 2:].split()[:2]
        if int(ppid) == parent and state != "Z":
            found[int(folder.name)] = words
    return found


def is_running(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] != "Z"


def test_the_gateway_ends_with_a_livebench_that_is_killed(tmp_path):
    bench = subprocess.Popen(
        [PROGRAMS / "livebench", "--connections", "100", "--only", "gentle"], env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        def gateway():
            return next((pid for pid, words in processes_of(bench.pid).items() if b"serve" in words), None)

        eventually(lambda: gateway() is not None and len(processes_of(bench.pid)) == 2, 20, "the gateway and its guardian")
        started = processes_of(bench.pid)
    finally:
        bench.send_signal(signal.SIGKILL)
        bench.wait()
    eventually(lambda: not any(is_running(pid) for pid in started), 10, "that nothing is left running")
    eventually(lambda: not any(tmp_path.iterdir()), 10, "that no file is left")


def test_it_comes_to_its_end_and_leaves_nothing(tmp_path):
    command = [PROGRAMS / "livebench", "--connections", "100", "--only", "idle"]
    bench = subprocess.run(command, env=os.environ | {"TMPDIR": str(tmp_path)}, capture_output=True, text=True, timeout=600)
    assert bench.returncode == 0, bench.stderr
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("option, others, keys, counts", [
    ("--scrape", ["scraped"], ["scrapes"], ["deliveries_per_second"]),
    ("--archive", ["archived", "archive failing"], ["archives", "failing_archives"], ["deliveries_per_second", "latency_p99"]),
])
def test_runs_are_compared_with_runs_without(option, others, keys, counts):
    name = "saturating many"
    command = [PROGRAMS / "livebench", "--connections", "100", "--only", name, option, "--json"]
    bench = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert bench.returncode == 0, bench.stderr
    report = json.loads(bench.stdout)
    assert [row["scenario"] for row in report["scenarios"]] == [name, *(f"{name} {other}" for other in others)] * 3
    assert {"scrapes", "archives", "failing_archives"} & report.keys() == {*keys}
    for key in keys:
        compared, = report[key]
        assert compared["scenario"] == name and all(compared[count] > 0 for count in counts), (key, compared)
