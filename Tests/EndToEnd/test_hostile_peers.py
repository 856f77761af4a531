# Tests: Connection.swift, ConnectionPhase.swift
"""Nothing that a peer does is without a bound: in each phase of a connection, in each form, over plain connections and TLS,
some write for ever and never read, some read a byte a second, some do neither. The gateway's memory stays within a constant
for each, the others get everything meanwhile, and all of them are ended."""

import contextlib
import itertools
import threading
import time

import pytest

from asker import Asker
from brokers import MockBroker
from clients import EventStream, LiveClient, Sync
from gateway import launch
from hostile import FORMS, MANNERS, PHASES, Hostile, ports_open_at
from processes import private_bytes
from programs import PATIENCE, PROGRAMS, Program, event, eventually, produce

pytestmark = pytest.mark.unsanitized

PEERS_OF_EACH = 2
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
WAYS = ("plain", "tls")


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


class Node:
    """A gateway for the peers of one form, all of the account PACC1, and two clients of PACC2, who behave."""

    def __init__(self, stage, way, form):
        self.stage, self.form = stage, form
        self.context = stage.certificates.client() if way == "tls" else None
        self.door = launch(stage.start, stage.folder, stage.tokens, stage.broker.bootstrap, limits=LIMITS,
                           history={"max_events_per_account": 3 * EVENTS},
                           **({"tls": stage.certificates.settings["ecdsa"]} if way == "tls" else {}))
        token = stage.tokens.token("PACC2")
        self.others = [stage.keep(LiveClient(self.door, token, self.context, with_="at")),
                       stage.keep(EventStream(self.door, token, context=self.context))]
        self.others[0].wait_for_control("live")
        self.others[1].wait_for("live")
        # The log of PACC1 is full when memory is first measured; behind the cursor `begin` come so many events, behind
        # `now` none.
        self.begin = self.now = None
        self.peers, self.growth, self.left = {}, {}, {}

    def ask(self):
        asking = Sync(self.door, self.stage.token, self.context)
        self.begin, self.now = self.now, asking.page()["at"]
        asking.end()

    def meet_peers(self, phase):
        self.peers = {}
        for manner, _ in itertools.product(MANNERS, range(PEERS_OF_EACH)):
            self.meet(phase, manner)

    def meet(self, phase, manner):
        token = self.stage.disconnected if (phase, self.form) == ("ending", "event stream") else self.stage.token
        peer = self.stage.keep(Hostile(self.door.host, self.form, phase, manner, token, self.begin, self.now, self.context))
        self.peers[peer.port] = peer

    def replace_late(self, phase):
        """Whether all have come to the phase. Others begin for those that were given up before, on a machine that stood still."""
        late = [peer for peer in self.peers.values() if peer.has_begun.is_set() and not peer.has_come]
        for peer in late:
            del self.peers[peer.port]
            self.meet(phase, peer.manner)
        if late:
            self.disconnect_some(phase)
        return not late and all(peer.has_come for peer in self.peers.values())

    def disconnect_some(self, phase):
        """Event streams end when their server says so."""
        if (phase, self.form) == ("ending", "event stream"):
            told = [peer for peer in self.peers.values() if not peer.has_begun.is_set()]

            def all_are_there():
                # But those who were given up before, on a machine that stood still.
                there = self.door.asked("/admin/connections?account=PACC3")[1].splitlines()
                return len(there) + sum(peer.failure is not None for peer in told) >= len(told)
            eventually(all_are_there, 20, "those who are to be told")
            asker = Asker(self.door.admin)
            asker.json("/admin/disconnect?account=PACC3", "POST")
            asker.close()

    def forget_ended(self):
        for port in self.peers.keys() - ports_open_at(self.door.host):
            del self.peers[port]


class Stage:
    """A node for each way and form, behind one broker; the peers of all phases have come and gone when it is there."""

    def __init__(self, ending, folder, tokens, certificates):
        self.ending, self.folder, self.tokens, self.certificates = ending, folder, tokens, certificates
        self.token, self.disconnected = tokens.token("PACC1"), tokens.token("PACC3")
        self.broker = MockBroker(self.start(PROGRAMS / "mockbroker", "incidents:4"))
        self.nodes = {(way, form): Node(self, way, form) for way, form in itertools.product(WAYS, FORMS)}
        self.names = []
        for count in (2 * EVENTS, EVENTS):
            self.write_many(count)
            for node in self.nodes.values():
                node.ask()
        for phase in PHASES:
            self.go_through(phase)

    def go_through(self, phase):
        """All peers of a phase, at all nodes at once, until they are ended or should be."""
        peaks = {node: self.keep(Peak(node.door.program.pid)) for node in self.nodes.values()}
        for node in self.nodes.values():
            node.meet_peers(phase)
        for node in self.nodes.values():
            node.disconnect_some(phase)
        for node in self.nodes.values():
            eventually(lambda: node.replace_late(phase), 20, f"that peers come to {phase}")
        if phase in ("open", "joining"):
            # They have far more before them than a kernel holds.
            self.write_many(EVENTS)
        end = time.monotonic() + ENDED_WITHIN * PATIENCE
        while any(node.peers for node in self.nodes.values()) and time.monotonic() < end:
            # The others get each event, one after the other, whatever the peers do meanwhile.
            self.others_get_one_more()
            for node in self.nodes.values():
                node.forget_ended()
        for node, peak in peaks.items():
            peak.end()
            node.growth[phase] = peak.growth
            node.left[phase] = sorted(peer.name for peer in node.peers.values())

    def keep(self, thing):
        self.ending.callback(thing.end)
        return thing

    def start(self, *command, **options):
        return self.keep(Program(*command, **options))

    def others_get_one_more(self):
        self.names.append(f"event {len(self.names)}")
        produce(self.broker.bootstrap, "incidents", [event("PACC2", self.names[-1])])
        for (way, form), node in self.nodes.items():
            for other in node.others:
                eventually(lambda: other.ids == self.names, 20,
                           lambda: f"{self.names[-1]} for the {type(other).__name__} beside {form}, {way}, behind "
                           f"{other.ids[-3:]}; closed {node.others[0].closed}, ended {node.others[1].has_ended}")

    def write_many(self, count):
        for _ in range(0, count, EVENTS_AT_ONCE):
            produce(self.broker.bootstrap, "incidents",
                    [event("PACC1", f"{number:0200}", "x" * 60) for number in range(EVENTS_AT_ONCE)])
            self.others_get_one_more()


@pytest.fixture(scope="module")
def stage(tmp_path_factory, tokens, certificates):
    with contextlib.ExitStack() as ending:
        yield Stage(ending, tmp_path_factory.mktemp("stage"), tokens, certificates)


@pytest.mark.parametrize("way, form, phase", list(itertools.product(WAYS, FORMS, PHASES)))
def test_a_peer_costs_no_more_than_a_constant_and_is_ended_while_others_are_served(stage, record_property, way, form, phase):
    node, count = stage.nodes[way, form], len(MANNERS) * PEERS_OF_EACH
    growth, left = node.growth[phase], node.left[phase]
    record_property("growth", f"{growth >> 10} KiB")
    assert not left, f"{len(left)} of {count} were not ended; the node grew by {growth >> 20} MiB"
    assert growth <= BYTES_FOR_ALL + BYTES_EACH[form] * count, f"{growth >> 20} MiB for {count} peers"
    assert node.others[0].closed is None and not node.others[1].has_ended, "those who behave were ended too"
