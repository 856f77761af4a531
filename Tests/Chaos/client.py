"""Clients as PROTOCOL.md wants them, in asyncio's own terms: thousands fit one process beside everything else."""

import asyncio
import json
import random
import re
import time

from wire import CLOSE, TEXT, Received, content_length, event_of, event_stream_request, get, upgrade

OPENING_SECONDS = 10
# The server says something at least every 25 s; HAProxy and a kernel keep dead connections for longer than that.
SILENCE_SECONDS = 60
# Shorter than the protocol's 20 s, so that an end is seen soon.
LONGEST_BACKOFF = 5.0
WAIT_SECONDS = 20


class Client:
    """One account's client: comes back whenever it is cut, with its newest cursor, and writes down all it is told."""

    opening_seconds = OPENING_SECONDS

    def __init__(self, crowd, account, form):
        self.crowd, self.account, self.form = crowd, account, form
        self.cursor = None
        self.streams = []
        self.resyncs = []
        self.seen = set()
        self.failures = 0
        self.refusals = {}
        self.is_live = False
        self.connection = None
        self.heard = time.monotonic()

    def request(self):
        path = "/sync/v1?ent=incident" if self.form == "sync" else "/live/v1?ent=incident"
        path += f"&wait={WAIT_SECONDS}" if self.form == "sync" else "&with=at,ts"
        if self.cursor:
            path += f"&since={self.cursor}"
        token = f"token-{self.account}"
        if self.form == "ws":
            return upgrade(token, path)
        return event_stream_request(token, path) if self.form == "sse" else get(path, token, ["Connection: close"])

    async def run(self):
        while not self.crowd.is_over:
            async with self.crowd.doors:
                wait = await self._open()
            if self.connection:
                wait = await self.connection.over
                self.connection = None
            self.is_live = self.is_live and self.form == "sync" and wait == 0
            await asyncio.sleep(self._backoff() if wait is None else wait)

    async def _open(self):
        """None, with a connection or without one: then it failed."""
        loop = asyncio.get_running_loop()
        self.heard = time.monotonic()
        try:
            _, connection = await loop.create_connection(
                lambda: FORMS[self.form](self), *self.crowd.address, **self.crowd.security)
        except OSError:
            return None
        self.connection = connection
        await asyncio.wait([connection.opened], timeout=self.opening_seconds + (WAIT_SECONDS if self.form == "sync" else 0))
        if not connection.opened.done():
            connection.drop()
        return None

    def _backoff(self):
        bound = min(2 ** min(self.failures, 10), LONGEST_BACKOFF)
        self.failures += 1
        return random.uniform(0.5, max(bound, 1.0))

    def begin(self):
        self.streams.append([])

    def refused(self, status, seconds):
        self.refusals[status] = self.refusals.get(status, 0) + 1
        return None if seconds is None else seconds * random.uniform(1, 1.5)

    def event(self, event, cursor):
        self.streams[-1].append(event["id"])
        self.seen.add(event["id"])
        self.cursor = event.get("at") or cursor or self.cursor
        self.failures = 0
        if self.is_live and "ts" in event:
            self.crowd.latencies.append(time.time() * 1000 - event["ts"])

    def control(self, name, body):
        self.cursor = body.get("at") or self.cursor
        if name == "live":
            self.is_live = True
            self.failures = 0
        elif name == "resync":
            self.resyncs.append((len(self.streams), body.get("why"), time.time()))
            self.streams[-1].append(None)


class Connection(asyncio.Protocol):
    """What the three ways have in common: a request, a head, and an end with a time to come back after (None: backoff)."""

    def __init__(self, client):
        self.client, self.buffer, self.head = client, b"", None
        loop = asyncio.get_running_loop()
        self.opened, self.over = loop.create_future(), loop.create_future()
        self.wait, self.is_accepted = None, False

    def connection_made(self, transport):
        self.transport = transport
        transport.write(self.client.request())

    def data_received(self, piece):
        self.client.heard = time.monotonic()
        self.buffer += piece
        if self.head is None:
            head, end, rest = self.buffer.partition(b"\r\n\r\n")
            if not end:
                return
            self.head, self.buffer = head.decode("latin-1"), rest
            status = int(self.head.split(" ")[1])
            if status not in self.good:
                after = re.search(r"(?im)^retry-after: (\d+)\s*$", self.head)
                self.wait = self.client.refused(status, int(after.group(1)) if after else None)
                return self.drop()
            self.is_accepted = True
            self.client.begin()
            if not self.opened.done():
                self.opened.set_result(None)
        self.read()

    def connection_lost(self, _):
        if self.is_accepted:
            self.finished()
        for future, result in ((self.opened, None), (self.over, self.wait)):
            if not future.done():
                future.set_result(result)

    def finished(self):
        """The server has closed the connection."""

    def drop(self):
        self.transport.abort()

    def receive(self, text, cursor=None):
        message = json.loads(text)
        if "ent" in message:
            return self.client.event(message, cursor)
        (name, body), = message.items()
        self.client.control(name, body)
        if name == "bye" and "retry_ms" in body:
            self.wait = body["retry_ms"] / 1000


class WebSocket(Connection):
    good = (101,)

    def connection_made(self, transport):
        self.received = Received(transport.write)
        super().connection_made(transport)

    def read(self):
        piece, self.buffer = self.buffer, b""
        for opcode, payload in self.received.take(piece):
            if opcode == TEXT:
                self.receive(payload)
            elif opcode == CLOSE:
                self.closed(*self.received.close)

    def closed(self, code, reason):
        self.client.crowd.codes[code] = self.client.crowd.codes.get(code, 0) + 1
        retry = re.search(r"retry_ms=(\d+)$", reason)
        if retry:
            self.wait = int(retry.group(1)) / 1000
        self.transport.close()


class EventStream(Connection):
    good = (200,)

    def read(self):
        while b"\n\n" in self.buffer:
            block, _, self.buffer = self.buffer.partition(b"\n\n")
            event = event_of(block.decode())
            if event:
                self.receive(f'{{"{event.name}":{event.data}}}' if event.name else event.data, event.id)


class Poll(Connection):
    good = (200, 410)

    def read(self):
        """The body ends with the connection."""

    def finished(self):
        # A page that was cut is none: what it brought is asked for again.
        if len(self.buffer) < (content_length(self.head) or 0):
            return
        page = json.loads(self.buffer)
        if page.get("code") == "resync":
            self.client.control("resync", page)
        for event in page.get("events", ()):
            self.client.event(event, None)
        self.client.control("live", page)
        self.wait = 0


FORMS = {"ws": WebSocket, "sse": EventStream, "sync": Poll}
