"""Frames of an open WebSocket (RFC 6455 §5 to §7, RFC 7692)."""

import json
import struct
import zlib

from bad_inputs import Row
from bad_inputs.upgrades import upgrade
from wire import BINARY, CLOSE, MORE, PING, PONG, TEXT, frame

BROKEN, INVALID, RULE, LARGE, FLOOD = "close 1002", "close 1007", "close 1008", "close 1009", "close 4429"
EXPIRED = "close 4401"
# Twenty times and more what a client may send within a second, so that it is too much on any machine.
MANY = 3000


def after(*frames, extensions=()):
    return upgrade(*extensions) + b"".join(frames)


def raw(first, length, payload=b"", mask=b"\0\0\0\0"):
    """A frame with these bytes for its first, and for its length with the bit of the mask."""
    return bytes([first]) + length + mask + payload


def closing(code, reason=b""):
    return frame(CLOSE, struct.pack("!H", code) + reason)


def row(name, answer, source, *frames):
    return Row(name, answer, source, after(*frames))


HEADERS = [
    row("the first reserved bit without an extension", BROKEN, "RFC 6455 §5.2", raw(0xC1, b"\x80")),
    row("the second reserved bit", BROKEN, "RFC 6455 §5.2", raw(0xA1, b"\x80")),
    row("the third reserved bit", BROKEN, "RFC 6455 §5.2", raw(0x91, b"\x80")),
    *(row(f"opcode {opcode}", BROKEN, "RFC 6455 §5.2", raw(0x80 | opcode, b"\x80")) for opcode in (3, 7, 11, 15)),
    row("a text without a mask", BROKEN, "RFC 6455 §5.1", frame(TEXT, b"a", masked=False)),
    row("a close without a mask", BROKEN, "RFC 6455 §5.1", frame(CLOSE, masked=False)),
    row("5 bytes with a length of two bytes", BROKEN, "RFC 6455 §5.2", raw(0x81, b"\xfe\x00\x05", b"aaaaa")),
    row("5 bytes with a length of eight bytes", BROKEN, "RFC 6455 §5.2", raw(0x81, b"\xff" + struct.pack("!Q", 5), b"a" * 5)),
    row("65,535 bytes with a length of eight bytes", BROKEN, "RFC 6455 §5.2", raw(0x82, b"\xff" + struct.pack("!Q", 65535))),
    row("a length of 2⁶³", BROKEN, "RFC 6455 §5.2, CVE-2026-27889", raw(0x82, b"\xff" + struct.pack("!Q", 1 << 63))),
    row("a length of 2⁶⁴ − 1", BROKEN, "RFC 6455 §5.2, CVE-2020-27813", raw(0x82, b"\xff" + b"\xff" * 8)),
    row("a length of 2⁶³ − 1", LARGE, "RFC 6455 §10.4, CVE-2020-27813", raw(0x82, b"\xff\x7f" + b"\xff" * 7)),
    row("a length of 2³² of which nothing comes", LARGE, "RFC 6455 §10.4", raw(0x82, b"\xff" + struct.pack("!Q", 1 << 32))),
    row("two fragments whose lengths are 2⁶³ together", LARGE, "CVE-2020-27813", frame(BINARY, b"a" * 9, final=False),
        raw(0x80, b"\xff\x7f" + b"\xff" * 7)),
    row("a message of 4 KiB", "101", "RFC 6455 §10.4", frame(BINARY, b"a" * 4096)),
    row("a message of 4 KiB and a byte", LARGE, "RFC 6455 §10.4", frame(BINARY, b"a" * 4097)),
    row("4 KiB and a byte in two fragments", LARGE, "RFC 6455 §10.4", frame(BINARY, b"a" * 4096, final=False), frame(MORE, b"a")),
    row("a request instead of a frame", BROKEN, "RFC 6455 §5.2", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    row("a hello of TLS instead of a frame", BROKEN, "RFC 6455 §5.2", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
]

CONTROL = [
    row("a ping of 125 bytes", "101", "RFC 6455 §5.5", frame(PING, b"a" * 125)),
    row("a ping of 126 bytes", BROKEN, "RFC 6455 §5.5", frame(PING, b"a" * 126)),
    row("a ping in fragments", BROKEN, "RFC 6455 §5.5", frame(PING, b"a", final=False)),
    row("a close in fragments", BROKEN, "RFC 6455 §5.5", frame(CLOSE, b"\x03", final=False), frame(MORE, b"\xe8")),
    row("a pong that nobody asked for", "101", "RFC 6455 §5.5.3", frame(PONG, b"a")),
    row("a ping inside a message", "101", "RFC 6455 §5.4", frame(TEXT, b"a", final=False), frame(PING), frame(MORE, b"b")),
    row("a flood of pings", RULE, "RFC 6455 §10.4", frame(PING) * MANY),
    row("a flood of pongs", RULE, "RFC 6455 §10.4", frame(PONG) * MANY),
    row("a close of 1 byte", BROKEN, "RFC 6455 §5.5.1", frame(CLOSE, b"\x03")),
    *(row(f"a close with the code {code}", BROKEN, "RFC 6455 §7.4", closing(code))
      for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535)),
    row("a close with the code 4999", "close 4999", "RFC 6455 §7.4.2", closing(4999)),
    row("a close whose reason is not UTF-8", INVALID, "RFC 6455 §5.5.1", closing(1000, b"\xff")),
    row("a close with a reason of 124 bytes", BROKEN, "RFC 6455 §5.5", closing(1000, b"a" * 124)),
    row("a close without a code, and a message behind it", "close 1005", "RFC 6455 §5.5.1", frame(CLOSE), frame(TEXT, b"a")),
    row("a close, and rubbish behind it", "close 1000", "RFC 6455 §5.5.1", closing(1000), b"\xff" * 99),
]

MESSAGES = [
    row("a continuation of nothing", BROKEN, "RFC 6455 §5.4", frame(MORE, b"a")),
    row("a continuation behind the end of a message", BROKEN, "RFC 6455 §5.4", frame(TEXT, b"a", final=False),
        frame(MORE, b"b"), frame(MORE, b"c")),
    row("a text inside a text", BROKEN, "RFC 6455 §5.4", frame(TEXT, b"a", final=False), frame(TEXT, b"b")),
    row("a binary message inside a text", BROKEN, "RFC 6455 §5.4", frame(TEXT, b"a", final=False), frame(BINARY, b"b")),
    row("64 fragments", "101", "RFC 6455 §10.4", frame(TEXT, final=False), frame(MORE, final=False) * 62, frame(MORE)),
    row("65 fragments", RULE, "RFC 6455 §10.4, CVE-2026-48779", frame(TEXT, final=False), frame(MORE, final=False) * 64),
    row("a flood of empty messages", FLOOD, "RFC 6455 §10.4", frame(TEXT) * MANY),
    row("a flood of 2 MiB", FLOOD, "RFC 6455 §10.4", frame(BINARY, b"a" * 4096) * 512),
    row("an overlong form of UTF-8", INVALID, "RFC 3629 §3", frame(TEXT, b"\xc0\x80")),
    row("a surrogate in UTF-8", INVALID, "RFC 3629 §3", frame(TEXT, b"\xed\xa0\x80")),
    row("a code point beyond Unicode", INVALID, "RFC 3629 §3", frame(TEXT, b"\xf4\x90\x80\x80")),
    row("a character that does not end", INVALID, "RFC 6455 §8.1", frame(TEXT, b"a\xe2\x82")),
    row("a character that two fragments share", "101", "RFC 6455 §5.6", frame(TEXT, b"\xe2\x82", final=False), frame(MORE, b"\xac")),
    row("a character that two fragments break", INVALID, "RFC 6455 §8.1", frame(TEXT, b"\xe2\x82", final=False), frame(MORE, b"a")),
    row("bytes that are not UTF-8 in a binary message", "101", "RFC 6455 §5.6", frame(BINARY, b"\xff\xfe")),
    row("2,000 brackets that open", "101", "RFC 8259 §9", frame(TEXT, b"[" * 2000)),
    row("500 objects inside each other", "101", "RFC 8259 §9", frame(TEXT, b'{"token":' * 400)),
]

OFFER = b"Sec-WebSocket-Extensions: permessage-deflate"


def squeezed(data, level=9):
    """What permessage-deflate makes of a message (RFC 7692 §7.2.1)."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return (packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]


def compressed(payload, opcode=TEXT, final=True):
    first, *rest = frame(opcode, payload, final=final)
    return bytes([first | 0x40, *rest])


def deflated(name, answer, source, *frames, offer=OFFER):
    return Row(name, answer, source, after(*frames, extensions=[offer]))


BOMB = squeezed(b"a" * (4 << 20))
COMPRESSION = [
    deflated("an honest compressed message", "101", "RFC 7692 §6", compressed(squeezed(b"hello"))),
    row("a compressed message that was not agreed on", BROKEN, "RFC 7692 §6", compressed(squeezed(b"hello"))),
    deflated("a compressed ping", BROKEN, "RFC 7692 §6.1", compressed(b"", PING)),
    deflated("a continuation with the bit of compression", BROKEN, "RFC 7692 §6.1",
             compressed(squeezed(b"hello"), final=False), compressed(b"", MORE)),
    deflated("4 MiB in 4 KiB", LARGE, "GHSA-qrvq-68c2-7grw, CVE-2026-1526", compressed(BOMB[:4000])),
    deflated("4 MiB in fragments", LARGE, "GHSA-qrvq-68c2-7grw",
             compressed(BOMB[:20], final=False), *(frame(MORE, BOMB[at:at + 500], final=False) for at in range(20, 4000, 500))),
    deflated("20 KiB of empty blocks", LARGE, "RFC 1951 §3.2.4",
             compressed(b"\0\0\0\xff\xff" * 800, final=False), *(frame(MORE, b"\0\0\0\xff\xff" * 800, final=False) for _ in range(5))),
    deflated("a block of the fourth kind", INVALID, "RFC 1951 §3.2.3", compressed(b"\x07aaaa")),
    deflated("a stored block whose lengths differ", INVALID, "RFC 1951 §3.2.4", compressed(b"\0\x05\x00\x00\x00aaaaa")),
    deflated("a distance before the beginning", INVALID, "RFC 1951 §3.2.5", compressed(b"\x02\x42\x00\x00")),
    deflated("a compressed text that is not UTF-8", INVALID, "RFC 7692 §6.2", compressed(squeezed(b"\xff\xfe"))),
    *(deflated(f"a window of {bits}, which is none, and no compression then", BROKEN, "RFC 7692 §7.1.2", compressed(squeezed(b"a")),
               offer=OFFER + b"; server_max_window_bits=%s" % bits.encode()) for bits in ("7", "16", "015", "")),
    deflated("a parameter twice, and no compression then", BROKEN, "RFC 7692 §7.1", compressed(squeezed(b"a")),
             offer=OFFER + b"; client_no_context_takeover; client_no_context_takeover"),
]


def token_message(*values):
    """`{"token":…}` with each of the values, as they stand."""
    return frame(TEXT, b"{" + b",".join(b'"token":' + value for value in values) + b"}")


def filled(*frames):
    """Frames whose lengths are only known once places are filled in."""
    def build(stage):
        messages = []
        for values in frames:
            messages.append(token_message(*(stage.fill(value) for value in values)))
        return stage.fill(upgrade()) + b"".join(messages)
    return build


RENEWAL = [
    Row("a good token", "101", "own rule", filled([b'"@TOKEN@"'])),
    Row("a token of another account", EXPIRED, "own rule", filled([b'"@VICTIM@"'])),
    Row("a good token beside one of another account", EXPIRED, "RFC 8259 §4", filled([b'"@TOKEN@"', b'"@VICTIM@"'])),
    Row("a token that is a number", EXPIRED, "own rule", filled([b"1"])),
    Row("a token that is nothing", EXPIRED, "own rule", filled([b"null"])),
    Row("a token that is empty", EXPIRED, "own rule", filled([b'""'])),
    Row("a token with a NUL", EXPIRED, "own rule", filled([b'"@TOKEN@\\u0000"'])),
    Row("a token that nobody has signed", EXPIRED, "own rule", filled([b'"a.b.c"'])),
    Row("300 good tokens at once", FLOOD, "own rule", filled(*([[b'"@TOKEN@"']] * 300))),
    Row("a token of 16 KiB", EXPIRED, "own rule", filled([b'"' + b"a" * (16384 - 12) + b'"'])),
    Row("a token of 16 KiB and a byte", LARGE, "own rule", filled([b'"' + b"a" * (16384 - 11) + b'"'])),
    Row("5 KiB that only begin like a token", LARGE, "own rule",
        after(frame(TEXT, json.dumps({"tokem": "a" * 5000}).encode()))),
]
