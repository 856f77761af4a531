"""The clients of Tests/Chaos, that come back when they are told to; and what the whole crowd of them has counted."""

import asyncio
import time

from client import Client
from judge import faults
from programs import PATIENCE

# Attempts to connect at a time, while the crowd gathers.
DOORS = 100
# How often the crowd looks whether it is late itself, in seconds.
TICK = 0.01


class Phone(Client):
    """As PROTOCOL.md wants it; whoever is not told when to come back comes back after a time of its own, and is counted."""

    # Late clients are the crowd's own fault, and no refusal.
    opening_seconds = 60

    async def _open(self):
        # A poll comes again and again anyway.
        if self.streams and self.form != "sync":
            self.crowd.returns.append(time.monotonic())
        return await super()._open()

    def _backoff(self):
        self.crowd.untold.append(f"{self.account} {self.form} after {len(self.streams)} streams")
        return super()._backoff()


class Phones:
    """Confined to the loop of asyncio that runs it."""

    def __init__(self, host, context, accounts, forms, count):
        address, _, port = host.rpartition(":")
        self.address, self.security = (address, int(port)), {"ssl": context, "server_hostname": "localhost"}
        self.is_over, self.doors = False, asyncio.Semaphore(DOORS)
        self.latencies, self.codes = [], {}
        # Moments at which somebody came back; who came back without having been told when.
        self.returns, self.untold = [], []
        # When this process went on after it had stood still, and for how long.
        self.stalls = []
        self.clients = [Phone(self, accounts[at % len(accounts)], forms[at // len(accounts) % len(forms)])
                        for at in range(count)]
        self.tasks = []

    async def start(self):
        self.tasks = [asyncio.create_task(self._watch()), *(asyncio.create_task(client.run()) for client in self.clients)]
        await self.until(lambda: all(client.is_live for client in self.clients), 120,
                         lambda: f"{len(self.clients)} live clients: {sum(client.is_live for client in self.clients)} are")
        self.doors = asyncio.Semaphore(len(self.clients))

    async def _watch(self):
        while True:
            due = time.monotonic() + TICK
            await asyncio.sleep(TICK)
            if (late := time.monotonic() - due) > 2 * TICK:
                self.stalls.append((due + late, late))

    async def until(self, condition, within, what):
        end = time.monotonic() + within * PATIENCE
        while not condition():
            for task in self.tasks:
                if task.done():
                    task.result()
            assert time.monotonic() < end, f"{what()} within {within * PATIENCE} s"
            await asyncio.sleep(0.1)

    async def judge(self, logs):
        """What is wrong, by kind, once everybody has had the time to get everything. `logs` has what stands in Kafka."""
        positions, everything = {}, set()
        for (account, partition), ids in logs.items():
            positions.setdefault(account, {})[str(partition)] = {identity: place for place, identity in enumerate(ids)}
            everything.update(ids)
        expected = {account: {identity for ids in of.values() for identity in ids} for account, of in positions.items()}
        try:
            await self.until(
                lambda: all(expected.get(client.account, set()) <= client.seen for client in self.clients), 60, str)
        except AssertionError:
            # Named below.
            pass
        found = {}
        for client in self.clients:
            record = {"account": client.account, "form": client.form, "streams": client.streams}
            for kind, sentence in faults(record, positions.get(client.account, {}), everything):
                found.setdefault(kind, []).append(sentence)
            for _, why, _ in client.resyncs:
                found.setdefault("resync", []).append(f"{client.account} {client.form}: {why}")
        return found

    async def end(self):
        self.is_over = True
        for client in self.clients:
            if client.connection:
                client.connection.drop()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def told(sentences):
    """The first of them, as a problem; none is none."""
    return f"{len(sentences)} times: " + "; ".join(sentences[:3]) if sentences else None


def check_records(stage, found, events):
    stage.check("there were events", None if events else "none")
    for kind, promise in (("incomplete", "every client has every event of its account"),
                          ("gap", "no stream begins behind what its client had"),
                          ("order", "every stream has each partition in its order and nothing twice"),
                          ("foreign", "nobody was told of what is another's"),
                          ("resync", "nobody was told to resync")):
        stage.check(promise, told(found.get(kind)))
