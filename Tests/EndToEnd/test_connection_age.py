# Tests: Connection+Age.swift
"""`limits.max_connection_age`: what clients of each kind notice of it."""

import asyncio
import json
import re

from rawclient import RawClient, play, until
from test_drain import Peer, check_wait, read_answer
from wire import event_of, event_stream_request, get

ACCOUNT = "PACC1"


def test_an_old_connection_ends_as_its_kind_does(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap, limits={"max_connection_age": "2s"})
    token = tokens.token(ACCOUNT)

    async def scenario():
        loop = asyncio.get_running_loop()
        began = loop.time()
        clients = [await RawClient.open(door.host, token, path="/live/v1?with=at") for _ in range(20)]
        stream = await Peer.open(door, event_stream_request(token))
        kept = await Peer.open(door, get("/sync/v1", token))
        page = json.loads((await read_answer(kept.reader))[1])
        wait = await Peer.open(door, get(f"/sync/v1?since={page['at']}&wait=50", token))
        await stream.reader.readuntil(b"event: live")
        for peer in (stream, kept, wait):
            peer.listen()
        await until(lambda: any(client.close for client in clients), what="the first close")
        # The earliest is 0.9 of the age after the first accept.
        assert loop.time() - began >= 1.8
        await until(lambda: all(client.close for client in clients), what="every close")
        await until(lambda: all(peer.has_ended for peer in (stream, kept, wait)), what="every end")
        for client in clients:
            code, reason = client.close
            found = re.fullmatch(r"age retry_ms=(\d+)", reason)
            assert code == 1012 and 1000 <= int(found.group(1)) <= 5000
            assert client.messages[-1] == {"bye": {"code": 1012, "why": "age", "retry_ms": int(found.group(1))}}
        bye = event_of(stream.rest.decode().split("\n\n")[-2])
        assert bye.name == "bye" and (bye.json["code"], bye.json["why"]) == (1012, "age")
        check_wait(wait.rest)
        assert kept.rest == b""
        # The node goes on: who comes back is served.
        again = await RawClient.open(door.host, token)
        assert again.close is None

    play(scenario())


def test_a_connection_that_always_asks_ends_behind_an_answer(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap, limits={"max_connection_age": "1s", "max_requests_per_connection": 1_000_000})
    token = tokens.token(ACCOUNT)

    async def scenario():
        peer = await Peer.open(door)
        answers = 0
        while True:
            peer.writer.write(get("/sync/v1", token))
            try:
                head, _ = await read_answer(peer.reader)
            except (asyncio.IncompleteReadError, ConnectionError):
                # Between two requests it may end without a word.
                break
            answers += 1
            if "connection: close" in head.lower():
                assert await peer.reader.read() == b""
                break
        assert answers > 0

    play(scenario())
