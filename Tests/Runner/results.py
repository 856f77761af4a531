"""What tests have come to: one record a test, whoever ran it."""

import json
import re
from dataclasses import dataclass, field
from xml.etree import ElementTree

REASON_LINES = 12


@dataclass
class Result:
    """What became of one test. `again` is what runs it once more alone, where that is possible."""
    part: str
    name: str
    # passed, failed, skipped or flaky.
    outcome: str
    seconds: float = 0
    why: str = ""
    again: str = ""


@dataclass
class PartResult:
    name: str
    seconds: float = 0
    cpu_seconds: float = 0
    results: list = field(default_factory=list)

    def add(self, name, outcome, **more):
        self.results.append(Result(self.name, name, outcome, **more))

    def count(self, outcome):
        return sum(result.outcome == outcome for result in self.results)


def reason(text):
    """Why a test failed: of pytest the lines that begin with E, or with the line of a test; of others what they say."""
    lines = [line for line in text.splitlines() if line.strip()]
    chosen = [line for line in lines if re.match(r"E |> |\S+\.py:\d+: ", line)]
    return "\n".join(line[:400] for line in (chosen or lines)[:REASON_LINES])


def of_swift(part, files):
    """Records from the JUnit files of `swift test`: one of XCTest, one of Swift Testing."""
    found = []
    for file in files:
        if not file.exists():
            continue
        try:
            cases = ElementTree.parse(file).iter("testcase")
        except ElementTree.ParseError:
            found.append(Result(part, f"{file.stem}: ended before its last test", "failed"))
            continue
        for case in cases:
            kinds = {child.tag for child in case}
            outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            text = "\n".join(child.text or child.get("message", "") for child in case)
            found.append(Result(part, f"{case.get('classname', '')} {case.get('name', '')}", outcome,
                                float(case.get("time") or 0), reason(text) if outcome == "failed" else ""))
    return found


def of_pytest(part, file):
    """Records from what Tests/EndToEnd/conftest.py writes, a line each. A test has failed where any of its phases has."""
    found = {}
    if file.exists():
        for line in file.read_text().splitlines():
            record = json.loads(line)
            test, node = found.get(record["node"]), record["node"]
            if test is None:
                test = found[node] = Result(part, node, "passed", again=f"Tests/EndToEnd/{node}")
            test.seconds += record["seconds"]
            if record["outcome"] == "failed" or (record["outcome"] == "skipped" and test.outcome == "passed"):
                test.outcome, test.why = record["outcome"], reason(record["why"])
    return list(found.values())


def of_count(part, log):
    """Records without names from the closing line of a runner that counts by itself."""
    lines = re.findall(r"^(?:[^ \n]+: )?(\d+ passed, \d+ failed(?:, \d+ skipped)?)$", log.read_text(errors="replace"), re.M)
    found = []
    for number, outcome in re.findall(r"(\d+) (passed|failed|skipped)", lines[-1] if lines else ""):
        found += [Result(part, "its own list is in the log above", outcome) for _ in range(int(number))]
    return found
