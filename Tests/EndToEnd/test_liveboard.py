# Tests: IncidentService.swift, liveboard/Main.swift
"""liveboard on a terminal: what changes by itself, keys, every size; through restarts, lost networks, a failing API, kill -9 and
refused tokens. Each ends in a screen that equals the API."""

import contextlib
import random
import re
import signal
import tempfile

import pytest

from board import Board, Networks
from clients import LiveClient
from demo import Demo
from livecat import Terminal
from programs import PROGRAMS, Program, eventually, run

BACK, ENTER = "b", "\r"


@pytest.fixture(scope="module")
def running():
    """One demo for all tests of this file, with some incidents of yesterday."""
    with contextlib.ExitStack() as ending, tempfile.TemporaryDirectory() as folder:
        def start(program, *words):
            started = Program(PROGRAMS / program, *words)
            ending.callback(started.end)
            return started
        yield Demo(start, f"--archive={folder}/archive.db")


@pytest.fixture
def demo(running):
    yield running
    running.ask("DELETE", "/demo/trouble")


@pytest.fixture
def networks(demo, ends_with_test):
    return ends_with_test(Networks(demo))


@pytest.fixture
def open_board(demo, ends_with_test):
    """Starts boards: `open_board(networks, …)` with words for their command line."""
    return lambda *words, **options: ends_with_test(Board(demo, *words, **options))


def offline(board, networks):
    """Loses the network while a triggered incident is shown, and gives that."""
    for _ in range(20):
        board.connected()
        networks.lose()
        board.until(lambda lines: "connect" in lines[0] and not lines[0].endswith(" connected"), "the sign")
        found = next((name for name, words in board.rows().items() if words[0] in ("triggered", "triggered~")), None)
        if found:
            return found
        networks.restore()
    raise AssertionError("no incident was triggered")


def act_offline(board, networks, key, wanted):
    """Does this to an incident without a network; to another one where an answer was faster."""
    for _ in range(20):
        incident = offline(board, networks)
        board.choose(incident)
        board.terminal.type(key)
        board.until(lambda lines: board.status(incident) == wanted + "*" or "already" in lines[-2], f"{wanted}*")
        if board.status(incident) == wanted + "*":
            board.shows("1 of your changes not sent yet (*).")
            return incident
        networks.restore()
    raise AssertionError("something else was always faster")


def fits(rows, columns):
    return lambda lines: len(lines) == rows and all(len(line) <= columns for line in lines)


def test_it_shows_what_changes_and_acts_by_key_in_every_size(demo, open_board):
    board = open_board(None, "--no-color", rows=24)
    board.connected()
    incident = demo.open_incident()
    board.until(lambda lines: incident in board.rows(lines), "its row")
    board.choose(incident)
    board.terminal.type("r")
    board.until(lambda lines: board.status(incident) == "resolved", "that it is resolved")
    assert demo.ask("GET", f"/api/incidents/{incident}")[2]["status"] == "resolved"
    board.terminal.type(ENTER)
    board.shows(f"{incident}, resolved")
    demo.ask("POST", f"/api/incidents/{incident}/notes", {"content": "Das war's."})
    board.shows("PUSR0YOU: Das war's.", "the note that comes by itself")
    board.terminal.type("nVon hier.\r")
    board.shows("The note was added.")
    board.shows("PUSR0YOU: Von hier.")
    assert [note["content"] for note in demo.ask("GET", f"/api/incidents/{incident}")[2]["notes"]].count("Von hier.") == 1
    board.terminal.type(BACK)
    board.until(lambda lines: incident in board.rows(lines), "the list")
    for rows, columns in ((10, 40), (3, 20), (1, 1), (2, 7), (6, 3), (50, 132), (5, 80), (24, 80)):
        board.terminal.resize(rows, columns)
        board.until(fits(rows, columns), f"{rows} by {columns}")
    board.equals_api()
    assert not re.search(r"\x1b\[[0-9;]+m", board.shown), "no colours"
    assert board.quit() == 0
    assert board.shown.endswith("\x1b[?7h\x1b[?25h\x1b[?1049l") and board.terminal.is_restored()


def test_a_list_of_more_than_a_page_is_whole_and_takes_each_size_while_it_changes(demo, open_board, ends_with_test):
    networks = ends_with_test(Networks(demo, small_pages=True))
    board = open_board(networks)
    sizes = random.Random(1)

    def count():
        return len(demo.ask("GET", "/api/incidents?limit=100")[2]["incidents"])
    # More than two pages, and two that come while it is drawn.
    wanted = max(count() + 2, 11)

    def is_long():
        rows, columns = sizes.randint(1, 60), sizes.randint(1, 140)
        board.terminal.resize(rows, columns)
        board.until(fits(rows, columns), f"{rows} by {columns}")
        return count() >= wanted
    eventually(is_long, 60, "more than two pages")
    assert b"limit=25" in networks.api.sent, "pages have another length: Network makes no small ones of them"
    board.terminal.resize(120, 80)
    board.equals_api()
    # The oldest one, beyond the end of a screen.
    board.terminal.resize(10, 80)
    oldest = demo.ask("GET", "/api/incidents?order=oldest&limit=1")[2]["incidents"][0]["id"]
    board.choose(oldest)
    board.equals_api()


def test_it_goes_on_after_the_gateway_was_killed_and_shows_its_store_as_old_after_a_restart(demo, networks, open_board, tmp_path):
    store = ["--store", tmp_path / "board"]
    board = open_board(networks, *store)
    board.equals_api()
    before = board.rows()
    demo.program.signal(signal.SIGKILL)
    assert demo.program.wait(30) == -signal.SIGKILL
    board.until(lambda lines: "connect since" in lines[0] and "(old state of " in lines[0], "the sign")
    assert set(board.rows()) >= set(before)
    demo.run()
    networks.restore()
    # Another token, another book and another log: what the machine had is old.
    board.equals_api()
    shown = set(board.rows())
    board.terminal.type("\x03")
    assert board.finish() == 0
    networks.lose()
    # Other incidents, and a log in which the finger of the store has no place.
    demo.stop()
    demo.run()
    board = open_board(networks, *store)
    board.until(lambda lines: "(old state of " in lines[0] and set(board.rows(lines)) & shown, "the last state")
    networks.restore()
    board.equals_api()
    # It belongs to this address alone.
    other = Terminal("http://127.0.0.1:1/", *store, program="liveboard")
    try:
        assert other.finish() == 65 and "it is left as it is" in other.shown
    finally:
        other.end()


def test_what_is_done_without_a_network_outlives_kills_and_is_done_once_or_undone(
        demo, networks, open_board, ends_with_test, tmp_path):
    live = ends_with_test(LiveClient(demo, demo.token, with_="at"))
    store = ["--store", tmp_path / "board"]
    board = open_board(networks, *store)
    incident = act_offline(board, networks, "r", "resolved")
    before = set(board.rows())
    board.kill()
    # Nobody answers: the last state is there, as old, and what was done.
    board = open_board(networks, *store)
    board.until(lambda lines: "(old state of " in lines[0] and board.status(incident) == "resolved*", "the last state")
    assert set(board.rows()) == before
    # It is done, and each answer is lost.
    demo.ask("PUT", "/demo/trouble?fail_after=503")
    path = f"/api/incidents/{incident}/resolve"
    networks.restore()
    eventually(lambda: networks.api.keys(path), 60, "that it was sent")
    board.kill()
    board = open_board(networks, *store)
    eventually(lambda: len(networks.api.keys(path)) > 2, 120, "that it was sent again")
    demo.ask("DELETE", "/demo/trouble")
    board.until(lambda lines: board.status(incident) == "resolved" and "not sent yet" not in lines[-2], "that the board knows")
    board.equals_api()
    assert len(set(networks.api.keys(path))) == 1
    assert [event["type"] for event in live.events if event["id"] == incident].count("resolved") == 1
    # Somebody else is faster: then it is undone.
    incident = act_offline(board, networks, "a", "acknowledged")
    demo.ask("POST", f"/api/incidents/{incident}/resolve")
    networks.restore()
    board.shows(f"Your change of {incident} is undone: somebody has resolved it.")
    board.until(lambda lines: board.status(incident) == "resolved", "what is true")
    board.equals_api()
    assert board.quit() == 0


def first(*words):
    """That the first line of a screen has these words."""
    return lambda lines: all(word in lines[0] for word in words)


# What is asked of the demo, the key that is pressed then, and what a screen shows of it, with an incident's details or without.
TROUBLES = {
    "the API fails": ("fail=503", "", first("connecting since", "(old state of ")),
    "the API is slow": ("slow=10000", "u", first("connecting since")),
    "the source is silent": ("broker=down", "", first("no news since")),
    "the token is refused": ("fail=401", "", first("token refused since")),
}
DETAILS = {"404": "is gone.", "403": "may not be seen by you any more."}


def test_it_shows_each_trouble_and_goes_on_after_it(demo, open_board):
    board = open_board(None)
    board.equals_api()
    for name, (trouble, key, is_shown) in TROUBLES.items():
        demo.ask("PUT", f"/demo/trouble?{trouble}")
        board.terminal.type(key)
        board.until(is_shown, name)
        incident = demo.open_incident() if trouble == "broker=down" else None
        if incident:
            demo.ask("POST", f"/api/incidents/{incident}/resolve")
        demo.ask("DELETE", "/demo/trouble")
        if trouble == "fail=401":
            # Nothing but a key asks for another token.
            board.terminal.type("u")
        if incident:
            board.until(lambda lines: board.status(incident) == "resolved", "what happened meanwhile")
        board.equals_api()
    for answer, words in DETAILS.items():
        incident = demo.open_incident()
        board.until(lambda lines: incident in board.rows(lines), "its row")
        board.choose(incident)
        board.terminal.type(ENTER)
        board.until(lambda lines: lines[3].startswith(f"{incident}, ") and "Notes are being fetched." not in lines, "the details")
        demo.ask("PUT", f"/demo/trouble?fail={answer}")
        board.terminal.type("u")
        board.shows(f"{incident} {words}")
        demo.ask("DELETE", "/demo/trouble")
        board.terminal.type(BACK)
        board.equals_api()


def test_without_a_terminal_or_a_demo_it_says_so(ends_with_test):
    status, out, err = run("liveboard")
    assert (status, out) == (64, "") and "no terminal" in err
    alone = ends_with_test(Terminal("http://127.0.0.1:1/", program="liveboard"))
    assert alone.finish() == 69 and "no demo at http://127.0.0.1:1" in alone.shown
    assert run("liveboard", "--help")[1].startswith("Usage: liveboard ")
