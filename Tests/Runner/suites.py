"""What each part of the table runs. A suite is handed its `Work` and adds to its results."""

import contextlib
import os
import shlex
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from . import builds, processes, results, venv
from .processes import ROOT

# End-to-end tests wait more than they work: so many of them at once keep two cores busy.
WORKERS = int(os.environ.get("LIVEGATE_WORKERS", "8"))
# The same for parts that run beside those.
BESIDE = max(1, WORKERS // 2)
ASAN = "detect_leaks=0 exitcode=67"  # The Swift runtime keeps what it has made for its types until the process ends.
TSAN = f"halt_on_error=0 exitcode=66 report_thread_leaks=0 suppressions={ROOT}/Tests/Sanitizers/tsan.suppressions"
# Unit tests run in processes by their kind. Simulated histories take all cores, and others have deadlines, for which they wait
# more than they work. All tests of a process begin at once, and each step of one waits behind all the others: the client of an
# app gives up what takes so long, as it should, so that its tests are by themselves.
HISTORIES, SDK = ["LiveStateTests", "LiveUpdatesTests", "SimulationTests"], ["LiveClientTests"]
OTHERS = [name for name in builds.UNIT if name not in HISTORIES + SDK]
# By the folder of a build, who plans in it. What has not begun after so long hangs, or says it in other words: the next one begins.
PLANNING, PLANNING_SECONDS = {}, 120
REAL_KAFKA = "AgainstApacheKafka"
OLDER_KAFKA = "The previous line of Kafka"
RULE_MUTANTS = r"^SimulationTests\..*Mutants"
# In a sanitizer's allocator allocations are not counted.
COSTS = r"^HTTPTests\.HeaderCostTests|^LiveUpdatesTests\.RecordCostTests|^ArchiveTests\.ArchiveCostTests"
FEW_HISTORIES = {"LIVEGATE_SIMULATION_HISTORIES": "5000", "LIVEGATE_SIMULATION_DEPTH": "5", "LIVEGATE_PAST_HISTORIES": "2000",
                 "LIVEGATE_ARCHIVE_HISTORIES": "500"}


# Which end-to-end tests a part runs, by their marks: each of them in one part.
CHOSEN = {"end-to-end": "not kafka and not quiet and not packages", "kafka": "kafka and not other_kafka", "kafka-others": "other_kafka",
          "bounds": "quiet", "packages": "packages"}


@dataclass
class Work:
    """One part at work."""
    part: results.PartResult
    folder: Path
    builder: builds.Builder
    niceness: int = 0
    shown: bool = False
    seed: int = 0
    # What --changed has chosen: test files for pytest, targets of unit tests.
    files: tuple = ()
    targets: tuple = ()

    @property
    def log(self):
        return self.folder / f"{self.part.name}.log"

    def run(self, *command, env=None):
        end = processes.run(command, self.log, env, self.niceness, self.shown)
        self.part.cpu_seconds += end.cpu_seconds
        return end.status

    def check(self, name, *command, env=None):
        """A command that counts as one test."""
        status = self.run(*command, env=env)
        last = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
        self.part.add(name, "passed" if status == 0 else "failed", why="" if status == 0 else f"status {status}\n{last}")
        return status == 0

    def counted(self, *command, env=None):
        """A command that counts its own tests in its closing line."""
        status = self.run(*command, env=env)
        found = results.of_count(self.part.name, self.log)
        self.part.results += found
        self._hold(status, found)

    def swift(self, build, *arguments, env=None, name=None):
        """Tests of a build, by the filters of `swift test`."""
        xml = self.folder / f"{name or self.part.name}.xml"
        made = builds.BUILDS[self.builder.made_as(build)]
        more = shlex.split(os.environ.get("SWIFT_TEST_ARGS", ""))
        status = self._one_at_a_time_until_it_begins(made.folder, [
            "swift", "test", "--skip-build", "--ignore-lock", "--xunit-output", xml, *made.arguments[
                1 if made.flags[:1] == ["--build-tests"] else 0:], *arguments, *more], {**made.env, **(env or {})})
        found = results.of_swift(self.part.name, [xml, xml.with_name(f"{xml.stem}-swift-testing.xml")])
        self.part.results += found
        self._hold(status, found)

    def _one_at_a_time_until_it_begins(self, folder, command, env):
        """The status of `swift test` in a folder of builds. Its own lock would let no other run beside it; without that, two that
        plan at the same moment get into each other's files, and one of them ends without a word."""
        start = self.log.stat().st_size if self.log.exists() else 0

        def begins():
            with contextlib.suppress(FileNotFoundError), open(self.log, "rb") as text:
                text.seek(start)
                return b"Test run started" in text.read()
            return False
        with ThreadPoolExecutor(1) as beside:
            with PLANNING.setdefault(folder, threading.Lock()):
                end, status = time.monotonic() + PLANNING_SECONDS, beside.submit(self.run, *command, env=env)
                while not (status.done() or begins() or time.monotonic() > end):
                    wait([status], 0.1)
            return status.result()

    def pytest(self, programs, *arguments, env=None, name=None, workers=WORKERS):
        """End-to-end tests against the programs of a build, so many at once."""
        if not self.python_is_ready():
            return
        records = self.folder / f"{name or self.part.name}.jsonl"
        env = {"LIVEGATE_BIN": self.builder.binaries(programs), "LIVEGATE_RECORDS": str(records), "LIVEGATE_SEED": str(self.seed),
               **(env or {})}
        files = self.files or ["Tests/EndToEnd"]
        status = self.run(
            venv.PYTHON, "-m", "pytest", *files, "-q", "-n", str(workers), "--dist", "loadfile",
            *arguments, *shlex.split(os.environ.get("PYTEST_ARGS", "")), env=env)
        found = results.of_pytest(self.part.name, records)
        for result in found:
            result.again = (result.again, env)
        self.part.results += found
        # 5: none was chosen, which is a fault but where --changed has chosen files.
        self._hold(0 if status == 5 and self.files else status, found, self.files)

    def python_is_ready(self):
        """Whether the packages of the end-to-end tests are there; a failure where they cannot be had."""
        log = self.folder / "python.log"
        if venv.is_ready(log):
            return True
        self.part.add("the Python packages of the end-to-end tests", "failed", why=log.read_text()[-2000:])
        return False

    def _hold(self, status, found, may_be_none=()):
        if not found and not may_be_none:
            self.part.add(f"{self.part.name}: no test ran (status {status})", "failed", why=self._end())
        elif status != 0 and not any(result.outcome == "failed" for result in found):
            self.part.add(f"{self.part.name}: ended with status {status} though no test failed", "failed", why=self._end())

    def _end(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])

    def no_reports(self, tool, pattern):
        """Nothing that ran has left a report of a sanitizer."""
        found = sorted(self.folder.glob(pattern))
        texts = "\n".join(file.read_text(errors="replace")[:4000] for file in found[:3])
        self.part.add(f"no report of the {tool}", "failed" if found else "passed", why=texts)


def lint(work):
    work.check("format", "swift", "format", "lint", "--strict", "--parallel", "--recursive", "Package.swift", "Sources", "Tests")


def tidy(work):
    work.swift("tidy")
    work.check("changelog", "python3", "-m", "Runner.changelog", env={"PYTHONPATH": "Tests"})


def unit(work):
    if os.environ.get("SWIFT_TEST_ARGS"):
        # Whoever chooses by himself means one process.
        work.swift("tests", "--skip", REAL_KAFKA, env=FEW_HISTORIES)
        return
    for name, targets in {"unit": OTHERS, "unit-histories": HISTORIES, "unit-sdk": SDK}.items():
        if chosen := [target for target in targets if target in (work.targets or targets)]:
            work.swift("tests", "--filter", of_targets(chosen), "--skip", f"{REAL_KAFKA}|{RULE_MUTANTS}", env=FEW_HISTORIES, name=name)


def of_targets(names):
    """The filter of `swift test` for these test targets."""
    return "^(" + "|".join(names) + r")\."


def histories(work):
    work.swift("tests", "--filter", r"^SimulationTests\.|HistoryTests|HistoriesTests")


def javascript(work):
    work.counted("Tests/JavaScript/run")


def end_to_end(work):
    work.pytest("programs", "-m", CHOSEN["end-to-end"])


def consumer(work):
    work.swift("tests", "--filter", REAL_KAFKA, "--skip", OLDER_KAFKA)


def kafka(work):
    work.pytest("programs", "-m", CHOSEN["kafka"], workers=BESIDE)


def kafka_others(work):
    newer = ROOT / ".build-librdkafka"
    fetch = [f"{os.environ['LIVEGATE_SHARED']}/kafka/newer-librdkafka", newer]
    if not (newer / "librdkafka.so.1").exists() and work.run(*fetch) != 0:
        work.part.add("a current librdkafka", "skipped", why=work._end())
        return
    work.pytest("programs", "-m", CHOSEN["kafka-others"], name="other-kafka")
    work.swift("tests", "--filter", OLDER_KAFKA, name="older-kafka-unit")
    env = {"LD_LIBRARY_PATH": str(newer)}
    work.swift("tests", "--filter", REAL_KAFKA, env=env, name="kafka-unit-newer")
    work.pytest("programs", "-m", "kafka", env=env, name="kafka-newer")


def conformance(work):
    work.counted("Tests/Conformance/run")


def corpus(work):
    work.counted("Tests/Fuzz/replay", work.builder.binaries("address-smoke"), *builds.FUZZERS.split(), env={"ASAN_OPTIONS": ASAN})


def fuzz(work):
    work.counted("Tests/Fuzz/run", "--within", "270")


def address_smoke(work):
    env = {"ASAN_OPTIONS": ASAN, **FEW_HISTORIES, "LIVEGATE_SIMULATION_DEPTH": "4"}
    work.swift("address-smoke", "--filter", of_targets(builds.RAW_MEMORY), "--skip", f"{REAL_KAFKA}|{COSTS}", env=env)


def address(work):
    env = {"ASAN_OPTIONS": ASAN, **FEW_HISTORIES, "LIVEGATE_SIMULATION_DEPTH": "4"}
    others = f"{REAL_KAFKA}|{COSTS}|{RULE_MUTANTS}"
    # Those of RAW_MEMORY have run in the gate's part.
    rest = [name for name in builds.UNIT if name not in builds.RAW_MEMORY + SDK]
    work.swift("address", "--filter", of_targets(rest), "--skip", others, env=env, name="address-unit")
    work.swift("address", "--filter", of_targets(SDK), env=env, name="address-unit-sdk")
    report = work.folder / "asan-report"
    work.pytest("address", "-m", "address_sanitizer and not slow and not unsanitized", name="address-programs",
                env={"ASAN_OPTIONS": f"{ASAN} log_path={report}", "LIVEGATE_SANITIZER": "address"})
    work.no_reports("address sanitizer", "asan-report.*")


def thread_smoke(work):
    _under_the_thread_sanitizer(work, "thread-smoke", "journey")


def thread(work):
    _under_the_thread_sanitizer(work, "thread", "thread_sanitizer and not slow and not unsanitized and not journey")


def _under_the_thread_sanitizer(work, build, marks):
    """In this toolchain a race on Dispatch queues inside a Swift Testing test goes unreported, so programs are driven, not
    unit tests; and the sanitizer has first to report a race that is planted in one of them."""
    eye, programs = work.folder / "what-tsan-cannot-see.so", work.builder.binaries(build)
    # The compiler is the one beside swift: Debian's may be missing, and this one knows Swift's way of calling.
    clang = Path(shutil.which("swift")).resolve().with_name("clang")
    if not work.check("build what reports threads and locks to the sanitizer", clang, "-O1", "-fPIC", "-shared", "-Wall", "-o",
                      eye, "Tests/Sanitizers/swift-mutex.c", "Tests/Sanitizers/c11-threads.c", "-ldl"):
        return
    work.check("the thread sanitizer sees a planted race", "Tests/Sanitizers/planted", f"{programs}/planted-race",
               env={"LD_PRELOAD": str(eye), "TSAN_OPTIONS": TSAN})
    # Into files: programs of tests are often ended before they could show it by their status.
    report = f"{work.part.name}-report"
    work.pytest(build, "-m", marks, workers=BESIDE, env={
        "LD_PRELOAD": str(eye), "TSAN_OPTIONS": f"{TSAN} log_path={work.folder / report}", "LIVEGATE_SANITIZER": "thread"})
    work.no_reports("thread sanitizer", f"{report}.*")


def storms(work):
    if work.python_is_ready():
        work.counted("Tests/Storms/run", env={"LIVEGATE_BIN": work.builder.binaries("programs")})


def chaos(work):
    if work.python_is_ready():
        work.counted("Tests/Chaos/run", env={"LIVEGATE_BIN": work.builder.binaries("programs")})


def bounds(work):
    # In this process, beside nothing.
    work.pytest("programs", "-m", CHOSEN["bounds"], workers=0)


def packages(work):
    if work.check("the tools of packages", "deploy/bootstrap", "--packages"):
        work.pytest("programs", "-m", CHOSEN["packages"], workers=2)


def mutants(work):
    if work.python_is_ready():
        work.counted("Tests/Mutants/run", "--sample", "6", "--seed", str(work.seed))


@dataclass(frozen=True)
class Suite:
    run: object
    # The builds that it waits for.
    needs: tuple = ()
    niceness: int = 0
    # It runs beside nothing else.
    is_alone: bool = False
    # It waits for its builds alone: the longest part of a run.
    is_first: bool = False


# In the order in which they are begun, as far as their builds are there.
SUITES = {
    "lint": Suite(lint, niceness=3),
    "end-to-end": Suite(end_to_end, ("programs",), is_first=True),
    "conformance": Suite(conformance, ("programs",)),
    "javascript": Suite(javascript, ("programs",), niceness=1),
    "tidy": Suite(tidy, ("tidy",), niceness=3),
    "unit": Suite(unit, ("tests",), niceness=1),
    "kafka": Suite(kafka, ("programs",)),
    "consumer": Suite(consumer, ("tests",)),
    "address-smoke": Suite(address_smoke, ("address-smoke",), niceness=3),
    "corpus": Suite(corpus, ("address-smoke",), niceness=3),
    "thread-smoke": Suite(thread_smoke, ("thread-smoke",), niceness=1),
    "histories": Suite(histories, ("tests",), niceness=5),
    "kafka-others": Suite(kafka_others, ("programs", "tests")),
    "fuzz": Suite(fuzz, ("fuzz",), niceness=5),
    "thread": Suite(thread, ("thread",), niceness=1),
    "address": Suite(address, ("address",), niceness=1),
    "packages": Suite(packages, ("programs",), niceness=5),
    # Thousands of clients wait for each other.
    "storms": Suite(storms, ("programs",), is_alone=True),
    "chaos": Suite(chaos, ("programs",), is_alone=True),
    # The machine is to be calm.
    "bounds": Suite(bounds, ("programs",), is_alone=True),
    "mutants": Suite(mutants, is_alone=True),
}
