"""What Tests/Fuzz/run counts: with programs in the place of the targets that say what libFuzzer says."""

import shutil
import subprocess

import pytest

from programs import ROOT

COVERAGE = "#5\\tINITED cov: 12 ft: 13 corp: 2/5b exec/s: 0 rss: 30Mb"
STATISTICS = "stat::number_of_executed_units: 7\\nstat::new_units_added: 1"


@pytest.fixture
def fuzz(tmp_path):
    """Runs it with these targets, each told by the lines of a script: status and lines."""
    (tmp_path / "Tests/Fuzz").mkdir(parents=True)
    shutil.copy(ROOT / "Tests/Fuzz/run", tmp_path / "Tests/Fuzz/run")

    def script(path, lines):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/bash\n" + lines + "\n")
        path.chmod(0o755)

    def begin(targets, *arguments):
        (tmp_path / "Package.swift").write_text("".join(f'    fuzz("{name}", "Folder"),\n' for name in targets))
        script(tmp_path / "bin/swift", 'echo "$@" >>swift.log')
        for name, lines in targets.items():
            script(tmp_path / f".build-fuzz/release/fuzz-{name}", f'echo "$@" >>fuzz-{name}.log\n' + lines)
        done = subprocess.run([tmp_path / "Tests/Fuzz/run", *arguments], capture_output=True, text=True, timeout=300,
                              env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})
        return done.returncode, done.stdout.splitlines()
    return begin


def test_a_target_that_tells_nothing_of_what_it_reaches_has_failed(fuzz, tmp_path):
    status, lines = fuzz({"sees": f"printf '{COVERAGE}\\n{STATISTICS}\\n'", "blind": f"printf '{STATISTICS}\\n'"}, "1")
    assert status == 1
    assert "passed: sees, 7 inputs, of which 1 found something new; 12 places reached" in lines
    assert "FAILED: blind: nothing tells what its 7 inputs have reached; is it built with coverage?" in lines
    assert lines[-1] == "1 passed, 1 failed"
    assert "-Xswiftc -sanitize=fuzzer,address" in (tmp_path / "swift.log").read_text()


def test_a_finding_is_told_with_what_repeats_it(fuzz):
    finds = f"printf '{COVERAGE}\\n==1==ERROR: libFuzzer: deadly signal\\n'; touch .build-fuzz/findings/finds/crash-1; exit 77"
    status, lines = fuzz({"finds": finds}, "1")
    assert status == 1 and lines[-1] == "0 passed, 1 failed"
    assert lines[0] == "FAILED: finds (status 77)" and "==1==ERROR: libFuzzer: deadly signal" in lines
    assert "repeat it with: .build-fuzz/release/fuzz-finds .build-fuzz/findings/finds/crash-1" in lines


@pytest.mark.parametrize("count, arguments, seconds", [
    (1, ["5"], 5), (3, ["--hour"], 3600), (2, ["--within", "270"], 30), (18, ["--within", "270"], 30),
    (19, ["--within", "270"], 27), (20, ["--within", "9"], 1),
])
def test_each_target_has_its_share_of_the_time(fuzz, tmp_path, count, arguments, seconds):
    names = [f"target-{chr(97 + index)}" for index in range(count)]
    status, lines = fuzz({name: f"printf '{COVERAGE}\\n'" for name in names}, *arguments)
    assert status == 0 and lines[-1] == f"{count} passed, 0 failed"
    for name in names:
        assert f"-max_total_time={seconds} " in (tmp_path / f"fuzz-{name}.log").read_text()


@pytest.mark.parametrize("arguments", [[], ["0"], ["--within"], ["--within", "x"], ["--within", "9", "a"], ["ten"]])
def test_what_it_does_not_understand_runs_nothing(fuzz, tmp_path, arguments):
    status, lines = fuzz({"a": ""}, *arguments)
    assert status == 64 and lines[0].startswith("Fuzzes each parser")
    assert not (tmp_path / "swift.log").exists()
