"""Clusters of Apache Kafka that all processes of a test run share: who needs one first starts it, and it ends with the run.

The run's first process has a folder with a named pipe, and holds that open for writing. A cluster ends with its standard input,
which is the other end: it ends with that process, however that ends. Processes that it starts find the folder in their
environment.
"""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from brokers import Cluster, command_of_cluster
from programs import environment, eventually

VARIABLE = "LIVEGATE_TEST_RUN"


class Run:
    """What the first process of a run keeps for all of them."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="livegate-run-"))
        os.mkfifo(self.folder / "end")
        # For reading too: so it waits for nobody who reads.
        self.pipe = os.open(self.folder / "end", os.O_RDWR)
        os.environ[VARIABLE] = str(self.folder)

    def end(self):
        del os.environ[VARIABLE]
        os.close(self.pipe)
        eventually(lambda: not list(self.folder.glob("*/cluster")), 30, "the end of the shared clusters")
        shutil.rmtree(self.folder)


@contextlib.contextmanager
def once(name):
    """A folder of this name that the whole run shares, and which one process at a time has."""
    folder = Path(os.environ[VARIABLE]) / name
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def shared_cluster(name, *arguments):
    """The cluster of this name. The first who asks starts it with these arguments of `kafka run`."""
    with once(name) as folder:
        if not (folder / "facts").exists():
            (folder / "facts.new").write_text(_begun(folder, *arguments))
            (folder / "facts.new").rename(folder / "facts")
        return Cluster(folder / "cluster", json.loads((folder / "facts").read_text()))


def _begun(folder, *arguments):
    """What a cluster says of itself once it runs."""
    command = command_of_cluster(folder / "cluster", *arguments)
    with open(folder.parent / "end", "rb") as pipe, open(folder / "out", "w") as out, open(folder / "log", "w") as log:
        # In a session of its own, because it lives longer than who starts it.
        process = subprocess.Popen(command, stdin=pipe, stdout=out, stderr=log, env=environment(),
                                   start_new_session=True)

    def told():
        text = (folder / "out").read_text()
        assert process.poll() is None, f"{command} ended: {(folder / 'log').read_text()[-3000:]}"
        return text if text.endswith("\n") else None
    try:
        return eventually(told, 120, lambda: f"an address of {command}: {(folder / 'log').read_text()[-3000:]}")
    except BaseException:
        process.terminate()
        raise
    finally:
        # Nobody waits for it, and that is no mistake.
        process.returncode = 0
