"""What fails in the parts that talk to processes is run once more, alone, in the open: what passes then is flaky.

The file `flaky.jsonl` keeps a line for each run and one for each flaky test of it. It is never emptied by a run."""

import json
import time

from . import processes, results

# More of them are a fault of the run; so is one that was flaky before in so many runs.
MOST_IN_A_RUN = 2
RUNS = 10
# Whatever makes so many fail at once is no accident of one test.
MOST_AGAIN = 12


def run_again(work, python):
    """Runs what has failed once more, one test after another."""
    failed = [result for result in work.part.results if result.outcome == "failed" and result.again]
    if len(failed) > MOST_AGAIN:
        return
    for number, result in enumerate(failed):
        node, env = result.again
        records, log = (work.folder / f"{work.part.name}-again-{number}.{kind}" for kind in ("jsonl", "log"))
        processes.run([python, "-m", "pytest", node, "-q", "-n", "0"], log, {**env, "LIVEGATE_RECORDS": str(records)})
        second = results.of_pytest(work.part.name, records)
        if second and all(again.outcome == "passed" for again in second):
            result.outcome = "flaky"
            note(work.folder, result, log)
        else:
            result.why += "\nonce more, alone:\n" + "\n".join(again.why for again in second)


def note(folder, result, log):
    append(folder, {"test": result.name, "part": result.part, "first": result.why, "log": str(log.name),
                    "second": "\n".join(log.read_text(errors="replace").splitlines()[-5:])})


def append(folder, record):
    with open(folder / "flaky.jsonl", "a") as file:
        file.write(json.dumps({"at": int(time.time()), **record}) + "\n")


def judge(lines, found):
    """Sentences on why flaky tests fail the run, given the lines of `flaky.jsonl` from before it and the names of those in it."""
    complaints = []
    if len(found) > MOST_IN_A_RUN:
        complaints.append(f"{len(found)} tests were flaky, at most {MOST_IN_A_RUN} may be: {', '.join(sorted(found))}")
    starts = [index for index, line in enumerate(lines) if "run" in line]
    # This run is one of the ten.
    recent = lines[starts[-(RUNS - 1)]:] if len(starts) >= RUNS - 1 else lines
    earlier = {line["test"] for line in recent if "test" in line}
    complaints += [f"{name} was flaky twice in the last {RUNS} runs" for name in sorted(set(found) & earlier)]
    return complaints


def earlier_lines(folder):
    file = folder / "flaky.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
