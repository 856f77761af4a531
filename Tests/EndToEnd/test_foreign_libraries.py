"""Python's `websockets` and `aiohttp`, over plain connections and TLS, with and without compression."""

import asyncio
import json

import aiohttp
import pytest
import websockets

from foreign import IDS, UNHURRIED, WITHIN, expected, produce_events
from programs import event, produce
from rawclient import until


@pytest.mark.parametrize("deflate", [False, True])
def test_websockets_gets_messages_and_compression_where_the_settings_allow_it(foreign_door, mock_broker, deflate):
    door = foreign_door(deflate)

    async def scenario():
        for offered in (None, "deflate"):
            async with websockets.connect(door.url, ssl=door.ssl, additional_headers=door.headers, compression=offered,
                                          subprotocols=["livegate.v1"], **UNHURRIED) as client:
                agreed = client.response.headers.get("Sec-WebSocket-Extensions", "")
                assert agreed.startswith("permessage-deflate") == (deflate and offered is not None)
                assert client.subprotocol == "livegate.v1"
                await asyncio.to_thread(produce_events, mock_broker)
                assert [json.loads(await asyncio.wait_for(client.recv(), WITHIN)) for _ in IDS] == expected()
                # What it sends, compressed or not, is read and ignored; pings are answered.
                await client.send("ignored " * 100)
                await client.send(b"\0" * 4096)
                await asyncio.wait_for(await client.ping(), WITHIN)
            assert client.close_code == 1000

    asyncio.run(scenario())


@pytest.mark.parametrize("deflate", [False, True])
def test_aiohttp_gets_messages_and_compression_where_the_settings_allow_it(foreign_door, mock_broker, deflate):
    door = foreign_door(deflate)

    async def scenario():
        async with aiohttp.ClientSession(headers=door.headers) as session:
            for offered in (0, 15, 9):
                async with session.ws_connect(door.url, ssl=door.ssl or True, compress=offered) as client:
                    assert bool(client.compress) == (deflate and offered > 0)
                    await asyncio.to_thread(produce_events, mock_broker)
                    assert [await client.receive_json(timeout=WITHIN) for _ in IDS] == expected()
                    await client.send_str("ignored " * 100)
                    await client.ping(b"are you there")
                    assert await client.close()
                    assert client.close_code == 1000

    asyncio.run(scenario())


def test_with_compression_a_message_over_the_limit_after_inflation_is_1009(foreign_door):
    door = foreign_door(True)

    async def scenario():
        async with websockets.connect(door.url, ssl=door.ssl, additional_headers=door.headers, **UNHURRIED) as client:
            await client.send("x" * 1_000_000)
            with pytest.raises(websockets.ConnectionClosed):
                await asyncio.wait_for(client.recv(), WITHIN)
            assert (client.close_code, client.close_reason) == (1009, "message too large")

    asyncio.run(scenario())


def test_compressed_and_plain_clients_of_an_account_get_the_same(foreign_door, mock_broker):
    door = foreign_door(True)

    async def listen(client, got):
        async for message in client:
            got.append(message)

    async def scenario():
        clients = [await websockets.connect(door.url, ssl=door.ssl, additional_headers=door.headers, compression=offered,
                                            **UNHURRIED)
                   for offered in (None, "deflate", None, "deflate")]
        got = [[] for _ in clients]
        tasks = [asyncio.ensure_future(listen(*pair)) for pair in zip(clients, got)]
        await asyncio.to_thread(produce, mock_broker.bootstrap, "incidents", [event("PACC1", n) for n in range(500)])
        await until(lambda: all(len(messages) >= 500 for messages in got), what="500 messages at everybody")
        assert [json.loads(message)["id"] for message in got[0]] == [str(number) for number in range(500)]
        assert all(messages == got[0] for messages in got)
        for client in clients:
            await client.close()
        await asyncio.gather(*tasks)

    asyncio.run(scenario())
