"""What begins a connection that should begin with TLS (RFC 8446, RFC 5246), at an address with TLS and at one without."""

import struct

from bad_inputs import Row
from bad_inputs.http_requests import request

CLOSED, SHAKES, TEXT = "closed", "handshake", "400 `bad_request`"


def short(*numbers):
    return struct.pack(f"!{len(numbers)}H", *numbers)


def sized(data, width=2):
    return len(data).to_bytes(width, "big") + data


def extension(kind, data):
    return short(kind) + sized(data)


NAME = extension(0, sized(b"\0" + sized(b"localhost")))
GROUPS = extension(10, sized(short(29, 23)))
SIGNATURES = extension(13, sized(short(0x0403, 0x0804, 0x0401)))
VERSIONS = extension(43, sized(short(0x0304, 0x0303), 1))
SHARE = extension(51, sized(short(29) + sized(b"\x09" + bytes(31))))
COMMON = (NAME, GROUPS, SIGNATURES, VERSIONS, SHARE)


def record(data, kind=22, version=0x0301):
    return bytes([kind]) + short(version) + sized(data)


def hello(version=0x0303, suites=(0x1301, 0xC02B), compressions=b"\0", extensions=COMMON, session=b"", claimed=None):
    body = short(version) + bytes(range(32)) + sized(session, 1) + sized(short(*suites)) + sized(compressions, 1) + \
        sized(b"".join(extensions))
    return b"\x01" + (len(body) if claimed is None else claimed).to_bytes(3, "big") + body


def greeting(**changes):
    return record(hello(**changes))


def without(*left_out, more=()):
    return (*(each for each in COMMON if each not in left_out), *more)


OLD = without(VERSIONS, SHARE)


def row(name, answer, source, sent):
    """At an address without TLS everything of TLS is a request with control bytes."""
    return Row(name, answer, source, sent, plain=TEXT)


ROWS = [
    Row("a request in the clear", TEXT, "RFC 8446 §6.2", request(), plain="200"),
    row("a good hello", SHAKES, "RFC 8446 §4.1.2", greeting()),
    row("a hello in records of one byte", SHAKES, "RFC 8446 §5.1",
        b"".join(record(bytes([byte])) for byte in hello())),
    row("TLS 1.2 with forward secrecy", SHAKES, "RFC 9325 §4.2", greeting(extensions=OLD)),
    row("SSL 2", CLOSED, "RFC 6176", b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + bytes(40)),
    row("SSL 3", CLOSED, "RFC 7568", record(hello(0x0300, extensions=OLD), version=0x0300)),
    row("TLS 1.0", CLOSED, "RFC 8996 §4", greeting(version=0x0301, extensions=OLD)),
    row("TLS 1.1", CLOSED, "RFC 8996 §5", greeting(version=0x0302, extensions=OLD)),
    row("only a version of 1.3's drafts", CLOSED, "RFC 8446 §4.2.1",
        greeting(extensions=without(VERSIONS, more=[extension(43, sized(short(0x7F1C), 1))]))),
    row("suites without encryption", CLOSED, "RFC 9325 §4.1", greeting(suites=(0x0000, 0xC006), extensions=OLD)),
    row("suites for export, with RC4 and 3DES", CLOSED, "RFC 7465, RFC 9325 §4.1",
        greeting(suites=(0x0003, 0x0005, 0x000A, 0xC011), extensions=OLD)),
    row("suites without forward secrecy", CLOSED, "RFC 9325 §4.1", greeting(suites=(0x009C, 0x002F), extensions=OLD)),
    row("a fallback that nothing asks for", CLOSED, "RFC 7507 §3", greeting(suites=(0xC02B, 0x5600), extensions=OLD)),
    row("no suites", CLOSED, "RFC 8446 §4.1.2", greeting(suites=())),
    row("compression alone", CLOSED, "RFC 5246 §7.4.1.2, CVE-2012-4929", greeting(compressions=b"\x01", extensions=OLD)),
    row("compression in 1.3", CLOSED, "RFC 8446 §4.1.2", greeting(compressions=b"\x01\x00")),
    row("a session of 33 bytes", CLOSED, "RFC 8446 §4.1.2", greeting(session=bytes(33))),
    row("an empty name of a server", SHAKES, "RFC 6066 §3",
        greeting(extensions=without(NAME, more=[extension(0, sized(b"\0" + sized(b"")))]))),
    row("a NUL in the name of a server", CLOSED, "RFC 6066 §3",
        greeting(extensions=without(NAME, more=[extension(0, sized(b"\0" + sized(b"local\0host")))]))),
    row("a name of a server of 300 bytes", CLOSED, "RFC 6066 §3",
        greeting(extensions=without(NAME, more=[extension(0, sized(b"\0" + sized(b"a" * 300)))]))),
    row("a name of a server that is longer than its list", CLOSED, "RFC 6066 §3",
        greeting(extensions=without(NAME, more=[extension(0, sized(b"\0" + short(900) + b"a"))]))),
    row("one extension twice", CLOSED, "RFC 8446 §4.2", greeting(extensions=(*COMMON, NAME))),
    row("a share of another length than its group's", CLOSED, "RFC 8446 §4.2.8",
        greeting(extensions=without(SHARE, more=[extension(51, sized(short(29) + sized(bytes(5))))]))),
    row("a share of zeros", CLOSED, "RFC 7748 §6.1",
        greeting(extensions=without(SHARE, more=[extension(51, sized(short(29) + sized(bytes(32))))]))),
    row("a point that is not on the curve", CLOSED, "RFC 8446 §4.2.8.2",
        greeting(extensions=without(SHARE, more=[extension(51, sized(short(23) + sized(b"\x04" + b"\x11" * 64)))]))),
    row("no group that both have", CLOSED, "RFC 8446 §4.1.1",
        greeting(extensions=without(GROUPS, SHARE, more=[extension(10, sized(short(0x0001))), extension(51, sized(b""))]))),
    row("no signature algorithm in common", CLOSED, "RFC 8446 §4.4.3",
        greeting(extensions=without(SIGNATURES, more=[extension(13, sized(short(0x0101)))]))),
    row("a key from before that is not the last extension", CLOSED, "RFC 8446 §4.2.11",
        greeting(extensions=without(NAME, more=[extension(41, sized(sized(b"a") + bytes(4)) + sized(sized(bytes(32), 1))), NAME]))),
    row("data before the handshake under a ticket that nobody made", SHAKES, "RFC 8446 §8",
        greeting(extensions=(*COMMON, extension(42, b""), extension(45, b"\x01\x01"),
                             extension(41, sized(sized(b"a" * 64) + bytes(4)) + sized(sized(bytes(32), 1)))))),
    row("a list of protocols longer than its length field", CLOSED, "RFC 7301 §3.1",
        greeting(extensions=(*COMMON, extension(16, short(2) + b"\x08http/1.1")))),
    row("an extension that is longer than the hello", CLOSED, "RFC 8446 §4.2",
        greeting(extensions=(*COMMON, short(16, 900) + b"a"))),
    row("a hello whose length field names 16 MiB", CLOSED, "RFC 8446 §4", greeting(claimed=0xFFFFFF)),
    row("a record of 65,535 bytes", CLOSED, "RFC 8446 §5.1", b"\x16\x03\x01\xff\xff" + hello() + bytes(17_000)),
    row("an empty record of a handshake", CLOSED, "RFC 8446 §5.1", record(b"") * 99),
    row("a record of an unknown kind", CLOSED, "RFC 8446 §5", record(hello(), kind=99)),
    row("a heartbeat", CLOSED, "RFC 6520 §3, CVE-2014-0160", record(b"\x01\x40\x00", kind=24)),
    row("an alert", CLOSED, "RFC 8446 §6", record(b"\x02\x28", kind=21)),
    row("data before the hello", CLOSED, "RFC 8446 §5.1", record(b"GET / HTTP/1.1\r\n\r\n", kind=23)),
    row("a change of ciphers before the hello", CLOSED, "RFC 8446 §5, CVE-2014-0224", record(b"\x01", kind=20) + record(b"\0" * 9, kind=23)),
    row("another message than a hello", CLOSED, "RFC 8446 §4", record(b"\x0b\x00\x00\x03\x00\x00\x00")),
    row("a server's hello", CLOSED, "RFC 8446 §4", record(b"\x02" + hello()[1:])),
    row("rubbish that is no TLS", CLOSED, "RFC 8446 §5", b"\xff\x00\xaa\x55" * 50),
]
