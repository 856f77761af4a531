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
    """The number of open descriptors, without those of connections to the addresses `besides`, `ADDRESS:PORT`, and without
    timers: a client of brokers opens and closes connections as it likes, and Dispatch opens a timer for each clock when somebody
    first has to wait by it, which in a node that answers at once is hours later, or under load."""
    return len(open_files(pid, *besides)) if besides else len(os.listdir(f"/proc/{pid}/fd"))


def open_files(pid, *besides):
    """What each open descriptor is, as Linux names it: `socket:[4711]`; with `besides` as for `descriptors`."""
    apart = set()
    if besides:
        ports = {int(address.rpartition(":")[2]) for address in besides}
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        # Field 2 is the address of the other end, 9 the inode.
        apart = {f"socket:[{row[9]}]" for row in rows if int(row[2].partition(":")[2], 16) in ports} | {"anon_inode:[timerfd]"}
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


def turns(pid):
    """How often its threads gave up the processor by themselves, how often it was taken from them, and for how many seconds they
    had it, together."""
    given, taken = 0, 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            lines = (task / "status").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            # The thread has ended.
            continue
        given += sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))
        taken += sum(int(line.split()[1]) for line in lines if line.startswith("nonvoluntary_ctxt_switches"))
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return given, taken, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def comes_to_rest(pid, seconds=0.5):
    """Whether the process rests: it had little of a processor for a while, and gave it up rather than lost it. Whoever spins has
    all of one, or, where many others want it, loses it again and again: so the answer is the same on a machine of any load."""
    begun, before = time.monotonic(), turns(pid)
    time.sleep(seconds)
    given, taken, used = (now - then for now, then in zip(turns(pid), before))
    # Threads that have ended take their turns with them.
    return used < 0.3 * (time.monotonic() - begun) and taken <= max(given, 2)
