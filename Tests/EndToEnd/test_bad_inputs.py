# Tests: RequestParser.swift, ProxyHeaderParser.swift, WebSocketReceiver.swift, TokenVerifier.swift, AdminGate.swift
"""What hostile and broken peers send: each row of the article about security is played over plain connections and over TLS, at
once and byte by byte, all at the same time, and must be answered as the article says. Afterwards nothing is left of them, and
whoever behaves has noticed nothing."""

import contextlib
import json
from collections import Counter

import pytest

from bad_inputs.groups import GROUPS
from bad_inputs.stage import PLACES, Stage
from brokers import MockBroker
from programs import PROGRAMS, ROOT, Program, event, eventually, produce

ARTICLE = (ROOT / "Sources/Gateway/Gateway.docc/Security.md").read_text()
ROWS = [(group, row) for group in GROUPS for row in group.rows]
# Nobody who is not its account may ever be given this.
SECRET = "only-for-the-victim"
# What the node may have grown by when all are gone: buffers of loops and of the TLS library, and what an allocator keeps.
GROWTH_BYTES = 24 << 20


class Played:
    """A stage on which all rows were played, and what was known of it before."""

    def __init__(self, ending, folder, tokens, certificates, is_secure):
        def start(*command, **options):
            program = Program(*command, **options)
            ending.callback(program.end)
            return program

        broker = MockBroker(start(PROGRAMS / "mockbroker", "incidents:4"))
        self.is_secure, self.bootstrap, self.names = is_secure, broker.bootstrap, []
        self.stage = Stage(start, folder, tokens, certificates, broker.bootstrap, is_secure)
        ending.callback(self.stage.victim.end)
        self.victim_gets_one_more()
        self.handshakes, self.cost = self.stage.handshakes(), self.stage.cost()
        self.outcomes = self.stage.play(GROUPS)

    def victim_gets_one_more(self):
        self.names.append(f"{SECRET}-{len(self.names)}")
        produce(self.bootstrap, "incidents", [event("PVICTIM", self.names[-1])])
        eventually(lambda: self.stage.victim.ids == self.names, 20, lambda: f"{self.names} beside {self.stage.victim.ids}")


WAYS = pytest.mark.parametrize("way", ["plain", "tls"])


@pytest.fixture(scope="module")
def played(tmp_path_factory, tokens, certificates):
    with contextlib.ExitStack() as ending:
        yield {way: Played(ending, tmp_path_factory.mktemp(way), tokens, certificates, way == "tls")
               for way in ("plain", "tls")}


@pytest.mark.parametrize("group, row", ROWS, ids=[f"{group.title}: {row.name}" for group, row in ROWS])
def test_it_is_answered_as_the_article_says(played, group, row):
    answers = {(way, is_bytewise): each.outcomes[group.title, row.name, is_bytewise].answer
               for way, each in played.items() for is_bytewise in (False, True)}
    assert answers == {(way, is_bytewise): row.expected(way == "tls") for way, is_bytewise in answers}


def tables():
    """The article's rows by the heading above them."""
    found, title = {}, None
    for line in ARTICLE.splitlines():
        if line.startswith("#"):
            title = line.strip("# ")
        elif line.startswith("| ") and title in {group.title for group in GROUPS}:
            found.setdefault(title, []).append(tuple(line[2:-2].split(" | ")))
    return {title: rows[2:] for title, rows in found.items()}


def test_the_article_has_the_rows_that_are_played_and_no_others():
    assert tables() == {group.title: [row.cells for row in group.rows] for group in GROUPS}
    assert len({(group.title, row.name) for group, row in ROWS}) == len(ROWS), "two rows have one name"
    assert all("|" not in cell for _, row in ROWS for cell in row.cells)


@WAYS
def test_whoever_behaves_gets_what_is_his_and_nobody_else_does(played, way):
    each = played[way]
    assert not [key for key, outcome in each.outcomes.items() if SECRET.encode() in outcome.received]
    each.victim_gets_one_more()
    assert each.stage.victim.closed is None and each.stage.door.status("/livez") == 200


@WAYS
def test_every_refusal_was_counted_by_its_code(played, way):
    each = played[way]
    wanted = Counter(code for outcome in each.outcomes.values() for code in outcome.codes)
    counted = each.stage.handshakes() - each.handshakes
    assert {code: counted[code] for code in wanted} == wanted and len(wanted) > 8


@WAYS
def test_nothing_is_left_of_them(played, way):
    each = played[way]

    def left():
        counted = each.stage.counted()
        open_now = {name: value for name, value in counted.items() if name.startswith("livegate_connections{") and value}
        return open_now, each.stage.cost()[0] - each.cost[0]
    # The one who behaves.
    eventually(lambda: left() == ({'livegate_connections{kind="websocket"}': 1}, 0), 20, lambda: f"an end; {left()}")
    counted = each.stage.counted()
    closes = sum(value for name, value in counted.items() if name.startswith("livegate_closes_total"))
    assert counted['livegate_handshakes_total{outcome="accepted"}'] == closes + 1
    growth = each.stage.cost()[1] - each.cost[1]
    assert growth <= GROWTH_BYTES, f"{growth >> 10} KiB"
    # All places of a user and of an address are free, but for the one that the other client has.
    assert each.stage.opened(PLACES) == (PLACES - 1, "429 `too_many`" if way == "plain" else "closed")


@WAYS
def test_no_secret_and_nothing_unreadable_stands_in_the_log(played, way):
    stage = played[way].stage
    lines = json.dumps(stage.door.log())
    secrets = [word for value in [*stage.values.values(), *stage.secrets.values()] for word in value.split(".")]
    assert len(secrets) > 8 and not [word for word in secrets if word in lines]
    assert not [line for line in stage.door.log() if line["level"] == "error"]
