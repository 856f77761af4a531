# Tests: ConnectionLoop.swift, ConnectionLoop+Walk.swift, GatewayServer.swift, GatewayServer+Stopping.swift,
#   LoopCounters.swift, Service.swift
"""The ends of a running gateway, and the addresses that it listens on."""

import asyncio
import json
import re
import signal
import socket

import pytest

from gateway import ANY
from hostile import has_read_all
from programs import PATIENCE, event, eventually, produce
from rawclient import RawClient, play, until
from wire import connect, upgrade


def connected(host, token, family=socket.AF_INET):
    """A handshake done; what comes afterwards is not read."""
    peer = socket.socket(family)
    peer.settimeout(20 * PATIENCE)
    if family == socket.AF_UNIX:
        peer.connect(host)
    else:
        address, _, port = host.rpartition(":")
        peer.connect((address, int(port)))
    peer.sendall(upgrade(token))
    assert peer.recv(4096).startswith(b"HTTP/1.1 101 ")
    return peer


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
def test_clients_that_do_not_answer_do_not_hold_the_end_up(gateway, mock_broker, tokens, number, close):
    """On every loop, in every state: connected, in the middle of a request, silent."""
    door = gateway(mock_broker.bootstrap)
    token = tokens.token("PACC1")
    peers = [connected(door.host, token) for _ in range(20)] + [connect(door.host) for _ in range(40)]
    for peer in peers[-20:]:
        peer.sendall(b"GET /live/v1 HTTP/1.1\r\nHost: ")
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


def is_refused(host):
    try:
        connect(host).close()
        return False
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        # It stood in the queue of a listener that closed: the next one tells.
        return False


def test_a_hang_up_ends_nothing(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap)
    with connected(door.host, tokens.token("PACC1")):
        for _ in range(2):
            door.program.signal(signal.SIGHUP)
        door.program.line("settings reloaded")
        connected(door.host, tokens.token("PACC1")).close()
    door.program.signal()
    assert door.program.wait() == 0


def test_nothing_is_written_on_an_idle_connection_that_is_kept(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap)
    token = tokens.token("PACC1")
    with connect(door.host) as silent, connect(door.host) as kept:
        kept.settimeout(10 * PATIENCE)
        kept.sendall(f"GET /sync/v1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        answer = b""
        while b'"more":false}' not in answer:
            answer += kept.recv(4096)
        door.program.signal()
        assert kept.recv(4096) == b"" and silent.recv(4096) == b""
    assert door.program.wait() == 0


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


def test_of_gateways_that_start_at_once_on_one_address_one_remains(gateway, mock_broker, port):
    started = [gateway(mock_broker.bootstrap, ready=False, listen=[port.address]).program for _ in range(4)]
    eventually(lambda: sum(program.process.poll() is None for program in started) == 1, what="that one remains")
    remaining = next(program for program in started if program.process.poll() is None)
    assert [program.wait() for program in started if program is not remaining] == [71, 71, 71]
    remaining.line('"message":"ready"')


def test_several_listeners_at_once_give_the_same_events(gateway, mock_broker, tokens, tmp_path):
    path = tmp_path / "gate.sock"
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


def test_a_socket_file_that_a_killed_gateway_left_is_replaced(gateway, mock_broker, tokens, tmp_path):
    path = tmp_path / "gate.sock"
    killed = gateway(mock_broker.bootstrap, listen=[f"unix:{path}"])
    killed.program.signal(signal.SIGKILL)
    assert killed.program.wait() == -signal.SIGKILL
    assert path.is_socket()
    door = gateway(mock_broker.bootstrap, listen=[f"unix:{path}"])
    connected(str(path), tokens.token("PACC1"), socket.AF_UNIX).close()
    door.program.signal()
    assert door.program.wait() == 0 and not path.exists()


def test_a_file_that_is_no_socket_is_left_alone(gateway, mock_broker, tmp_path):
    path = tmp_path / "precious"
    path.write_text("not ours")
    door = gateway(mock_broker.bootstrap, ready=False, listen=[f"unix:{path}"])
    assert door.program.wait() == 71 and str(path) in "".join(door.program.err)
    assert path.read_text() == "not ours"
