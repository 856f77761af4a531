# Tests: Connection+Closing.swift, Connection+Streams.swift, Connection.swift
"""What a client may not send, and the code with which each breach is closed; what it may send is read and ignored."""

import socket
import struct
import time
import zlib

import pytest

from gateway import static_tokens
from programs import PATIENCE
from wire import connect, frame, upgrade

CLOSE, PING, PONG, TEXT, BINARY, MORE = 0x8, 0x9, 0xA, 0x1, 0x2, 0x0
# The limits' defaults, as the settings name them.
MESSAGE, FRAGMENTS, CONTROLS = 4096, 512, 100
# In seconds: how long a message may take.
MESSAGE_TIME = 10


@pytest.fixture
def door(gateway, mock_broker, tmp_path):
    # Every fragment counts among the frames of a second: here the limit of fragments comes first.
    return gateway(mock_broker.bootstrap, auth={"tokens": str(static_tokens(tmp_path, ["PACC1"]))},
                   limits={"max_messages_per_second": 2 * FRAGMENTS})


def close(code, reason=b""):
    return frame(CLOSE, struct.pack("!H", code) + reason)


def talk(door, sent):
    """Sends bytes behind a handshake. Returns the frames that come until the server ends the connection."""
    with connect(door.host, 10 * PATIENCE) as peer:
        peer.sendall(upgrade("token-PACC1"))
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += peer.recv(4096)
        answer = answer.partition(b"\r\n\r\n")[2]
        peer.sendall(sent)
        while chunk := peer.recv(65536):
            answer += chunk
    return frames(answer)


def frames(data):
    """The short frames of a server: pairs of opcode and payload."""
    found = []
    while data:
        assert data[0] & 0xF0 == 0x80 and data[1] < 126, data[:20]
        found.append((data[0] & 0x0F, data[2:2 + data[1]]))
        data = data[2 + data[1]:]
    return found


def closed_with(door, sent):
    """The code of the close frame, which is the last thing that the server says."""
    said = talk(door, sent)
    assert [opcode for opcode, _ in said].count(CLOSE) == 1 and said[-1][0] == CLOSE, said
    return struct.unpack("!H", said[-1][1][:2])[0]


BREACHES = {
    "a frame without a mask": (1002, b"\x81\x02hi"),
    "an opcode that is kept for later": (1002, frame(0x3)),
    "a control opcode that is kept for later": (1002, frame(0xB)),
    "a reserved bit": (1002, bytes([0xC1]) + frame(TEXT, b"hi")[1:]),
    "a ping in fragments": (1002, frame(PING, final=False)),
    "a ping over 125 bytes": (1002, frame(PING, b"x" * 126)),
    "a continuation of nothing": (1002, frame(MORE, b"x")),
    "a message inside a message": (1002, frame(TEXT, b"x", final=False) + frame(TEXT, b"y")),
    "a length that is not the shortest": (1002, b"\x82\xfe\0\x05" + bytes(9)),
    "a length with its top bit": (1002, b"\x82\xff" + b"\xff" * 8 + bytes(4)),
    "a close of one byte": (1002, frame(CLOSE, b"\x03")),
    "a close with a code that is never sent": (1002, close(1006)),
    "a close whose reason is not utf-8": (1007, close(1000, b"\xff")),
    "a text that is not utf-8": (1007, frame(TEXT, b"\xc3\x28")),
    "a text that ends inside a character": (1007, frame(TEXT, "é".encode()[:1])),
    "a surrogate": (1007, frame(TEXT, b"\xed\xa0\x80")),
    "a text that goes wrong in its second fragment": (
        1007, frame(TEXT, "é".encode()[:1], final=False) + frame(MORE, b"x", final=False)),
    "a message over the limit": (1009, frame(BINARY, b"x" * (MESSAGE + 1))),
    "fragments that are over the limit together": (
        1009, frame(BINARY, b"x" * MESSAGE, final=False) + frame(MORE, b"x")),
    "the mere announcement of a huge message": (1009, b"\x82\xff\x3f" + b"\xff" * 7 + bytes(4)),
    "more fragments than allowed": (1008, frame(TEXT, b"x", final=False) + FRAGMENTS * frame(MORE, b"x", final=False)),
    "more fragments than allowed, all empty": (1008, frame(TEXT, final=False) + FRAGMENTS * frame(MORE, final=False)),
    "more pings than a second allows": (1008, (CONTROLS + 1) * frame(PING)),
    "more pongs than a second allows": (1008, (CONTROLS + 1) * frame(PONG)),
}


def test_each_breach_is_closed_with_its_code_and_nothing_follows(door):
    for name, (code, sent) in BREACHES.items():
        assert closed_with(door, sent) == code, name


def test_what_stands_exactly_at_a_limit_is_read_and_ignored(door):
    fine = [
        frame(TEXT, b"x" * MESSAGE), frame(BINARY, b"\xff" * MESSAGE), frame(TEXT), frame(PONG),
        frame(TEXT, b"x", final=False) + (FRAGMENTS - 2) * frame(MORE, final=False) + frame(MORE, b"y"),
        frame(TEXT, "é".encode()[:1], final=False) + frame(PING, b"between") + frame(MORE, "é".encode()[1:]),
        (CONTROLS - 5) * frame(PONG), frame(PING, b"z" * 125),
    ]
    assert talk(door, b"".join(fine) + close(1000, b"bye")) == [
        (PONG, b"between"), (PONG, b"z" * 125), (CLOSE, struct.pack("!H", 1000))]


def test_a_close_is_answered_with_its_own_code(door):
    for code in (1000, 1001, 1003, 3000, 4999):
        assert talk(door, close(code, b"reason")) == [(CLOSE, struct.pack("!H", code))]
    assert talk(door, frame(CLOSE)) == [(CLOSE, b"")]


def test_what_comes_behind_a_breach_or_a_close_is_not_looked_at(door):
    assert closed_with(door, frame(0x3) + frame(PING) + close(1000)) == 1002
    assert talk(door, close(1000) + frame(PING) + frame(0x3)) == [(CLOSE, struct.pack("!H", 1000))]


@pytest.mark.slow
def test_a_message_that_never_ends_is_closed_though_its_client_answers_pings(gateway, mock_broker, tmp_path):
    """A compressed one would keep an inflater for as long as the connection lives."""
    door = gateway(mock_broker.bootstrap, auth={"tokens": str(static_tokens(tmp_path, ["PACC1"]))},
                   websocket={"deflate": True}, limits={"ping_interval": "500ms"})
    deflater = zlib.compressobj(wbits=-15)
    begin = frame(TEXT, deflater.compress(b"x" * 1000) + deflater.flush(zlib.Z_SYNC_FLUSH), final=False)
    with connect(door.host, 10 * PATIENCE) as peer:
        peer.sendall(upgrade("token-PACC1", headers=["Sec-WebSocket-Extensions: permessage-deflate"]))
        stream = peer.makefile("rb")
        head = b"".join(iter(stream.readline, b"\r\n"))
        assert b"permessage-deflate" in head
        begun = time.monotonic()
        # Reserved bit 1: the message is compressed.
        peer.sendall(bytes([begin[0] | 0x40]) + begin[1:])
        pongs = 0
        while (said := stream.read(2))[0] & 0x0F == PING:
            assert time.monotonic() < begun + MESSAGE_TIME + 10 * PATIENCE, f"{pongs} pongs, and no close"
            peer.sendall(frame(PONG, stream.read(said[1])))
            pongs += 1
        assert said[0] & 0x0F == CLOSE and struct.unpack("!H", stream.read(said[1])[:2])[0] == 1008
        assert pongs > 0 and time.monotonic() >= begun + MESSAGE_TIME


def test_the_end_of_a_token_is_told_with_4401_and_not_before(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap)

    def join(token):
        issued, peer, answer = time.time(), connect(door.host, 20 * PATIENCE), b""
        peer.sendall(upgrade(token))
        while b"\r\n\r\n" not in answer:
            answer += peer.recv(4096)
        assert answer.startswith(b"HTTP/1.1 101 ")
        return issued, token, peer, answer

    issued, token, peer, answer = tokens.joined_for_a_moment("PACC1", join)
    with peer:
        while chunk := peer.recv(4096):
            answer += chunk
            if answer.endswith(b"token expired"):
                # `exp` is in whole seconds.
                assert time.time() >= issued + 1
                peer.sendall(close(4401))
        assert frames(answer.partition(b"\r\n\r\n")[2]) == [(CLOSE, struct.pack("!H", 4401) + b"token expired")]
    assert b" 401 " in handshake(door, token)


def handshake(door, token):
    with connect(door.host, 10 * PATIENCE) as peer:
        peer.sendall(upgrade(token))
        return peer.recv(4096)


def test_a_client_that_finishes_sending_without_a_close_is_let_go(door):
    with connect(door.host, 10 * PATIENCE) as peer:
        peer.sendall(upgrade("token-PACC1"))
        assert peer.recv(4096).startswith(b"HTTP/1.1 101 ")
        peer.shutdown(socket.SHUT_WR)
        assert peer.recv(4096) == b""
