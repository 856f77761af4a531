# Tests: ConnectionLoop.swift, ConnectionLoop+Walk.swift, GatewayServer.swift, GatewayServer+Stopping.swift,
#   LoopCounters.swift, Service.swift
"""The ends of a running gateway, and the addresses that it listens on."""

import asyncio
import json
import re
import signal

import pytest

from gateway import ANY
from hostile import has_read_all
from programs import event, eventually, produce
from rawclient import RawClient, play, until
from wire import connect, upgrade


def test_an_interrupt_closes_listeners_and_tells_clients_1001(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap)

    async def scenario():
        clients = [await RawClient.open(door.host, tokens.token(f"PACC{account}")) for account in range(20)]
        door.program.signal(signal.SIGINT)
        await until(lambda: all(client.close for client in clients), what="the close of everybody")
        assert {client.close for client in clients} == {(1001, "server stops")}
        assert await asyncio.to_thread(door.program.wait) == 0

    play(scenario())
    with pytest.raises(ConnectionRefusedError):
        connect(door.host)
    stopped = json.loads(door.program.line('"message":"stopped"'))
    assert stopped["connections"] == 20 and stopped["closed"] == "1001=20"


@pytest.mark.parametrize("number, close", [
    (signal.SIGTERM, rb"\x03\xf4restart retry_ms=\d+"), (signal.SIGINT, rb"\x03\xe9server stops")])
def test_clients_that_do_not_answer_do_not_hold_the_end_up(gateway, mock_broker, tokens, sync, number, close):
    """On every loop, in every state: connected, waiting for an event, in the middle of a request, silent."""
    door = gateway(mock_broker.bootstrap)
    token = tokens.token("PACC1")
    begin, waiting = sync(door).page()["at"], [sync(door) for _ in range(4)]
    peers = [connect(door.host) for _ in range(60)]
    for peer in peers[:20]:
        peer.sendall(upgrade(token))
        assert peer.recv(4096).startswith(b"HTTP/1.1 101 ")
    for peer in peers[-20:]:
        peer.sendall(b"GET /live/v1 HTTP/1.1\r\nHost: ")
    for peer in waiting:
        peer.send(since=begin, wait=50)
    # A hang-up ends nothing.
    door.program.signal(signal.SIGHUP)
    door.program.line("settings reloaded")
    eventually(lambda: has_read_all(door.host), what="that all of it is read")
    door.program.signal(number)
    door.program.line("signal received")
    # Listeners go first: a client that comes now finds another node, or nobody.
    eventually(lambda: is_refused(door.host), what="that nobody is let in")
    assert door.program.wait() == 0
    for peer in peers[:20]:
        assert re.fullmatch(rb"\x88." + close, peer.recv(4096), re.DOTALL)
        peer.close()
    for peer in peers[20:40]:
        assert peer.recv(4096) == b""
        peer.close()
    for peer in peers[40:]:
        assert peer.recv(4096).startswith(b"HTTP/1.1 503 ")
        peer.close()
    for peer in waiting:
        answer = peer.answer()
        # In its moment a wait ends as if its time were over; whoever cannot be waited for is refused.
        assert answer.status == (200 if number == signal.SIGTERM else 503) and answer.fields["connection"] == "close"
        if answer.status == 503:
            assert answer.body["code"] == "draining" and int(answer.fields["retry-after"]) >= 1
        assert answer.fields["cache-control"] == "no-store"


def is_refused(host):
    try:
        connect(host).close()
        return False
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        # It stood in the queue of a listener that closed: the next one tells.
        return False


def test_a_second_gateway_on_the_same_address_is_refused_and_the_first_goes_on(gateway, mock_broker, tokens):
    first = gateway(mock_broker.bootstrap)
    token = tokens.token("PACC1")
    for loops in (1, 2, 4):
        second = gateway(mock_broker.bootstrap, ready=False, listen=[first.host], loops=loops)
        assert second.program.wait() == 71
        assert any(first.host in line for line in second.program.err)

    async def scenario():
        # As many as must meet every socket of the group, had the second joined it.
        clients = [await RawClient.open(first.host, token) for _ in range(30)]
        await asyncio.to_thread(produce, mock_broker.bootstrap, "incidents", [event("PACC1", "still here")])
        await until(lambda: all(client.ids == ["still here"] for client in clients), what="the event at everybody")

    play(scenario())


def test_several_listeners_at_once_give_the_same_events(gateway, mock_broker, tokens, tmp_path):
    path, precious = tmp_path / "gate.sock", tmp_path / "precious"
    # A file that is no socket is left alone, and one that a killed gateway left is replaced.
    precious.write_text("not ours")
    refused = gateway(mock_broker.bootstrap, ready=False, listen=[f"unix:{precious}"])
    killed = gateway(mock_broker.bootstrap, listen=[f"unix:{path}"])
    killed.program.signal(signal.SIGKILL)
    assert killed.program.wait() == -signal.SIGKILL and path.is_socket()
    assert refused.program.wait() == 71 and str(precious) in "".join(refused.program.err)
    assert precious.read_text() == "not ours"
    door = gateway(mock_broker.bootstrap, listen=[ANY, "[::1]:0", ":0", f"unix:{path}"])
    four, six, both, file = door.listening[0]
    assert (four.startswith("127.0.0.1:"), six.startswith("[::1]:"), file) == (True, True, f"unix:{path}")
    both = both.rpartition(":")[2]
    token = tokens.token("PACC1")
    hosts = [four, six, f"127.0.0.1:{both}", f"[::1]:{both}", file]

    async def scenario():
        clients = [await RawClient.open(host, token) for host in hosts for _ in range(3)]
        await asyncio.to_thread(produce, mock_broker.bootstrap, "incidents", [event("PACC1", "everywhere")])
        await until(lambda: all(client.ids == ["everywhere"] for client in clients), what="the event at everybody")
        door.program.signal()
        await until(lambda: all((client.close or [0])[0] == 1012 for client in clients), what="every close")

    play(scenario())
    assert door.program.wait() == 0
    assert not path.exists()
