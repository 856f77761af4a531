"""A server of PostgreSQL, on a Unix socket in a folder of its own. As root it runs as `nobody`: `initdb` refuses root."""

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

from brokers import unavailable
from programs import Program, eventually

# The newest of Debian's.
BIN = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), default=None)
AS_USER = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []


class PostgreSQL:
    def __init__(self):
        if BIN is None:
            unavailable("no PostgreSQL: deploy/bootstrap --tests installs it")
        # The name of a socket may not be long.
        self.folder = Path(tempfile.mkdtemp(prefix="livegate-pg-"))
        if AS_USER:
            shutil.chown(self.folder, "nobody", "nogroup")
        subprocess.run([*AS_USER, BIN / "initdb", "-D", self.folder / "data", "-A", "trust", "-U", "livegate", "-N",
                        "-E", "UTF8", "--no-locale"], check=True, capture_output=True, cwd=self.folder)
        self.names = itertools.count(1)
        self.start()

    def start(self):
        self.program = Program(*AS_USER, BIN / "postgres", "-D", self.folder / "data", "-k", self.folder,
                               "-c", "listen_addresses=", "-c", "fsync=off", cwd=self.folder)
        eventually(lambda: self.rows("SELECT 1") == [["1"]], 30, self.program.told)

    def stop(self, number):
        """SIGINT ends all sessions, SIGQUIT is as if the machine had lost power."""
        self.program.signal(number)
        assert self.program.wait(30) == 0, self.program.told()

    @contextlib.contextmanager
    def standing_still(self):
        """All its processes, sessions among them, as in a machine that swaps."""
        pid = self.program.pid
        processes = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)

    def database(self):
        """Another one, in which nothing stands."""
        name = f"archive{next(self.names)}"
        self.rows(f"CREATE DATABASE {name}")
        return Database(self, name)

    def rows(self, sql, database="postgres"):
        """None of them while there is nobody who could be asked."""
        asked = subprocess.run(["psql", "-X", "-A", "-t", "-F", "\t", "-h", self.folder, "-U", "livegate", database, "-c", sql],
                               capture_output=True, text=True)
        return [line.split("\t") for line in asked.stdout.splitlines()] if asked.returncode == 0 else []

    def end(self):
        self.program.end()
        shutil.rmtree(self.folder, ignore_errors=True)


class Database:
    """What one test has of a server."""

    def __init__(self, server, name):
        self.server, self.name = server, name
        self.store = f"postgresql://livegate@{quote(str(server.folder), safe='')}/{name}"

    def rows(self, sql):
        return self.server.rows(sql, self.name)
