# Tests: Demo.swift, DemoCommand.swift, DemoFeed.swift
"""`livegate demo`: its API and its feed say the same, and it is slow and failing when it is asked to."""

import contextlib
import json
import subprocess
import time

import pytest

from clients import LiveClient
from demo import Demo
from programs import PATIENCE, PROGRAMS, Program, eventually


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """One demo for all tests of this file, with yesterday's incidents."""
    with contextlib.ExitStack() as ending:
        def start(program, *words):
            started = Program(PROGRAMS / program, *words)
            ending.callback(started.end)
            return started
        yield Demo(start, f"--archive={tmp_path_factory.mktemp('demo') / 'archive.db'}")


@pytest.fixture
def client(ends_with_test):
    return lambda demo: ends_with_test(LiveClient(demo, demo.token, **{"with": "at"}))


def test_what_people_do_is_done_once_and_comes_as_an_event(running, client):
    live = client(running)
    incident = running.open_incident()
    path = f"/api/incidents/{incident}"
    # Nobody learns from the answer whether it was done: the key is what counts.
    for words, status in (("?fail=503", 503), ("?fail_after=500", 500), ("", 200), ("", 200)):
        assert running.ask("POST", f"{path}/resolve{words}", Idempotency_Key="k1")[0] == status
    eventually(lambda: [event["type"] for event in live.events if event["id"] == incident].count("resolved") == 1, 30,
               "the event")
    status, header, found = running.ask("GET", path)
    assert (status, found["status"], found["assignee"]) == (200, "resolved", "PUSR0YOU")
    assert running.ask("GET", path, If_None_Match=header["ETag"])[0] == 304
    assert running.ask("POST", f"{path}/acknowledge")[0] == 409
    # The story went on without it.
    note = running.ask("POST", f"{path}/notes", {"content": "Das war's."})[2]["notes"][-1]
    eventually(lambda: any(event["id"] == note["id"] for event in live.events), 30, "the note")
    types = [event["type"] for event in live.events if event["id"] == incident]
    assert types.index("resolved") == len(types) - 2 and types[-1] == "annotated"


def test_the_api_says_what_the_feed_said_and_lets_nobody_else_in(running, client, start):
    live = client(running)
    eventually(lambda: any(event["type"] == "resolved" for event in live.events), 60, "a resolved incident")
    done = next(event["id"] for event in live.events if event["type"] == "resolved")
    assert running.ask("GET", f"/api/incidents/{done}")[2]["status"] == "resolved"
    for token in ("", "wrong"):
        assert running.ask("GET", "/api/incidents", token=token)[0] == 401
    session = running.ask("GET", "/session", token="")[2]
    assert session["token"] == running.token and session["gateway"] + "/live/v1" == running.live
    assert running.ask("GET", "/session", Host="rebound.example")[0] == 421
    # As README has it.
    words = ["curl", "-sS", "-H", f"Authorization: Bearer {running.token}", f"{running.api}/api/incidents?limit=1"]
    listed = json.loads(subprocess.run(words, capture_output=True, check=True, timeout=60 * PATIENCE).stdout)
    assert len(listed["incidents"]) == 1 and set(listed) == {"incidents", "more"}
    status, fields, body = running.get("/")
    assert status == 200 and fields["x-content-type-options"] == "nosniff" and b"<title>Incidents</title>" in body
    # Another demo takes other ports, says so, and has a token of its own.
    port, api_port = (int(address.rpartition(":")[2]) for address in (running.host, running.api))
    second = Demo(start, "--seconds=60", port=port, api_port=api_port)
    assert f"port {port} is in use; the gateway uses another one" in second.program.out
    assert f"port {api_port} is in use; the API uses another one" in second.program.out
    assert second.ask("GET", "/api/incidents")[0] == 200
    assert second.ask("GET", "/api/incidents", token=running.token)[0] == 401


def test_its_archive_shows_what_happened_yesterday(running, run_livecat):
    yesterday = int(time.time() * 1000) - 86_400_000

    def page(*words):
        status, out, _ = run_livecat("--archive", "--limit", "500", *words, "-H",
                                     f"Authorization: Bearer {running.token}", running.live)
        return [json.loads(line) for line in out.splitlines()] if status == 0 else []

    def past():
        return [event for event in page() if event["ts"] <= yesterday]
    eventually(lambda: len({event["id"] for event in past() if event["type"] == "resolved"}) == 6, 60, "yesterday")
    # What came yesterday stands behind what happens now, newest first, and the API knows it.
    events = page()
    assert [event["ts"] for event in events] == sorted((event["ts"] for event in events), reverse=True)
    for incident in {event["id"] for event in past() if event["ent"] == "incident"}:
        types = [event["type"] for event in page("--ent", "incident", "--id", incident)]
        assert (types[0], types[-1]) == ("resolved", "created")
        assert running.ask("GET", f"/api/incidents/{incident}")[2]["status"] == "resolved"


def test_a_broker_that_is_taken_away_is_told_and_comes_back(running, client):
    live = client(running)
    assert running.ask("PUT", "/demo/trouble?broker=down&slow=1")[2]["broker"] == "down"

    def states():
        return [message["source"]["state"] for message in live.messages if "source" in message]
    eventually(lambda: states() == ["stalled"], 60, "that it is told")
    assert running.ask("DELETE", "/demo/trouble")[2] == {"slow": None, "fail": None, "fail_after": None, "broker": "up"}
    eventually(lambda: states() == ["stalled", "live"], 60, "that it is back")
    seen = len(live.events)
    eventually(lambda: len(live.events) > seen, 60, "that the story goes on")
