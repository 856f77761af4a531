"""Commands of the parts: each in a process group of its own, within a time, and with nothing of it left afterwards."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A command that takes longer hangs: the longest takes a third of it.
LIMIT_SECONDS = int(os.environ.get("LIVEGATE_PART_LIMIT", "1800"))

# What everything has among its variables that this run starts.
RUN = "RUN_OF_TESTS"
os.environ.setdefault(RUN, f"{os.getpid()}-{time.time_ns()}")

_groups = set()
_lock = threading.Lock()
_is_ending = False


@dataclass(frozen=True)
class End:
    """How a command ended: its exit status, and the seconds of CPU of itself and of all that it has waited for."""
    status: int
    cpu_seconds: float = 0


def run(command, log, env=None, niceness=0, shown=False):
    """Runs a command whose output goes to the file `log`, and to the terminal where it is to be shown. Its status is 124
    where it took longer than the limit, with the stacks of a moment before at the end of the log."""
    with open(log, "a", encoding="utf-8", errors="replace") as out:
        process = _start(command, out, env, niceness)
        if process is None:
            return End(130)
        follower = _follow(log, process) if shown else None
        try:
            end = _wait(process, LIMIT_SECONDS * 0.9) or _wait_to_the_limit(process, command, out)
        finally:
            end_group(process.pid)
    if follower:
        follower.join()
    return end


def _wait(process, seconds):
    """Its end, or None where it takes longer."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            with _lock:
                _groups.discard(process.pid)
            return End(process.returncode, usage.ru_utime + usage.ru_stime)
        time.sleep(0.05)
    return None


def _start(command, out, env, niceness):
    words = ["nice", "-n", str(niceness)] if niceness else []
    with _lock:
        # Whoever ends everything has seen each group that is on the list.
        if _is_ending:
            return None
        process = subprocess.Popen(
            [*words, *map(str, command)], cwd=ROOT, env={**os.environ, **(env or {})}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        _groups.add(process.pid)
    if niceness:
        _lower(process.pid, niceness)
    return process


def _lower(pid, niceness):
    """Where the kernel shares processors out between sessions, niceness counts within each alone: it has its own for them."""
    try:
        Path(f"/proc/{pid}/autogroup").write_text(str(niceness))
    except OSError:
        # This kernel has none, or the process has ended.
        pass


def _wait_to_the_limit(process, command, out):
    stacks = subprocess.run([ROOT / "Tests/stacks", str(process.pid)], capture_output=True, text=True)
    end = _wait(process, LIMIT_SECONDS * 0.1)
    if end is None:
        out.write(f"\nTests/run: ended after {LIMIT_SECONDS} s: {' '.join(map(str, command))}. A while before it was in:\n")
        out.write("\n".join(stacks.stdout.splitlines()[:300]) + "\n")
        end = End(124)
    return end


def _follow(log, process):
    def copy():
        with open(log, encoding="utf-8", errors="replace") as text:
            text.seek(0, os.SEEK_END)
            while process.returncode is None:
                sys.stdout.write(text.read())
                sys.stdout.flush()
                time.sleep(0.2)
            sys.stdout.write(text.read())
            sys.stdout.flush()
    follower = threading.Thread(target=copy)
    follower.start()
    return follower


def end_group(group):
    """Ends what a command has left behind, or the command itself where it still runs.

    Once a command was waited for, its number may be given to a process of others, but not while its group has members."""
    with _lock:
        was_waited_for = group not in _groups
    if was_waited_for and Path(f"/proc/{group}").exists():
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            break
        for _ in range(20):
            if not _is_alive(group):
                break
            time.sleep(0.02)


def _is_alive(group):
    try:
        os.killpg(group, 0)
        return True
    except ProcessLookupError:
        return False


def left_behind(run):
    """The processes that a run has started, whatever session they are in now: those that have its number among their variables."""
    mark, found = f"{RUN}={run}".encode(), []
    for file in Path("/proc").glob("[0-9]*/environ"):
        # Those of others cannot be read, and some have just ended.
        with contextlib.suppress(OSError):
            if mark in file.read_bytes().split(b"\0"):
                found.append(int(file.parent.name))
    return [pid for pid in found if pid != os.getpid()]


def end_left_behind(run):
    for pid in left_behind(run):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def end_all():
    """Ends every command and what it has left behind, and lets none begin any more."""
    global _is_ending
    with _lock:
        _is_ending = True
        groups = list(_groups)
    for group in groups:
        end_group(group)
    end_left_behind(os.environ[RUN])
