"""TLS: what becomes of those who speak something else, stall, or cut the line."""

import asyncio
import socket
import ssl
import struct

import pytest

from programs import PATIENCE, event, produce
from rawclient import RawClient, play, until
from wire import connect, upgrade

ANY = ssl.TLSVersion.MINIMUM_SUPPORTED


def hello(context):
    """The first flight of a client of this context."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        session.do_handshake()
    return outgoing.read()


def strangers(certificates):
    """What comes first from peers that do not speak TLS as they should, and the reason under which they are counted."""
    first = hello(certificates.client())
    return {
        "plain_http": b"GET /live/v1 HTTP/1.1\r\nHost: h\r\n\r\n",
        "not_tls": b"\0\1\2\3 garbage that is nothing at all" * 10,
        "sslv2_hello": bytes([0x80, 0x2E, 1, 0, 2, 0, 0x15, 0, 0, 0, 0x10]) + bytes(40),
        "oversized_record": b"\x16\x03\x01\xff\xff" + first[5:] + bytes(70_000),
    }


def speak(door, sent):
    """Sends bytes; what comes until the server closes, by an end or a reset."""
    with connect(door.host, 20 * PATIENCE) as peer:
        try:
            peer.sendall(sent)
            answer = b""
            while chunk := peer.recv(65536):
                answer += chunk
        except ConnectionError:
            pass
        return answer


def test_strangers_are_closed_and_counted_while_a_client_goes_on(tls_door, mock_broker, certificates, tokens):
    door = tls_door(limits__handshake_timeout="5s")
    token = tokens.token("PACC1")
    first = hello(certificates.client())

    async def scenario():
        client = await RawClient.open(door.host, token, ssl=certificates.client())
        numbers = 0
        for name, sent in strangers(certificates).items():
            answer = await asyncio.to_thread(speak, door, sent)
            if name == "plain_http":
                assert answer.startswith(b"HTTP/1.1 400 ")
            await asyncio.to_thread(produce, mock_broker.bootstrap, "incidents", [event("PACC1", numbers)])
            numbers += 1
            await until(lambda: len(client.messages) == numbers, what=f"the event after {name}")
        # TLS before 1.2 is refused.
        old = certificates.client(minimum_version=ANY, maximum_version=ssl.TLSVersion.TLSv1_1)
        old.set_ciphers("ALL:@SECLEVEL=0")
        with connect(door.host) as plain, pytest.raises(ssl.SSLError, match="(?i)version|unsupported|handshake"):
            await asyncio.to_thread(old.wrap_socket, plain, server_hostname="localhost")
        # Cut in the middle of a handshake: by an end, and by a reset.
        for lingers in (False, True):
            with connect(door.host) as peer:
                peer.sendall(first[:100])
                if lingers:
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # A handshake that stalls, with bytes or without, is ended at its deadline.
        with connect(door.host, 20 * PATIENCE) as silent, connect(door.host, 20 * PATIENCE) as stalled:
            stalled.sendall(first)
            await asyncio.to_thread(read_to_end, stalled)
            await asyncio.to_thread(read_to_end, silent)
        # An established client ends the line without a close_notify.
        await asyncio.to_thread(cut_without_notice, door, certificates.client(), token)
        assert client.close is None
        await asyncio.to_thread(produce, mock_broker.bootstrap, "incidents", [event("PACC1", "last")])
        await until(lambda: client.ids[-1] == "last", what="the last event")
        # So does the other one, whom everybody else did not disturb.
        client.drop()
        await until(lambda: sum('"connection closed"' in line for line in door.program.err) == 2, what="both ends")

    play(scenario())
    ended = {name: int(count) for name, _, count in (part.partition("=") for part in door.stop()["ended"].split())}
    for name in strangers(certificates):
        assert ended[f"tls_{name}"] == 1, (name, ended)
    assert ended["tls_unsupported_version"] == 1 and ended["tls_handshake_timeout"] == 2, ended
    assert ended["tls_handshake_abandoned"] == 2 and ended["tls_truncated"] == 2, ended
    assert "tls_internal" not in ended


def cut_without_notice(door, context, token):
    with connect(door.host) as plain:
        copy = plain.dup()
        with context.wrap_socket(copy, server_hostname="localhost") as peer:
            peer.sendall(upgrade(token))
            assert peer.recv(4096).startswith(b"HTTP/1.1 101 ")
            peer.shutdown(socket.SHUT_WR)
            plain.settimeout(10 * PATIENCE)
            read_to_end(plain)


def read_to_end(peer):
    try:
        while peer.recv(4096):
            pass
    except ConnectionError:
        pass
