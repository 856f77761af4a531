"""The process of the clients: `population.py HOST:PORT CLIENTS SEED ACCOUNT…`, orders as JSON a line on standard input."""

import asyncio
import json
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Harness/Python"))

from client import SILENCE_SECONDS, Client  # noqa: E402

# Of ten clients so many use each way.
FORMS = ["ws", "sse", "sync", "ws", "ws", "ws", "sse", "ws", "ws", "ws"]
# Attempts to connect at a time: more would only wait in the kernel.
DOORS = 200


class Population:
    def __init__(self, address, count, seed, accounts):
        host, _, port = address.rpartition(":")
        self.address, self.is_over = (host, int(port)), False
        # What `create_connection` is told of TLS: nothing.
        self.security = {}
        self.random = random.Random(f"population {seed}")
        self.doors = asyncio.Semaphore(DOORS)
        self.latencies, self.codes = [], {}
        self.expected, self.mistakes = None, []
        # Every account has clients of every kind, where it has ten.
        self.clients = [Client(self, accounts[at % len(accounts)], FORMS[at // len(accounts) % len(FORMS)])
                        for at in range(count)]

    async def run(self):
        tasks = [asyncio.create_task(client.run()) for client in self.clients]
        sweeper = asyncio.create_task(self.sweep())
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        # A client that fails is a mistake of the harness, never to be passed over.
        loop.set_exception_handler(lambda _, context: self.mistakes.append(context.get("exception") or context["message"]))
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            order = json.loads(line)
            for task in tasks:
                if task.done():
                    task.result()
            if self.mistakes:
                raise RuntimeError(f"a client has failed: {self.mistakes[0]!r}")
            print(json.dumps(getattr(self, order.pop("do"))(**order)), flush=True)
        self.is_over = True
        for task in (*tasks, sweeper):
            task.cancel()

    async def sweep(self):
        while True:
            await asyncio.sleep(5)
            for client in self.clients:
                if client.connection and time.monotonic() - client.heard > SILENCE_SECONDS:
                    client.connection.drop()

    def status(self):
        live = sum(client.is_live for client in self.clients)
        incomplete = None
        if self.expected is not None:
            incomplete = sum(not self.expected.get(client.account, set()) <= client.seen for client in self.clients)
        return {"live": live, "incomplete": incomplete, "seen": sum(len(client.seen) for client in self.clients)}

    def cut(self, fraction):
        chosen = [client for client in self.clients if client.connection and self.random.random() < fraction]
        for client in chosen:
            client.connection.drop()
        return len(chosen)

    def expect(self, file):
        """What stands in Kafka, by account."""
        self.expected = {account: set(ids) for account, ids in json.loads(Path(file).read_text()).items()}
        return True

    def write(self, file):
        Path(file).write_text(json.dumps({
            "clients": [{"account": client.account, "form": client.form, "streams": client.streams,
                         "resyncs": client.resyncs, "refusals": client.refusals} for client in self.clients],
            "latencies": sorted(self.latencies), "codes": self.codes}))
        return True


if __name__ == "__main__":
    asyncio.run(Population(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]).run())
