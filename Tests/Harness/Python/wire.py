"""The bytes between a client and a gateway: requests, WebSocket frames, blocks of an event stream. No client of its own: those are
in `caller`, `rawclient` and `clients`."""

import json
import re
import socket
import struct
from dataclasses import dataclass
from urllib.parse import urlencode

from programs import PATIENCE

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
MORE, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
# What stands for a cursor in a pattern: characters that need no escape in a URL.
CURSOR = "[A-Za-z0-9_-]+"


def query(words):
    """`with_="at,ts"` becomes `?with=at,ts`; what stands under `raw` is added as it is."""
    raw = words.pop("raw", None)
    text = "&".join(filter(None, [urlencode({name.rstrip("_"): word for name, word in words.items()}, safe=","), raw]))
    return f"?{text}" if text else ""


def get(path, token=None, headers=()):
    """A GET request, whole."""
    authorization = [] if token is None else [f"Authorization: Bearer {token}"]
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *authorization, *headers, "", ""]).encode()


def upgrade(token=None, path="/live/v1", headers=()):
    """The request for a WebSocket."""
    return get(path, token, ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                             f"Sec-WebSocket-Key: {KEY}", *headers])


def event_stream_request(token=None, path="/live/v1", headers=()):
    """The request for server-sent events."""
    return get(path, token, ["Accept: text/event-stream", *headers])


def connect(host, within=10 * PATIENCE, receive_buffer=None, source=None):
    """A plain blocking socket to `ADDRESS:PORT` or `unix:/path`. With `receive_buffer` the kernel keeps no more than about so many
    bytes; `source` is the address that it comes from."""
    address, _, port = host.rpartition(":")
    is_file, address = address == "unix", address.strip("[]")
    peer = socket.socket(socket.AF_UNIX if is_file else socket.AF_INET6 if ":" in address else socket.AF_INET)
    if receive_buffer is not None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    peer.settimeout(within)
    try:
        if source:
            peer.bind((source, 0))
        peer.connect(port if is_file else (address, int(port)))
    except OSError:
        peer.close()
        raise
    return peer


def ask(host, request, within=10 * PATIENCE):
    """Sends bytes and returns everything that comes until the server closes."""
    with connect(host, within) as peer:
        peer.sendall(request)
        answer = b""
        while chunk := peer.recv(65536):
            answer += chunk
        return answer


# Frames (RFC 6455 §5.2)

def frame(opcode, payload=b"", final=True, masked=True):
    """A frame as a client sends it, with a mask of zeros, or as a server does."""
    size, mask = len(payload), 0x80 if masked else 0
    length = bytes([mask | size]) if size < 126 else bytes([mask | 126]) + struct.pack("!H", size) if size < 65536 else \
        bytes([mask | 127]) + struct.pack("!Q", size)
    return bytes([(0x80 if final else 0) | opcode]) + length + (b"\0\0\0\0" if masked else b"") + payload


def split_frame(buffer, at=0):
    """The frame that begins at `at`: its first byte, whether it is masked, its payload, and where it ends. None where it
    is not whole yet."""
    if len(buffer) - at < 2:
        return None
    first, size, begin = buffer[at], buffer[at + 1] & 0x7F, at + 2
    is_masked = bool(buffer[at + 1] & 0x80)
    if size >= 126:
        width = 2 if size == 126 else 8
        if len(buffer) < begin + width:
            return None
        size, begin = int.from_bytes(buffer[begin:begin + width], "big"), begin + width
    mask = bytes(buffer[begin:begin + 4]) if is_masked else b""
    begin += len(mask)
    if len(buffer) < begin + size:
        return None
    payload = bytes(buffer[begin:begin + size])
    if any(mask):
        payload = bytes(byte ^ mask[index & 3] for index, byte in enumerate(payload))
    return first, is_masked, payload, begin + size


def close_of(payload):
    """Code and reason of a close frame; 1005 where it has none."""
    return (struct.unpack("!H", payload[:2])[0] if payload else 1005), payload[2:].decode()


class Received:
    """What a gateway sends on one WebSocket, read as strictly as it may send it, without a socket: `take` is given bytes, and returns
    the frames that are whole with them, pairs of opcode and payload. What a client owes for one is given to `reply`: a pong, or the
    answer to a close. `extensions` are the reserved bits that were agreed on."""

    def __init__(self, reply=lambda data: None, extensions=0):
        self.reply, self.extensions, self.buffer, self.close = reply, extensions, b"", None

    def take(self, piece):
        self.buffer, at, frames = self.buffer + piece, 0, []
        while self.close is None and (found := split_frame(self.buffer, at)) is not None:
            first, is_masked, payload, at = found
            opcode = first & 0x0F
            assert not is_masked, "a server's frame is not masked"
            # Whole messages of text: no binary one, no piece of one, no bit and no opcode that is reserved.
            assert first & ~self.extensions in (0x80 | TEXT, 0x80 | CLOSE, 0x80 | PING, 0x80 | PONG), \
                f"no gateway sends {first:#04x}: {payload[:100]}"
            # RFC 6455 §5.5.
            assert opcode == TEXT or len(payload) <= 125, f"a control frame of {len(payload)} bytes"
            frames.append((opcode, payload))
            if opcode == PING:
                self.reply(frame(PONG, payload))
            elif opcode == CLOSE:
                self.close = close_of(payload)
                self.reply(frame(CLOSE, payload[:2]))
        self.buffer = self.buffer[at:]
        return frames

    def end(self):
        """The connection has ended: with whole frames, and with nothing behind a close."""
        assert not self.buffer, f"at the end there is {self.buffer[:100]}, behind a close: {self.close is not None}"


# Event streams

@dataclass
class Event:
    """One event of an event stream: None where a field is missing."""
    name: str | None
    id: str | None
    data: str

    @property
    def json(self):
        return json.loads(self.data)


def event_of(block):
    """The event in the text between two empty lines; None where it is only comments or a `retry`."""
    lines = [line for line in block.split("\n") if line and not line.startswith(":")]
    fields = [line.partition(": ")[::2] for line in lines]
    names = [name for name, _ in fields]
    if names in ([], ["retry"]):
        return None
    # In this order, and each at most once.
    assert names in (["event", "id", "data"], ["event", "data"], ["id", "data"]), block
    return Event(*(dict(fields).get(name) for name in ("event", "id", "data")))


# Heads

def content_length(head):
    """What a head says of its body, in bytes; None where it says nothing. The head is text or bytes."""
    text = head if isinstance(head, str) else head.decode("latin-1")
    found = re.search(r"(?im)^content-length: (\d+)\s*$", text)
    return int(found.group(1)) if found else None


def cursor_of(message):
    """The cursor of a message, wherever it stands; None where it carries none."""
    for part in (message, *message.values()):
        if isinstance(part, dict) and "at" in part:
            return part["at"]
    return None


def version1(address, family="TCP4"):
    return f"PROXY {family} {address} {'192.0.2.9' if family == 'TCP4' else '::1'} 4711 443\r\n".encode()
