"""Runs parts of the table beside each other, each as soon as what it needs is built. Called by Tests/run."""

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import threading
import time

from . import builds, changed, flaky, processes, report, suites, table, venv
from .meter import Meter
from .processes import ROOT
from .results import PartResult

# So many parts beside the longest. Tests wait more than they work, and builds the other way round.
AT_ONCE = 4
# Parts whose tests talk to processes: what fails there is looked at twice.
LOOKED_AT_TWICE = {"end-to-end", "kafka", "kafka-others", "thread-smoke", "thread", "address"}
# What a run leaves for the next one.
KEPT = {"flaky.jsonl", "times.json"}


def arguments():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--allow-skips", action="store_true")
    parser.add_argument("--seed", type=int, default=None)
    return parser.parse_args()


class Run:
    def __init__(self, words):
        self.words, self.start = words, time.monotonic()
        self.results = ROOT / ".build-results"
        self.meter = Meter()
        self.builder = builds.Builder(self.results, self.say)
        self.seed = words.seed if words.seed is not None else random.randrange(1 << 30)
        self.works, self.times = {}, {}
        self.turns = threading.Semaphore(AT_ONCE)

    def say(self, sentence):
        # At once, so that lines of two threads do not mix.
        sys.stdout.write(f"[{time.monotonic() - self.start:5.0f} s] {sentence}\n")
        sys.stdout.flush()

    def chosen(self):
        """The parts in the order of the suites, with what narrows them."""
        gate = [name for name, part in table.PARTS.items() if part.tier == "gate"]
        if self.words.changed:
            parts, targets, files = changed.choose(changed.files(), changed.package(), gate)
            left_out = [name for name in gate if name not in parts]
            self.say(f"reached by what changed since main: {', '.join(name for name in gate if name in parts)}; left out: "
                     + (", ".join(left_out) or "nothing") + (f"; unit tests of {', '.join(targets)}" if targets else "")
                     + (f"; of the end-to-end files {', '.join(files)}" if files else ""))
        else:
            parts, targets, files = set(self.words.parts) or (set(table.PARTS) if self.words.all else set(gate)), [], []
        names = [name for name in suites.SUITES if name in parts]
        for name in names:
            part = PartResult(name)
            self.works[name] = suites.Work(
                part, self.results, self.builder, suites.SUITES[name].niceness, len(names) == 1, self.seed,
                tuple(files) if name in ("end-to-end", "kafka") else (), tuple(targets))
        return names

    def run(self):
        self.empty_results()
        names = self.chosen()
        self.meter.start()
        self.say(f"seed {self.seed}; {', '.join(names) or 'only builds'}")
        wanted = [need for name in names for need in suites.SUITES[name].needs]
        if "build" in self.words.parts:
            wanted += ["programs", "tests"]
        self.builder.expect(wanted)
        threading.Thread(target=self.builder.begin, daemon=True).start()
        beside = [threading.Thread(target=self.part, args=(name,), daemon=True) for name in names if not suites.SUITES[name].is_alone]
        for thread in beside:
            thread.start()
        for thread in beside:
            thread.join()
        for name in names:
            if suites.SUITES[name].is_alone:
                self.part(name)
        for name in self.builder.states:
            self.builder.wait(name)
        return self.end(names)

    def empty_results(self):
        self.results.mkdir(exist_ok=True)
        for path in self.results.iterdir():
            if path.name not in KEPT:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def part(self, name):
        suite, work = suites.SUITES[name], self.works[name]
        failed = [need for need in suite.needs if not self.builder.wait(need)]
        with contextlib.nullcontext() if suite.is_first else self.turns:
            begin = time.monotonic()
            for need in failed:
                work.part.add(f"build {need}", "failed", why=self.builder.failure(need))
            if not failed:
                self.say(f"{name}: begins")
                try:
                    suite.run(work)
                except Exception as error:  # What is wrong with one part is told as its failure, and the others go on.
                    work.part.add(f"{name}: {error!r}", "failed")
            self.times[name] = (begin, time.monotonic())
            work.part.seconds = self.times[name][1] - begin
            self.say(f"{name}: {work.part.seconds:.0f} s, {work.part.count('passed')} passed, {work.part.count('failed')} failed")

    def end(self, names):
        before = flaky.earlier_lines(self.results)
        flaky.append(self.results, {"run": self.seed})
        for name in names:
            if name in LOOKED_AT_TWICE:
                flaky.run_again(self.works[name], venv.PYTHON)
        parts = [self.works[name].part for name in names]
        found = [result.name for part in parts for result in part.results if result.outcome == "flaky"]
        complaints = flaky.judge(before, found) + self.over_budget(parts)
        if not self.words.allow_skips and any(part.count("skipped") for part in parts):
            complaints.append("something was skipped, above (--allow-skips lets that pass)")
        needed = {self.builder.made_as(need) for name in names for need in suites.SUITES[name].needs}
        complaints += [f"build {name}: {self.builder.failure(name)}" for name in self.builder.states
                       if name not in needed and not self.builder.wait(name)]
        total = time.monotonic() - self.start
        footnotes = [self.of_builds(), f"in all {total:.0f} s, peak of memory {self.meter.peak_bytes / (1 << 30):.1f} GiB"]
        if not parts and not complaints:
            print(footnotes[0])
            return 0
        print(report.text(parts, footnotes, complaints), flush=True)
        has_failed = complaints or any(part.count("failed") for part in parts)
        if not has_failed:
            report.keep_times(self.results, parts)
        return 1 if has_failed or not parts else 0

    def of_builds(self):
        made = self.builder.times
        if not made:
            return "nothing was built"
        last = max(end for _, end in made.values())
        return f"all is built after {last - self.start:.0f} s: " + ", ".join(
            f"{name} {end - begin:.0f} s ({self.builder.cpu_seconds[name]:.0f} of CPU)" for name, (begin, end) in made.items())

    def over_budget(self, parts):
        """Complaints on what has taken too long, on a machine that was calm meanwhile, in seconds of one of the usual pace."""
        earlier, found, pace = report.kept_times(self.results), [], self.meter.pace()
        for part in parts:
            budget = table.PARTS[part.name].budget * pace
            if part.seconds > budget and self.meter.was_calm(*self.times[part.name]):
                found.append(f"{part.name} took {part.seconds:.0f} s, over its budget of {budget:.0f} s in Tests/parts; what grew most: "
                             + report.what_grew(part, earlier))
        whole = table.WHOLES["all" if self.words.all else "gate"].budget * pace
        total = time.monotonic() - self.start
        if not self.words.parts and total > whole and self.meter.was_calm(self.start, time.monotonic()):
            found.append(f"the run took {total:.0f} s, over its budget of {whole:.0f} s in Tests/parts")
        return found


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.environ.setdefault("LIVEGATE_SHARED", str(ROOT.parent / "shared"))
    try:
        words = arguments()
        unknown = sorted(set(words.parts) - set(table.PARTS) - {"build"})
        if unknown:
            print(f"Tests/run: unknown part '{unknown[0]}': one of {', '.join(table.PARTS)}, or build", file=sys.stderr)
            os._exit(64)
        status = Run(words).run()
    except KeyboardInterrupt:
        status = 130
    finally:
        processes.end_all()
    sys.stdout.flush()
    os._exit(status)


main()
