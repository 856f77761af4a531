# Tests: IncidentService.swift, liveboard/Main.swift
"""liveboard on a terminal: a list and details that change by themselves, keys, every size, restarts, and what it leaves."""

import re

import pytest

from demo import Demo
from livecat import Terminal
from programs import eventually, run


class Board:
    def __init__(self, demo):
        self.demo = demo
        self.terminal = Terminal(demo.page, program="liveboard")

    def lines(self):
        """The last whole screen that was drawn."""
        self.terminal._read(0.05)
        frames = re.findall(r"\x1b\[H((?:(?!\x1b\[H).)*?)\x1b\[J", self.terminal.shown, re.DOTALL)
        return frames[-1].replace("\x1b[K", "").split("\r\n") if frames else []

    def until(self, condition, what, within=60):
        return eventually(lambda: condition(self.lines()), within, lambda: f"{what}; {self.lines()}")

    def resolve(self):
        """Chooses an incident and resolves it by keys; the next one where the story was faster with the first."""
        tried = []
        while len(tried) < 20:
            incident = self.demo.open_incident(besides=tried)
            self.until(lambda lines: row(lines, incident), "its row")

            # Down to it: others may come meanwhile, and what is chosen stays chosen.
            def chosen(lines):
                if (row(lines, incident) or "").startswith("> "):
                    return True
                self.terminal.type("j")
                return False
            self.until(chosen, "that it is chosen")
            self.terminal.type("r")
            self.until(lambda lines: any(line.startswith(f"{incident}: ") for line in lines), "an answer")
            if f"{incident}: resolved." in self.lines():
                return incident
            tried.append(incident)
        raise AssertionError("somebody else was always faster")

    def end(self):
        self.terminal.end()


@pytest.fixture
def demo(start):
    return Demo(start)


@pytest.fixture
def board(demo, ends_with_test):
    return ends_with_test(Board(demo))


def row(lines, incident):
    return next((line for line in lines if line[2:].startswith(incident)), None)


def test_it_shows_what_changes_and_acts_by_key_in_every_size(demo, board):
    board.until(lambda lines: lines and lines[0].endswith(" connected"), "the connection")
    incident = board.resolve()
    assert demo.ask("GET", f"/api/incidents/{incident}")[2]["assignee"] == "PUSR0YOU"
    board.terminal.type("\r")
    board.until(lambda lines: any(line.startswith(f"{incident}, resolved") for line in lines), "the details")
    demo.ask("POST", f"/api/incidents/{incident}/notes", {"content": "Das war's."})
    board.until(lambda lines: "PUSR0YOU: Das war's." in lines, "the note that comes by itself")
    board.terminal.type("b")
    for rows, columns in ((10, 40), (3, 20), (50, 132), (24, 80)):
        board.terminal.resize(rows, columns)
        board.until(lambda lines: len(lines) == rows and all(len(line) <= columns for line in lines), f"{rows} by {columns}")
    assert not re.search(r"\x1b\[[0-9;]*m", board.terminal.shown), "no colours"
    board.terminal.type("q")
    assert board.terminal.finish() == 0
    assert board.terminal.shown.endswith("\x1b[?25h\x1b[?1049l") and board.terminal.is_restored()


def test_it_goes_on_after_a_restart_and_ends_at_a_signal(demo, board):
    board.until(lambda lines: lines and lines[0].endswith(" connected"), "the connection")
    before = board.lines()[2:]
    demo.stop()
    board.until(lambda lines: "connect for" in lines[0] or "connecting" in lines[0], "the sign")
    assert before[0][2:10] in "".join(board.lines())
    demo.run()
    board.until(lambda lines: lines[0].endswith(" connected"), "the connection")

    def same(lines):
        listed = demo.ask("GET", "/api/incidents?limit=15")[2]["incidents"]
        return all(row(lines, incident["id"]) and incident["status"] in row(lines, incident["id"]) for incident in listed)
    board.until(same, "the same as the API has")
    board.terminal.type("\x03")
    assert board.terminal.finish() == 0


def test_without_a_terminal_or_a_demo_it_says_so(ends_with_test):
    status, out, err = run("liveboard")
    assert (status, out) == (64, "") and "no terminal" in err
    alone = ends_with_test(Terminal("http://127.0.0.1:1/", program="liveboard"))
    assert alone.finish() == 69 and "no demo at http://127.0.0.1:1" in alone.shown
    assert run("liveboard", "--help")[1].startswith("Usage: liveboard ")
