"""Slow clients cost a cursor: they catch up from what is kept, are told to resync where it no longer reaches back, or are
closed with 4409 when they stay behind for too long. Nothing is left out unsaid."""

import asyncio
import json
import socket as sockets
import struct

import pytest

from caller import Caller, narrow
from kafka_writer import Producer, while_producing
from programs import PATIENCE, event, produce
from rawclient import RawClient, play, until
from wire import CLOSE, TEXT, event_stream_request

# Writers and readers are at their fastest: under a sanitizer those who are to keep up would be behind.
pytestmark = pytest.mark.unsanitized

# Several times what both kernels hold for a connection, in parts: what comes in one wake is given to everybody whole.
PARTS, PART = 4, 10_000


def slow_peer(door, token, **words):
    return narrow(door.host, token, **words)


async def fall_behind(mock_broker, others, pause=0.0):
    """Writes more than kernels hold; returns the writer once the others have everything. With a pause between its parts
    none of them belongs to one burst, which even those may read whole who were blocked for a moment of it."""
    producer = Producer(mock_broker.bootstrap)
    for part in range(1, PARTS + 1):
        producer.stops = False
        await while_producing(producer, lambda: producer.count >= part * PART, "enough events")
        await until(lambda: all(has_id(producer.ids[-1])(client.messages[-1] if client.messages else {})
                                for client in others), 60, "all of them at others")
        await asyncio.sleep(pause)
    return producer


def widen(peer):
    """From now on it reads as fast as it can."""
    peer.socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 1 << 22)
    return peer.frames()


def messages_until(frames, is_last):
    """All messages up to the one that `is_last`, or to the close frame, which becomes a pair of code and reason."""
    found = []
    for opcode, payload in frames:
        if opcode == CLOSE:
            found.append((struct.unpack("!H", payload[:2])[0], payload[2:].decode()))
            break
        if opcode == TEXT:
            found.append(json.loads(payload))
            if is_last(found[-1]):
                break
    return found


def has_id(name):
    return lambda message: message.get("id") == name


def test_who_reads_again_in_time_gets_all_of_it(gateway, mock_broker, tokens):
    """Meanwhile the others do not wait for it."""
    door = gateway(mock_broker.bootstrap, history__max_events_per_account=200_000, limits__max_lag="5m",
                   limits__ping_interval="1h", limits__pong_timeout="1h")
    token = tokens.token("PACC1")

    async def scenario():
        other = await RawClient.open(door.host, token)
        slow = [await asyncio.to_thread(slow_peer, door, token, **words) for words in ({}, {"with_": "at"})]
        producer = await fall_behind(mock_broker, [other])
        assert other.ids == producer.ids
        for peer in slow:
            got = await asyncio.to_thread(messages_until, widen(peer), has_id(producer.ids[-1]))
            assert [message["id"] for message in got if "id" in message] == producer.ids
            assert not any("resync" in message for message in got)
            peer.end()

    play(scenario())


def test_where_the_log_no_longer_reaches_back_a_stream_is_told_to_resync_or_closed_where_it_has_no_cursors(
        gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap, history__max_events_per_account=500, limits__max_lag="5m",
                   limits__ping_interval="1h", limits__pong_timeout="1h")
    token = tokens.token("PACC1")

    async def scenario():
        # Those who keep up are never told to resync, though each part is far more than the log keeps.
        others = [await RawClient.open(door.host, token, path=path) for path in ("/live/v1", "/live/v1?with=at")]
        slow, plain = [await asyncio.to_thread(slow_peer, door, token, **words) for words in ({"with_": "at"}, {})]
        producer = await fall_behind(mock_broker, others, pause=1.0)
        for other in others:
            assert [message["id"] for message in other.messages if "id" in message] == producer.ids
            assert other.close is None and not any("resync" in message for message in other.messages)
        got = await asyncio.to_thread(messages_until, widen(plain), has_id(producer.ids[-1]))
        assert got.pop() == (4409, "too slow")
        assert [message["id"] for message in got] == producer.ids[:len(got)] and len(got) < producer.count
        stream = widen(slow)
        got = await asyncio.to_thread(messages_until, stream, lambda message: "resync" in message)
        assert got.pop()["resync"]["why"] == "expired"
        # Unbroken before it: the gap is where the resync stands.
        names = [message["id"] for message in got if "id" in message]
        assert names == producer.ids[:len(names)] and len(names) < producer.count
        [alive] = await asyncio.to_thread(messages_until, stream, lambda _: True)
        assert list(alive) == ["live"]
        # And unbroken after it.
        await asyncio.to_thread(produce, mock_broker.bootstrap, "incidents", [event("PACC1", n) for n in range(300)])
        got = await asyncio.to_thread(messages_until, stream, has_id("299"))
        assert [message.get("id") for message in got] == [str(number) for number in range(300)]
        slow.end()

    play(scenario())


async def until_too_slow(door, mock_broker, count):
    """Writes until so many clients were found too slow. They have to read now: nobody waits for them for long."""
    producer = Producer(mock_broker.bootstrap)
    await while_producing(
        producer, lambda: sum("connection too slow" in line for line in door.program.err) == count, "slow clients")
    return producer


def narrow_stream(door, token):
    """An event stream whose kernel keeps as little as it can be told to, once it has begun."""
    caller = Caller(door.host, receive_buffer=2048, within=30 * PATIENCE)
    caller.send(event_stream_request(token))
    caller.more()
    return caller


def check_stream(body, producer):
    """What an event stream got that was too slow: an unbroken beginning, and a bye."""
    blocks = body.partition(b"\r\n\r\n")[2].decode().split("\n\n")
    assert blocks.pop() == "" and blocks[-1] == 'event: bye\ndata: {"code":4409,"why":"too slow"}'
    got = [json.loads(block.partition("data: ")[2])["id"] for block in blocks if block.startswith("id: ")]
    assert got == producer.ids[:len(got)] and len(got) < producer.count


def test_behind_for_longer_than_max_lag_is_4409_for_all_and_with_cursors_they_resume(gateway, mock_broker, tokens, live):
    door = gateway(mock_broker.bootstrap, history__max_events_per_account=1_000_000, limits__max_lag="3s",
                   limits__ping_interval="1h", limits__pong_timeout="1h")
    token = tokens.token("PACC1")

    async def scenario():
        others = [await RawClient.open(door.host, token) for _ in range(3)]
        peers = [await asyncio.to_thread(slow_peer, door, token, **words) for words in ({}, {"with_": "at"})]
        stream = await asyncio.to_thread(narrow_stream, door, token)
        producer = await until_too_slow(door, mock_broker, 3)
        frames = [widen(peer) for peer in (*peers, stream)]
        body, *ends = await asyncio.gather(asyncio.to_thread(stream.rest), *(
            asyncio.to_thread(messages_until, each, lambda _: False) for each in frames[:2]))
        check_stream(body, producer)
        for got in ends:
            assert got.pop() == (4409, "too slow")
            events = [message for message in got if "id" in message]
            # What stands before the close is an unbroken beginning, and nothing else was written after the decision.
            assert [event["id"] for event in events] == producer.ids[:len(events)] and len(events) < producer.count
            assert "id" in got[-1]
        assert json.loads(door.program.line("connection too slow"))["reason"] == "behind for longer than max_lag"
        await until(lambda: all(len(client.messages) >= producer.count for client in others), 60, "all events at the others")
        assert all(client.close is None and client.ids == producer.ids for client in others)
        got, at, is_live = [event["id"] for event in events], events[-1]["at"], False
        while not is_live:
            # On a machine that is busy catching up may take longer than a second: then it is closed too, and resumes.
            resumed = await asyncio.to_thread(live, door, "PACC1", since=at)
            await until(lambda: resumed.controls("live") or resumed.closed, 60, "the end of a replay")
            is_live = bool(resumed.controls("live"))
            assert resumed.ids and not resumed.controls("resync") and (is_live or resumed.closed == 4409)
            got += resumed.ids
            at = resumed.cursors[-1]
        assert got == producer.ids
        for peer in (*peers, stream):
            peer.end()

    play(scenario())
