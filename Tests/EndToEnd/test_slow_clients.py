"""Clients that do not read: what they cost is bounded, and nobody else notices."""

import asyncio
import json
import struct

import pytest

from kafka_writer import Producer, while_producing
from processes import private_bytes
from rawclient import RawClient, play, until
from wire import frame, narrow, read_frames


@pytest.mark.unsanitized
def test_a_client_that_never_reads_is_closed_with_4409_while_others_get_everything(gateway, mock_broker, tokens):
    # On a machine that is slow for other reasons those who read may fall behind too, and come back by the log.
    door = gateway(mock_broker.bootstrap, history={"max_events_per_account": 1_000_000},
                   limits={"max_lag": "5s", "ping_interval": "1h", "pong_timeout": "1h"})
    token = tokens.token("PACC1")

    async def scenario():
        others = [await RawClient.open(door.host, token) for _ in range(3)]
        slow = await asyncio.to_thread(narrow, door.host, token)
        producer = Producer(mock_broker.bootstrap)
        await while_producing(producer, lambda: any("connection too slow" in line for line in door.program.err),
                              "that the client is found too slow")
        # What stands before the close frame is an unbroken beginning; nothing stands behind it.
        frames = await asyncio.to_thread(lambda: list(read_frames(slow)))
        assert frames[-1] == (0x8, struct.pack("!H", 4409) + b"too slow")
        assert {opcode for opcode, _ in frames[:-1]} == {0x1}
        got = [json.loads(payload)["id"] for _, payload in frames[:-1]]
        assert got == producer.ids[:len(got)] and len(got) < producer.count
        slow.close()
        told = json.loads(door.program.line("connection too slow"))
        assert told["reason"] == "behind for longer than max_lag"
        await until(lambda: all(len(client.messages) >= producer.count for client in others), 60, "all events at others")
        assert all(client.ids == producer.ids and client.close is None for client in others)

    play(scenario())


def test_what_is_left_of_a_client_that_never_reads_is_given_up(gateway, mock_broker, tokens):
    """Not even its close frame can be sent: the connection is let go all the same, and its memory."""
    door = gateway(mock_broker.bootstrap)
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
            peer.close()

    play(scenario())


# What a client sends is limited twice; here by nothing.
NO_LIMITS = {"max_control_frames_per_second": 1_000_000, "max_inbound_bytes_per_second": "1GiB"}


@pytest.mark.unsanitized
def test_a_ping_flood_from_a_peer_that_does_not_read_costs_one_pending_pong(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap, limits=NO_LIMITS)
    pid, token = door.program.pid, tokens.token("PACC1")
    count = 100_000

    def flood(peer):
        for first in range(0, count, 500):
            peer.sendall(b"".join(frame(0x9, f"{number:0120}".encode()) for number in range(first, first + 500)))

    with narrow(door.host, token) as warm:
        flood(warm)
        before = private_bytes(pid)
    with narrow(door.host, token) as peer:
        flood(peer)
        # 12 MB of pings have been read; what could be sent of their pongs lies in the kernel.
        assert private_bytes(pid) < before + (1 << 20)
        # What waits is read before it says goodbye: for its last words a connection has some seconds only.
        answers, frames = read_frames(peer), []
        while not frames or frames[-1][1] != f"{count - 1:0120}".encode():
            frames.append(next(answers))
        peer.sendall(frame(0x8, struct.pack("!H", 1000)))
        frames += answers
    assert frames.pop() == (0x8, struct.pack("!H", 1000))
    numbers = [int(payload) for opcode, payload in frames if opcode == 0xA]
    assert len(numbers) == len(frames) < count
    assert numbers == sorted(set(numbers))


def test_a_peer_that_pings_without_reading_finds_the_answer_to_its_last_ping(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap, limits=NO_LIMITS)
    count = 50_000
    with narrow(door.host, tokens.token("PACC1")) as peer:
        for first in range(0, count, 500):
            peer.sendall(b"".join(frame(0x9, f"{number:0120}".encode()) for number in range(first, first + 500)))
        answers = read_frames(peer)
        assert any(payload == f"{count - 1:0120}".encode() for opcode, payload in answers)


@pytest.mark.unsanitized
def test_while_one_client_does_not_read_the_next_event_reaches_the_others_at_once(gateway, mock_broker, tokens):
    """The slow client stays open behind the others, and they do not wait for it. The log holds all, since on a machine that
    is slow for other reasons whoever reads may fall behind too."""
    door = gateway(mock_broker.bootstrap, limits__max_lag="10m", history={"max_events_per_account": 1_000_000})
    token = tokens.token("PACC1")

    async def scenario():
        other = await RawClient.open(door.host, token)
        slow = await asyncio.to_thread(narrow, door.host, token)
        producer = Producer(mock_broker.bootstrap)
        # Many times what both kernels hold for a connection.
        await while_producing(producer, lambda: producer.count >= 40_000, "enough events")
        await until(lambda: len(other.messages) >= producer.count, 60, "all events at the other")
        assert other.ids == producer.ids
        slow.close()

    play(scenario())
