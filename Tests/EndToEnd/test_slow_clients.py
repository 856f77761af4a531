"""Clients that do not read: what they cost is bounded, and nobody else notices."""

import asyncio
import os
import struct

from caller import narrow
from kafka_writer import Producer, while_producing
from processes import private_bytes
from rawclient import play, until
from wire import CLOSE, PING, PONG, frame

IS_SANITIZED = "LIVEGATE_SANITIZER" in os.environ


def test_what_is_left_of_a_client_that_never_reads_is_given_up(gateway, mock_broker, tokens):
    """Not even its close frame can be sent: the connection is let go all the same, and its memory."""
    door = gateway(mock_broker.bootstrap, limits__max_lag="2s")
    token = tokens.token("PACC1")
    before = door.descriptors()

    async def scenario():
        slow = [await asyncio.to_thread(narrow, door.host, token) for _ in range(8)]
        producer = Producer(mock_broker.bootstrap)
        await while_producing(
            producer, lambda: sum("connection too slow" in line for line in door.program.err) == len(slow),
            "that the clients are found too slow")
        await until(lambda: door.descriptors() <= before,
                    what="the descriptors of the slow clients")
        for peer in slow:
            peer.end()

    play(scenario())


# What a client sends is limited twice; here by nothing.
NO_LIMITS = {"max_control_frames_per_second": 1_000_000, "max_inbound_bytes_per_second": "1GiB"}


def test_a_peer_that_pings_without_reading_finds_the_answer_to_its_last_ping(gateway, mock_broker, tokens):
    """What it costs meanwhile is one pong that waits."""
    door = gateway(mock_broker.bootstrap, limits=NO_LIMITS)
    pid, token = door.program.pid, tokens.token("PACC1")
    count = 50_000

    def flood(peer):
        for first in range(0, count, 500):
            peer.send(b"".join(frame(PING, f"{number:0120}".encode()) for number in range(first, first + 500)))

    with narrow(door.host, token) as warm:
        flood(warm)
        before = private_bytes(pid)
    with narrow(door.host, token) as peer:
        flood(peer)
        # 6 MB of pings have been read; what could be sent of their pongs lies in the kernel. A sanitizer has memory of its own.
        assert IS_SANITIZED or private_bytes(pid) < before + (1 << 20)
        # What waits is read before it says goodbye: for its last words a connection has some seconds only.
        frames = []
        while not frames or frames[-1] != (PONG, f"{count - 1:0120}".encode()):
            assert (found := peer.read()), "the end"
            frames.append(found)
        peer.send(frame(CLOSE, struct.pack("!H", 1000)))
        frames += peer.frames()
    assert frames.pop() == (CLOSE, struct.pack("!H", 1000))
    numbers = [int(payload) for opcode, payload in frames if opcode == PONG]
    assert len(numbers) == len(frames) < count
    assert numbers == sorted(set(numbers))
