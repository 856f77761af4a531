# Tests: Connection+Closing.swift, Connection+Streams.swift, Connection.swift
"""What a client may not send, and the code with which each breach is closed; what it may send is read and ignored."""

import struct
import time
import zlib

import pytest

from caller import Caller
from gateway import static_tokens
from programs import PATIENCE
from wire import BINARY, CLOSE, MORE, PING, PONG, TEXT, frame, upgrade

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
    """Sends bytes behind a handshake. Returns the frames that come until the server ends the connection: at most one close, and
    nothing behind it."""
    with Caller.join(door.host, "token-PACC1") as peer:
        peer.send(sent)
        return list(peer.frames())


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
        # What comes behind it is not looked at.
        for more in (b"", frame(PING) + close(1000)):
            opcode, payload = talk(door, sent + more)[-1]
            assert opcode == CLOSE and struct.unpack("!H", payload[:2])[0] == code, (name, more)


def test_what_may_be_sent_is_read_and_ignored_until_a_close_which_is_answered(door):
    at_limits = [
        frame(TEXT, b"x" * MESSAGE), frame(BINARY, b"\xff" * MESSAGE), frame(TEXT), frame(PONG),
        frame(TEXT, b"x", final=False) + (FRAGMENTS - 2) * frame(MORE, final=False) + frame(MORE, b"y"),
        frame(TEXT, "é".encode()[:1], final=False) + frame(PING, b"between") + frame(MORE, "é".encode()[1:]),
        (CONTROLS - 5) * frame(PONG), frame(PING, b"z" * 125),
    ]
    rows = {"at each limit": (b"".join(at_limits) + close(1000, b"bye"), [(PONG, b"between"), (PONG, b"z" * 125)], 1000),
            "a close without a code": (frame(CLOSE), [], None),
            "something behind a close": (close(1000) + frame(PING) + frame(0x3), [], 1000),
            **{f"a close with {code}": (close(code, b"reason"), [], code) for code in (1000, 1001, 1003, 3000, 4999)}}
    for name, (sent, pongs, code) in rows.items():
        assert talk(door, sent) == [*pongs, (CLOSE, b"" if code is None else struct.pack("!H", code))], name


@pytest.mark.slow
def test_a_message_that_never_ends_is_closed_though_its_client_answers_pings(gateway, mock_broker, tmp_path):
    """A compressed one would keep an inflater for as long as the connection lives."""
    door = gateway(mock_broker.bootstrap, auth={"tokens": str(static_tokens(tmp_path, ["PACC1"]))},
                   websocket={"deflate": True}, limits={"ping_interval": "500ms"})
    deflater = zlib.compressobj(wbits=-15)
    begin = frame(TEXT, deflater.compress(b"x" * 1000) + deflater.flush(zlib.Z_SYNC_FLUSH), final=False)
    with Caller(door.host) as peer:
        peer.send(upgrade("token-PACC1", headers=["Sec-WebSocket-Extensions: permessage-deflate"]))
        assert "permessage-deflate" in peer.upgraded(extensions=0x40)
        begun = time.monotonic()
        # Reserved bit 1: the message is compressed.
        peer.send(bytes([begin[0] | 0x40]) + begin[1:])
        pongs = 0
        while (found := peer.read())[0] == PING:
            assert time.monotonic() < begun + MESSAGE_TIME + 10 * PATIENCE, f"{pongs} pongs, and no close"
            peer.send(frame(PONG, found[1]))
            pongs += 1
        assert found[0] == CLOSE and peer.received.close[0] == 1008
        assert pongs > 0 and time.monotonic() >= begun + MESSAGE_TIME
