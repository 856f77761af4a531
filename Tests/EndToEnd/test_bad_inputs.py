# Tests: RequestParser.swift, ControlRecord.swift, ProxyHeaderParser.swift, WebSocketReceiver.swift, TokenVerifier.swift, AdminGate.swift
"""What hostile and broken peers send: each row of the article about security is played over plain connections and over TLS, at
once and byte by byte, all at the same time, and must be answered as the article says. Afterwards nothing is left of them, and
whoever behaves has noticed nothing."""

import contextlib
import json
import re
from collections import Counter

import pytest

from bad_inputs.groups import GROUPS, section
from bad_inputs.stage import CONTROL, PLACES, Stage
from brokers import MockBroker
from programs import PROGRAMS, ROOT, Program, event, eventually, produce

# Its limits are those of an honest build: what the node may have grown by, and how soon a key server is given up.
pytestmark = pytest.mark.unsanitized

ARTICLE = (ROOT / "Sources/Gateway/Gateway.docc/Security.md").read_text()
ROWS = [(group, row) for group in GROUPS for row in group.rows]
# Nobody who is not its account may ever be given this.
SECRET = "only-for-the-victim"
# What a node may have grown by when all are gone: buffers of loops and of the TLS library, and what an allocator keeps.
GROWTH_BYTES = 24 << 20


class Played:
    """A stage on which all rows were played, and what was known of it before."""

    def __init__(self, ending, folder, tokens, certificates, is_secure):
        def keep(thing):
            ending.callback(thing.end)
            return thing

        def start(*command, **options):
            return keep(Program(*command, **options))

        broker = MockBroker(start(PROGRAMS / "mockbroker", "incidents:4", f"{CONTROL}:1"))
        self.bootstrap, self.names = broker.bootstrap, []
        issuers = [f"keys-{number}-{way}" for group in GROUPS if group.way == "keys"
                   for number in range(len(group.rows)) for way in (0, 1)]
        self.stage = Stage(start, keep, folder, tokens, certificates, broker.bootstrap, issuers, is_secure)
        self.victim_gets_one_more()
        self.stage.ask_once()
        self.counted = {node: self.stage.counted(node) for node in self.stage.nodes}
        self.cost = {node: self.stage.cost(node) for node in self.stage.nodes}
        self.outcomes = self.stage.play(GROUPS)

    def victim_gets_one_more(self):
        self.names.append(f"{SECRET}-{len(self.names)}")
        produce(self.bootstrap, "incidents", [event("PVICTIM", self.names[-1])])
        eventually(lambda: self.stage.victim.ids == self.names, 20,
                   lambda: f"{self.names} beside {self.stage.victim.ids}")

    def more(self, node):
        """What the node has counted since."""
        return self.stage.counted(node) - self.counted[node]


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
    assert f"<!-- begin rows: written by Tests/documents -->\n\n{section()}\n\n<!-- end rows -->\n" in ARTICLE, \
        "Security.md is not as the rows are: run Tests/documents"
    # The number stands nowhere else.
    assert len(re.findall(r"\d rows", ARTICLE)) == 1


@WAYS
def test_whoever_behaves_gets_what_is_his_and_nobody_else_does(played, way):
    each = played[way]
    assert not [key for key, outcome in each.outcomes.items() if SECRET.encode() in outcome.received]
    each.victim_gets_one_more()
    assert each.stage.victim.closed is None
    assert {node.status("/livez") for node in each.stage.nodes} == {200}
    # Nobody was led to where a token or an answer points.
    assert not {"/trap", "/active"} & set(each.stage.server.paths())


@WAYS
def test_every_refusal_was_counted(played, way):
    each = played[way]
    # What is answered instead of a handshake of TLS is none of a request.
    ways = {"ask", "keys", "introspect", *(["raw"] if way == "plain" else [])}
    at_door = {group.title for group in GROUPS if group.way in ways}
    wanted = Counter(code for (title, _, _), outcome in each.outcomes.items() if title in at_door for code in outcome.codes)
    counted = each.more(each.stage.door)
    assert {code: counted[f'livegate_handshakes_total{{outcome="{code}"}}'] for code in wanted} == wanted
    assert len(wanted) > 12
    records = Counter(outcome.answer for (title, _, _), outcome in each.outcomes.items() if title == "Control records")
    assert counted["livegate_control_records_rejected_total"] == records["rejected"] > 60
    # Behind a good header it is for TLS or the request to say what is wrong.
    rejected = {row.name for group, row in ROWS if group.title == "PROXY headers" and row.plain is None}
    cut = [key for key, outcome in each.outcomes.items() if key[0] == "PROXY headers" and outcome.answer == "closed"
           and key[1] in rejected]
    assert each.more(each.stage.behind)["livegate_proxy_headers_rejected_total"] == len(cut) > 60
    if way == "tls":
        hellos = [key for key in each.outcomes if key[0] == "Beginnings of TLS"]
        assert counted['livegate_tls_handshakes_total{outcome="failed"}'] == len(hellos) > 60


@WAYS
def test_nothing_is_left_of_them(played, way):
    each = played[way]
    stage = each.stage

    def left(node):
        counted = stage.counted(node)
        open_now = sum(value for name, value in counted.items() if name.startswith("livegate_connections{"))
        return open_now, stage.cost(node)[0] - each.cost[node][0]
    for node in stage.nodes:
        # The one who behaves.
        expected = (1 if node is stage.door else 0, 0)
        eventually(lambda: left(node) == expected, 20, lambda: f"{expected}; {left(node)}")
        counted = stage.counted(node)
        closes = sum(value for name, value in counted.items() if name.startswith("livegate_closes_total"))
        assert counted['livegate_handshakes_total{outcome="accepted"}'] == closes + expected[0]
        growth = stage.cost(node)[1] - each.cost[node][1]
        assert growth <= GROWTH_BYTES, f"{growth >> 10} KiB"
    # All places of a user and of an address are free, but for the one that the other client has.
    assert stage.opened(PLACES) == (PLACES - 1, "429 `too_many`" if way == "plain" else "closed")


@WAYS
def test_no_secret_and_nothing_unreadable_stands_in_the_log(played, way):
    stage = played[way].stage
    secrets = [word for value in [*stage.values.values(), *stage.secrets.values(), "opaque-"] for word in value.split(".")]
    for node in stage.nodes:
        lines = json.dumps(node.log())
        assert len(secrets) > 8 and not [word for word in secrets if word in lines]
        assert not [line for line in node.log() if line["level"] == "error" and "keys" not in line["message"]]
