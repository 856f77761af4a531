"""Clients of the SDK, all connected, whose node goes and comes back: first by a drain, as in a deploy, then killed. How many
attempts a second they make meanwhile is told, and bounded: it is no stampede, and nobody tries before its time.

How long anything takes is not judged here: figures of a busy machine say nothing. Attempts are counted by the second of the
clients' own clock in which they were made.
"""

import re

from brokers import MockBroker
from gateway import Tokens, launch
from ports import Port
from programs import PROGRAMS, eventually

# Seconds of the clients' own count in which there is no node after a kill.
GONE = 5
# A drain closes evenly over so many seconds, and asks each client to stay away for up to so many.
WINDOW, RETRY = 4, 8
# The seconds after a kill whose mean counts, at most: later attempts are rare.
LONGEST_SPAN = 10
# The most attempts in any second, in means. After a drain all in one second would make a dozen, and an even spread makes 2. After
# a kill the first wait of all is over within half a second, and the ones behind it are longer: that makes 2 to 3. The rest is for
# a machine that stands still now and then: what was due meanwhile comes at once.
FACTOR = 5
# The shortest wait is half a second, so that nobody tries more often than that in any second.
OFTENEST = 2


def seconds(clients):
    """Attempts, connected clients and attempts before their time of each second so far."""
    rows = (re.match(r"second \d+ attempts (\d+) connected (\d+) early (\d+)", line) for line in list(clients.out))
    return [tuple(map(int, row.groups())) for row in rows if row]


def judge(stage, how, count, rows, span):
    """What a fleet of so many did in these seconds, from the first one in which it lost its node until all were back. Most of it
    was done in the first `span` of them, whose mean counts."""
    attempts = [row[0] for row in rows]
    span = min(span, len(attempts))
    total, mean, most = sum(attempts), sum(attempts[:span]) / span, max(attempts)
    stage.say(f"{how}: {count} clients, {total} attempts, a mean of {mean:.0f} in {span} s, by the second {attempts}")
    stage.check(f"{how}: everybody tried", f"{total} attempts of {count}" if total < count else None)
    stage.check(f"{how}: no second has more than {FACTOR} times the mean",
                f"{most}, {most / mean:.1f} times {mean:.0f}" if most > FACTOR * mean else None)
    stage.check(f"{how}: no client tries more often than {OFTENEST} times a second",
                f"{most} of {count}" if most > OFTENEST * count else None)
    stage.check(f"{how}: nobody tries before it said it would", f"{rows[-1][2]} attempts" if rows[-1][2] else None)


def play(stage):
    count = stage.option("clients", 200, 1_000)
    tokens = Tokens(stage.folder)
    broker = MockBroker(stage.start(PROGRAMS / "mockbroker", "incidents:4"))
    # Each node has it after the one before.
    address = stage.keep(Port()).address
    changes = {"listen": [address], "limits__max_connections_per_subject": 0,
               "lifecycle": {"drain_delay": "0s", "drain_window": f"{WINDOW}s", "drain_retry": f"{RETRY}s"}}
    node = launch(stage.start, stage.folder, tokens, broker.bootstrap, **changes)
    clients = stage.start(PROGRAMS / "sdkclients", f"ws://{address}/live/v1", tokens.token("PACC1"), count)

    def everybody():
        return seconds(clients) and seconds(clients)[-1][1] == count
    eventually(everybody, 60, clients.told)
    before = len(seconds(clients))
    node.program.signal()
    node.program.wait(60)
    node = launch(stage.start, stage.folder, tokens, broker.bootstrap, **changes)
    eventually(everybody, 120, clients.told)
    judge(stage, "drained", count, seconds(clients)[before:], WINDOW + RETRY)
    before = len(seconds(clients))
    node.program.process.kill()
    node.program.wait()
    eventually(lambda: len(seconds(clients)) >= before + GONE, 60, clients.told)
    launch(stage.start, stage.folder, tokens, broker.bootstrap, **changes)
    span = min(len(seconds(clients)) - before, LONGEST_SPAN)
    eventually(everybody, 120, clients.told)
    judge(stage, "killed", count, seconds(clients)[before:], span)
