"""Opening handshakes of WebSockets (RFC 6455 §4.2.1)."""

from bad_inputs import Row
from bad_inputs.http_requests import HIDDEN, request

KEY, VERSION = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", b"Sec-WebSocket-Version: 13"
BAD = "400 `bad_upgrade`"


def upgrade(*fields, line=b"GET /live/v1 HTTP/1.1", protocol=b"Upgrade: websocket", connection=b"Connection: Upgrade",
            version=VERSION, key=KEY, body=b""):
    """An upgrade that is answered with 101 but for what is given."""
    return request(*filter(None, [protocol, version, key]), *fields, line=line, close=connection, body=body)


def offered(text):
    return upgrade(b"Sec-WebSocket-Extensions: " + text)


ROWS = [
    Row("POST", "405 `method_not_allowed`", "RFC 6455 §4.1", upgrade(line=b"POST /live/v1 HTTP/1.1")),
    Row("HTTP/1.0", BAD, "RFC 6455 §4.1", upgrade(line=b"GET /live/v1 HTTP/1.0")),
    Row("Upgrade names something else", BAD, "RFC 6455 §4.2.1", upgrade(protocol=b"Upgrade: websocket2")),
    Row("Upgrade is missing", BAD, "RFC 6455 §4.2.1", upgrade(protocol=b"")),
    Row("Connection does not name Upgrade", BAD, "RFC 6455 §4.2.1", upgrade(connection=b"Connection: keep-alive")),
    Row("the key is missing", BAD, "RFC 6455 §4.2.1", upgrade(key=b"")),
    Row("the key is of 15 bytes", BAD, "RFC 6455 §4.2.1", upgrade(key=b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j")),
    Row("the key is not base64", BAD, "RFC 6455 §4.2.1", upgrade(key=b"Sec-WebSocket-Key: !GhlIHNhbXBsZSBub25jZQ==")),
    Row("the key is of 4 KiB", BAD, "RFC 6455 §4.2.1", upgrade(key=b"Sec-WebSocket-Key: " + b"A" * 4096)),
    Row("two keys", BAD, "RFC 6455 §11.3.1", upgrade(KEY)),
    Row("the version is missing", BAD, "RFC 6455 §4.2.1", upgrade(version=b"")),
    Row("another version", "426 `upgrade_required`", "RFC 6455 §4.4", upgrade(version=b"Sec-WebSocket-Version: 8")),
    Row("a list of versions", "426 `upgrade_required`", "RFC 6455 §4.4",
        upgrade(version=b"Sec-WebSocket-Version: 13, 8")),
    Row("two versions", BAD, "RFC 6455 §4.4", upgrade(VERSION)),
    Row("a body with a length", BAD, "RFC 9110 §7.8", upgrade(b"Content-Length: 5", body=b"hello")),
    Row("a body in chunks", BAD, "RFC 9110 §7.8", upgrade(b"Transfer-Encoding: chunked", body=b"0\r\n\r\n")),
    Row("a request behind the upgrade, before its answer", "close 1002", "RFC 6455 §4.1", upgrade(body=HIDDEN)),
    Row("blanks without end in Sec-WebSocket-Protocol", "101", "CVE-2021-32640",
        upgrade(b"Sec-WebSocket-Protocol: b" + b" " * 14_000 + b"x")),
    Row("1,000 subprotocols", "101", "RFC 6455 §4.1", upgrade(b"Sec-WebSocket-Protocol: " + b"a," * 1000 + b"b")),
    Row("an extension by the name of a property", "101", "GHSA-5v72-xg48-5rpm", offered(b"constructor, __proto__; a")),
    Row("extensions that are no list", "101", "RFC 6455 §9.1", offered(b'permessage-deflate; a="b')),
    Row("17 extensions", "101", "RFC 6455 §9.1", offered(b"a, " * 16 + b"permessage-deflate")),
    Row("a quote that hides a comma", "101", "RFC 6455 §9.1", offered(b'a; b="c, permessage-deflate"')),
]
