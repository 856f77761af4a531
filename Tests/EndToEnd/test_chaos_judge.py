"""The judges of Tests/Chaos: they find what is wrong with a record of a client or an app, and nothing where nothing is."""

import sys

import pytest

from programs import ROOT

sys.path.append(str(ROOT / "Tests/Chaos"))

from appjudge import action_faults, screen_faults  # noqa: E402
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


TRUTH = [{"id": f"B1-{number}", "number": number, "mark": "", "version": 1} for number in range(30, 0, -1)]
ROWS = [{"id": incident["id"], "mark": "", "version": 1} for incident in TRUTH]
OTHER = {"id": "B2-1", "mark": "", "version": 1}


def an_app(rows=ROWS[:20], is_known=True, stored=(), taken=(), told=(), pending=(), **details):
    return {"name": "app", "account": "B1", "state": "live", "list": {"rows": list(rows), "isKnown": is_known},
            "details": details or None, "isCalm": True, "stored": list(stored), "pending": list(pending), "taken": list(taken), "told": list(told)}


@pytest.mark.parametrize("report, truth, kinds", [
    (an_app(), TRUTH, []),
    (an_app(ROWS[:24]), TRUTH, []),
    (an_app(ROWS[:19]), TRUTH, ["list"]),
    (an_app(ROWS[:19]), TRUTH[:19], []),
    (an_app(ROWS), TRUTH[:29], ["list"]),
    (an_app([]), [], []),
    (an_app(ROWS[1:22]), TRUTH, ["list"]),
    (an_app([{**ROWS[0], "version": 2}, *ROWS[1:20]]), TRUTH, ["list"]),
    (an_app([{**ROWS[0], "mark": "x"}, *ROWS[1:20]]), TRUTH, ["list"]),
    (an_app(is_known=False), TRUTH, ["old"]),
    ({**an_app(), "list": None}, TRUTH, ["old"]),
    (an_app(id="B1-7", row=ROWS[23], isKnown=True), TRUTH, []),
    (an_app(id="B1-7", row=ROWS[23], isKnown=False), TRUTH, ["old"]),
    (an_app(id="B1-7", row=ROWS[22], isKnown=True), TRUTH, ["details"]),
    (an_app(id="B1-7", isKnown=True), TRUTH, ["details"]),
    (an_app(id="B1-31", isKnown=True), TRUTH, []),
    (an_app(id="B1-31", row=ROWS[0], isKnown=True), TRUTH, ["details"]),
    (an_app(stored=[ROWS[0], ROWS[29]]), TRUTH, []),
    (an_app(stored=[{**ROWS[0], "version": 0}]), TRUTH, ["stored"]),
    (an_app(stored=[OTHER]), TRUTH, ["stored", "foreign"]),
])
def test_it_judges_what_an_app_shows(report, truth, kinds):
    assert [kind for kind, _ in screen_faults(report, truth)] == kinds


def taken(value="m", identity="B1-1", is_untold=False, is_trying=False):
    return {"id": identity, "value": value, "isUntold": is_untold, "isTrying": is_trying}


def arrived(status=200, value="m", key="k", account="B1", identity="B1-1"):
    return {"key": key, "account": account, "id": identity, "value": value, "status": status}


def told(status=409, value="m"):
    return {"value": value, "status": status}


@pytest.mark.parametrize("report, results, kinds", [
    (an_app(), [], []),
    (an_app(taken=[taken()]), [arrived()], []),
    (an_app(taken=[taken()], told=[told()]), [arrived(409)], []),
    (an_app(taken=[taken()]), [], ["lost"]),
    ({**an_app(), "isCalm": False}, [], ["stuck"]),
    (an_app(taken=[taken()], pending=["m"]), [], ["kept"]),
    (an_app(taken=[taken()]), [arrived(), arrived(key="other")], ["twice"]),
    (an_app(taken=[taken()]), [arrived(409)], ["untold"]),
    (an_app(taken=[taken(is_untold=True)]), [arrived(409)], []),
    (an_app(taken=[taken(), taken("n")]), [arrived(409), arrived(value="n", key="l")], []),
    (an_app(taken=[taken(), taken("n")]), [arrived(), arrived(409, "n", "l")], ["untold"]),
    (an_app(taken=[taken(), taken("n", "B1-2")]), [arrived(409), arrived(value="n", key="l", identity="B1-2")], ["untold"]),
    (an_app(taken=[taken(is_untold=True)]), [], ["lost"]),
    (an_app(taken=[taken(is_trying=True)]), [], []),
    (an_app(taken=[taken(is_trying=True)]), [arrived(), arrived(key="other")], ["twice"]),
    (an_app(taken=[taken()], told=[told()]), [arrived()], ["told"]),
    (an_app(taken=[taken()], told=[told()]), [], ["told"]),
    (an_app(taken=[taken()], told=[told(404)]), [arrived(409)], ["told"]),
    (an_app(taken=[taken(), taken("n")]), [arrived(value="n")], []),
    (an_app(taken=[taken(), taken("n")]), [arrived()], ["lost"]),
    (an_app(taken=[taken(), taken("n", "B1-2")]), [arrived(value="n", identity="B1-2")], ["lost"]),
    (an_app(taken=[taken()]), [arrived(identity="B1-2")], ["foreign"]),
    (an_app(taken=[taken()]), [arrived(account="B2")], ["foreign"]),
    (an_app(told=[told()]), [], ["invented"]),
    (an_app(told=[told(401, "")]), [], ["invented"]),
    (an_app(), [arrived()], ["invented"]),
])
def test_it_judges_what_became_of_actions(report, results, kinds):
    assert [kind for kind, _ in action_faults([report], results)] == kinds
