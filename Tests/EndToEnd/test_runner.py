"""Tests/run itself: its table, what it makes of results, and when a flaky test fails a run."""

import json
import re
import subprocess

import pytest
from _pytest.mark.expression import Expression

import tiers
from Runner import builds, changed, flaky, report, results, suites, table
from programs import ROOT

ROW = "lint gate 60 the format"
WHOLES = "=gate gate 1200 the gate\n=all all 3600 everything"


def test_each_part_is_in_the_table_once_and_runs_what_is_built():
    assert set(table.PARTS) == set(suites.SUITES)
    assert {part.tier for part in table.PARTS.values()} == {"gate", "all"}
    for name, suite in suites.SUITES.items():
        assert set(suite.needs) <= set(builds.BUILDS), name
    needed = {need for suite in suites.SUITES.values() for need in suite.needs}
    assert needed == set(builds.BUILDS)
    # What the gate waits for is never one of the large builds.
    gate = [suites.SUITES[name] for name, part in table.PARTS.items() if part.tier == "gate"]
    assert {need for suite in gate for need in suite.needs} == {
        "programs", "tests", "tidy", "thread-smoke", "address-smoke"}


@pytest.mark.parametrize("marks, part", [
    ((), "end-to-end"), (("slow",), "end-to-end"), (("kafka",), "kafka"), (("kafka", "other_kafka"), "kafka-others"),
    (("quiet",), "bounds"), (("packages", "slow"), "packages"),
])
def test_each_end_to_end_test_is_run_by_one_part(marks, part):
    assert set(suites.CHOSEN) <= set(table.PARTS)
    assert [name for name, chosen in suites.CHOSEN.items()
            if Expression.compile(chosen).evaluate(lambda mark, **_: mark in marks)] == [part]
    # What measures is alone, and no sanitizer slows it down.
    assert suites.SUITES["bounds"].is_alone and table.PARTS["bounds"].tier == "all"
    assert "test_bounds.py" not in tiers.worth()


def test_each_target_of_tests_and_each_fuzzer_is_run():
    folders = {path.name for path in (ROOT / "Tests").glob("*Tests")}
    assert set(builds.UNIT) == folders - {"TidyTests"} and set(builds.RAW_MEMORY) <= folders
    fuzzers = re.findall(r'fuzz\("([a-z-]+)"', (ROOT / "Package.swift").read_text())
    assert fuzzers == builds.FUZZERS.split()
    assert {path.name for path in (ROOT / "Tests/Fuzz/Corpus").iterdir()} == set(fuzzers)
    entries = re.findall(r"^ENTRY\((\w+)\)", (ROOT / "Tests/Fuzz/Replay/replay.c").read_text(), re.M)
    assert [entry.replace("_", "-") for entry in entries] == fuzzers


def test_what_is_worth_a_second_run_is_there_once_and_has_a_reason():
    lines = [line for line in tiers.WORTH.read_text().splitlines() if line and not line.startswith("#")]
    rows = [line.split(None, 2) for line in lines]
    assert len(rows) > 60 and all(len(row) == 3 and row[1] in tiers.MARKS for row in rows)
    assert len({(name, mark) for name, mark, _ in rows}) == len(rows)
    for name, mark, _ in rows:
        file, _, test = name.partition("::")
        assert (not test or f"def {test}(" in (tiers.WORTH.parent.parent / "EndToEnd" / file).read_text()), name
        assert (tiers.WORTH.parent.parent / "EndToEnd" / file).is_file(), name
        assert (mark == "journey") == bool(test), name
    assert sum(mark == "journey" for _, mark, _ in rows) == 30


@pytest.mark.parametrize("text, complaint", [
    (f"{ROW}\n{ROW}\n{WHOLES}", "'lint' has two rows"),
    (f"{ROW}\nlint all 60 the format\n{WHOLES}", "'lint' has two rows"),
    (f"lint night 60 the format\n{WHOLES}", "not a row"), (f"lint gate 0 the format\n{WHOLES}", "not a row"),
    (f"lint gate soon the format\n{WHOLES}", "not a row"), (f"lint gate 60\n{WHOLES}", "not a row"), (ROW, "whole runs"),
])
def test_a_table_that_is_wrong_is_refused(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        table.read(text)


def test_each_unit_test_has_one_process():
    kinds = [suites.OTHERS, suites.HISTORIES, suites.SDK]
    assert sorted(name for names in kinds for name in names) == sorted(builds.UNIT) and all(kinds)


@pytest.mark.parametrize("wanted, made, smoke", [
    (["programs", "address-smoke"], ["programs", "address-smoke"], "address-smoke"),
    (["address-smoke", "thread-smoke", "address"], ["thread-smoke", "address"], "address"),
    (["address", "programs", "programs"], ["programs", "address"], "address"),
])
def test_no_folder_is_built_twice(wanted, made, smoke):
    builder = builds.Builder(None, print)
    builder.expect(wanted)
    assert list(builder.states) == made and builder.made_as("address-smoke") == smoke
    folders = [builds.BUILDS[name].folder for name in builder.states]
    assert len(set(folders)) == len(folders)


def test_each_mutant_applies_and_names_tests_that_exist():
    done = subprocess.run([ROOT / "Tests/Mutants/run", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert int(re.fullmatch(r"(\d+) passed, 0 failed", done.stdout.splitlines()[-1])[1]) >= 60


def runs(*flaky_tests):
    """Lines of runs, each with the tests that were flaky in it."""
    lines = []
    for number, names in enumerate(flaky_tests):
        lines += [{"run": number}, *({"test": name} for name in names)]
    return lines


@pytest.mark.parametrize("before, found, count", [
    ([], [], 0), ([], ["a", "b"], 0), ([], ["a", "b", "c"], 1), (runs(["a"]), ["b"], 0), (runs(["a"]), ["a"], 1),
    (runs(["a"], *[[]] * 8), ["a"], 1), (runs(["a"], *[[]] * 9), ["a"], 0), (runs(["a"], ["b"]), ["a", "b", "c"], 3),
])
def test_flaky_tests_fail_a_run_when_they_are_three_or_come_again(before, found, count):
    assert len(flaky.judge(before, found)) == count


def phases(*outcomes):
    return "".join(json.dumps({"node": "test_a.py::test_b", "outcome": outcome, "seconds": 1, "why": "E no"}) + "\n"
                   for outcome in outcomes)


@pytest.mark.parametrize("lines, outcome", [
    (phases("passed", "passed", "passed"), "passed"), (phases("passed", "failed", "passed"), "failed"),
    (phases("passed", "passed", "failed"), "failed"), (phases("failed", "passed"), "failed"), (phases("skipped", "passed"), "skipped"),
])
def test_a_test_has_failed_where_one_of_its_phases_has(tmp_path, lines, outcome):
    file = tmp_path / "records.jsonl"
    file.write_text(lines)
    [found] = results.of_pytest("end-to-end", file)
    assert (found.name, found.outcome, found.seconds) == ("test_a.py::test_b", outcome, lines.count("\n"))
    # From the top of the project, where it is run once more.
    assert found.again == "Tests/EndToEnd/test_a.py::test_b"


@pytest.mark.parametrize("text, counts", [
    ("", (0, 0)), ("3 passed, 0 failed", (3, 0)), ("1 passed, 0 failed\nx: 2 passed, 1 failed, 0 skipped", (2, 1)),
    ("as 9 passed, 1 failed of them", (0, 0)),
])
def test_a_runner_that_counts_by_itself_is_believed_by_its_last_line(tmp_path, text, counts):
    log = tmp_path / "log"
    log.write_text(text)
    outcomes = [result.outcome for result in results.of_count("corpus", log)]
    assert (outcomes.count("passed"), outcomes.count("failed")) == counts


@pytest.mark.parametrize("status, lines, failed", [
    (0, phases("passed"), 0), (0, "", 1), (1, phases("passed"), 1), (1, phases("failed"), 1), (5, "", 1),
])
def test_a_suite_that_ran_no_test_has_failed_and_so_has_one_that_ended_badly(tmp_path, status, lines, failed):
    part = results.PartResult("end-to-end")
    work = suites.Work(part, tmp_path, None)
    work.log.write_text("its end")
    (tmp_path / "records.jsonl").write_text(lines)
    found = results.of_pytest("end-to-end", tmp_path / "records.jsonl")
    part.results += found
    work._hold(status, found)
    assert part.count("failed") == failed


def test_the_closing_line_counts_and_a_complaint_is_a_failure():
    part = results.PartResult("unit", 12)
    part.add("a", "passed", seconds=3)
    part.add("b", "flaky", why="E late")
    text = report.text([part], ["in all 12 s"], ["unit took too long"])
    assert text.endswith("2 passed, 1 failed, 0 skipped")
    assert "flaky: unit: b\n    E late" in text and "failed: unit took too long" in text
    assert report.what_grew(part, {"a": 1}) == "a (1 s to 3 s), b (0 s to 0 s)"


TARGETS = {
    "HTTP": ("Sources/HTTP", [], False), "Gateway": ("Sources/Gateway", ["HTTP"], False),
    "livegate": ("Sources/livegate", ["Gateway"], False), "livecat": ("Sources/livecat", ["HTTP"], False),
    "Balancer": ("Sources/Balancer", [], False), "wsecho": ("Tests/Conformance/wsecho", ["HTTP"], False),
    "HTTPTests": ("Tests/HTTPTests", ["HTTP"], True), "GatewayTests": ("Tests/GatewayTests", ["Gateway"], True),
}
GATE = [name for name, part in table.PARTS.items() if part.tier == "gate"]


@pytest.mark.parametrize("paths, parts, tests", [
    ([], set(), []), (["README.md"], set(), []),
    (["Sources/HTTP/A.swift"], {"unit", "address-smoke", "end-to-end", "kafka", "thread-smoke", "conformance"},
     ["GatewayTests", "HTTPTests"]),
    (["Sources/Gateway/A.swift"], {"unit", "end-to-end", "kafka", "thread-smoke"}, ["GatewayTests"]),
    (["Sources/Gateway/Gateway.docc/A.md"], {"unit", "end-to-end", "kafka", "thread-smoke"}, ["GatewayTests"]),
    (["Sources/livecat/A.swift"], {"end-to-end", "kafka"}, []),
    (["Tests/GatewayTests/A.swift"], {"unit"}, ["GatewayTests"]),
    (["Tests/JavaScript/a.test.js"], {"javascript"}, []), (["Package.swift"], set(GATE) - {"lint", "tidy"}, []),
])
def test_what_changed_chooses_the_parts_that_it_reaches(paths, parts, tests):
    assert changed.choose(paths, TARGETS, GATE) == (parts | {"lint", "tidy"}, tests, [])


def test_changed_end_to_end_files_run_alone_unless_what_they_use_changed_too():
    file = "Tests/EndToEnd/test_sync.py"
    assert changed.choose([file], TARGETS, GATE)[2] == [file]
    for other in ("Sources/HTTP/A.swift", "Tests/EndToEnd/conftest.py", "Tests/Harness/Python/wire.py"):
        assert changed.choose([file, other], TARGETS, GATE)[2] == []
