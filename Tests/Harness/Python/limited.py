"""A gateway with limits, and clients that count how many of them it lets in."""

import json
import re
import socket
import ssl

from gateway import launch
from programs import PATIENCE, Program


class Stage:
    """A gateway that is plain or not, and its clients."""

    def __init__(self, ending, folder, tokens, certificates, broker, is_secure, loops=2, balancer=None, **limits):
        def start(*command, **options):
            program = Program(*command, **options)
            ending.callback(program.end)
            return program

        self.is_secure, self.broker, self.tokens = is_secure, broker, tokens
        self.context = certificates.client() if is_secure else None
        self.door = launch(start, folder, tokens, broker.bootstrap, loops=loops, limits=limits, **(
            {"tls": certificates.settings["ecdsa"]} if is_secure else {}), **(
            {"balancer": balancer} if balancer else {}))

    def token(self, account="PACC1", subject=None):
        return self.tokens.token(account, *(["--subject", subject] if subject else []))

    def connect(self, source="127.0.0.1"):
        """A connection from an address of this machine, which has said nothing."""
        host, _, port = self.door.host.rpartition(":")
        return socket.create_connection((host, int(port)), 20 * PATIENCE, source_address=(source, 0))

    def secured(self, plain):
        """The connection with its handshake of TLS done, where there is one."""
        return self.context.wrap_socket(plain, server_hostname="localhost") if self.context else plain

    def begin(self, source="127.0.0.1", header=b""):
        """A connection that begins with a PROXY header, or without."""
        plain = self.connect(source)
        if header:
            plain.sendall(header)
        return self.secured(plain)

    def ask(self, request, source="127.0.0.1", header=b""):
        """A connection that has asked, and the head of the answer; nothing where there is none."""
        try:
            peer = self.begin(source, header)
        except (ConnectionError, ssl.SSLError):
            return None, b""
        return self.ask_on(peer, request)

    @staticmethod
    def ask_on(peer, request):
        try:
            peer.sendall(request)
            return peer, head(peer)
        except (ConnectionError, ssl.SSLError):
            return peer, b""


def head(peer):
    found = b""
    while b"\r\n\r\n" not in found:
        piece = peer.recv(4096)
        if not piece:
            return found
        found += piece
    return found


def is_in(answer):
    return answer.startswith((b"HTTP/1.1 101 ", b"HTTP/1.1 200 "))


def assert_refused(answer, status, code):
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer
    assert re.search(rb"\r\nRetry-After: [1-5]\r\n", head + b"\r\n") and b"\r\nConnection: close" in head, head
    assert json.loads(body)["code"] == code
