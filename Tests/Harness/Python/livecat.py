"""livecat in pipes, and livecat on a terminal."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from programs import PATIENCE, PROGRAMS

# Long enough for a loaded machine; reached only on failure.
LIMIT = 20 * PATIENCE


class Livecat:
    """livecat in pipes. It runs until the test is over, or else its status is asked for."""

    def __init__(self, *arguments, env=None, stdin=subprocess.PIPE, **options):
        self.process = subprocess.Popen([str(PROGRAMS / "livecat"), *map(str, arguments)], stdin=stdin, bufsize=0,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, **(env or {})}, **options)
        self.is_status_asked = False

    def finish(self, data=None):
        """Gives it input, waits for its end; status, output, notices."""
        try:
            out, err = self.process.communicate(data, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.end()
            raise
        self.is_status_asked = True
        return self.process.returncode, out, err.decode()

    def wait(self, within=LIMIT):
        """The status with which it ends."""
        status = self.process.wait(within)
        self.is_status_asked = True
        return status

    def line(self):
        return self.process.stdout.readline()

    def notice(self):
        """The next line of standard error; one that never comes fails the test, as it would otherwise be waited for in vain."""
        line = self.process.stderr.readline().decode()
        assert line, "it has closed its standard error"
        return line

    def signal(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def end(self):
        has_ended = self.process.poll() is not None
        if not has_ended:
            self.process.kill()
        err = self.process.communicate()[1]
        assert self.is_status_asked or not has_ended, f"it has ended by itself with {self.process.returncode}: {err}"


class Terminal:
    """livecat, or another of our programs, on a terminal of 80 columns."""

    def __init__(self, *arguments, env=None, columns=80, program="livecat", **options):
        self.master, slave = pty.openpty()
        self.slave = slave
        self.resize(24, columns)
        self.before = termios.tcgetattr(slave)
        streams = {"stdin": slave, "stdout": slave, "stderr": slave, **options}
        self.process = subprocess.Popen(
            [str(PROGRAMS / program), *map(str, arguments)], start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **(env or {})}, **streams)
        self.shown, self.position = "", 0
        self.is_status_asked = False

    def resize(self, rows, columns):
        """The kernel tells the program."""
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            with contextlib.suppress(OSError):
                self.shown += os.read(self.master, 65536).decode(errors="replace")

    def expect(self, text):
        """Waits until the text has been shown, behind what was waited for before."""
        end = time.monotonic() + LIMIT
        while text not in self.shown[self.position:]:
            assert time.monotonic() < end, f"not shown: {text!r} in {self.shown[self.position:]!r}"
            self._read(0.2)
        self.position = self.shown.index(text, self.position) + len(text)

    def type(self, text):
        os.write(self.master, text.encode())

    def finish(self):
        end = time.monotonic() + LIMIT
        while self.process.poll() is None:
            assert time.monotonic() < end, f"does not end: {self.shown!r}"
            self._read(0.05)
        self._read(0.05)
        self.is_status_asked = True
        return self.process.returncode

    def is_restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def end(self):
        has_ended = self.process.poll() is not None
        if not has_ended:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)
        assert self.is_status_asked or not has_ended, \
            f"it has ended by itself with {self.process.returncode}: {self.shown[-400:]!r}"
