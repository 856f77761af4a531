"""The count of returns in Tests/Storms: it finds a second with too many, and none where the machine alone was late."""

import sys

import pytest

from programs import ROOT

sys.path.append(str(ROOT / "Tests/Storms"))

from seconds import fullest_second  # noqa: E402

EVEN = [number / 64 for number in range(1000)]
# Those who were due while this process stood still from 5 to 6 come at 6.
LATE = [max(moment, 6) if moment >= 5 else moment for moment in EVEN]


@pytest.mark.parametrize("times, stalls, of_node, expected", [
    ([], [], [], (0, 0)),
    (EVEN, [], [], (64, 64)),
    # Wherever the second begins.
    ([0, 0.4, 0.9, 1.1, 1.2, 5], [], [], (4, 4)),
    (EVEN + 100 * [7.5], [], [], (164, 164)),
    (LATE, [], [], (128, 128)),
    (LATE, [(6, 1)], [], (128, 64)),
    # A stall elsewhere excuses nothing.
    (LATE, [(9, 1)], [], (128, 128)),
    (LATE, [], [(5.5, 1)], (128, 128 / 1.2)),
    (LATE, [], [(0.5, 1)], (128, 128)),
])
def test_the_fullest_second(times, stalls, of_node, expected):
    assert fullest_second(times, stalls, of_node, retry=5) == pytest.approx(expected)
