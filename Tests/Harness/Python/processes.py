"""What Linux knows of a running process."""

import os
import resource
from pathlib import Path


def raise_descriptor_limit():
    """Thousands of clients live in this process."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def descriptors(pid):
    """The number of open descriptors."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def private_bytes(pid):
    """Resident memory that the process shares with nobody."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def cpu_seconds(pid):
    """The processor time that it has used, in the kernel and outside."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
