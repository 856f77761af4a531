"""A WebSocket client that does what it is told: thousands of them fit a process, and they may misbehave."""

import asyncio
import json

from programs import PATIENCE
from wire import CLOSE, TEXT, Received, upgrade


class RawClient:
    """Opened by `await RawClient.open(host, token)`, within `play`; `messages` grows as messages come. What a gateway must not
    send ends its listening, and is raised by `until` and at the end of `play`."""

    opened = []

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.received = Received(writer.write)
        self.messages, self.close = [], None
        self.task = None

    @classmethod
    async def open(cls, host, token=None, headers=(), listen=True, limit=2 ** 16, path="/live/v1", **options):
        """`options` go to asyncio: `ssl=CONTEXT`, `sock=SOCKET`. A host is `ADDRESS:PORT` or `unix:/path`."""
        address, _, port = host.rpartition(":")
        if address == "unix":
            reader, writer = await asyncio.open_unix_connection(port, limit=limit)
        elif "sock" in options:
            reader, writer = await asyncio.open_connection(limit=limit, **options)
        else:
            reader, writer = await asyncio.open_connection(address.strip("[]"), int(port), limit=limit, **options)
        writer.write(upgrade(token, path, headers))
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 "), head
        client = cls(reader, writer)
        cls.opened.append(client)
        if listen:
            client.task = asyncio.ensure_future(client._listen())
        return client

    async def _listen(self):
        try:
            while self.close is None:
                piece = await self.reader.read(65536)
                if not piece:
                    raise ConnectionError("the end")
                self._take(piece)
        except ConnectionError:
            self.close = self.close or (1006, "")

    def _take(self, piece):
        for opcode, payload in self.received.take(piece):
            if opcode == TEXT:
                self.messages.append(json.loads(payload))
            elif opcode == CLOSE:
                self.close = self.received.close
                self.writer.close()

    def check(self):
        """Raises what its listener has met, the end of the connection apart."""
        if self.task and self.task.done() and not self.task.cancelled():
            self.task.result()

    @property
    def ids(self):
        return [message["id"] for message in self.messages]

    def drop(self):
        """Leaves without a word."""
        if self.task:
            self.task.cancel()
        self.writer.transport.abort()


def play(scenario):
    """Runs a coroutine to its end; then its clients leave, so that no gateway waits for them."""
    async def whole():
        opened = RawClient.opened
        try:
            await scenario
            for client in opened:
                client.check()
        finally:
            for client in opened:
                client.drop()
            opened.clear()
    asyncio.run(whole())


async def until(condition, within=20.0, what="the condition"):
    """As `eventually`, for coroutines."""
    end = asyncio.get_running_loop().time() + within * PATIENCE
    while not condition():
        for client in RawClient.opened:
            client.check()
        is_last = asyncio.get_running_loop().time() >= end
        await asyncio.sleep(0.02)
        # What has come while the machine stood still has been read before it is asked for the last time.
        assert not is_last or condition(), \
            f"{what() if callable(what) else what} did not come true within {within * PATIENCE:g} s"
