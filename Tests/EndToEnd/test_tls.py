"""TLS: whoever verifies the chain is let in, and is served like anybody else, however many shake hands or do not read."""

import asyncio
import socket
import ssl
import struct
import threading

import pytest

from programs import PATIENCE, event, eventually, produce
from rawclient import RawClient, play, until
from wire import connect, frame, upgrade


@pytest.mark.parametrize("kind", ["rsa", "ecdsa"])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_chain_of_either_kind_is_verified_by_its_root_alone(
        tls_door, mock_broker, certificates, tokens, kind, version):
    door = tls_door(kind)
    context = certificates.client(minimum_version=version, maximum_version=version)
    context.set_alpn_protocols(["h2", "http/1.1"])

    async def scenario():
        client = await RawClient.open(door.host, tokens.token("PACC1"), ssl=context)
        session = client.writer.get_extra_info("ssl_object")
        assert session.version() == version.name.replace("_", ".")
        assert session.selected_alpn_protocol() == "http/1.1"
        await asyncio.to_thread(produce, mock_broker.bootstrap, "incidents", [event("PACC1", n) for n in range(300)])
        await until(lambda: len(client.ids) == 300, what="the events")
        assert client.ids == [str(number) for number in range(300)]

    play(scenario())


def test_a_storm_of_handshakes_does_not_stop_those_who_are_connected(tls_door, mock_broker, certificates, tokens):
    door = tls_door()
    token, storm = tokens.token("PACC1"), 200
    context = certificates.client()
    context.options |= ssl.OP_NO_TICKET
    failures = []

    def rush():
        try:
            for _ in range(storm // 10):
                with connect(door.host, 60 * PATIENCE) as plain, context.wrap_socket(
                        plain, server_hostname="localhost") as peer:
                    peer.sendall(upgrade(token) + frame(0x8, b"\x03\xe8"))
                    assert peer.recv(4096).startswith(b"HTTP/1.1 101 ")
        except (OSError, AssertionError) as failure:
            failures.append(repr(failure))

    async def scenario():
        client = await RawClient.open(door.host, token, ssl=context)
        threads = [threading.Thread(target=rush) for _ in range(10)]
        for thread in threads:
            thread.start()
        rounds = 0
        while any(thread.is_alive() for thread in threads):
            await asyncio.to_thread(produce, mock_broker.bootstrap, "incidents", [event("PACC1", rounds)])
            rounds += 1
            await until(lambda: len(client.messages) == rounds, what="an event in the storm")
        assert failures == [] and client.close is None
        assert client.ids == [str(number) for number in range(rounds)] and rounds > 1

    play(scenario())


def test_a_client_that_never_reads_is_closed_over_tls_too(tls_door, mock_broker, certificates, tokens):
    door = tls_door(limits__max_lag="2s")
    context = certificates.client()
    address, _, port = door.host.rpartition(":")
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.settimeout(20 * PATIENCE)
    plain.connect((address, int(port)))
    with context.wrap_socket(plain, server_hostname="localhost") as peer:
        peer.sendall(upgrade(tokens.token("PACC1")))
        assert peer.recv(4096).startswith(b"HTTP/1.1 101 ")
        records = [event("PACC1", f"{number:0200}", "x" * 60) for number in range(5000)]

        def is_found():
            produce(mock_broker.bootstrap, "incidents", records)
            return any("connection too slow" in line for line in door.program.err)
        eventually(is_found, 30, "that the client is found too slow")
        answer = b""
        while chunk := peer.recv(65536):
            answer += chunk
    assert answer.endswith(b"\x88\x0a" + struct.pack("!H", 4409) + b"too slow")
