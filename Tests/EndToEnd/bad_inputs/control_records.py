"""Records of the control topic that do not say to the letter what is revoked or erased, and their harmless neighbours."""

import json
import time

from bad_inputs import Row

REJECTED, REVOKED = "rejected", "revoked"
# The largest value that is read, in bytes.
LARGEST = 64 * 1024


def revoke(name, answer, source="own rule", **members):
    return Row(name, answer, source, json.dumps({"revoke": members}, ensure_ascii=False).encode())


def account(name, text, source="own rule", answer=REJECTED):
    """What stands in the place of the account, as it is."""
    return Row(name, answer, source, b'{"revoke":{"account":' + text + b"}}")


def before(name, text, answer=REJECTED):
    """The second before which tokens are revoked, or how far it lies from now."""
    def record(stage):
        second = text if isinstance(text, bytes) else str(int(time.time()) + text).encode()
        return b'{"revoke":{"account":"PNOBODY","before":' + second + b"}}"
    return Row(name, answer, "own rule", record)


def padded(name, answer, size):
    text = b'{"revoke":{"account":"PNOBODY"}}'
    return Row(name, answer, "own rule", text + b" " * (size - len(text)))


ROWS = [
    Row("no JSON", REJECTED, "RFC 8259 §2", b"revoke PNOBODY"),
    Row("a list", REJECTED, "own rule", b'[{"revoke":{"account":"PNOBODY"}}]'),
    Row("null", REJECTED, "own rule", b"null"),
    Row("an object that does not end", REJECTED, "RFC 8259 §4", b'{"revoke":{"account":"PNOBODY"}'),
    Row("an object with text behind it", REJECTED, "RFC 8259 §2", b'{"revoke":{"account":"PNOBODY"}} x'),
    Row("two objects", REJECTED, "RFC 8259 §2", b'{"revoke":{"account":"PNOBODY"}}{"revoke":{"account":"PNOBODY"}}'),
    Row("10,000 lists in each other", REJECTED, "RFC 8259 §9", b"[" * 10_000),
    Row("bytes that are not UTF-8", REJECTED, "RFC 8259 §8.1", b'{"revoke":{"account":"\xff"}}'),
    Row("half a pair of surrogates", REJECTED, "RFC 8259 §8.2", b'{"revoke":{"account":"\\ud800"}}'),
    Row("revoke twice", REJECTED, "RFC 8259 §4",
        b'{"revoke":{"account":"PNOBODY"},"revoke":{"account":"PNOBODY"}}'),
    Row("an account twice", REJECTED, "RFC 8259 §4", b'{"revoke":{"account":"PNOBODY","account":"PNOBODY"}}'),
    Row("an account twice, once escaped", REJECTED, "RFC 8259 §4",
        b'{"revoke":{"account":"PNOBODY","\\u0061ccount":"PNOBODY"}}'),
    Row("an object that asks for nothing", REJECTED, "own rule", b"{}"),
    Row("an unknown member beside revoke", REJECTED, "own rule", b'{"revoke":{"account":"PNOBODY"},"comment":"x"}'),
    Row("revoke in capitals", REJECTED, "own rule", b'{"Revoke":{"account":"PNOBODY"}}'),
    Row("revoke as a text", REJECTED, "own rule", b'{"revoke":"PNOBODY"}'),
    revoke("an unknown member", REJECTED, account="PNOBODY", reason="x"),
    revoke("nobody", REJECTED),
    revoke("a subject without an account", REJECTED, subject="u1"),
    revoke("an account and a token", REJECTED, account="PNOBODY", token="t1"),
    account("an empty account", b'""'),
    account("an account of null", b"null"),
    account("an account that is a fraction", b"1.0"),
    account("an account that is a list", b'["PNOBODY"]'),
    account("an account with a line end", b'"a\\nb"'),
    account("an account of 255 bytes", b'"' + b"x" * 255 + b'"', answer=REVOKED),
    account("an account of 256 bytes", b'"' + b"x" * 256 + b'"'),
    account("an account that is a whole number", b"42", answer=REVOKED),
    revoke("an empty subject", REJECTED, account="PNOBODY", subject=""),
    revoke("a subject that is a fraction", REJECTED, account="PNOBODY", subject=7.5),
    revoke("a subject that is a whole number", REVOKED, account="PNOBODY", subject=7),
    revoke("a subject of 10 KiB", REVOKED, account="PNOBODY", subject="x" * 10_240),
    revoke("an empty token", REJECTED, token=""),
    revoke("a token that is a number", REJECTED, token=7),
    revoke("a NUL in a token", REJECTED, token="a\0"),
    before("a time as a text", b'"1"'),
    before("a time below zero", b"-1"),
    before("a time with a fraction", b"1.5"),
    before("a time with an exponent", b"1e9"),
    before("a time of 2⁶⁴", b"18446744073709551616"),
    before("a time an hour ahead, which would shut out tokens to come", 3600),
    before("a time an hour ago", -3600, REVOKED),
    padded("a value of 64 KiB", REVOKED, LARGEST),
    padded("a value of 64 KiB and a byte", REJECTED, LARGEST + 1),
    Row("erase as a text", REJECTED, "own rule", b'{"erase":"PNOBODY"}'),
    Row("an erase of null", REJECTED, "own rule", b'{"erase":null}'),
    Row("an erase of nobody", REJECTED, "own rule", b'{"erase":{}}'),
    Row("erase twice", REJECTED, "RFC 8259 §4", b'{"erase":{"account":"PNOBODY"},"erase":{"account":"PNOBODY"}}'),
    Row("an erase beside a revoke", REJECTED, "own rule",
        b'{"erase":{"account":"PNOBODY"},"revoke":{"account":"PNOBODY"}}'),
    Row("an erase with a time", REJECTED, "own rule", b'{"erase":{"account":"PNOBODY","before":1}}'),
    Row("an erase of a subject", REJECTED, "own rule", b'{"erase":{"account":"PNOBODY","subject":"u1"}}'),
    Row("an erase of a token", REJECTED, "own rule", b'{"erase":{"token":"t1"}}'),
    Row("an erase of an empty account", REJECTED, "own rule", b'{"erase":{"account":""}}'),
    Row("an erase of an account of 256 bytes", REJECTED, "own rule", b'{"erase":{"account":"' + b"x" * 256 + b'"}}'),
    Row("an erase of an account that is a list", REJECTED, "own rule", b'{"erase":{"account":["PNOBODY"]}}'),
]
