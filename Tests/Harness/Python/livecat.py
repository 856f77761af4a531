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
    """livecat in pipes."""

    def __init__(self, *arguments, env=None, stdin=subprocess.PIPE, **options):
        self.process = subprocess.Popen([str(PROGRAMS / "livecat"), *map(str, arguments)], stdin=stdin, bufsize=0,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, **(env or {})}, **options)

    def finish(self, data=None):
        """Gives it input, waits for its end; status, output, notices."""
        try:
            out, err = self.process.communicate(data, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.end()
            raise
        return self.process.returncode, out, err.decode()

    def line(self):
        return self.process.stdout.readline()

    def notice(self):
        return self.process.stderr.readline().decode()

    def signal(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


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
        return self.process.returncode

    def is_restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)
