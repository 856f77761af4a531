# Tests: Connection.swift, ConnectionPhase.swift
"""Nothing that a peer does is without a bound: in each phase of a connection, in each form, over plain connections and TLS,
some write for ever and never read, some read a byte a second, some do neither. The gateway's memory stays within a constant
for each, the others get everything meanwhile, and all of them are ended."""

import contextlib
import itertools
import threading

import pytest

from brokers import MockBroker
from clients import EventStream, LiveClient, Sync
from gateway import launch
from hostile import FORMS, MANNERS, PHASES, Hostile, ports_open_at
from processes import private_bytes
from programs import PATIENCE, PROGRAMS, Program, event, eventually, produce

pytestmark = pytest.mark.unsanitized

PEERS_OF_EACH = 4
# What a connection may cost: pages and records under way, pending bytes, TLS; of /sync/v1 one answer, which here is
# more than a kernel keeps. What they all may: buffers of loops and of librdkafka, and what an allocator keeps.
BYTES_EACH = {"websocket": 512 << 10, "event stream": 512 << 10, "sync": 8 << 20}
BYTES_FOR_ALL = 16 << 20
# Events of 300 bytes, more than both kernels hold for a connection.
EVENTS = 15_000
# So many are written before the gateway has read them: what it holds of a burst is not what a peer costs, and the embedded
# broker keeps 5 MB of a partition.
EVENTS_AT_ONCE = 1_000
# As short as can be: no peer may stay much longer than the longest of them. Those who behave are Python threads beside
# the peers' own, and may be late with a pong by more than a second when the machine is busy.
LIMITS = {"handshake_timeout": "2s", "max_lag": "1s", "ping_interval": "500ms", "pong_timeout": "6s", "max_wait": "2s",
          "max_sync_events": 10_000}
ENDED_WITHIN = 30


ROWS = list(itertools.product(PHASES, FORMS))


class Stage:
    """A gateway, the account PACC1 of the peers, and two clients of PACC2, who behave."""

    def __init__(self, ending, folder, tokens, certificates, way):
        def start(*command, **options):
            program = Program(*command, **options)
            ending.callback(program.end)
            return program

        self.tokens = tokens
        self.context = certificates.client() if way == "tls" else None
        self.broker = MockBroker(start(PROGRAMS / "mockbroker", "incidents:4"))
        self.door = launch(start, folder, tokens, self.broker.bootstrap, limits=LIMITS,
                           history={"max_events_per_account": 3 * EVENTS},
                           **({"tls": certificates.settings["ecdsa"]} if way == "tls" else {}))
        token = tokens.token("PACC2")
        self.others = [LiveClient(self.door, token, self.context, with_="at"),
                       EventStream(self.door, token, context=self.context)]
        self.others[0].wait_for_control("live")
        self.others[1].wait_for("live")
        for other in self.others:
            ending.callback(other.end)
        self.names = []
        # The log of PACC1 is full when memory is first measured; behind the cursor `begin` come so many events, behind
        # `now` none.
        self.now = None
        self.write_many(2 * EVENTS)
        self.write_many(EVENTS)

    def others_get_one_more(self):
        self.names.append(f"event {len(self.names)}")
        produce(self.broker.bootstrap, "incidents", [event("PACC2", self.names[-1])])
        for other in self.others:
            eventually(lambda: other.ids == self.names, 20, lambda: f"{self.names[-1]} for the {type(other).__name__} "
                       f"behind {other.ids[-3:]}; closed {self.others[0].closed}, ended {self.others[1].has_ended}")

    def write_many(self, count=EVENTS):
        for _ in range(0, count, EVENTS_AT_ONCE):
            produce(self.broker.bootstrap, "incidents",
                    [event("PACC1", f"{number:0200}", "x" * 60) for number in range(EVENTS_AT_ONCE)])
            self.others_get_one_more()
        asking = Sync(self.door, self.tokens.token("PACC1"), self.context)
        self.begin, self.now = self.now, asking.page()["at"]
        asking.end()


@pytest.fixture(scope="module", params=["plain", "tls"])
def stage(request, tmp_path_factory, tokens, certificates):
    with contextlib.ExitStack() as ending:
        yield Stage(ending, tmp_path_factory.mktemp("stage"), tokens, certificates, request.param)


class Peak:
    """The most private memory that a process has had since."""

    def __init__(self, pid):
        self.pid, self.stopping = pid, threading.Event()
        self.first = self.most = private_bytes(pid)
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self):
        while not self.stopping.wait(0.05):
            self.most = max(self.most, private_bytes(self.pid))

    @property
    def growth(self):
        return self.most - self.first

    def end(self):
        self.stopping.set()
        self.thread.join()


@pytest.mark.parametrize("phase, form", ROWS)
def test_a_peer_costs_no_more_than_a_constant_and_is_ended_while_others_are_served(
        stage, ends_with_test, record_property, phase, form):
    expiring = ["--expires", "2s"] if (phase, form) == ("ending", "event stream") else []
    token = stage.tokens.token("PACC1", *expiring)
    host = stage.door.host
    peak = ends_with_test(Peak(stage.door.program.pid))
    peers = [ends_with_test(Hostile(host, form, phase, manner, token, stage.begin, stage.now, stage.context))
             for manner, _ in itertools.product(MANNERS, range(PEERS_OF_EACH))]
    for peer in peers:
        assert peer.has_begun.wait(20 * PATIENCE), peer.name
    if phase in ("open", "joining"):
        stage.write_many()
    still_there = {peer.port: peer for peer in peers}

    def are_ended():
        # The others get each event, one after the other, whatever the peers do meanwhile.
        stage.others_get_one_more()
        for port in still_there.keys() - ports_open_at(host):
            del still_there[port]
        return not still_there

    eventually(are_ended, ENDED_WITHIN,
               lambda: f"the end of {sorted({peer.name for peer in still_there.values()})}, "
                       f"{len(still_there)} of {len(peers)}; the node grew by {peak.growth >> 20} MiB")
    record_property("growth", f"{peak.growth >> 10} KiB")
    assert peak.growth <= BYTES_FOR_ALL + BYTES_EACH[form] * len(peers), f"{peak.growth >> 20} MiB for {len(peers)} peers"
    assert stage.others[0].closed is None and not stage.others[1].has_ended, "those who behave were ended too"
