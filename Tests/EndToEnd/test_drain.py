# Tests: ConnectionLoop+Drain.swift, ConnectionLoop+Walk.swift, GatewayServer+Stopping.swift, GatewayServer+Log.swift,
#   Connection+Closing.swift, Connection+Age.swift, Service.swift, NodeLifecycle.swift
"""What clients notice of a node that goes out of service: each by its own record. How soon: test_bounds.py."""

import asyncio
import json
import re
import signal

import pytest

from caller import Caller
from gateway import posted
from programs import eventually
from rawclient import RawClient, play, until
from wire import ask, content_length, event_of, event_stream_request, get, upgrade

ACCOUNT = "PACC1"
RESTART = re.compile(r"restart retry_ms=(\d+)")


def retry_of(client):
    """What the close of a client asks for, in milliseconds."""
    code, reason = client.close
    found = RESTART.fullmatch(reason)
    assert code == 1012 and found, client.close
    return int(found.group(1))


async def read_answer(reader):
    """Head and body of an answer with a length."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    return head, await reader.readexactly(content_length(head) or 0)


class Peer:
    """A connection without a WebSocket: what it asks, and all that it reads until the end."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.rest, self.has_ended = b"", False

    @classmethod
    async def open(cls, door, request=b""):
        address, _, port = door.host.rpartition(":")
        peer = cls(*await asyncio.open_connection(address, int(port)))
        peer.writer.write(request)
        return peer

    def listen(self):
        self.task = asyncio.ensure_future(self._listen())
        return self

    async def _listen(self):
        try:
            self.rest = await self.reader.read(-1)
        except ConnectionError:
            self.rest = None
        self.has_ended = True
        self.writer.close()


def refusal_of(answer):
    """Status, code and `Retry-After` of a refusal as bytes."""
    head, _, body = answer.decode().partition("\r\n\r\n")
    found = re.search(r"(?im)^retry-after: (\d+)", head)
    return int(head.split()[1]), json.loads(body)["code"], int(found.group(1)) if found else None


def check_wait(answer):
    head, _, body = answer.decode().partition("\r\n\r\n")
    page = json.loads(body)
    assert head.startswith("HTTP/1.1 200 ") and "connection: close" in head.lower()
    assert (page["events"], page["more"]) == ([], False) and page["at"]


def check_event_stream(body):
    blocks = body.decode().split("\n\n")
    assert blocks.pop() == ""
    bye = event_of(blocks[-1])
    assert bye.name == "bye" and (bye.json["code"], bye.json["why"]) == (1012, "restart")
    # Browsers go by this line.
    assert blocks[-2] == f"retry: {bye.json['retry_ms']}"
    return bye.json["retry_ms"]


def test_all_kinds_leave_within_the_window_and_are_told_when_to_return(gateway, mock_broker, tokens):
    longest = 700
    door = gateway(mock_broker.bootstrap, lifecycle={
        "drain_delay": "0s", "drain_window": "2s", "drain_retry": f"{longest}ms"})
    token = tokens.token(ACCOUNT)

    async def scenario():
        plain = [await RawClient.open(door.host, token) for _ in range(60)]
        cursors = [await RawClient.open(door.host, token, path="/live/v1?with=at") for _ in range(60)]
        streams = [await Peer.open(door, event_stream_request(token)) for _ in range(30)]
        kept = [await Peer.open(door, get("/sync/v1", token)) for _ in range(20)]
        pages = [json.loads((await read_answer(peer.reader))[1]) for peer in kept]
        waits = [await Peer.open(door, get(f"/sync/v1?since={pages[0]['at']}&wait=50", token)) for _ in range(30)]
        silent = [await Peer.open(door) for _ in range(10)]
        half = [await Peer.open(door, upgrade(token)[:-2]) for _ in range(10)]
        for peer in streams:
            await peer.reader.readuntil(b"event: live")
        for peer in [*streams, *kept, *waits, *silent, *half]:
            peer.listen()
        # Asked and answered behind the waits and halves, on every loop.
        for _ in range(8):
            ends = await Peer.open(door, get("/sync/v1", token, ["Connection: close"]))
            await read_answer(ends.reader)

        door.program.signal()
        line = await asyncio.to_thread(door.wait_for_log, "connections are closed")
        # The time that the listeners took is taken off the window, up to a fifth of it.
        assert line["connections"] >= 220 and 1600 <= line["window_ms"] <= 2000
        # The window has begun: what they began to ask is read to its end, and refused.
        for peer in half:
            peer.writer.write(b"\r\n")
        await until(lambda: all(client.close for client in plain + cursors), what="every close")
        await until(lambda: all(peer.has_ended for peer in [*streams, *waits, *kept, *silent, *half]), what="every end")

        asked = [retry_of(client) for client in plain + cursors]
        for client, retry in zip(cursors, asked[len(plain):]):
            assert client.messages[-1] == {"bye": {"code": 1012, "why": "restart", "retry_ms": retry}}
        assert all(client.messages == [] for client in plain)
        asked += [check_event_stream(peer.rest) for peer in streams]
        assert 0 <= min(asked) and max(asked) <= longest and len(set(asked)) > len(asked) / 4
        for peer in waits:
            check_wait(peer.rest)
        assert [peer.rest for peer in kept + silent] == [b""] * 30
        for peer in half:
            status, code, retry = refusal_of(peer.rest)
            assert (status, code) == (503, "draining") and 1 <= retry <= 5

    play(scenario())
    assert door.program.wait() == 0
    stopped = door.log("stopped")[-1]
    assert "1012=150" in stopped["closed"] and "draining=10" in stopped["refused"]


@pytest.mark.parametrize("phase, number, said", [
    ("delay", signal.SIGTERM, RESTART), ("window", signal.SIGTERM, RESTART), ("window", signal.SIGINT, re.compile("server stops"))])
def test_within_the_delay_all_goes_on_and_a_second_signal_closes_everybody_who_is_left(
        gateway, mock_broker, tokens, phase, number, said):
    door = gateway(mock_broker.bootstrap, lifecycle={"drain_delay": "1h" if phase == "delay" else "0s", "drain_window": "1h"})
    token = tokens.token(ACCOUNT)

    async def scenario():
        clients = [await RawClient.open(door.host, token) for _ in range(20)]
        # It does not answer the close, which nobody waits for.
        deaf = await RawClient.open(door.host, token, listen=False)
        door.program.signal()
        await asyncio.to_thread(door.wait_for_log, "draining" if phase == "delay" else "connections are closed")
        assert door.readyz() == (503, "draining\n") and door.status("/livez") == 200
        if phase == "delay":
            clients += [await RawClient.open(door.host, token) for _ in range(20)]
            answer = await asyncio.to_thread(ask, door.host, get("/sync/v1", token, ["Connection: close"]))
            assert answer.startswith(b"HTTP/1.1 200 ") and not any(client.close for client in clients)
        door.program.signal(number)
        await until(lambda: all(client.close for client in clients), what="every close")
        assert all(said.fullmatch(client.close[1]) for client in clients), [client.close for client in clients]
        if said is RESTART:
            assert all(1000 <= retry_of(client) <= 5000 for client in clients)
        assert await asyncio.to_thread(door.program.wait) == 0
        assert deaf.close is None

    play(scenario())


def test_who_stands_in_a_queue_is_not_cut(gateway, mock_broker, tokens):
    """They connected while the node could not accept: each is answered, whether the drain has begun by then or not, and counted as
    it was answered."""
    door = gateway(mock_broker.bootstrap)
    request = get("/sync/v1", tokens.token(ACCOUNT), ["Connection: close"])
    door.program.signal(signal.SIGSTOP)
    peers = [Caller(door.host) for _ in range(100)]
    for peer in peers:
        peer.send(request)
    door.program.signal()
    door.program.signal(signal.SIGCONT)
    answers = []
    for peer in peers:
        with peer:
            answers.append(peer.rest())
    served = sum(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)
    refused = sum(answer.startswith(b"HTTP/1.1 503 ") and refusal_of(answer)[:2] == (503, "draining") for answer in answers)
    assert door.program.wait() == 0
    stopped = eventually(lambda: door.log("stopped"), what="the last line")[-1]
    counts = {"closed": f"1000={served}" if served else "", "refused": f"draining={refused}" if refused else ""}
    assert (served + refused, {name: stopped.get(name, "") for name in counts}) == (100, counts), stopped


def test_an_operator_takes_a_node_out_of_service_and_back(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap, lifecycle={"drain_delay": "1h", "drain_window": "1h"})
    token = tokens.token(ACCOUNT)

    for bad in ("window=", "window=30", "window=2h", "window=-1s", "window=soon", "window=1s&window=1s"):
        status, why = posted(door, f"/admin/drain?{bad}")
        assert status == 400 and "window" in why
    assert door.status("/admin/drain") == 405 and door.status("/readyz") == 200
    assert posted(door, "/admin/undrain")[0] == 200

    async def scenario():
        clients = [await RawClient.open(door.host, token) for _ in range(20)]
        for _ in range(2):
            assert (await asyncio.to_thread(posted, door, "/admin/drain"))[0] == 202
        assert door.readyz() == (503, "draining\n") and door.status("/livez") == 200
        # The listener is open, but nobody is let in.
        answer = await asyncio.to_thread(ask, door.host, upgrade(token))
        status, code, retry = refusal_of(answer)
        assert (status, code) == (503, "draining") and 1 <= retry <= 5
        for _ in range(2):
            assert (await asyncio.to_thread(posted, door, "/admin/undrain"))[0] == 200
        assert door.readyz() == (200, "ready\n")
        clients += [await RawClient.open(door.host, token) for _ in range(20)]
        # The first moment of the hour would have come after a minute and a half.
        assert not any(client.close for client in clients)

        assert (await asyncio.to_thread(posted, door, "/admin/drain?window=0s"))[0] == 202
        await until(lambda: all(client.close for client in clients), what="every close")
        for client in clients:
            retry_of(client)
        assert door.readyz() == (503, "draining\n") and posted(door, "/admin/undrain")[0] == 200
        last = await RawClient.open(door.host, token)

        # SIGTERM begins a drain of its own, which nobody takes back.
        assert (await asyncio.to_thread(posted, door, "/admin/drain"))[0] == 202
        door.program.signal()
        await asyncio.to_thread(door.wait_for_log, "the node stops once no client is connected")
        assert (await asyncio.to_thread(posted, door, "/admin/undrain"))[0] == 409
        assert (await asyncio.to_thread(posted, door, "/admin/drain"))[0] == 202
        assert refusal_of(await asyncio.to_thread(ask, door.host, upgrade(token)))[:2] == (503, "draining")
        door.program.signal()
        await until(lambda: last.close, what="the last close")

    play(scenario())
    assert door.program.wait() == 0


def test_an_old_connection_ends_as_its_kind_does(gateway, mock_broker, tokens):
    """`limits.max_connection_age`: everybody's own drain."""
    door = gateway(mock_broker.bootstrap, limits={"max_connection_age": "2s", "max_requests_per_connection": 1_000_000})
    token = tokens.token(ACCOUNT)

    async def ask_until_it_ends():
        """A connection that always asks ends behind an answer, or between two requests without a word."""
        peer, answers = await Peer.open(door), 0
        try:
            while True:
                peer.writer.write(get("/sync/v1", token))
                head, _ = await read_answer(peer.reader)
                answers += 1
                if "connection: close" in head.lower():
                    assert await peer.reader.read() == b""
                    return answers
        except (asyncio.IncompleteReadError, ConnectionError):
            return answers

    async def scenario():
        loop = asyncio.get_running_loop()
        began = loop.time()
        asking = asyncio.ensure_future(ask_until_it_ends())
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
        assert await asking > 0
        # The node goes on: who comes back is served.
        again = await RawClient.open(door.host, token)
        assert again.close is None

    play(scenario())
