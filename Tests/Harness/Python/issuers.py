"""Servers of others that a node asks about tokens: their keys (RFC 7517), or what a token is (RFC 7662)."""

import base64
import subprocess
import threading
import urllib.parse

from https_server import Server
from ports import Port


class Issuer:
    """Over TLS, with a port that is its own also while it is away. An answer waits while `free` is not set."""

    def __init__(self, certificates):
        self.certificates, self.kept, self.server = certificates, Port(), None
        self.port = self.kept.number
        self.free = threading.Event()
        self.free.set()

    def begin(self):
        self.server = Server(self.answer, *self.certificates.settings["ecdsa"].values(), port=self.port)
        return self

    def end(self):
        self.free.set()
        if self.server:
            self.server.end()
            self.server = None
        self.kept.end()


class TokenServer(Issuer):
    """Knows tokens by name; `say` is what it answers for each."""

    def __init__(self, certificates, folder):
        super().__init__(certificates)
        self.say, self.asked = {}, []
        secret = folder / "client-secret"
        secret.write_text("s€cret:%\n")
        self.settings = {"url": f"https://localhost:{self.port}/introspect", "client_id": "live gate",
                         "client_secret_file": str(secret), "ca": str(certificates.authority)}
        self.begin()

    def answer(self, request):
        name, secret = base64.b64decode(request.headers["Authorization"].removeprefix("Basic ")).decode().split(":")
        assert (urllib.parse.unquote_plus(name), urllib.parse.unquote_plus(secret)) == ("live gate", "s€cret:%")
        assert request.command == "POST" and request.headers["Content-Type"] == "application/x-www-form-urlencoded"
        token = dict(urllib.parse.parse_qsl(request.body))["token"]
        self.asked.append(token)
        said = self.say.get(token, {"active": False})
        self.free.wait(20)
        said(request) if callable(said) else request.reply(said)


class KeyServer(Issuer):
    """Serves a JWKS of our own, once it has begun; `broken` is what may be wrong with it."""

    def __init__(self, certificates, tokens):
        super().__init__(certificates)
        self.tokens, self.keys, self.broken = tokens, [], False

    def answer(self, request):
        keys = list(self.keys)
        self.free.wait(20)
        request.reply("no", 500) if self.broken else request.reply({"keys": [*keys, {"kty": "strange"}]})

    @property
    def fetches(self):
        return len(self.server.requests)

    def publish(self, *names, by=None):
        """The public key of the test issuer under these names."""
        der = subprocess.run(["openssl", "pkey", "-pubin", "-in", (by or self.tokens).public, "-outform", "DER"],
                             check=True, capture_output=True).stdout
        x, y = (base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (der[-64:-32], der[-32:]))
        self.keys = [{"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": name} for name in names]

    def settings(self, **changes):
        return [{"issuer": "test", "audience": "livegate", "algorithms": ["ES256"],
                 "keys_url": f"https://localhost:{self.port}/keys", "keys_ca": str(self.certificates.authority), **changes}]
