"""Clients of the SDK, all connected, and a node that is killed and comes back a few seconds later: how many attempts a second
they make meanwhile, which is told. Judged is that none is made before its time, and that everybody comes back.

How long anything takes is not judged here: figures of a busy machine say nothing.
"""

import re

from brokers import MockBroker
from gateway import Tokens, launch
from programs import PROGRAMS, eventually, free_port

# Seconds of the clients' own count in which there is no node.
GONE = 5


def seconds(clients):
    """Attempts, connected clients and attempts before their time of each second so far."""
    rows = (re.match(r"second \d+ attempts (\d+) connected (\d+) early (\d+)", line) for line in list(clients.out))
    return [tuple(map(int, row.groups())) for row in rows if row]


def play(stage):
    count = stage.option("clients", 200, 1_000)
    tokens = Tokens(stage.folder)
    broker = MockBroker(stage.start(PROGRAMS / "mockbroker", "incidents:4"))
    address = f"127.0.0.1:{free_port()}"
    changes = {"listen": [address], "limits__max_connections_per_subject": 0}
    node = launch(stage.start, stage.folder, tokens, broker.bootstrap, **changes)
    clients = stage.start(PROGRAMS / "sdkclients", f"ws://{address}/live/v1", tokens.token("PACC1"), count)

    def everybody():
        return seconds(clients) and seconds(clients)[-1][1] == count
    eventually(everybody, 60, clients.told)
    before = len(seconds(clients))
    node.program.process.kill()
    node.program.wait()
    eventually(lambda: len(seconds(clients)) >= before + GONE, 60, clients.told)
    launch(stage.start, stage.folder, tokens, broker.bootstrap, **changes)
    eventually(everybody, 120, clients.told)
    stage.check("everybody is back", None)
    attempts = [row[0] for row in seconds(clients)[before:]]
    early = seconds(clients)[-1][2]
    stage.check("nobody tries before it said it would", f"{early} attempts" if early else None)
    stage.check("everybody tried", f"{sum(attempts)} attempts of {count}" if sum(attempts) < count else None)
    stage.say(f"{count} clients, {sum(attempts)} attempts in {len(attempts)} s, by the second {attempts}")
