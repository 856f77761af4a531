"""Connections of all kinds come and leave in all ways, through PROXY headers, half of them with TLS.

Afterwards nothing of them is left: descriptors, memory, counters and places in limits are where they were, and the sums of the
metrics hold.
"""

import contextlib
import itertools
import threading
import time
import types

from brokers import MockBroker
from certificates import Certificates
from gateway import launch, static_tokens
from holdings import Holdings
from metrics import scrape, total
from processes import descriptors, kinds_of_files, private_bytes
from programs import PROGRAMS, eventually
from visitor import Visitor, cursor, hold
from wire import upgrade

RATE, WORKERS = 500, 48
# Some of those who come at once find no place.
PER_SUBJECT, NODE, HELD = 12, 30, 6
# Of each door. What is kept costs a kilobyte a connection at least, and with TLS many.
SLACK_BYTES = 1 << 20
# The same of what the program still holds, which no allocator blurs: blocks, and their bytes. The charts of the status page take
# six blocks a second, also where nobody comes, for as many seconds as they go back; a connection in thirty would be seen beside them.
SLACK_HELD, CHART_HELD, CHART_SECONDS = (100, 64 << 10), (8, 2 << 10), 660
# The allocator's pages still grow once or twice after the first 10,000 connections with TLS, by a mebibyte and whether 120,000
# come or 300,000; what is kept of each connection grows in every turn. So many turns are played at least, and at most until one of
# them leaves nothing.
WARM_SECONDS = {"short": 4, "long": 60}
TURNS = {"short": (1, 8), "long": (4, 8)}
# Complete, and none that may begin a connection.
BAD_HEADERS = [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"PROXY TCP4 203.0.113.300 192.0.2.1 5000 443\r\n",
               b"\r\n\r\n\0\r\nQUIT\n\x41\x11\0\x0c" + 12 * b"\1"]
HEADERS = [b"PROXY TCP4 203.0.113.7 192.0.2.1 5000 443\r\n", b"PROXY UNKNOWN\r\n",
           b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes([203, 0, 113, 9, 192, 0, 2, 1]) + b"\x13\x88\x01\xbb"]


class Door:
    """A node, and visitors by each kind of header."""

    def __init__(self, stage, broker, certificates, is_secure):
        self.name = "tls" if is_secure else "plain"
        self.holdings = Holdings(stage.folder, self.name)
        tokens = static_tokens(stage.folder, ["PACC1", "PACC2"])
        tokens.write_text(tokens.read_text().replace('account: "PACC1"', 'account: "PACC1", subject: "churn"'))
        self.node = launch(
            stage.start, stage.folder, types.SimpleNamespace(settings=[]), broker.bootstrap, env=self.holdings.env,
            auth={"tokens": str(tokens)}, log={"level": "notice"},
            limits={"max_connections": NODE, "max_connections_per_subject": PER_SUBJECT},
            balancer={"trusted": ["127.0.0.1"], "proxy_protocol": True},
            **({"tls": certificates.settings["ecdsa"]} if is_secure else {}))
        context = certificates.client() if is_secure else None
        self.first = Visitor(self.node, "token-PACC1", None, context, HEADERS[0])
        at = cursor(self.first)
        self.visitors = [Visitor(self.node, "token-PACC1", at, context, header) for header in HEADERS]
        self.bad = [Visitor(self.node, "token-PACC1", at, None, header) for header in BAD_HEADERS]
        self.other = Visitor(self.node, "token-PACC2", at, context, HEADERS[0])
        # So many began with no header.
        self.rejected = 0
        self.ways = [way for visitor in self.visitors for way in visitor.ways]

    def bad_visit(self, number):
        # To the end: a connection that is cut before it was read is not counted.
        with contextlib.suppress(ConnectionError):
            self.bad[number % len(self.bad)].visit(b"", "read")

    @property
    def pid(self):
        return self.node.program.pid

    def metrics(self):
        return scrape(self.node.admin)


class Churn:
    """`count` visits, at the rate or as fast as this machine can."""

    def __init__(self, doors, count):
        self.doors, self.turns, self.lock = doors, iter(range(count)), threading.Lock()
        self.begin = time.monotonic()
        threads = [threading.Thread(target=self._run) for _ in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.rate = count / (time.monotonic() - self.begin)

    def _run(self):
        while True:
            with self.lock:
                turn = next(self.turns, None)
            if turn is None:
                return
            time.sleep(max(0, self.begin + turn / RATE - time.monotonic()))
            door, number = self.doors[turn % len(self.doors)], turn // len(self.doors)
            if number % 20 == 0:
                with self.lock:
                    door.rejected += 1
                door.bad_visit(number // 20)
                continue
            # Refused, or cut in the middle of what it said: that is one of the ways.
            with contextlib.suppress(OSError):
                door.ways[number % len(door.ways)]()


def check_places(stage, door):
    """All of the subject's places and not one more; then all of the node's."""
    held = hold(door.first, upgrade(door.first.token), PER_SUBJECT)
    peer, line = door.first.ask(upgrade(door.first.token))
    peer.close()
    stage.check(f"{door.name}: a subject has as many places as before", None if b" 429 " in line else f"then {line}")
    held += hold(door.other, upgrade(door.other.token), NODE - PER_SUBJECT)
    peer, line = door.other.ask(upgrade(door.other.token))
    peer.close()
    stage.check(f"{door.name}: the node has as many places as before", None if b" 503 " in line else f"then {line}")
    for peer in held:
        peer.close()


def problem(condition, text):
    """None once it has become true; otherwise the text, after some time."""
    try:
        eventually(condition, 10)
    except AssertionError:
        return text()
    return None


def check_metrics(stage, door):
    def is_empty():
        metrics = door.metrics()
        return not (total(metrics, "livegate_connections") or metrics["livegate_accounts"]
                    or metrics["livegate_behind_connections"])
    stage.check(f"{door.name}: nobody is counted as connected", problem(is_empty, lambda: f"{door.metrics()}"))
    metrics = door.metrics()
    accepted = total(metrics, "livegate_handshakes_total", outcome="accepted")
    ended = total(metrics, "livegate_closes_total")
    stage.check(f"{door.name}: as many were let in as have ended", None if accepted == ended > 0 else f"{accepted}, {ended}")
    rejected = metrics["livegate_proxy_headers_rejected_total"]
    stage.check(f"{door.name}: each connection without a PROXY header is counted",
                None if rejected == door.rejected > 0 else f"{rejected}, not {door.rejected}")
    read = sum((visitor.refusals for visitor in door.visitors), start=type(door.first.refusals)())
    counted = {code: total(metrics, "livegate_handshakes_total", outcome=code) for code in read}
    # Of these the answer is always waited for.
    exact = {"not_found", "upgrade_required"}
    wrong = {code: (counted[code], count) for code, count in read.items()
             if counted[code] < count or code in exact and counted[code] != count}
    stage.check(f"{door.name}: each refusal that a client has read is counted",
                None if read and not wrong else f"counted and read: {wrong or read}")
    stage.say(f"{door.name}: {accepted:.0f} let in, refusals read {dict(read)}")


def check_holdings(stage, door, before, since):
    def is_back():
        # Up to this reading: the charts go on while those who left are waited for.
        seconds = min(CHART_SECONDS, time.monotonic() - since)
        return all(now <= then + slack + chart * seconds for now, then, slack, chart
                   in zip(door.holdings.read(), before, SLACK_HELD, CHART_HELD))
    stage.check(f"{door.name}: nothing that was asked for is held", problem(
        is_back, lambda: "{} blocks of {} bytes, not {} of {}".format(*door.holdings.read(), *before)))


def grows(stage, doors, count, least, most):
    """Lets so many come and go in each turn, again where a door has grown; None once none has."""
    for turn in range(1, most + 1):
        before = [private_bytes(door.pid) for door in doors]
        churn = Churn(doors, count)
        after = [private_bytes(door.pid) for door in doors]
        grown = [end - begin for begin, end in zip(before, after)]
        stage.say(f"{count} connections, {churn.rate:.0f} a second; private memory grew by "
                  + ", ".join(f"{size >> 10} of {end >> 10} KiB ({door.name})" for door, size, end in zip(doors, grown, after)))
        if turn >= least and max(grown) <= SLACK_BYTES:
            return None
    return f"{max(grown)} bytes more after {count} connections"


def play(stage):
    seconds, form = stage.option("seconds", 8, 600), "long" if stage.options.long else "short"
    broker = MockBroker(stage.start(PROGRAMS / "mockbroker", "incidents:4"))
    certificates = Certificates(stage.folder)
    doors = [Door(stage, broker, certificates, is_secure) for is_secure in (False, True)]
    for door in doors:
        hold(door.first, upgrade(door.first.token), 1)[0].close()
    before = [(descriptors(door.pid, broker.bootstrap), kinds_of_files(door.pid, broker.bootstrap))
              for door in doors]
    held = [hold(door.first, upgrade(door.first.token), HELD) for door in doors]
    Churn(doors, WARM_SECONDS[form] * RATE)
    least, most = TURNS[form]
    begin, held_before = time.monotonic(), [door.holdings.read() for door in doors]
    stage.check("no memory is left", grows(stage, doors, seconds * RATE // least, least, most))
    for door, holdings in zip(doors, held_before):
        check_holdings(stage, door, holdings, begin)
        stage.say(f"{door.name}: {{}} blocks of {{}} bytes, {{}} of {{}} before".format(*door.holdings.read(), *holdings))
    for peer in itertools.chain(*held):
        peer.close()
    for door, (limit, kinds) in zip(doors, before):
        stage.check(f"{door.name}: no descriptor is left", problem(
            lambda: descriptors(door.pid, broker.bootstrap) <= limit,
            lambda: f"{kinds_of_files(door.pid, broker.bootstrap)}, not {kinds}"))
        check_metrics(stage, door)
        check_places(stage, door)
