"""A gateway with limits, and clients that count how many of them it lets in."""

import json
import re
import ssl

from caller import Caller
from gateway import launch
from programs import starter


class Stage:
    """A gateway that is plain or not, and its clients."""

    def __init__(self, ending, folder, tokens, certificates, broker, is_secure, loops=2, **limits):
        self.is_secure, self.broker, self.tokens = is_secure, broker, tokens
        self.context = certificates.client() if is_secure else None
        self.door = launch(starter(ending), folder, tokens, broker.bootstrap, loops=loops, limits=limits, **(
            {"tls": certificates.settings["ecdsa"]} if is_secure else {}))

    def token(self, account="PACC1", subject=None):
        return self.tokens.token(account, *(["--subject", subject] if subject else []))

    def begin(self, source="127.0.0.1", is_secured=True):
        """A connection from an address of this machine, with its handshake of TLS where there is one and that is wished for."""
        return Caller(self.door.host, self.context if is_secured else None, source=source)

    def ask(self, request, source="127.0.0.1"):
        """A connection that has asked, and what is answered; nothing where there is none."""
        try:
            peer = self.begin(source)
        except (ConnectionError, ssl.SSLError):
            return None, b""
        return peer, asked(peer, request)


def asked(peer, request):
    """Head and body of an answer; nothing where there is none."""
    try:
        peer.send(request)
        head = peer.head()
    except (ConnectionError, ssl.SSLError, AssertionError):
        return b""
    return head.encode() + b"\r\n\r\n" + peer.body(head)


def is_in(answer):
    return answer.startswith((b"HTTP/1.1 101 ", b"HTTP/1.1 200 "))


def assert_refused(answer, status, code):
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer
    assert re.search(rb"\r\nRetry-After: [1-5]\r\n", head + b"\r\n") and b"\r\nConnection: close" in head, head
    assert json.loads(body)["code"] == code
