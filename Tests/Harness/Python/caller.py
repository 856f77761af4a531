"""A client over a blocking socket that does what it is told and nothing else: plain or over TLS, with bytes before TLS begins, sent
at once or byte by byte. It answers no ping."""

import json
import socket

from programs import PATIENCE
from secure import SecureSocket
from wire import CLOSE, Received, connect, content_length, query, upgrade


class Cut:
    """A socket with bytes of its own before all others, which may send each byte by itself."""

    def __init__(self, plain, prefix, is_bytewise):
        self.plain, self.prefix, self.is_bytewise = plain, prefix, is_bytewise
        if is_bytewise and plain.family != socket.AF_UNIX:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def sendall(self, data):
        data, self.prefix = self.prefix + data, b""
        for piece in [data[at:at + 1] for at in range(len(data))] if self.is_bytewise else [data] if data else []:
            self.plain.sendall(piece)

    def __getattr__(self, name):
        return getattr(self.plain, name)


class Caller:
    """`buffer` is what has come and was not asked for yet; of a WebSocket, which `join` opens, it is in `received`."""

    # What is raised where more was to come than has.
    failure = AssertionError

    def __init__(self, host, context=None, prefix=b"", is_bytewise=False, within=20 * PATIENCE, **options):
        self.socket = Cut(connect(host, within, **options), prefix, is_bytewise)
        self.buffer, self.received, self.whole = b"", None, []
        if context:
            self.secure(context)

    @classmethod
    def join(cls, host, token, headers=(), context=None, extensions=0, within=20 * PATIENCE, receive_buffer=None, **words):
        """An open WebSocket."""
        caller = cls(host, context, within=within, receive_buffer=receive_buffer)
        caller.send(upgrade(token, f"/live/v1{query(words)}", headers))
        caller.upgraded(extensions)
        return caller

    def secure(self, context):
        """Speaks TLS from here on."""
        try:
            self.socket = SecureSocket(self.socket, context, "localhost")
        except OSError:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def send(self, *data):
        """Over TLS each is a record of its own, and all leave together."""
        self.socket.sendall(*data) if isinstance(self.socket, SecureSocket) else self.socket.sendall(b"".join(data))

    def more(self):
        piece = self.socket.recv(65536)
        if not piece:
            raise self.failure(f"the end; before it {self.buffer[-400:]}")
        self.buffer += piece

    def until(self, mark):
        """What stands before the mark, which is taken off."""
        while mark not in self.buffer:
            self.more()
        found, _, self.buffer = self.buffer.partition(mark)
        return found

    def head(self, status=None):
        head = self.until(b"\r\n\r\n").decode()
        if status and not head.startswith(f"HTTP/1.1 {status} "):
            raise self.failure(head)
        return head

    def body(self, head):
        """What a head announces."""
        count = content_length(head) or 0
        while len(self.buffer) < count:
            self.more()
        body, self.buffer = self.buffer[:count], self.buffer[count:]
        return body

    def page(self):
        """The body of a 200 as JSON."""
        return json.loads(self.body(self.head(200)))

    def rest(self):
        """Everything until the end, which may be a reset: nobody reads what was sent."""
        try:
            while piece := self.socket.recv(65536):
                self.buffer += piece
        except ConnectionError:
            pass
        rest, self.buffer = self.buffer, b""
        return rest

    # What stands behind a 101

    def upgraded(self, extensions=0):
        """Reads the 101; its head."""
        head = self.head(101)
        self.received = Received(extensions=extensions)
        self.whole, self.buffer = self.received.take(self.buffer), b""
        return head

    def read(self):
        """The next frame: opcode and payload; None at the end."""
        while not self.whole:
            piece = self.socket.recv(65536)
            if not piece:
                self.received.end()
                return None
            self.whole = self.received.take(piece)
        return self.whole.pop(0)

    def read_until(self, wanted):
        """The payload of the next frame with this opcode."""
        while (found := self.read()) is not None and found[0] != wanted:
            if found[0] == CLOSE:
                raise self.failure(f"closed with {self.received.close}")
        if found is None:
            raise self.failure("the end")
        return found[1]

    def frames(self):
        """All to the end of the connection."""
        while (found := self.read()) is not None:
            yield found

    def end(self):
        self.socket.close()


def narrow(host, token, **words):
    """An open WebSocket whose kernel keeps as little as it can be told to."""
    return Caller.join(host, token, receive_buffer=2048, **words)


def first(host, request, within=20 * PATIENCE):
    """Status, fields and body of the first answer; where it has no length, what has come of it."""
    with Caller(host, within=within) as caller:
        caller.send(request)
        head = caller.head()
        line, *fields = head.split("\r\n")
        body = caller.body(head) if content_length(head) is not None else caller.buffer
    return (int(line.split()[1]), {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)},
            body.decode(errors="replace"))


def bearer(token):
    return f"Authorization: Bearer {token}\r\n"


def answer(host, fields=""):
    """What an upgrade with these lines of header is answered with, as `first` has it."""
    return first(host, upgrade(headers=[line for line in fields.split("\r\n") if line]))
