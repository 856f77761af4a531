"""A bare Debian in a folder, in which packages are installed as on a machine that has nothing else."""

import os
import shutil
import subprocess
from pathlib import Path

from brokers import unavailable
from programs import PATIENCE

# Packages come over the network, and are unpacked beside other tests.
DEADLINE = 300 * PATIENCE
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
               "LC_ALL": "C.UTF-8", "HOME": "/root"}
# In name spaces of its own, so that nothing stays mounted and nothing runs on, whatever happens to the test.
INSIDE = """
set -e
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/changes,workdir=$2/work" "$2/merged"
mount -t proc proc "$2/merged/proc"
merged=$2/merged
shift 2
exec chroot "$merged" "$@"
"""


def needs(*tools):
    """Skips the test where it cannot have a Debian."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        unavailable(f"missing: {', '.join(missing)}; deploy/bootstrap --packages installs it")
    if os.getuid() != 0:
        unavailable("only root makes a root file system")


def bare(folder, suite="bookworm"):
    """Makes a Debian with `apt` and what is essential, and nothing more."""
    needs("mmdebstrap", "unshare")
    done = subprocess.run(["mmdebstrap", "--mode=root", "--variant=apt", "--skip=cleanup/apt/lists", suite, folder],
                          capture_output=True, text=True, timeout=DEADLINE)
    if done.returncode != 0:
        unavailable(f"no Debian from the network: {done.stderr[-300:]}")
    return Machine([folder], folder.parent / f"{folder.name}-use")


class Machine:
    """A root file system: folders that stay as they are, the topmost first, below one of what is changed here."""

    def __init__(self, layers, folder):
        self.layers, self.folder = layers, Path(folder)
        for name in ("changes", "work", "merged"):
            (self.folder / name).mkdir(parents=True)

    def copy(self, folder):
        """Another machine, which begins as this one is."""
        return Machine([self.folder / "changes", *self.layers], folder)

    def command(self, *words):
        """The words that run a command in it, for a program that is to be started."""
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", INSIDE, "sh",
                ":".join(map(str, self.layers)), str(self.folder), *map(str, words)]

    def run(self, *words, data=None, status=0):
        """Output and errors of a command that ends with this status."""
        done = subprocess.run(self.command(*words), input=data, stdin=None if data is not None else subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT, timeout=DEADLINE)
        assert done.returncode == status, f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout[-3000:]}"
        return done.stdout

    def write(self, path, text, mode="644"):
        self.run("sh", "-c", f"mkdir -p $(dirname {path}) && cat > {path} && chmod {mode} {path}", data=text)

    def install(self, *packages):
        """Installs packages by name, or those files, with what they depend on alone."""
        words = []
        for package in packages:
            if isinstance(package, Path):
                shutil.copy(package, self.folder / "changes")
            words.append(f"/{package.name}" if isinstance(package, Path) else package)
        return self.run("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *words)
