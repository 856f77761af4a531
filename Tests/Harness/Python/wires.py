"""Connections by the hundred in one thread, of which each byte is ours: plain or TLS, sent at once or byte by byte, with
bytes before TLS begins, and with what came kept to the end."""

import asyncio
import json
import socket
import ssl

from wire import PING, PONG, Received, content_length, frame

# Of what is sent byte by byte, so many at the beginning and at the end; a longer middle goes in small pieces, at most so many.
BYTEWISE = 1_500
PIECE, MOST_PIECES = 61, 1_000
# What asks whether a WebSocket still answers.
QUESTION = b"still there?"


def pieces(data, is_bytewise):
    if not is_bytewise:
        return [data] if data else []
    edge = len(data) - BYTEWISE
    if edge <= BYTEWISE:
        return [data[index:index + 1] for index in range(len(data))]
    size = max(PIECE, len(data) // MOST_PIECES)
    return [*pieces(data[:BYTEWISE], True), *(data[at:min(at + size, edge)] for at in range(BYTEWISE, edge, size)),
            *pieces(data[edge:], True)]


class Wire:
    """One connection. `received` is what came behind TLS, or on a plain connection; `has_ended` says that the server has
    closed it, `is_cut` that it did so with a reset."""

    def __init__(self, host, context=None, is_bytewise=False):
        self.host, self.context, self.is_bytewise = host, context, is_bytewise
        self.received, self.has_ended, self.is_cut, self.failure = b"", False, False, None
        self.session = None
        # Whether a handshake of TLS came to its end.
        self.is_secure = False

    async def open(self, prefix=b""):
        """Connects, sends the prefix, and shakes hands where there is a context: byte by byte behind a prefix alone, since
        everybody's handshake is the same."""
        self.loop = asyncio.get_running_loop()
        address, _, port = self.host.rpartition(":")
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await self.loop.sock_connect(self.socket, (address, int(port)))
        is_bytewise = self.is_bytewise and bool(prefix)
        await self._send(prefix, is_bytewise)
        if self.context:
            self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            self.session = self.context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
            while not self.has_ended:
                try:
                    self.session.do_handshake()
                    self.is_secure = True
                    break
                except ssl.SSLWantReadError:
                    await self._send(self.outgoing.read(), is_bytewise)
                    self.incoming.write(await self._receive())
                except ssl.SSLError as failure:
                    self.failure, self.has_ended = failure, True
            await self._send(self.outgoing.read(), is_bytewise)
        return self

    async def _send(self, data, is_bytewise):
        try:
            for piece in pieces(data, is_bytewise):
                await self.loop.sock_sendall(self.socket, piece)
        except OSError:
            # The other side has closed: what it said before is read yet.
            pass

    async def _receive(self):
        try:
            data = await self.loop.sock_recv(self.socket, 65536)
        except OSError:
            self.is_cut, data = True, b""
        self.has_ended = self.has_ended or not data
        return data

    async def send(self, data):
        """Sends it: byte by byte each as a record of its own, where the connection speaks TLS."""
        if not self.session:
            return await self._send(data, self.is_bytewise)
        if self.is_secure:
            for piece in pieces(data, self.is_bytewise):
                self.session.write(piece)
            try:
                await self.loop.sock_sendall(self.socket, self.outgoing.read())
            except OSError:
                pass

    async def read(self):
        """Waits for more, and keeps it."""
        data = await self._receive()
        if not self.session:
            self.received += data
            return
        self.incoming.write(data)
        try:
            while piece := self.session.read(65536):
                self.received += piece
            self.has_ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as failure:
            self.failure, self.has_ended = failure, True

    async def talk(self, data, is_enough=lambda wire: False):
        """Sends all of it while it reads, until the server has closed, or `is_enough`."""
        sending = asyncio.ensure_future(self.send(data))
        try:
            while not self.has_ended and not is_enough(self):
                await self.read()
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def end(self):
        """Leaves, and waits until the server has left too: then it holds nothing for this connection any more."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
            while not self.is_cut and await self._receive():
                pass
        except OSError:
            pass
        finally:
            self.socket.close()

    def drop(self):
        self.socket.close()


class Transcript:
    """What a server has said on one connection: `answers`, pairs of status and code of a problem (or None), and behind a
    101 `pongs` and the `close`, a pair of code and reason."""

    def __init__(self, data):
        self.answers, self.heads, self.pongs, self.close = [], [], [], None
        # Whatever stands there that is neither an answer nor a frame.
        self.rest = data
        while self.rest.startswith(b"HTTP/1.1 ") and b"\r\n\r\n" in self.rest and self._take_answer():
            pass

    def _take_answer(self):
        head, _, behind = self.rest.partition(b"\r\n\r\n")
        status = int(head[9:12])
        size = 0 if status in (101, 204) else content_length(head) or 0
        if len(behind) < size:
            return False
        body, self.rest = behind[:size], behind[size:]
        code = None
        if b"application/problem+json" in head and body:
            code = json.loads(body)["code"]
        self.heads.append(head)
        self.answers.append((status, code))
        if status == 101:
            self._take_frames()
            return False
        if b"\r\nContent-Length" not in head and status not in (204, 100):
            # Ends with the connection.
            self.rest = b""
            return False
        return True

    def _take_frames(self):
        # Compression may have been agreed on.
        received = Received(extensions=0x40)
        for opcode, payload in received.take(self.rest):
            if opcode == PONG:
                self.pongs.append(payload)
        self.rest, self.close = received.buffer, received.close

    @property
    def is_upgraded(self):
        return bool(self.answers) and self.answers[-1][0] == 101

    @property
    def text(self):
        """As the article has it: `400 bad_request`, `200, 400 bad_request`, `close 1002`, `pong`, or `closed` where nothing
        was answered."""
        words = [f"{status} `{code}`" if code else f"{status}" for status, code in self.answers if status != 101]
        if self.is_upgraded:
            if self.close:
                words.append(f"close {self.close[0]}")
            else:
                words.append("101" if QUESTION in self.pongs else "101, cut")
        if self.rest and not self.is_upgraded:
            words.append(f"bytes {self.rest[:40]!r}")
        return ", ".join(words) if words else "closed"


def ping():
    return frame(PING, QUESTION)
