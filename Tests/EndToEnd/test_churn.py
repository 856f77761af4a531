# Tests: ConnectionTable.swift
"""Clients come and go at 1,000 a second: those who stay miss nothing, and nothing of the others is left behind."""

import asyncio
import json
import os
import socket
import struct
import subprocess
import threading
import time

import pytest

from gateway import static_tokens
from programs import KCAT, event, produce
from rawclient import RawClient, play, until
from wire import connect, frame, upgrade
from processes import heaps, open_files, private_bytes, raise_descriptor_limit

# Comings and goings a second, and workers that share them: each is a thread with blocking sockets.
RATE, WORKERS = 1000, 8


class Churn:
    """Opens and leaves connections, in one of four ways in turn, at the rate or as fast as this machine can."""

    def __init__(self, host, tokens, count):
        self.host, self.tokens, self.count = host, tokens, count
        self.failures = []
        self.threads = [threading.Thread(target=self._run, args=(worker,)) for worker in range(WORKERS)]
        for thread in self.threads:
            thread.start()

    def _run(self, worker):
        began = time.monotonic()
        try:
            for turn, number in enumerate(range(worker, self.count, WORKERS)):
                ahead = began + turn * WORKERS / RATE - time.monotonic()
                if ahead > 0:
                    time.sleep(ahead)
                self._visit(number)
        except (OSError, AssertionError) as failure:
            self.failures.append(repr(failure))

    def _visit(self, number):
        with connect(self.host) as peer:
            way = number % 4
            peer.sendall(upgrade(self.tokens[number % len(self.tokens)]))
            if way == 0:
                # Gone before the answer.
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            answer = peer.recv(4096)
            assert answer.startswith(b"HTTP/1.1 101 "), answer
            if way == 1:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif way == 2:
                peer.sendall(frame(0x8, b"\x03\xe8"))
                while peer.recv(4096):
                    pass

    def join(self):
        for thread in self.threads:
            thread.join()
        assert self.failures == []


def missing(clients, wanted):
    """Who has not all of its events and is not closed: its number, how many it has, and how many it should have."""
    return [(number, len(client.messages), count) for number, (client, count) in enumerate(zip(clients, wanted))
            if len(client.messages) < count and not client.close]


@pytest.mark.unsanitized
def test_clients_come_and_go_at_1000_a_second_while_others_miss_nothing(gateway, mock_broker, tmp_path):
    raise_descriptor_limit()
    accounts = [f"ACC{number}" for number in range(10)]
    door = gateway(mock_broker.bootstrap, auth={"tokens": str(static_tokens(tmp_path, accounts))})
    pid = door.program.pid
    tokens = [f"token-{account}" for account in accounts]

    async def produce_until(stopped, counts):
        """An event for each account in turn, as long as the churn lasts."""
        kcat = await asyncio.create_subprocess_exec(
            *KCAT, "-P", "-b", mock_broker.bootstrap, "-t", "incidents", "-p", "1", "-X", "linger.ms=1",
            stdin=subprocess.PIPE)
        while not stopped():
            for account in accounts:
                kcat.stdin.write(json.dumps(event(account, counts[account])).encode() + b"\n")
                counts[account] += 1
            await kcat.stdin.drain()
            await asyncio.sleep(0.01)
        kcat.stdin.close()
        assert await kcat.wait() == 0

    async def fill_logs():
        """As far as they ever are: what grows afterwards is not theirs."""
        client = await RawClient.open(door.host, tokens[-1])
        records = [event(account, number) for number in range(1000) for account in accounts]
        await asyncio.to_thread(produce, mock_broker.bootstrap, "incidents", records, partition=1)
        await until(lambda: len(client.ids) == 1000, what="the events that fill the logs")

    async def scenario(count):
        steady = [await RawClient.open(door.host, token) for token in tokens for _ in range(2)]
        before = door.descriptors()
        churn = await asyncio.to_thread(Churn, door.host, tokens, count)
        counts = dict.fromkeys(accounts, 0)
        await produce_until(lambda: not any(thread.is_alive() for thread in churn.threads), counts)
        churn.join()
        wanted = [counts[account] for account in accounts for _ in range(2)]
        await until(lambda: not missing(steady, wanted),
                    what=lambda: f"every event at those who stayed; client, events, events written: {missing(steady, wanted)}")
        for client, count in zip(steady, wanted):
            assert client.close is None
            assert client.ids == [str(number) for number in range(count)]
        await until(lambda: door.descriptors() <= before,
                    what=lambda: f"{before} descriptors once all have left: {sorted(open_files(pid, mock_broker.bootstrap))}")

    play(fill_logs())
    def grows():
        """Whether a round leaves more behind than every fourth of its connections, were it kept, at a kilobyte each."""
        before = private_bytes(pid)
        play(scenario(4000))
        return private_bytes(pid) > before + (1 << 20)

    play(scenario(1000))
    # A round may leave what the allocator keeps for later; connections that are not freed add up in each.
    assert not all(grows() for _ in range(3)), "each of three rounds left more than 1 MiB behind"
    # One for each core and one more; the first of them is none of those that can be seen.
    assert heaps(pid) <= len(os.sched_getaffinity(0))
