"""Apps on the SDKs, seen from the harness: processes that are asked by a word a line, and answer by a line of JSON."""

import contextlib
import json
import subprocess
import threading
import time
from pathlib import Path

from appjudge import screen_faults
from programs import PROGRAMS


class Apps:
    """Many apps in one process, in Swift (Tests/ChaosApps) or in Node (apps.js)."""

    def __init__(self, folder, name, command):
        self.name, self.lock = name, threading.Lock()
        self.errors = open(folder / f"{name}.log", "w+")
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True)

    def order(self, word):
        with self.lock:
            try:
                self.process.stdin.write(word + "\n")
                self.process.stdin.flush()
                line = self.process.stdout.readline()
            except OSError:
                line = ""
            if not line:
                self.process.wait(30)
                raise AssertionError(f"the apps' process has ended ({self.name}, status {self.process.returncode}): "
                                     + Path(self.errors.name).read_text()[-2000:])
            return json.loads(line)

    def reports(self):
        return self.order("report")

    def calm(self):
        self.order("calm")

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            # What was written and not taken is nobody's any more.
            with contextlib.suppress(OSError):
                stream.close()


def swift_apps(folder, live, api, accounts, count, seed):
    files = folder / "swift"
    files.mkdir(exist_ok=True)
    for left in files.iterdir():
        left.unlink()
    mine = [accounts[at % len(accounts)] for at in range(count)]
    return Apps(folder, "swift", [PROGRAMS / "chaosapps", f"ws://{live}/live/v1", api, files, seed, *mine])


def node_apps(folder, live, api, accounts, count):
    mine = [accounts[at % len(accounts)] for at in range(count)]
    return Apps(folder, "node", ["node", Path(__file__).with_name("apps.js"), f"http://{live}", api, *mine])


def end_all(parts):
    """Ends each of them, also where the ending of another one fails; that is told at the end."""
    with contextlib.ExitStack() as stack:
        for part in reversed([part for part in parts if part]):
            stack.callback(part.end)


class AllApps:
    """All of them, of whatever kind: something with `reports`, `calm` and `end` each."""

    def __init__(self, kinds, count, say):
        self.kinds, self.count, self.say = kinds, count, say

    def reports(self):
        # What is nil in Swift is left out.
        return [{"list": None, "details": None, **report} for kind in self.kinds for report in kind.reports()]

    def _until(self, fault, within, what):
        """Waits until no report has this fault; those that still have it when the time is over are the judge's to tell."""
        begin = time.monotonic()
        while True:
            reports = self.reports()
            assert len(reports) == self.count, f"{len(reports)} of {self.count} apps have reported"
            faulty = [report["name"] for report in reports if fault(report)]
            took = time.monotonic() - begin
            if not faulty or took > within:
                self.say(f"{what}: {len(reports) - len(faulty)} of {len(reports)} apps after {took:.1f} s")
                return reports
            time.sleep(0.5)

    def wait_until_shown(self, within):
        """Every app has shown a list: not all at once, since what they know becomes old again and again from the start."""
        shown = set()

        def has_shown_none(report):
            if (report["list"] or {}).get("isKnown"):
                shown.add(report["name"])
            return report["name"] not in shown
        reports = self._until(has_shown_none, within, "a list is shown")
        missing = [f"{report['name']}: {report['state']}" for report in reports if report["name"] not in shown]
        assert not missing, f"{len(missing)} apps show no list: {missing[:3]}"

    def calm(self, within):
        """Nobody does anything any more, and the API has what was done."""
        for kind in self.kinds:
            kind.calm()
        self._until(lambda report: not report["isCalm"] or report["pending"], within, "what was done is sent")

    def settle(self, service, accounts, within):
        """Waits until every screen shows what the API says; what they show then, and what the API says, by account."""
        truth = {account: service.incidents(account) for account in accounts}
        reports = self._until(lambda report: any(screen_faults(report, truth[report["account"]])), within, "as the API says")
        return reports, truth

    def end(self):
        end_all(self.kinds)
