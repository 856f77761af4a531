"""Files that are renewed under a gateway that runs, as certbot and Kubernetes do it."""

import pathlib
import shutil

# How often a gateway of these tests reads its files.
INTERVAL = "100ms"


def put(source, target):
    """As certbot and Kubernetes do it: written beside, then renamed."""
    beside = pathlib.Path(f"{target}.new")
    shutil.copy(source, beside)
    beside.rename(target)


def swap(link, folder):
    beside = link.with_name("beside")
    beside.symlink_to(folder)
    beside.rename(link)
