"""The judge of Tests/Chaos: it finds what is wrong with a client's record, and nothing where nothing is."""

import sys

import pytest

from programs import ROOT

sys.path.append(str(ROOT / "Tests/Chaos"))

from judge import faults  # noqa: E402

POSITIONS = {"0": {f"A.0-{number}": number - 1 for number in (1, 2, 3)}, "4": {"A.4-1": 0}}
WHOLE = ["A.0-1", "A.4-1", "A.0-2", "A.0-3"]


@pytest.mark.parametrize("streams, kinds", [
    ([WHOLE], []),
    ([WHOLE[:2], WHOLE[2:]], []),
    ([WHOLE[:3], WHOLE[2:]], []),
    ([WHOLE, WHOLE], []),
    ([], ["incomplete", "incomplete"]),
    ([WHOLE[:3]], ["incomplete"]),
    ([WHOLE[:2], WHOLE[3:]], ["gap"]),
    ([WHOLE[2:] + WHOLE[1:2]], ["gap"]),
    ([["A.0-1", "A.0-3", "A.4-1"]], ["order"]),
    ([["A.0-1", "A.0-1", "A.0-2", "A.0-3", "A.4-1"]], ["order"]),
    ([["A.0-1", "A.0-3", "A.0-2", "A.0-3", "A.4-1"]], ["order", "order"]),
    ([WHOLE + ["B.0-9"]], ["foreign"]),
    ([["A.0-1", None, "A.0-3", "A.4-1"]], []),
    ([["A.0-1"], [None], ["A.0-3", "A.4-1"]], []),
])
def test_it_judges_what_a_client_was_told(streams, kinds):
    record = {"account": "A", "form": "ws", "streams": streams}
    assert [kind for kind, _ in faults(record, POSITIONS, set())] == kinds
