"""A burst that is more than the log keeps: who reads misses nothing, and is not told to begin anew."""

import asyncio
import json

import pytest
import websockets

from foreign import UNHURRIED
from programs import PATIENCE, event, produce
from rawclient import play

COUNT = 20_000

# Under a sanitizer the gateway's slowness would be what is tested.
pytestmark = pytest.mark.unsanitized


@pytest.mark.parametrize("query", ["", "?with=at"])
def test_a_client_that_keeps_up_is_never_told_to_resync(gateway, mock_broker, tokens, query):
    """20,000 events of one account, of which the log keeps 1,000, as fast as they can be written."""
    door = gateway(mock_broker.bootstrap, history={"max_events_per_account": 1000})
    headers = {"Authorization": f"Bearer {tokens.token('PACC1')}"}

    async def scenario():
        async with websockets.connect(door.url + query, additional_headers=headers, max_queue=None, **UNHURRIED) as client:
            if query:
                assert "live" in json.loads(await client.recv())
            records = [event("PACC1", str(number)) for number in range(COUNT)]
            writing = asyncio.create_task(
                asyncio.to_thread(produce, mock_broker.bootstrap, "incidents", records, partition=0))
            got = []
            while len(got) < COUNT:
                got.append(json.loads(await asyncio.wait_for(client.recv(), 20 * PATIENCE)))
            await writing
            assert [message.get("id") for message in got] == [str(number) for number in range(COUNT)]

    play(scenario())
    assert not door.log("connection too slow")
