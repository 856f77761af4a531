"""What Linux knows of a running process."""

import collections
import os
import re
import resource
import time
from pathlib import Path


def raise_descriptor_limit():
    """Thousands of clients live in this process."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def descriptors(pid, *besides):
    """The number of open descriptors, without those of connections to the addresses `besides`, `ADDRESS:PORT`: a client of
    brokers opens and closes them as it likes."""
    return len(open_files(pid, *besides)) if besides else len(os.listdir(f"/proc/{pid}/fd"))


def open_files(pid, *besides):
    """What each open descriptor is, as Linux names it: `socket:[4711]`."""
    apart = set()
    if besides:
        ports = {int(address.rpartition(":")[2]) for address in besides}
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        # Field 2 is the address of the other end, 9 the inode.
        apart = {f"socket:[{row[9]}]" for row in rows if int(row[2].partition(":")[2], 16) in ports}
    found = []
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{entry}"))
        except FileNotFoundError:
            # Closed meanwhile.
            continue
    return [file for file in found if file not in apart]


def kinds_of_files(pid, *besides):
    """How many of each kind are open: `{'socket': 12, 'pipe': 8}`."""
    return dict(collections.Counter(re.split(r":\[|/\d", file)[0] for file in open_files(pid, *besides)))


def heaps(pid):
    """How many heaps of the C library's allocator there are beside the first: each has 64 MiB of addresses at such a border."""
    size, count, begin = 64 << 20, 0, None
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            if start % size == 0 and line.split()[1].startswith("rw"):
                begin = start
            count += begin is not None and end == begin + size
    return count


def descriptor_of(pid, peer):
    """The descriptor that the process has of its end of a TCP connection, of which `peer` is the other end."""
    address, port = peer.getsockname()
    (local, far), found = peer.getpeername(), None
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if (int(words[1].partition(":")[2], 16), int(words[2].partition(":")[2], 16)) == (far, port):
            found = f"socket:[{words[9]}]"
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if os.readlink(entry) == found:
                return int(entry.name)
        except FileNotFoundError:
            # Closed meanwhile.
            continue
    raise AssertionError(f"the process has no connection with {address}:{port} at {local}:{far}")


def children(pid):
    """The processes that it has begun and that have not ended."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def private_bytes(pid):
    """Resident memory that the process shares with nobody."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def sleeps(pid):
    """Whether no thread of the process runs or waits for a processor at this moment."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            # The thread has ended.
            continue
        if state == "R":
            return False
    return True


def comes_to_rest(pid, looks=50, pause=0.01):
    """Whether the process sleeps in most of some looks at it in a row. Whoever spins never does, on a machine of any load;
    whoever tries again now and then does, so that it is worth asking again where others held it up."""
    asleep = 0
    for _ in range(looks):
        asleep += sleeps(pid)
        time.sleep(pause)
    return asleep > 0.7 * looks
