"""A WebSocket client that does what it is told: thousands of them fit a process, and they may misbehave."""

import asyncio
import json
import socket
import struct

from programs import PATIENCE

KEY = "dGhlIHNhbXBsZSBub25jZQ=="


def upgrade(token=None, path="/live/v1", headers=()):
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", "Upgrade: websocket", "Connection: Upgrade",
             "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {KEY}"]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    return ("\r\n".join([*lines, *headers]) + "\r\n\r\n").encode()


def frame(opcode, payload=b"", final=True):
    """A masked frame with a mask of zeros."""
    assert len(payload) < 65536
    length = bytes([0x80 | len(payload)]) if len(payload) < 126 else bytes([0xFE]) + struct.pack("!H", len(payload))
    return bytes([(0x80 if final else 0) | opcode]) + length + b"\0\0\0\0" + payload


def connect(host, within=10):
    """A plain blocking socket to `ADDRESS:PORT`."""
    address, _, port = host.rpartition(":")
    return socket.create_connection((address.strip("[]"), int(port)), timeout=within)


def ask(host, request, within=10):
    """Sends bytes and returns everything that comes until the server closes."""
    with connect(host, within) as peer:
        peer.sendall(request)
        answer = b""
        while True:
            chunk = peer.recv(65536)
            if not chunk:
                return answer
            answer += chunk


class RawClient:
    """Opened by `await RawClient.open(host, token)`, within `play`; `messages` grows as messages come."""

    opened = []

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.messages, self.close = [], None
        self.task = None

    @classmethod
    async def open(cls, host, token=None, headers=(), listen=True, limit=2 ** 16, **options):
        """`options` go to asyncio: `ssl=CONTEXT`, `sock=SOCKET`. A host is `ADDRESS:PORT` or `unix:/path`."""
        address, _, port = host.rpartition(":")
        if address == "unix":
            reader, writer = await asyncio.open_unix_connection(port, limit=limit)
        elif "sock" in options:
            reader, writer = await asyncio.open_connection(limit=limit, **options)
        else:
            reader, writer = await asyncio.open_connection(address.strip("[]"), int(port), limit=limit, **options)
        writer.write(upgrade(token, headers=headers))
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
                await self.read_frame()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.close = self.close or (1006, "")

    async def read_frame(self):
        first, length = await self.reader.readexactly(2)
        assert not length & 0x80, "a server's frame is not masked"
        if length == 126:
            length = struct.unpack("!H", await self.reader.readexactly(2))[0]
        elif length == 127:
            length = struct.unpack("!Q", await self.reader.readexactly(8))[0]
        payload = await self.reader.readexactly(length)
        if first == 0x81:
            self.messages.append(json.loads(payload))
        elif first == 0x88:
            self.close = (struct.unpack("!H", payload[:2])[0] if payload else 1005, payload[2:].decode())
            self.writer.write(frame(0x8, payload[:2]))
            self.writer.close()
        return first & 0x0F, payload

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
        try:
            await scenario
        finally:
            for client in RawClient.opened:
                client.drop()
            RawClient.opened.clear()
    asyncio.run(whole())


async def until(condition, within=20.0, what="the condition"):
    """As `eventually`, for coroutines."""
    end = asyncio.get_running_loop().time() + within * PATIENCE
    while not condition():
        assert asyncio.get_running_loop().time() < end, f"{what} did not come true within {within * PATIENCE:g} s"
        await asyncio.sleep(0.02)


def event(account, number, kind="updated", entity="incidents::incident"):
    return {"account_id": account, "entity": entity, "id": str(number), "type": kind}
