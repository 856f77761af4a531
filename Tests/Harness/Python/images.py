"""An image that runs as an orchestrator runs it: its own user, its first process, a file system that nobody writes."""

import json
import os
import shutil
import signal
import subprocess
import tarfile
from pathlib import Path

from debian import DEADLINE
from programs import eventually

# A network of its own, where each port is free; the process is the first of its name space and can only be ended by what it
# handles itself.
BEGIN = """
set -e
ip link set lo up
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t tmpfs -o size=1m tmpfs "$1/dev"
for each in null zero urandom random; do touch "$1/dev/$each"; mount --bind /dev/$each "$1/dev/$each"; done
mount -o remount,bind,ro "$1"
root=$1 user=$2
shift 2
exec chroot "$root" setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs --bounding-set=-all \
    --inh-caps=-all "$@"
"""


class Image:
    """An image in a file as `docker save` writes it, unpacked."""

    def __init__(self, file, folder):
        self.file, self.root = Path(file), Path(folder)
        with tarfile.open(file) as tar:
            (manifest,) = json.load(tar.extractfile("manifest.json"))
            self.names = manifest["RepoTags"]
            self.config = json.load(tar.extractfile(manifest["Config"]))["config"]
            self.bytes = sum(tar.getmember(layer).size for layer in manifest["Layers"])
            for layer in manifest["Layers"]:
                self._lay(tar.extractfile(layer).read())

    def _lay(self, layer):
        """Unpacks a layer over those below it, and takes away what it says is gone from them."""
        subprocess.run(["tar", "--extract", "--directory", self.root], input=layer, check=True, timeout=DEADLINE)
        for mark in [*self.root.rglob(".wh.*")]:
            gone = mark.with_name(mark.name.removeprefix(".wh."))
            mark.unlink()
            if gone.is_dir() and not gone.is_symlink():
                shutil.rmtree(gone)
            else:
                gone.unlink(missing_ok=True)

    def command(self, *arguments):
        """The words that run it with these arguments, or with its own."""
        words = self.config["Entrypoint"] + [*map(str, arguments or self.config["Cmd"])]
        return ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", BEGIN, "sh", self.root,
                self.config["User"], *words]

    def environment(self, **changes):
        return {**dict(pair.split("=", 1) for pair in self.config["Env"]), **changes}

    def first_process(self, program):
        """The number outside of the process that is the first inside, while `program` runs it."""
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
        return int(eventually(lambda: children.read_text().split(), what="the first process")[0])

    def beside(self, program, *words):
        """The status and the output of a command in the running image, as a health check is run."""
        done = subprocess.run(["nsenter", f"--target={self.first_process(program)}", "--net", "--mount", "--pid", "chroot",
                               f"--userspec={self.config['User']}", self.root, *words], capture_output=True, text=True,
                              timeout=DEADLINE, env=self.environment())
        return done.returncode, done.stdout + done.stderr

    def end(self, program):
        """Ends it as an orchestrator does: its first process gets the signal that the image names."""
        os.kill(self.first_process(program), getattr(signal, self.config["StopSignal"]))
