"""Measurements that count only where the machine was calm: the promises of README and the articles, without `PATIENCE`."""

import contextlib
import time

from Runner.meter import WORK_SECONDS, Meter, seconds_of_work
from programs import eventually

# A measurement of a second is spoiled by less than a standstill of half of it.
LATE_SECONDS = 0.1
# Where the machine had no calm for so many measurements, it is not the machine for them.
ATTEMPTS = 20
# The machine's own pace, by a fixed piece of work: where it is slower than that, a bound says nothing of the programs.
SLOWEST = 3


class Calm:
    """Measures as often as it takes: `calm(lambda: …)` gives what the first measurement gave during which the machine was calm."""

    def __init__(self):
        self.meter = Meter(LATE_SECONDS)
        self.meter.start()

    def __call__(self, measure):
        told = []
        for _ in range(ATTEMPTS):
            self._wait()
            begin = time.monotonic()
            failure = result = None
            try:
                result = measure()
            except AssertionError as error:
                failure = error
            end = time.monotonic()
            eventually(lambda: self.meter.has_seen(end))
            pace = seconds_of_work() / WORK_SECONDS
            if self.meter.was_calm(begin, end) and pace <= SLOWEST:
                if failure:
                    raise failure
                return result
            told.append(f"{self.meter.stood_still(begin, end):.1f} of {end - begin:.1f} s stood still, pace {pace:.1f}")
        raise AssertionError(f"the machine was never calm: {'; '.join(told)}")

    def _wait(self):
        """Until a second was calm, or for as long as it may take on a machine that has none."""
        begin = time.monotonic()
        with contextlib.suppress(AssertionError):
            eventually(lambda: (now := time.monotonic()) > begin + 1 and self.meter.was_calm(now - 1, now), 2)
