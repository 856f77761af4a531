"""Clients that do not read: what they cost is bounded, and nobody else notices."""

import asyncio
import json
import socket
import struct
import subprocess

import pytest

from processes import descriptors, private_bytes
from programs import PATIENCE, eventually
from rawclient import RawClient, event, frame, play, until, upgrade


def narrow(host, token, path="/live/v1"):
    """An open connection whose kernel takes as little as it can be told to."""
    address, _, port = host.rpartition(":")
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    peer.settimeout(20 * PATIENCE)
    peer.connect((address, int(port)))
    peer.sendall(upgrade(token, path))
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += peer.recv(1)
    assert head.startswith(b"HTTP/1.1 101 ")
    return peer


def read_frames(peer):
    """All frames to the end of the connection: pairs of opcode and payload."""
    with peer.makefile("rb") as stream:
        while head := stream.read(2):
            length = head[1] if head[1] < 126 else struct.unpack("!H", stream.read(2))[0]
            payload = stream.read(length)
            assert len(payload) == length, "cut in the middle of a frame"
            yield head[0] & 0x0F, payload


class Producer:
    """Numbered events for PACC1, of about 300 bytes each, until told to stop."""

    def __init__(self, bootstrap):
        self.bootstrap, self.count, self.stops = bootstrap, 0, False

    async def run(self):
        kcat = await asyncio.create_subprocess_exec(
            "kcat", "-P", "-b", self.bootstrap, "-t", "incidents", "-p", "0", "-X", "linger.ms=1", stdin=subprocess.PIPE)
        while not self.stops:
            for _ in range(50):
                kcat.stdin.write(json.dumps(event("PACC1", f"{self.count:0200}", "x" * 60)).encode() + b"\n")
                self.count += 1
            await kcat.stdin.drain()
            await asyncio.sleep(0.001)
        kcat.stdin.close()
        assert await kcat.wait() == 0

    @property
    def ids(self):
        return [f"{number:0200}" for number in range(self.count)]


async def while_producing(producer, condition, what):
    task = asyncio.ensure_future(producer.run())
    await until(lambda: condition() or task.done(), 60, what)
    producer.stops = True
    await task


@pytest.mark.unsanitized
def test_a_client_that_never_reads_is_closed_with_4409_while_others_get_everything(gateway, mock_broker, tokens):
    # On a machine that is slow for other reasons those who read may fall behind too, and come back by the log.
    door = gateway(mock_broker.bootstrap, history={"max_events_per_account": 1_000_000},
                   limits={"max_lag": "5s", "ping_interval": "1h"})
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
    pid, token = door.program.pid, tokens.token("PACC1")
    before = descriptors(pid)

    async def scenario():
        slow = [await asyncio.to_thread(narrow, door.host, token) for _ in range(8)]
        producer = Producer(mock_broker.bootstrap)
        await while_producing(
            producer, lambda: sum("connection too slow" in line for line in door.program.err) == len(slow),
            "that the clients are found too slow")
        await until(lambda: descriptors(pid) <= before, what="the descriptors of the slow clients")
        for peer in slow:
            peer.close()

    play(scenario())


@pytest.mark.unsanitized
def test_a_ping_flood_from_a_peer_that_does_not_read_costs_one_pending_pong(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap, limits__max_control_frames_per_second=1_000_000)
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
        peer.sendall(frame(0x8, struct.pack("!H", 1000)))
        frames = list(read_frames(peer))
    assert frames.pop() == (0x8, struct.pack("!H", 1000))
    numbers = [int(payload) for opcode, payload in frames if opcode == 0xA]
    assert len(numbers) == len(frames) < count
    assert numbers == sorted(set(numbers))


def test_a_peer_that_pings_without_reading_finds_the_answer_to_its_last_ping(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap, limits__max_control_frames_per_second=1_000_000)
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
