"""What a run prints at its end: what failed, the table of its parts, the slowest tests, and the line that counts."""

import json

SLOWEST = 15


def of_part(part):
    return f"{part.name:<14}{part.seconds:>8.0f}{part.cpu_seconds:>6.0f}" + "".join(f"{part.count(kind):>9}" for kind in ("passed", "failed", "skipped", "flaky"))


def text(parts, footnotes, complaints):
    everything = [result for part in parts for result in part.results]
    lines = [""]
    for kind in ("skipped", "flaky", "failed"):
        for result in (result for result in everything if result.outcome == kind):
            lines.append(f"{kind}: {result.part}: {result.name}")
            lines += [f"    {line}" for line in result.why.splitlines()]
    lines += ["", f"{'part':<14}{'seconds':>8}{'CPU':>6}" + "".join(f"{kind:>9}" for kind in ("passed", "failed", "skipped", "flaky"))]
    lines += [of_part(part) for part in parts]
    lines += ["", "slowest tests, in seconds"]
    slowest = sorted(everything, key=lambda result: -result.seconds)[:SLOWEST]
    lines += [f"{result.seconds:8.1f}  {result.part}: {result.name}" for result in slowest]
    lines += ["", *footnotes, *(f"failed: {complaint}" for complaint in complaints)]
    # What passed when it was run once more has passed; the table names it.
    passed = sum(result.outcome in ("passed", "flaky") for result in everything)
    failed, skipped = (sum(result.outcome == kind for result in everything) for kind in ("failed", "skipped"))
    lines.append(f"{passed} passed, {failed + len(complaints)} failed, {skipped} skipped")
    return "\n".join(lines)


def what_grew(part, earlier):
    """The tests of a part that take the most seconds more than in the run before, or just the most where there is none."""
    grown = sorted(part.results, key=lambda result: earlier.get(result.name, 0) - result.seconds)
    return ", ".join(f"{result.name} ({earlier.get(result.name, 0):.0f} s to {result.seconds:.0f} s)" for result in grown[:3])


def kept_times(folder):
    """By test the seconds of the last run that passed."""
    file = folder / "times.json"
    return json.loads(file.read_text()) if file.exists() else {}


def keep_times(folder, parts):
    times = {**kept_times(folder), **{result.name: round(result.seconds, 1) for part in parts for result in part.results}}
    (folder / "times.json").write_text(json.dumps(times, indent=0))
