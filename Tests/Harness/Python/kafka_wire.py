"""As much of Kafka's protocol as tests speak themselves: requests, and records with every part of them."""

import socket
import struct
import time

from programs import PATIENCE, eventually

# Unknown topic, no leader, not the leader: for a moment after a topic was made. Nothing was written.
NO_LEADER_YET = (3, 5, 6)


def text(value):
    return struct.pack(">h", len(value.encode())) + value.encode()


def array(items):
    return struct.pack(">i", len(items)) + b"".join(items)


def call(bootstrap, key, version, body):
    """The answer of the first broker, without its correlation."""
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30 * PATIENCE) as broker:
        request = struct.pack(">hhi", key, version, 7) + text("tests") + body
        broker.sendall(struct.pack(">i", len(request)) + request)
        with broker.makefile("rb") as answers:
            return answers.read(struct.unpack(">i", answers.read(4))[0])[4:]


def produce_exactly(bootstrap, topic, records, partition=0):
    """Writes records with their keys, headers, time stamps and nulls as they are, in one batch, acknowledged by the broker.

    A record is a dictionary of `value`, `key`, `headers` (pairs) and `timestamp` in ms, now without one; texts or bytes.
    kcat cannot do it: it has one set of headers a run, no time stamps, and no empty value without a key."""
    now = int(time.time() * 1000)
    times = [record.get("timestamp", now) for record in records]
    first, latest = times[0], max(times)
    packed = [_record(number, record, times[number] - first) for number, record in enumerate(records)]
    summed = struct.pack(">hiqqqhi", 0, len(records) - 1, first, latest, -1, -1, -1) + array(packed)
    tail = struct.pack(">ibI", -1, 2, _crc32c(summed)) + summed
    batch = struct.pack(">qi", 0, len(tail)) + tail
    part = struct.pack(">i", partition) + struct.pack(">i", len(batch)) + batch
    body = struct.pack(">hhi", -1, -1, 20_000) + array([text(topic) + array([part])])
    errors = []

    def is_written():
        errors.append(struct.unpack_from(">h", call(bootstrap, 0, 7, body), 4 + 2 + len(topic) + 4 + 4)[0])
        assert errors[-1] in (0, *NO_LEADER_YET), f"Produce {topic}: {errors[-1]}"
        return errors[-1] == 0
    eventually(is_written, 20, lambda: f"a leader of {topic}: {errors[-1]}")


def _record(number, record, later):
    body = b"\0" + _varint(later) + _varint(number) + _bytes(record.get("key")) + _bytes(record.get("value"))
    headers = record.get("headers") or []
    body += _varint(len(headers)) + b"".join(_bytes(name) + _bytes(value) for name, value in headers)
    return _varint(len(body)) + body


def _bytes(value):
    if value is None:
        return _varint(-1)
    value = value.encode() if isinstance(value, str) else value
    return _varint(len(value)) + value


def _varint(number):
    number = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def _crc_of(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_CRC = [_crc_of(byte) for byte in range(256)]


def _crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
