"""Hurts everything for a while, heals it, and looks whether any client misses anything.

The promises that are tested. A client that resumes gets every event, each once or more, within a stream in the order of its
partition, or is told to resync. Here the topic stays as it is, nothing is older than the retention and the logs are larger
than what is written, so that there is no reason to resync: one is a failure. And an app on the SDK shows what its API says as
soon as it can, and what its user did is done once.
"""

import argparse
import collections
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Harness/Python"))

import pytest  # noqa: E402

from appjudge import judge_apps  # noqa: E402
from apps import AllApps, end_all, node_apps, swift_apps  # noqa: E402
from crowd import Crowd  # noqa: E402
from judge import judge  # noqa: E402
from pages import Pages  # noqa: E402
from service import Courier, Service  # noqa: E402
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
    parser.add_argument("--apps", type=int, default=0, help="apps on the Swift SDK, as 100 (0)")
    parser.add_argument("--node", type=int, default=0, help="apps on the JavaScript module in Node, as 20 (0)")
    parser.add_argument("--pages", type=int, default=0, help="apps in windows of Chromium, as 10 (0)")
    parser.add_argument("--windows", type=int, default=5, help="windows of each Chromium; 1: each page is a browser (5)")
    parser.add_argument("--app-accounts", type=int, default=25, help="accounts that the apps share (25)")
    parser.add_argument("--app-rate", type=float, default=5, help="changes of the apps' API by itself, a second (5)")
    parser.add_argument("--heal", type=float, default=300, help="seconds that clients get to complete their record (300)")
    parser.add_argument("--keep", metavar="FOLDER", help="where logs and records are left, also without a failure")
    return parser.parse_args()


def say(text, begin=time.monotonic()):
    print(f"chaos {time.monotonic() - begin:7.1f} s  {text}", flush=True)


def open_apps(options, folder, stage, service, accounts):
    """Apps of every kind, which show what the API says."""
    kinds = []
    apps = AllApps(kinds, options.apps + options.node + options.pages, say)
    try:
        if options.apps:
            kinds.append(swift_apps(folder, stage.address, service.address, accounts, options.apps, options.seed))
        if options.node:
            kinds.append(node_apps(folder, stage.address, service.address, accounts, options.node))
        if options.pages:
            kinds.append(Pages(folder, stage.address, service.address, accounts, options.pages, options.seed, options.windows))
        apps.wait_until_shown(120)
    except BaseException:
        apps.end()
        raise
    return apps


def play(options, folder):
    """One performance. Returns the checks: name, and what is wrong with it (None: nothing)."""
    stage = Stage(folder, say)
    crowd = writer = service = courier = apps = None
    try:
        stage.start()
        accounts = [f"A{number}" for number in range(options.accounts)]
        app_accounts = [f"B{number}" for number in range(options.app_accounts)]
        service = Service(folder, app_accounts, options.app_rate, options.seed)
        stage.start_nodes(accounts + app_accounts, service.address)
        courier = Courier(stage, service, options.seed)
        crowd = Crowd(folder, stage.address, accounts, options.clients, options.seed)
        crowd.wait_until_live(300)
        say(f"{options.clients} clients are live")
        apps = open_apps(options, folder, stage, service, app_accounts)
        writer = Writer(stage, accounts, options.rate, options.seed)
        troubles = Troubles(stage, crowd, service, options.seed, say)
        troubles.run(options.seconds)
        stage.heal()
        service.heal()
        service.order(story=False)
        apps.calm(options.heal)
        events = courier.finish()
        logs = writer.finish()
        say(f"healed; {sum(map(len, logs.values()))} events of {len(logs)} accounts and partitions stand in Kafka, "
            f"and {events} of the API")
        records = crowd.finish({key: ids for key, ids in logs.items() if key[0] in set(accounts)}, options.heal)
        reports, truth = apps.settle(service, app_accounts, options.heal)
        return judge_apps(reports, truth, service.results(), say) + judge(logs, records, writer, troubles, stage, say)
    finally:
        end_all((apps, writer, courier, crowd, service, stage))


def main():
    options = arguments()
    # Nodes and balancer live in sessions of their own: whoever ends us must not leave them behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    say(f"seed {options.seed}, {options.seconds:g} s, {options.clients} clients of {options.accounts} accounts, "
        f"{options.apps} apps in Swift, {options.node} in Node and {options.pages} in Chromium of {options.app_accounts}")
    with tempfile.TemporaryDirectory(prefix="livegate-chaos-") as temporary:
        folder = Path(options.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            checks = play(options, folder)
        except pytest.skip.Exception as skipped:
            print(f"chaos: skipped, {skipped}\n0 passed, 0 failed, 1 skipped")
            return 0
        except (AssertionError, OSError, sqlite3.Error, pytest.fail.Exception, KeyboardInterrupt) as failure:
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
