"""Makes calls of a running program fail, and sets its wall clock, by a library that it preloads (faults.c)."""

import mmap
import os
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("faults.c")
# The fields of the plan in faults.c, in their order; all but the texts are numbers of eight bytes.
ARMED, CALLS, LIBRARY, CODE, DESCRIPTOR, SPARED, NTH, REPEATS, HALVES, MADE, STRUCK, AHEAD = \
    0, 8, 264, 328, 336, 344, 352, 360, 368, 376, 384, 392
SIZE = 400
ALWAYS = 2 ** 40
# `LIVEGATE_FAULTS=all` takes every call and all errors.
TAKES_ALL = os.environ.get("LIVEGATE_FAULTS") == "all"


def build(folder):
    """The library's path; made once a folder."""
    library = folder / "faults.so"
    if not library.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


class Faults:
    """What is done to the calls of a program that was started with `env`."""

    def __init__(self, library, file):
        file.write_bytes(bytes(SIZE))
        with file.open("r+b") as opened:
            self.plan = mmap.mmap(opened.fileno(), SIZE)
        self.env = {"LD_PRELOAD": str(library), "TEST_FAULTS_PLAN": str(file)}

    def _put(self, at, number):
        struct.pack_into("q", self.plan, at, number)

    def _get(self, at):
        return struct.unpack_from("q", self.plan, at)[0]

    def arm(self, calls, code, nth=1, repeats=1, library="", descriptor=-1, spared=-1, halves=False):
        """Fails the `nth` of these calls from now on, and those behind it up to `repeats`, with this error number. The calls
        are names with blanks between; `malloc` is all that takes memory. Those out of the program's own code, or out of a
        library whose path contains `library`. Those with this `descriptor`, and never those with `spared`."""
        self.disarm()
        struct.pack_into("256s64s", self.plan, CALLS, f" {calls} ".encode(), library.encode())
        for at, number in ((CODE, code), (DESCRIPTOR, descriptor), (SPARED, spared), (NTH, nth), (REPEATS, repeats),
                           (HALVES, halves), (MADE, 0), (STRUCK, 0), (ARMED, 1)):
            self._put(at, number)

    def disarm(self):
        """Lets all calls through. Returns how many have failed since the plan was armed."""
        self._put(ARMED, 0)
        return self._get(STRUCK)

    @property
    def made(self):
        """The calls that the plan is about since it was armed."""
        return self._get(MADE)

    @property
    def struck(self):
        return self._get(STRUCK)

    def set_clock(self, seconds):
        """So many seconds ahead of the right time, or behind it, from now on."""
        self._put(AHEAD, seconds)


def sweep(faults, act, calls, code, hits, **plan):
    """Acts once for each n in which the n-th of the calls fails, until no n-th is made: by steps that hit about so many, or
    each of them. Returns how many were hit, and what came of all."""
    hit, came, nth = 0, [], 1
    faults.arm(calls, code, nth=ALWAYS, **plan)
    act()
    step = 1 if TAKES_ALL else max(1, faults.made // hits)
    while True:
        faults.arm(calls, code, nth=nth, **plan)
        came += act()
        if not faults.disarm():
            return hit, came
        hit += 1
        nth += step
