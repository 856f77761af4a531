"""Whether the machine was calm: budgets are held only then."""

import threading
import time

PAUSE_SECONDS = 0.05
# A sleeper that is woken so late was kept from its turn by something else than a busy queue of two cores.
LATE_SECONDS = 0.5
CALM_SHARE = 0.03
# A fixed piece of work, and the seconds of CPU that it takes on the machine whose seconds the budgets are.
WORK, WORK_SECONDS = 2_000_000, 0.1


class Meter(threading.Thread):
    """Notes when the machine, or all of this run, stood still, and the least memory that was available."""

    def __init__(self, late=LATE_SECONDS):
        super().__init__(daemon=True)
        self.late = late
        self.standstills = []
        self.turned = 0
        self.slowest = 1.0
        self.pace()
        self.available_at_start = self.least_available = available_bytes()

    def run(self):
        last_memory = 0
        while True:
            begin = time.monotonic()
            time.sleep(PAUSE_SECONDS)
            end = time.monotonic()
            if end - begin > self.late:
                self.standstills.append((begin, end))
            self.turned = begin
            if end - last_memory > 1:
                last_memory, self.least_available = end, min(self.least_available, available_bytes())

    def stood_still(self, begin, end):
        """The seconds between two moments in which nothing moved."""
        return sum(max(0, min(end, last) - max(begin, first)) for first, last in list(self.standstills))

    def has_seen(self, moment):
        """Whether a standstill that had begun at that moment is noted."""
        return self.turned >= moment

    def was_calm(self, begin, end):
        return self.stood_still(begin, end) <= CALM_SHARE * (end - begin)

    def pace(self):
        """How much slower this machine is than that of the budgets; 1 where it is not. Its processors may be shared, and are asked
        at the begin and at the end."""
        self.slowest = max(self.slowest, seconds_of_work() / WORK_SECONDS)
        return self.slowest

    @property
    def peak_bytes(self):
        return self.available_at_start - self.least_available


def available_bytes():
    with open("/proc/meminfo") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))



def seconds_of_work():
    """The CPU time of the fixed work, which no queue for a processor prolongs, but a slower or shared one does."""
    begin, number = time.thread_time(), 0
    for _ in range(WORK):
        number = (number * 31 + 7) & 0xFFFF
    return time.thread_time() - begin
