"""Tokens of any form, honest and not: JWS by hand (RFC 7515), with keys that `openssl` makes."""

import base64
import functools
import hashlib
import hmac
import json
import re
import secrets
import subprocess

# NIST P-256 (SEC 2 §2.4.2).
P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
GENERATOR = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
             0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)
# DER of the hash's name, before the hash (RFC 8017 §9.2).
SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")


def text(data):
    """base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value, size=None):
    return text(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


def part(value):
    """A part of a token: an object, or a text that is to stand there as it is."""
    return text(value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode())


class RSA:
    """An RSA key; `sign` is RS256."""

    def __init__(self, bits=2048, name="r1"):
        self.name = name
        pem = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{bits}"],
                             check=True, capture_output=True).stdout
        shown = subprocess.run(["openssl", "pkey", "-noout", "-text"], input=pem, check=True, capture_output=True).stdout
        self.n, self.p, self.q, self.dp, self.dq, self.inverse = (
            int(re.sub(r"[\s:]", "", re.search(rf"(?m)^{word}:\n((?: +[0-9a-f:]+\n)+)", shown.decode()).group(1)), 16)
            for word in ("modulus", "prime1", "prime2", "exponent1", "exponent2", "coefficient"))
        self.pem = subprocess.run(["openssl", "pkey", "-pubout"], input=pem, check=True, capture_output=True).stdout

    def jwk(self, **changes):
        key = {"kty": "RSA", "n": number(self.n), "e": "AQAB", "kid": self.name, **changes}
        return {name: value for name, value in key.items() if value is not None}

    @functools.cache
    def sign(self, signed):
        size = (self.n.bit_length() + 7) // 8
        tail = b"\0" + SHA256 + hashlib.sha256(signed).digest()
        padded = b"\0\1" + b"\xff" * (size - 2 - len(tail)) + tail
        value = int.from_bytes(padded, "big")
        # By the two primes (RFC 8017 §5.1.2), which is four times as fast.
        one, two = pow(value, self.dp, self.p), pow(value, self.dq, self.q)
        return (two + self.q * ((one - two) * self.inverse % self.p)).to_bytes(size, "big")


class Secret:
    """A secret that several share; `sign` is HS256."""

    def __init__(self, key=None):
        self.key = key or secrets.token_bytes(32)

    def jwk(self, **changes):
        return {"kty": "oct", "k": text(self.key), **changes}

    def sign(self, signed):
        return hmac.new(self.key, signed, hashlib.sha256).digest()


class EC:
    """A key on P-256; `sign` is ES256."""

    def __init__(self, name="e1"):
        self.name, self.d = name, secrets.randbelow(ORDER - 1) + 1
        self.point = multiply(self.d, GENERATOR)

    def jwk(self, **changes):
        x, y = self.point
        return {"kty": "EC", "crv": "P-256", "x": number(x, 32), "y": number(y, 32), "kid": self.name, **changes}

    def sign(self, signed):
        k = secrets.randbelow(ORDER - 1) + 1
        r = multiply(k, GENERATOR)[0] % ORDER
        s = pow(k, -1, ORDER) * (int.from_bytes(hashlib.sha256(signed).digest(), "big") + r * self.d) % ORDER
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def multiply(factor, point):
    """On the curve; nothing here has to keep a secret from a clock."""
    result = None
    while factor:
        if factor & 1:
            result = add(result, point)
        point, factor = add(point, point), factor >> 1
    return result


def add(one, other):
    if one is None or other is None:
        return one or other
    if one[0] == other[0] and (one[1] + other[1]) % P == 0:
        return None
    if one == other:
        slope = (3 * one[0] * one[0] - 3) * pow(2 * one[1], -1, P) % P
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, P) % P
    x = (slope * slope - one[0] - other[0]) % P
    return x, (slope * (one[0] - x) - one[1]) % P


def token(key, header, claims, signature=None):
    """A compact token: header and claims as objects, or as the very text of the JSON; `signature` instead of the key's."""
    signed = f"{part(header)}.{part(claims)}"
    return f"{signed}.{text(key.sign(signed.encode()) if signature is None else signature)}"
