"""What a trusted balancer begins a connection with (HAProxy, "The PROXY protocol"), before TLS and before a request."""

import socket
import struct

from bad_inputs import Row

CLOSED = "closed"
V1, V2 = "PROXY protocol §2.1", "PROXY protocol §2.2"
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
ADDRESSES = socket.inet_aton("203.0.113.7") + socket.inet_aton("192.0.2.9") + struct.pack("!HH", 4711, 443)


def version1(words):
    return b"PROXY " + words + b"\r\n"


def version2(command=0x21, family=0x11, block=ADDRESSES, length=None, signature=SIGNATURE):
    return signature + bytes([command, family]) + struct.pack("!H", len(block) if length is None else length) + block


def extra(size, kind=4):
    """A TLV of so many bytes behind its first three."""
    return bytes([kind]) + struct.pack("!H", size) + b"a" * size


ROWS = [
    Row("no header", CLOSED, "PROXY protocol §2", b""),
    Row("a header in lower case", CLOSED, V1, b"proxy TCP4 203.0.113.7 192.0.2.9 4711 443\r\n"),
    Row("PROXY with a tab behind it", CLOSED, V1, b"PROXY\tTCP4 203.0.113.7 192.0.2.9 4711 443\r\n"),
    Row("an unknown family", CLOSED, V1, version1(b"TCP5 203.0.113.7 192.0.2.9 4711 443")),
    Row("datagrams in version 1", CLOSED, V1, version1(b"UDP4 203.0.113.7 192.0.2.9 4711 443")),
    Row("TCP4 with addresses of IPv6", CLOSED, V1, version1(b"TCP4 2001:db8::7 2001:db8::9 4711 443")),
    Row("TCP6 with addresses of IPv4", CLOSED, V1, version1(b"TCP6 203.0.113.7 192.0.2.9 4711 443")),
    Row("a number that begins with 0, octal to some", CLOSED, V1, version1(b"TCP4 203.0.0113.7 192.0.2.9 4711 443")),
    Row("a number in hexadecimal", CLOSED, V1, version1(b"TCP4 0xcb.0.113.7 192.0.2.9 4711 443")),
    Row("an address of three numbers", CLOSED, V1, version1(b"TCP4 203.0.7 192.0.2.9 4711 443")),
    Row("a number of 256", CLOSED, V1, version1(b"TCP4 203.0.113.256 192.0.2.9 4711 443")),
    Row("an IPv6 address with two gaps", CLOSED, V1, version1(b"TCP6 2001::db8::7 ::1 4711 443")),
    Row("an IPv6 address with a zone", CLOSED, V1, version1(b"TCP6 fe80::7%eth0 ::1 4711 443")),
    Row("an IPv6 address of nine groups", CLOSED, V1, version1(b"TCP6 1:2:3:4:5:6:7:8:9 ::1 4711 443")),
    Row("a name instead of an address", CLOSED, V1, version1(b"TCP4 localhost 192.0.2.9 4711 443")),
    Row("a NUL in an address", CLOSED, V1, version1(b"TCP4 203.0.113.7\0 192.0.2.9 4711 443")),
    Row("a port of 65536", CLOSED, V1, version1(b"TCP4 203.0.113.7 192.0.2.9 65536 443")),
    Row("a port with a sign", CLOSED, V1, version1(b"TCP4 203.0.113.7 192.0.2.9 +1 443")),
    Row("a port that begins with 0", CLOSED, V1, version1(b"TCP4 203.0.113.7 192.0.2.9 04711 443")),
    Row("a port that is missing", CLOSED, V1, version1(b"TCP4 203.0.113.7 192.0.2.9 4711")),
    Row("two blanks between words", CLOSED, V1, version1(b"TCP4  203.0.113.7 192.0.2.9 4711 443")),
    Row("a word too many", CLOSED, V1, version1(b"TCP4 203.0.113.7 192.0.2.9 4711 443 1")),
    Row("a header of only its first word", CLOSED, V1, version1(b"")),
    Row("UNKNOWN as the beginning of a word", CLOSED, V1, version1(b"UNKNOWNS")),
    Row("UNKNOWN and rubbish, of 107 bytes", "101", V1, version1(b"UNKNOWN " + b"\xff" * (107 - 16))),
    Row("UNKNOWN and rubbish, of 108 bytes", CLOSED, V1, version1(b"UNKNOWN " + b"\xff" * (108 - 16))),
    Row("two headers of version 1", CLOSED, "PROXY protocol §2", version1(b"TCP4 203.0.113.7 192.0.2.9 4711 443") * 2,
        plain="400 `bad_request`"),
    Row("a header of version 2 behind one of version 1", CLOSED, "PROXY protocol §2",
        version1(b"TCP4 203.0.113.7 192.0.2.9 4711 443") + version2(), plain="400 `bad_request`"),
    Row("a signature with one wrong byte at its end", CLOSED, V2, version2(signature=SIGNATURE[:-1] + b"\r")),
    Row("version 1 in binary", CLOSED, V2, version2(command=0x11)),
    Row("version 3", CLOSED, V2, version2(command=0x31)),
    Row("an unknown command", CLOSED, V2, version2(command=0x22)),
    Row("an unknown family in binary", CLOSED, V2, version2(family=0x41)),
    Row("an unknown transport", CLOSED, V2, version2(family=0x13)),
    Row("datagrams in version 2", CLOSED, V2, version2(family=0x12)),
    Row("a Unix socket of datagrams", CLOSED, V2, version2(family=0x32, block=b"\0" * 216)),
    Row("addresses that are cut", CLOSED, V2, version2(length=11, block=ADDRESSES[:11])),
    Row("addresses of IPv6 as long as those of IPv4", CLOSED, V2, version2(family=0x21)),
    Row("a length of 65,535 bytes", CLOSED, V2, version2(length=65535)),
    Row("a header of 536 bytes", "101", V2, version2(block=ADDRESSES + extra(536 - 16 - 12 - 3))),
    Row("a header of 537 bytes", CLOSED, V2, version2(block=ADDRESSES + extra(537 - 16 - 12 - 3))),
    Row("a TLV that is longer than the header", "101", V2, version2(block=ADDRESSES + b"\x04\xff\xffa")),
    Row("a TLV with a name that claims an identity", "101", V2, version2(block=ADDRESSES + extra(9, kind=2))),
    Row("LOCAL with an unknown family", "101", V2, version2(command=0x20, family=0xFF, block=b"rubbish")),
    Row("a header that names no address on purpose", "101", V2, version2(family=0x00, block=b"")),
]
