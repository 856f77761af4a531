"""What a client sends behind its request, before it has seen the 101: kept, and read as frames afterwards."""

import socket
import ssl
import subprocess

import pytest

from wire import frame, upgrade


@pytest.fixture
def certificate(tmp_path):
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-keyout", key, "-out", chain], check=True, capture_output=True)
    return {"certificate": str(chain), "key": str(key)}


def close_code(answer):
    """The code of the close frame behind the 101."""
    head, _, frames = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 "), head
    assert frames[:1] == b"\x88", frames
    return int.from_bytes(frames[2:4], "big")


def received(peer):
    answer = b""
    while chunk := peer.recv(65536):
        answer += chunk
        if b"\x88" in answer.partition(b"\r\n\r\n")[2]:
            return answer
    return answer


def test_frames_in_the_same_packet_as_the_request_are_answered_after_the_101(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap)
    host, _, port = door.host.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=120) as peer:
        peer.sendall(upgrade(tokens.token("PACC1")) + frame(0x8, b"\x03\xe8"))
        assert close_code(received(peer)) == 1000


def test_frames_in_records_of_their_own_behind_the_request_are_answered_after_the_101(
        gateway, mock_broker, tokens, certificate):
    door = gateway(mock_broker.bootstrap, tls=certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(incoming, outgoing)
    host, _, port = door.host.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=120) as peer:
        def step(action, *arguments):
            while True:
                try:
                    result = action(*arguments)
                    peer.sendall(outgoing.read())
                    return result
                except ssl.SSLWantReadError:
                    peer.sendall(outgoing.read())
                    incoming.write(peer.recv(65536))

        step(session.do_handshake)
        # Three records in one packet: the request, an empty text, and a close.
        session.write(upgrade(tokens.token("PACC1")))
        session.write(frame(0x1))
        session.write(frame(0x8, b"\x03\xe8"))
        peer.sendall(outgoing.read())
        answer = b""
        while b"\x88" not in answer.partition(b"\r\n\r\n")[2]:
            answer += step(session.read, 65536)
        assert close_code(answer) == 1000
