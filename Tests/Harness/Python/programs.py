"""The built programs and what they talk to, as processes that end with their test."""

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(os.environ.get("LIVEGATE_BIN", ROOT / ".build-release/release"))
SHARED = Path(os.environ.get("LIVEGATE_SHARED", ROOT.parent / "shared"))
# Deadlines only end what has failed: on a machine with ten times more to do than it can, everything takes that much longer, it
# may stand still for some seconds, and a sanitizer makes programs slower still.
PATIENCE = 15 if os.environ.get("LIVEGATE_SANITIZER") else 6
# By itself it gives a broker, or what coordinates transactions, 5 s to answer, and ends when a connection is lost. What could
# not be delivered is an error all the same.
KCAT = ["kcat", "-E", "-m", str(50 * PATIENCE)]


# Seconds between two questions of `eventually`.
LEAST_PAUSE, MOST_PAUSE = 0.02, 0.25
# What a program is told to end by.
ENDING = {signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGKILL}


def eventually(condition, within=10.0, what="the condition", most_pause=MOST_PAUSE):
    """Returns the first true result of `condition`, asked again and again until `within` seconds are over, the longer it
    takes the less often: to ask costs, a browser above all. `what` is a text, or what gives it when it is needed."""
    begun = time.monotonic()
    end = begun + within * PATIENCE
    while True:
        # Asked once more after the end: until then the machine may have stood still.
        is_last = time.monotonic() >= end
        result = condition()
        if result:
            return result
        assert not is_last, f"{what() if callable(what) else what} did not come true within {within * PATIENCE:g} s"
        time.sleep(min(most_pause, max(LEAST_PAUSE, (time.monotonic() - begun) / 10)))


def environment(changes=None):
    """The variables of a program under test: without those that are for the tests themselves, which `livegate` would warn
    about as settings that mean nothing. What `livegate` has open, and its memory, can be looked at by whoever runs the tests."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("LIVEGATE_")},
            "LIVEGATE_ALLOW_DUMPS": "true", **(changes or {})}


class Program:
    """A process in a group of its own, its output lines kept as they come.

    It runs until the test is over, or ends it: whatever ends by itself, or otherwise than `trouble` allows, fails the test. Who
    means that asks `wait` for the status, and judges it."""

    def __init__(self, *command, env=None, cwd=None):
        self.command = [str(word) for word in command]
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            encoding="utf-8", errors="backslashreplace", start_new_session=True, cwd=cwd, env=environment(env))
        self.out, self.err = [], []
        self.signals, self.is_status_asked = [], False
        self.readers = [threading.Thread(target=self._read, args=pair, daemon=True) for pair in
                        ((self.process.stdout, self.out), (self.process.stderr, self.err))]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))

    @property
    def pid(self):
        return self.process.pid

    def line(self, text, within=10.0):
        """The first line of output or error that contains `text`, waited for."""
        def find():
            has_ended = self.process.poll() is not None
            if has_ended:
                # Its last lines may still be on their way.
                for reader in self.readers:
                    reader.join(5)
            found = next((line for line in self.out + self.err if text in line), None)
            assert found is not None or not has_ended, f"ended before '{text}': {self.told()}"
            return found
        return eventually(find, within, f"'{text}' from {self.command[0]}")

    def told(self):
        return f"{self.command}\nstdout: {self.out[-20:]}\nstderr: {self.err[-20:]}"

    def last_lines(self, count=60):
        """What it said on standard error last, each line cut to what a report can bear."""
        return "\n".join(line[:500] for line in self.err[-count:])

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait(self, within=10.0):
        """The status with which it ends by itself. Whoever asks has to judge it."""
        try:
            status = self.process.wait(within * PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {within * PATIENCE:g} s: {self.told()}") from None
        self.is_status_asked = True
        for reader in self.readers:
            reader.join(5)
        return status

    def signal(self, number=signal.SIGTERM):
        self.signals.append(number)
        self.process.send_signal(number)

    def trouble(self):
        """What is wrong with the way in which it has ended; None where it was told to, and did as it should."""
        told, status = {*self.signals} & ENDING, self.process.returncode
        is_ours = any(Path(word).name == "livegate" for word in self.command)
        if not told:
            return f"it has ended by itself with {status}"
        # A gateway ends with 0 whatever it is told by, but for SIGKILL.
        return None if status == 0 or -status in told and not is_ours else f"it was told to end, and has ended with {status}"

    def end(self):
        """Ends the process and whatever it has started, and judges how it has ended."""
        trouble = None
        if self.process.poll() is None:
            self.signal()
            try:
                self.process.wait(10 * PATIENCE)
            except subprocess.TimeoutExpired:
                trouble = f"it still ran {10 * PATIENCE} s after SIGTERM"
        trouble = trouble or self.trouble()
        self._clear()
        assert trouble is None or self.is_status_asked, f"{trouble}: {self.told()}"

    def _clear(self):
        # Once a process was waited for, its number may be given to another, but not while a group of that number has members. So
        # a process that has it now is a stranger.
        if self.process.returncode is None or not Path(f"/proc/{self.pid}").exists():
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        for reader in self.readers:
            reader.join(5)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass


def starter(ending):
    """Starts programs that end with this exit stack, for what several tests share."""
    def start(*command, **options):
        program = Program(*command, **options)
        ending.callback(program.end)
        return program
    return start


def run(name, *arguments, input=None, env=None, within=30.0):
    """Runs a built program to its end. Returns status, standard output and standard error, as bytes decoded."""
    done = subprocess.run(
        [PROGRAMS / name, *map(str, arguments)], input=input, capture_output=True, text=True, encoding="utf-8",
        env=environment(env), timeout=within * PATIENCE, stdin=None if input is not None else subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def produce(bootstrap, topic, records, partition=0, **properties):
    """Produces records with kcat, acknowledged by the broker when this returns. A record is a text or bytes without line
    ends, or a pair of a key and one."""
    lines = [b"\x1f".join(map(_bytes, record)) if isinstance(record, tuple) else _bytes(record) for record in records]
    keyed = ["-K", "\x1f"] if any(isinstance(record, tuple) for record in records) else []
    options = [word for name, value in properties.items() for word in ("-X", f"{name.replace('_', '.')}={value}")]
    done = subprocess.run(
        [*KCAT, "-P", "-b", bootstrap, "-t", topic, "-p", str(partition), *keyed, *options],
        input=b"\n".join(lines) + b"\n", capture_output=True, timeout=60 * PATIENCE)
    assert done.returncode == 0, done.stderr.decode(errors="replace")


def event(account, identity, kind="updated", entity="incidents::incident", **more):
    """A record as the preset `rails` reads it."""
    return {"account_id": account, "entity": entity, "id": identity, "type": kind, **more}


def _bytes(value):
    return value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode()
