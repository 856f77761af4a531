"""The builds: each set of flags once, in a folder of its own, begun when the first part wants it."""

import os
import re
import subprocess
import threading
import time
from dataclasses import dataclass, field

from . import processes

# What touches memory without Swift's checks, and what it parses there; the gateway's own tests are in the whole part.
RAW_MEMORY = ["BalancerTests", "FetchingTests", "HTTPTests", "KafkaTests", "LiveUpdatesTests", "LoggingTests", "ReactorTests",
              "SQLiteTests", "TLSTests", "TokensTests", "WebSocketTests", "YAMLTests"]
FUZZERS = "http-request http-response event-stream websocket-server websocket-client extension-header json mapping " \
          "settings cursor proxy-header forwarded-header token key-set introspection control-record credential ticket"
# Without the programs, which the tests of the gate run as they ship, but for those whose own code is tested.
UNIT = [name for name in re.findall(r'(?:tests\(\s*|\.testTarget\(\s*name: )"(\w+)"', (processes.ROOT / "Package.swift").read_text())
        if name != "TidyTests"]
JOURNEY_PROGRAMS = ["livegate", "livecat", "mockbroker", "planted-race"]


@dataclass(frozen=True)
class Build:
    folder: str
    flags: list
    env: dict = field(default_factory=dict)
    # Over that of what runs beside it.
    niceness: int = 0

    @property
    def arguments(self):
        return [*self.flags, "--scratch-path", self.folder]


# Journeys ask for little of what simulations are optimised for.
THREAD = ["--sanitize=thread", "--disable-index-store"]
RACE = {"LIVEGATE_PLANTED_RACE": "1", "LIVEGATE_OPTIMIZED": "no"}
# Swift's tests are found by the index.
ADDRESS = ["--build-tests", "--sanitize=address", "-Xswiftc", "-index-ignore-system-modules"]

BUILDS = {
    "programs": Build(".build-release", ["-c", "release", "--static-swift-stdlib"]),
    "tests": Build(".build", ["--build-tests"], {"LIVEGATE_TARGETS": ",".join(UNIT)}),
    "tidy": Build(".build-tidy", ["--build-tests"], {"LIVEGATE_TARGETS": "TidyTests"}, niceness=4),
    "thread-smoke": Build(
        ".build-tsan", THREAD, {**RACE, "LIVEGATE_TARGETS": ",".join(JOURNEY_PROGRAMS)}, niceness=10),
    "address-smoke": Build(
        ".build-asan", ADDRESS,
        {"LIVEGATE_FUZZ": "replay",
         "LIVEGATE_TARGETS": ",".join(RAW_MEMORY + [f"fuzz-{name}" for name in FUZZERS.split()])}, niceness=10),
    # Into the same folders, and in the place of the small ones where both are wanted.
    "thread": Build(".build-tsan", THREAD, RACE, niceness=10),
    "address": Build(".build-asan", ADDRESS, {"LIVEGATE_FUZZ": "replay"}, niceness=10),
    # As Tests/Fuzz/run makes it, which then finds it made.
    "fuzz": Build(
        ".build-fuzz",
        ["-c", "release", "--sanitize=fuzzer", "-Xswiftc", "-sanitize=fuzzer,address", "-Xcc", "-fsanitize=address",
         "-Xcxx", "-fsanitize=address"],
        {"LIVEGATE_FUZZ": "1"}, niceness=10),
}
INSTEAD = {"thread-smoke": "thread", "address-smoke": "address"}


class Builder:
    """Makes each build at most once, at most two at a time and in the order in which they are asked for."""

    def __init__(self, results, report):
        self.results, self.report = results, report
        self.turns = threading.Semaphore(2)
        self.states = {}
        # By name, begin and end by the steady clock.
        self.times, self.cpu_seconds = {}, {}

    def expect(self, names):
        """Says which builds will be made, so that others can wait for them."""
        self.states = {name: (threading.Event(), []) for name in BUILDS
                       if name in names and INSTEAD.get(name) not in names}

    def made_as(self, name):
        """The build that has what a part asks for: another one where that has more and is made too."""
        return name if name in self.states else INSTEAD[name]

    def begin(self):
        """Starts them in that order, each as soon as there is a turn for it."""
        for name in self.states:
            self.turns.acquire()
            threading.Thread(target=self._make, args=(name,), daemon=True).start()

    def wait(self, name):
        """Whether it built, once that is known."""
        event, statuses = self.states[self.made_as(name)]
        event.wait()
        return statuses == [0]

    def _make(self, name):
        build, log = BUILDS[name], self.results / f"build-{name}.log"
        self.times[name] = [time.monotonic(), None]
        try:
            end = processes.run(["swift", "build", *build.arguments], log, build.env, build.niceness)
            status = end.status
            self.cpu_seconds[name] = end.cpu_seconds
            self.states[name][1].append(status)
            self.times[name][1] = time.monotonic()
            seconds = self.times[name][1] - self.times[name][0]
            self.report(f"build {name}: " + (f"{seconds:.0f} s" if status == 0 else "FAILED"))
        finally:
            self.turns.release()
            self.states[name][0].set()

    def failure(self, name):
        """What the compiler said of a build that failed."""
        lines = (self.results / f"build-{self.made_as(name)}.log").read_text(errors="replace").splitlines()
        errors = [line for line in lines if "error:" in line]
        chosen = errors or [line for line in lines if not line.startswith("[")]
        return "\n".join(line[:400] for line in chosen[-20:])

    def binaries(self, name):
        """The folder of the programs of a build."""
        build = BUILDS[self.made_as(name)]
        done = subprocess.run(["swift", "build", *build.arguments, "--show-bin-path"], cwd=processes.ROOT, capture_output=True,
                              text=True, env={**os.environ, **build.env})
        return done.stdout.strip()
