# Tests: ArchiveStores.swift, PostgreSQLArchive.swift, MarkListener.swift
"""Two nodes with one archive in PostgreSQL: pages are equal on both, marks are told between them, and each event stands there
once, whichever node is killed and whenever the database is away."""

import http.client
import json
import signal

import pytest

from clients import LiveClient
from postgres import PostgreSQL
from programs import eventually


@pytest.fixture(scope="module")
def server():
    running = PostgreSQL()
    yield running
    running.end()


@pytest.fixture
def database(server):
    return server.database()


@pytest.fixture
def node(gateway, mock_broker, database):
    return lambda **changes: gateway(mock_broker.bootstrap, archive__store=database.store, **changes)


@pytest.fixture
def token(tokens):
    return tokens.signed("PACC1", sub="PERSON1")


def ask(door, token, path, body=None):
    """Status, and what the body says."""
    link = http.client.HTTPConnection(door.host, timeout=60)
    fields = {"Authorization": f"Bearer {token}", **({"Content-Type": "application/json"} if body else {})}
    link.request("POST" if body else "GET", path, json.dumps(body) if body else None, fields)
    answer = link.getresponse()
    text = answer.read()
    link.close()
    return answer.status, json.loads(text) if answer.status == 200 else None


def ids(door, token):
    """Of the newest page, as they were written; none where it is refused."""
    status, page = ask(door, token, "/archive/v1?order=asc&limit=500")
    return [event["id"] for event in page["events"]] if status == 200 else None


def archive_line(door):
    line, = [line for line in door.asked("/readyz?verbose")[1].splitlines() if "]archive" in line]
    return line


def wait_for(nodes, token, wanted):
    for door in nodes:
        eventually(lambda: sorted(ids(door, token) or []) == sorted(wanted), 40, lambda: f"{wanted} in {ids(door, token)}")


def test_pages_are_equal_on_both_nodes_and_marks_are_told_to_the_other(node, tell, token, database):
    nodes = [node(), node()]
    tell(["a", "b", "c"])
    wait_for(nodes, token, ["a", "b", "c"])
    pages = [ask(door, token, "/archive/v1")[1] for door in nodes]
    assert pages[0]["events"] == pages[1]["events"] and len(pages[0]["events"]) == 3
    clients = [LiveClient(door, token, with_="at") for door in nodes]
    for client in clients:
        client.wait_for_control("live")
    last = pages[0]["events"][0]
    mark = {"ent": last["ent"], "id": last["id"], "aid": last["aid"]}
    # A mark is lost for a node that does not listen yet.
    eventually(lambda: database.rows("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
                                     f" AND datname = '{database.name}'") == [["2"]])
    assert ask(nodes[0], token, "/inbox/v1/read", mark)[0] == 204
    for client in clients:
        assert client.wait_for_control("read") == mark
    assert ask(nodes[1], token, "/inbox/v1/read", mark)[0] == 204
    inboxes = [ask(door, token, "/inbox/v1")[1] for door in nodes]
    assert inboxes[0]["things"] == inboxes[1]["things"]
    assert [thing["unread"] for thing in inboxes[0]["things"]] == [0, 1, 1] and inboxes[0]["unread_things"] == 2
    assert [client.controls("read") for client in clients] == [[mark], [mark]]


def test_what_a_killed_node_wrote_another_one_writes_on(node, tell, token, database):
    nodes = [node(), node()]
    written = []
    for round in range(3):
        for partition in range(4):
            names = [f"{round}-{partition}-{number}" for number in range(20)]
            tell(names, partition=partition)
            written += names
        if round == 1:
            # The one that came first writes all of them.
            nodes[0].program.signal(signal.SIGKILL)
            assert nodes[0].program.wait() == -signal.SIGKILL
            nodes.pop(0)
    wait_for(nodes, token, written)
    counts, = database.rows("SELECT count(*), count(DISTINCT key), (SELECT count(*) FROM livegate_gaps) FROM livegate_events")
    assert counts == [str(len(written)), str(len(written)), "0"]


def test_live_goes_on_while_the_database_is_away_and_the_archive_where_it_was(node, tell, token, database):
    door = node()
    client = LiveClient(door, token)
    tell(["a"])
    written = ["a"]
    wait_for([door], token, written)
    for end in (signal.SIGINT, signal.SIGQUIT):
        database.server.stop(end)
        tell([f"away {end.name}"])
        client.wait_for_id(f"away {end.name}")
        eventually(lambda: archive_line(door).startswith("[-]archive"), 20)
        assert door.status("/readyz") == 200
        assert ask(door, token, "/archive/v1")[0] == ask(door, token, "/inbox/v1")[0] == 503, end
        database.server.start()
        tell([f"back {end.name}"])
        written += [f"away {end.name}", f"back {end.name}"]
        wait_for([door], token, written)
        eventually(lambda: archive_line(door) == "[+]archive ok", 20)
    assert door.log("the archive cannot be written") and door.log("the archive is written again, from where it was")
