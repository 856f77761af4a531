"""Answers of an issuer's key server (RFC 7517) and of a server of tokens (RFC 7662) that mean harm, or are broken."""

import gzip
import json
import time

from bad_inputs import Row
from bad_inputs.tokens_of_clients import now
from jose import number, token

LATER, NO, YES = "503 `not_ready`", "401 `invalid_token`", "200"
# What an honest key of before gets afterwards.
KEPT, GONE = f"{LATER}, {YES}", f"{YES}, {NO}"


def answer(body, *fields, line=b"HTTP/1.1 200 OK"):
    body = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    return b"\r\n".join([line, *fields, b"Content-Length: %d" % len(body), b"", body])


def chunked(size, body=b""):
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%b\r\n%b\r\n0\r\n\r\n" % (size, body)


def keys(name, expected, source, made, by=None):
    """`made` gives the answer of the key server to the question for the key `evil`; the token is signed `by` a key."""
    return Row(name, expected, source, lambda stage: (made(stage), (by or (lambda stage: stage.evil))(stage)))


def a_set(*changes, rest=()):
    """A set with the key `evil`, once for each change of it."""
    return lambda stage: answer({"keys": [*(stage.evil.jwk(**change) for change in changes), *rest]})


def ec(**changes):
    return lambda stage: answer({"keys": [stage.curve.jwk(kid="evil", **changes)]})


def plain(data):
    return lambda stage: data


def large(size):
    return lambda stage: answer(json.dumps({"keys": [stage.evil.jwk()]}).ljust(size))


HUGE = (1 << 16384) - 1
MALFORMED = "RFC 7517 §5"
KEY_SETS = [
    keys("the key, and not the one before", GONE, "own rule", a_set({})),
    keys("a redirect", KEPT, "CVE-2026-32301", plain(answer("", b"Location: /trap", line=b"HTTP/1.1 302 Found"))),
    keys("a redirect to a file", KEPT, "CVE-2026-32301",
         plain(answer("", b"Location: file:///etc/passwd", line=b"HTTP/1.1 301 Moved"))),
    keys("a good set with the status 500", KEPT, "RFC 9110 §15.6.1",
         lambda stage: answer({"keys": [stage.evil.jwk()]}, line=b"HTTP/1.1 500 No")),
    keys("a part of a set, 206", KEPT, "RFC 9110 §15.3.7",
         lambda stage: answer({"keys": [stage.evil.jwk()]}, line=b"HTTP/1.1 206 Part")),
    keys("nothing", KEPT, MALFORMED, plain(answer(""))),
    keys("a page", KEPT, MALFORMED, plain(answer("<html>no</html>", b"Content-Type: text/html"))),
    keys("no keys", KEPT, MALFORMED, a_set()),
    keys("keys that are an object", KEPT, MALFORMED, lambda stage: answer({"keys": stage.evil.jwk()})),
    keys("a list instead of a set", KEPT, MALFORMED, lambda stage: answer([stage.evil.jwk()])),
    keys("two lists of keys", KEPT, "RFC 7517 §4",
         lambda stage: answer('{"keys":[],"keys":[%s]}' % json.dumps(stage.evil.jwk()))),
    keys("rubbish behind the set", KEPT, "RFC 8259 §2", lambda stage: answer('{"keys":[%s]}x' % json.dumps(stage.evil.jwk()))),
    keys("bytes that are not UTF-8", KEPT, "RFC 8259 §8.1",
         lambda stage: answer(b'{"x":"\xff","keys":[%b]}' % json.dumps(stage.evil.jwk()).encode())),
    keys("100 keys", GONE, "own rule", a_set({}, rest=[{"kty": "strange"}] * 99)),
    keys("101 keys", KEPT, "own rule", a_set({}, rest=[{"kty": "strange"}] * 100)),
    keys("1 MiB", GONE, "own rule", large(1 << 20)),
    keys("1 MiB and a byte", KEPT, "own rule", large((1 << 20) + 1)),
    keys("1 MiB and a byte in a chunk", KEPT, "own rule", plain(chunked(b"100001", b" " * ((1 << 20) + 1)))),
    keys("a head that does not end", KEPT, "RFC 6585 §5", plain(b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 50_000)),
    keys("a gzip bomb", KEPT, "RFC 9110 §8.4.1", plain(answer(gzip.compress(b" " * (8 << 20)), b"Content-Encoding: gzip"))),
    keys("an end before its length", KEPT, "RFC 9112 §8",
         lambda stage: answer({"keys": [stage.evil.jwk()]}).replace(b"Content-Length: ", b"Content-Length: 9", 1)),
    keys("a chunk whose size is no number", KEPT, "RFC 9112 §7.1", plain(chunked(b"zz", b"{}"))),
    keys("a body without a head", KEPT, "RFC 9112 §2.3", plain(b'{"keys":[]}\r\n\r\n')),
    keys("40 lists inside each other", KEPT, "RFC 8259 §9", plain(answer('{"x":%s}' % ("[" * 40 + "]" * 40)))),
    keys("an answer that never comes", KEPT, "own rule", plain(b"")),
    keys("an RSA key of 1,024 bits", KEPT, "RFC 7518 §3.3",
         lambda stage: answer({"keys": [stage.weak.jwk(kid="evil")]}), lambda stage: stage.weak),
    keys("an RSA key of 1,024 bits beside a good one", f"{NO}, {YES}", "RFC 7518 §3.3",
         lambda stage: answer({"keys": [stage.weak.jwk(kid="evil"), stage.rsa.jwk()]}), lambda stage: stage.weak),
    keys("an RSA key of 16,384 bits", KEPT, "own rule", a_set({"n": number(HUGE)})),
    keys("an RSA key with the exponent 1", KEPT, "RFC 8017 §3.1", a_set({"e": "AQ"})),
    keys("an RSA key with an even exponent", KEPT, "RFC 8017 §3.1", a_set({"e": "AQAA"})),
    keys("an RSA key with an exponent of 65 bits", KEPT, "own rule", a_set({"e": number((1 << 64) + 1)})),
    keys("an RSA key with the modulus 0", KEPT, "RFC 8017 §3.1", a_set({"n": "AA"})),
    keys("an RSA key whose modulus is a list", KEPT, "RFC 7518 §6.3.1", a_set({"n": [1]})),
    keys("a key with a member twice", KEPT, "RFC 7517 §4",
         lambda stage: answer('{"keys":[{"kid":"a",%s]}' % json.dumps(stage.evil.jwk())[1:])),
    keys("a point that is not on P-256", KEPT, "RFC 8725 §3.4", ec(x=number(5, 32), y=number(5, 32))),
    keys("the point 0, 0", KEPT, "RFC 8725 §3.4", ec(x=number(0, 32), y=number(0, 32))),
    keys("a point beyond the field", KEPT, "RFC 8725 §3.4", ec(x=number((1 << 256) - 1, 32))),
    keys("a point of 31 bytes", KEPT, "RFC 7518 §6.2.1.2", ec(x=number(5, 31))),
    keys("a point on another curve", KEPT, "RFC 8725 §3.4", ec(crv="secp256k1")),
    keys("a secret instead of a public key", KEPT, "RFC 8725 §3.2", lambda stage: answer({"keys": [stage.secret.jwk(kid="evil")]})),
    keys("a key for encryption", KEPT, "RFC 7517 §4.2", a_set({"use": "enc"})),
    keys("a key that only signs", KEPT, "RFC 7517 §4.3", a_set({"key_ops": ["sign"]})),
    keys("a key for another algorithm", KEPT, "RFC 7517 §4.4", a_set({"alg": "HS256"})),
    keys("a key for no algorithm", KEPT, "RFC 7517 §4.4", a_set({"alg": "none"})),
    keys("a key's name that is a number", KEPT, "RFC 7517 §4.5", a_set({"kid": 1})),
    keys("a key's name of 257 bytes", KEPT, "own rule", a_set({"kid": "a" * 257})),
    keys("two keys of one name, of which the first counts", f"{NO}, {NO}", "RFC 7517 §4.5",
         lambda stage: answer({"keys": [stage.stranger.jwk(kid="evil"), stage.evil.jwk()]})),
]


def said(name, expected, source, body):
    """What the server of tokens says of one; its body, or all of its answer."""
    return Row(name, expected, source, lambda stage: body if isinstance(body, bytes) else answer(body))


def active(**changes):
    claims = {"active": True, "account_id": "PACC1", "exp": int(time.time()) + 36_000, **changes}
    return {name: value for name, value in claims.items() if value is not ...}


ACTIVE = "RFC 7662 §2.2"
ANSWERS = [
    said("active", YES, ACTIVE, active()),
    said("not active", NO, ACTIVE, {"active": False}),
    said("not active, with all that an active one has", NO, ACTIVE, active(active=False)),
    said("active as text", LATER, ACTIVE, active(active="true")),
    said("active as a number", LATER, ACTIVE, active(active=1)),
    said("active that is nothing", LATER, ACTIVE, active(active=None)),
    said("no word of active", LATER, ACTIVE, active(active=...)),
    said("active twice", LATER, "RFC 8259 §4", json.dumps(active())[:-1] + ', "active": false}'),
    said("active in a list", LATER, ACTIVE, [active()]),
    said("a page that reports it", LATER, ACTIVE, "<html>active</html>"),
    said("no body", LATER, ACTIVE, ""),
    said("the body cut", LATER, ACTIVE, json.dumps(active())[:-1]),
    said("rubbish behind the answer", LATER, "RFC 8259 §2", json.dumps(active()) + "x"),
    *(said(f"active with the status {status}", LATER, "RFC 7662 §2.3", answer(active(), line=b"HTTP/1.1 %d X" % status))
      for status in (201, 400, 401, 500)),
    said("a redirect to an active one", LATER, "RFC 7662 §4", answer("", b"Location: /active", line=b"HTTP/1.1 307 X")),
    said("64 KiB", YES, "own rule", json.dumps(active()).ljust(65_536)),
    said("64 KiB and a byte", LATER, "own rule", json.dumps(active()).ljust(65_537)),
    said("a small gzip bomb", LATER, "RFC 9110 §8.4.1", answer(gzip.compress(b" " * (8 << 20)), b"Content-Encoding: gzip")),
    said("fewer bytes than the length", LATER, "RFC 9112 §8", answer(active()).replace(b"Length: ", b"Length: 9", 1)),
    said("1,000 lists in an answer", LATER, "RFC 8259 §9", '{"active":true,"x":%s}' % ("[" * 1000 + "]" * 1000)),
    said("an end that has passed", NO, ACTIVE, active(exp=1)),
    said("an end with a fraction in an answer", NO, ACTIVE, active(exp=9999999999.5)),
    said("an end as text in an answer", NO, ACTIVE, active(exp="9999999999")),
    said("an end below 0 in an answer", NO, ACTIVE, active(exp=-1)),
    said("a beginning in the next hours", NO, "RFC 7662 §4", active(nbf=int(time.time()) + 36_000)),
    said("a beginning in the next hours, and no end", NO, "RFC 7662 §4", active(nbf=int(time.time()) + 36_000, exp=...)),
    said("no end", YES, "own rule", active(exp=...)),
    said("active without an account", NO, "own rule", active(account_id=...)),
    said("active for an empty account", NO, "own rule", active(account_id="")),
    said("active for a list of accounts", NO, "own rule", active(account_id=["PACC1", "PVICTIM"])),
    said("active for an account with a line end", NO, "own rule", active(account_id="PACC1\n")),
    said("active for an account of 256 bytes", NO, "own rule", active(account_id="a" * 256)),
    said("active for two accounts", LATER, "RFC 8259 §4", json.dumps(active())[:-1] + ', "account_id": "PVICTIM"}'),
]


def attack(stage, issuer, key):
    """A token of an issuer under the name of the key that is to be fetched."""
    claims = {"iss": issuer, "aud": "livegate", "account_id": "PACC1", "exp": now() + 3600}
    return token(key, {"alg": "RS256", "kid": "evil"}, claims)


def honest(stage, issuer):
    claims = {"iss": issuer, "aud": "livegate", "account_id": "PACC1", "exp": now() + 3600}
    return token(stage.rsa, {"alg": "RS256", "kid": stage.rsa.name}, claims)
