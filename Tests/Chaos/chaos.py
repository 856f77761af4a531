"""Hurts everything for a while, heals it, and looks whether any client misses anything.

The promise that is tested: a client that resumes gets every event, each once or more, within a stream in the order of its
partition, or is told to resync. Here the topic stays as it is, nothing is older than the retention and the logs are larger
than what is written, so that there is no reason to resync: one is a failure.
"""

import argparse
import collections
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Harness/Python"))

import pytest  # noqa: E402

from crowd import Crowd  # noqa: E402
from judge import judge  # noqa: E402
from stage import Stage  # noqa: E402
from troubles import Troubles  # noqa: E402
from writer import Writer  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(prog="Tests/Chaos/run", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long there is trouble (60)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10 ** 6))
    parser.add_argument("--clients", type=int, default=2000)
    parser.add_argument("--accounts", type=int, default=200)
    parser.add_argument("--rate", type=float, default=60, help="events a second (60)")
    parser.add_argument("--heal", type=float, default=180, help="seconds that clients get to complete their record (180)")
    parser.add_argument("--keep", metavar="FOLDER", help="where logs and records are left, also without a failure")
    return parser.parse_args()


def say(text, begin=time.monotonic()):
    print(f"chaos {time.monotonic() - begin:7.1f} s  {text}", flush=True)


def play(options, folder):
    """One performance. Returns the checks: name, and what is wrong with it (None: nothing)."""
    stage = Stage(folder, say)
    crowd = writer = None
    try:
        stage.start()
        accounts = [f"A{number}" for number in range(options.accounts)]
        stage.start_nodes(accounts)
        crowd = Crowd(folder, stage.address, accounts, options.clients, options.seed)
        crowd.wait_until_live(120)
        say(f"{options.clients} clients are live")
        writer = Writer(stage, accounts, options.rate, options.seed)
        troubles = Troubles(stage, crowd, options.seed, say)
        troubles.run(options.seconds)
        stage.heal()
        logs = writer.finish()
        say(f"healed; {sum(map(len, logs.values()))} events of {len(logs)} accounts and partitions stand in Kafka")
        records = crowd.finish(logs, options.heal)
        return judge(logs, records, writer, troubles, stage, say)
    finally:
        for part in (writer, crowd, stage):
            if part:
                part.end()


def main():
    options = arguments()
    # Nodes and balancer live in sessions of their own: whoever ends us must not leave them behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    say(f"seed {options.seed}, {options.seconds:g} s, {options.clients} clients of {options.accounts} accounts")
    with tempfile.TemporaryDirectory(prefix="livegate-chaos-") as temporary:
        folder = Path(options.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            checks = play(options, folder)
        except pytest.skip.Exception as skipped:
            print(f"chaos: skipped, {skipped}\n0 passed, 0 failed, 1 skipped")
            return 0
        except (AssertionError, pytest.fail.Exception, KeyboardInterrupt) as failure:
            checks = [("it came to its end", str(failure) or type(failure).__name__)]
    for name, problem in checks:
        say(f"{'failed' if problem else 'passed'}: {name}" + (f": {problem}" if problem else ""))
    counted = collections.Counter(bool(problem) for _, problem in checks)
    if counted[True]:
        print(f"chaos: again with --seed {options.seed}")
    print(f"{counted[False]} passed, {counted[True]} failed", flush=True)
    return 1 if counted[True] else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # Threads that wait for a process which is gone do not matter any more.
    os._exit(status)
