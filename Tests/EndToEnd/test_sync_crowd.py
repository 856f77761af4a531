"""Thousands of long polls at once."""

import asyncio
import json

import pytest

from processes import raise_descriptor_limit
from programs import PATIENCE
from rawclient import until

WAITS = 5_000


@pytest.mark.unsanitized
def test_five_thousand_waits_at_once_are_answered_by_one_event(gateway, mock_broker, sync, tokens, tell):
    raise_descriptor_limit()
    # Until all have come.
    door = gateway(mock_broker.bootstrap, limits__max_wait="10m")
    token = tokens.token("PACC1")
    begin = sync(door).page()["at"]
    before = door.descriptors()
    request = (f"GET /sync/v1?since={begin}&wait=600 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\n"
               "\r\n").encode()

    async def wait():
        address, _, port = door.host.rpartition(":")
        reader, writer = await asyncio.open_connection(address, int(port))
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.partition(b"Content-Length: ")[2].split(b"\r\n")[0])
        page = json.loads(await reader.readexactly(length))
        writer.close()
        return head[:13], [event["id"] for event in page["events"]]

    async def scenario():
        waits = []
        for first in range(0, WAITS, 500):
            waits += [asyncio.ensure_future(wait()) for _ in range(first, first + 500)]
            await until(lambda: door.descriptors() >= before + len(waits), 60, "that all have come")
        assert not any(task.done() for task in waits)
        await asyncio.to_thread(tell, ["one"])
        answers = await asyncio.wait_for(asyncio.gather(*waits), 30 * PATIENCE)
        assert answers == [(b"HTTP/1.1 200 ", ["one"])] * WAITS
        await until(lambda: door.descriptors() <= before, 20, "that all have gone")

    asyncio.run(scenario())
