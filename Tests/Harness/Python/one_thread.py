"""Stops one thread of a running program and no other, as a debugger does (ptrace): what is on it stands still in the middle
of a system call, and the program knows nothing of it."""

import ctypes
import os
import platform
import struct
import time

from programs import PATIENCE

# What a loop of clients reads at once.
RECEIVE_BYTES = 64 * 1024

SEIZE, INTERRUPT, CONT, SYSCALL, DETACH, SYSCALL_INFO = 0x4206, 0x4207, 7, 24, 17, 0x420E
TRACE_SYSCALLS = 1
ENTRY = 1
WALL = 0x40000000
NUMBERS = {"x86_64": {"read": 0, "recvfrom": 45}, "aarch64": {"read": 63, "recvfrom": 207}}[platform.machine()]

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request, thread, address=None, value=None):
    answer = _libc.ptrace(request, thread, address, value)
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x} of {thread}")
    return answer


def _threads(pid):
    return {int(name) for name in os.listdir(f"/proc/{pid}/task")}


def _state(thread):
    """How a thread stopped since the last call; nil: it did not."""
    try:
        found, status = os.waitpid(thread, WALL | os.WNOHANG)
    except ChildProcessError:
        return None
    return status if found else None


class StoppedThread:
    """Stops the first thread that begins this system call with this third argument, where one is given. All calls come from
    the thread that made it, as ptrace wants.

    `provoke` makes the program do so, and is called until it does.
    """

    # Threads that stand: nobody else can stop them.
    standing = set()

    def __init__(self, pid, call, provoke, third=None):
        self.pid, self.thread = pid, None
        seized = {}
        try:
            end = time.monotonic() + 30 * PATIENCE
            while self.thread is None:
                assert time.monotonic() < end, f"no thread of {pid} calls {call}"
                # New ones come while the program works.
                for thread in _threads(pid) - set(seized) - self.standing:
                    self._seize(seized, thread)
                provoke()
                again = time.monotonic() + 0.2
                while self.thread is None and time.monotonic() < again:
                    self._step(seized, NUMBERS[call], third)
        finally:
            for thread in set(seized) - {self.thread}:
                self._let_go(thread)

    @staticmethod
    def _seize(seized, thread):
        try:
            _ptrace(SEIZE, thread, None, TRACE_SYSCALLS)
            _ptrace(INTERRUPT, thread)
            seized[thread] = True
        except ProcessLookupError:
            # It has ended meanwhile.
            pass
        except OSError as error:
            if error.errno != 3:
                raise

    def _step(self, seized, number, third):
        for thread in list(seized):
            status = _state(thread)
            if status is None:
                continue
            if not os.WIFSTOPPED(status):
                del seized[thread]
                continue
            if os.WSTOPSIG(status) == 5 | 0x80 and self._begins(thread, number, third):
                self.thread = thread
                self.standing.add(thread)
                return
            signal = os.WSTOPSIG(status)
            # Signals that are the program's own are handed on.
            is_ours = signal in (5, 5 | 0x80) or status >> 16
            _ptrace(SYSCALL, thread, None, None if is_ours else signal)
        time.sleep(0.0005)

    @staticmethod
    def _begins(thread, number, third):
        room = ctypes.create_string_buffer(96)
        _ptrace(SYSCALL_INFO, thread, len(room), ctypes.addressof(room))
        kind, = struct.unpack_from("B", room, 0)
        if kind != ENTRY:
            return False
        found, *arguments = struct.unpack_from("<7Q", room, 24)
        return found == number and third in (None, arguments[2])

    @staticmethod
    def _let_go(thread):
        try:
            _ptrace(INTERRUPT, thread)
            end = time.monotonic() + 10 * PATIENCE
            while _state(thread) is None and time.monotonic() < end:
                time.sleep(0.001)
        except OSError:
            # It stands already, or has ended.
            pass
        StoppedThread._detach(thread)

    @staticmethod
    def _detach(thread):
        """Of one that stands. Its stop was seen: whoever waited for another one would wait in vain."""
        try:
            _ptrace(DETACH, thread)
        except OSError:
            # It has ended.
            pass

    def go_on(self):
        """Lets the thread go on where it stands."""
        thread, self.thread = self.thread, None
        if thread is not None:
            self.standing.discard(thread)
            self._detach(thread)

    def bury(self):
        """After the program's end: its threads stay until whoever traced them has looked."""
        if self.thread is not None and _state(self.thread) is not None:
            self.standing.discard(self.thread)
            self.thread = None
        return self.thread is None

    def end(self):
        self.go_on()
