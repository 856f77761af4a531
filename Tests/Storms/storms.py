"""Storms that a node must stand, one part after the other, judged by what the clients themselves have counted."""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[1:1] = [str(TESTS / "Harness/Python"), str(TESTS / "Chaos")]

import pytest  # noqa: E402

import churn  # noqa: E402
import fleet  # noqa: E402
import reloads  # noqa: E402
import rolling  # noqa: E402
import storm  # noqa: E402
from programs import Program  # noqa: E402

PARTS = {"rolling": rolling, "reloads": reloads, "churn": churn, "storm": storm, "fleet": fleet}


class Stage:
    """One performance: its folder, the programs that end with it, and what was found."""

    def __init__(self, name, folder, options):
        self.name, self.folder, self.options = name, folder, options
        self.begin, self.outcomes, self.kept = time.monotonic(), [], []

    def start(self, *command, **options):
        return self.keep(Program(*command, **options))

    def keep(self, thing):
        """Calls its `end()` afterwards, the last one first."""
        self.kept.append(thing)
        return thing

    def option(self, name, short, long):
        """What was chosen on the command line, or what this length has."""
        chosen = getattr(self.options, name)
        return chosen if chosen is not None else long if self.options.long else short

    def say(self, text):
        print(f"{self.name} {time.monotonic() - self.begin:7.1f} s  {text}", flush=True)

    def check(self, name, problem):
        """A promise, and what is wrong with it: nothing, where it was kept."""
        self.outcomes.append("failed" if problem else "passed")
        self.say(f"{self.outcomes[-1]}: {name}" + (f": {problem}" if problem else ""))

    def skip(self, text):
        """A promise that cannot be judged here, and why."""
        self.outcomes.append("skipped")
        self.say(f"skipped: {text}")

    def end(self):
        for thing in reversed(self.kept):
            thing.end()


def arguments():
    parser = argparse.ArgumentParser(prog="Tests/Storms/run", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART",
                        help=f"of {', '.join(PARTS)}; without any, all")
    parser.add_argument("--long", action="store_true", help="the long forms")
    parser.add_argument("--seed", type=int, default=7, help="of the events that are written")
    parser.add_argument("--clients", type=int, help="of rolling, reloads, storm and fleet")
    parser.add_argument("--window", type=int, help="seconds of rolling's drain_window")
    parser.add_argument("--seconds", type=int, help="of churn")
    parser.add_argument("--reloads", type=int, help="SIGHUPs of reloads")
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"no part is called {part}")
    return options


def perform(name, options):
    with tempfile.TemporaryDirectory(prefix=f"livegate-{name}-") as folder:
        stage = Stage(name, Path(folder), options)
        try:
            PARTS[name].play(stage)
        except pytest.skip.Exception as skipped:
            stage.skip(str(skipped))
        except (Exception, pytest.fail.Exception) as failure:
            stage.check("it came to its end", f"{type(failure).__name__}: {failure}")
        finally:
            stage.end()
        return stage.outcomes


def perform_beside(names):
    """Each in a process of its own, all at once: what they find does not depend on how long it takes."""
    flags = [word for word in sys.argv[1:] if word not in PARTS]
    runs = []
    try:
        for name in names:
            runs.append(subprocess.Popen([sys.executable, __file__, name, *flags], stdout=subprocess.PIPE, text=True))
        for name, run in zip(names, runs):
            *lines, last = run.communicate()[0].splitlines() or [""]
            print(*lines, sep="\n", flush=True)
            counts = re.findall(r"(\d+) (passed|failed|skipped)", last)
            yield from (kind for count, kind in counts for _ in range(int(count)))
            if not counts:
                print(f"{name}: did not come to its end, with status {run.returncode}: {last}")
                yield "failed"
    finally:
        for run in runs:
            run.terminate()
            run.wait()


def main():
    options = arguments()
    # Nodes and balancer live in sessions of their own: whoever ends us must not leave them behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    names = options.parts or list(PARTS)
    # Alone are those that time matters for: the returns of `rolling`, and every figure of the long forms.
    alone = names if options.long or len(names) == 1 else [name for name in names if name == "rolling"]
    outcomes = [outcome for name in alone for outcome in perform(name, options)]
    outcomes += perform_beside([name for name in names if name not in alone])
    print(", ".join(f"{outcomes.count(kind)} {kind}" for kind in ("passed", "failed", "skipped")), flush=True)
    return 1 if "failed" in outcomes else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # Threads that wait for a process which is gone do not matter any more.
    os._exit(status)
