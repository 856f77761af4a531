"""Tokens (RFC 7515, 7519 and 8725), and the ways in which a request brings one."""

import base64
import functools
import hashlib
import hmac
import json
import time

from bad_inputs import Row
from bad_inputs.http_requests import AUTHORIZATION, request
from jose import part, token

NO, YES = "401 `invalid_token`", "200"
HOUR = 3600


@functools.cache
def now():
    """The same for all rows and ways, so that what is alike is signed once."""
    return int(time.time())


def bearer(value):
    return request().replace(AUTHORIZATION, b"Authorization: Bearer " + (value if isinstance(value, bytes) else value.encode()))


def header_of(stage, **changes):
    return {name: value for name, value in {"alg": "RS256", "kid": stage.rsa.name, **changes}.items() if value is not None}


def claims_of(stage, **changes):
    claims = {"iss": "rsa", "aud": "livegate", "account_id": "PACC1", "exp": now() + HOUR, **changes}
    return {name: value for name, value in claims.items() if value is not ...}


def signed(name, answer, source, header=None, claims=None, key=None, signature=None, change=lambda token, stage: token):
    """A token that is good but for what is changed; `...` leaves a claim out. Header and claims may be the text itself."""
    def build(stage):
        head = header(stage) if callable(header) else header_of(stage, **(header or {}))
        body = claims(stage) if callable(claims) else claims_of(stage, **(claims or {}))
        made = token(key(stage) if key else stage.rsa, head, body, signature(stage) if callable(signature) else signature)
        return bearer(change(made, stage))
    return Row(name, answer, source, build)


def claim(name, value, answer, title, source):
    return signed(title, answer, source, claims={name: value})


class Public:
    """Signs with what everybody knows, the public key, as a secret."""

    def __init__(self, stage):
        self.secret = stage.rsa.pem

    def sign(self, data):
        return hmac.new(self.secret, data, hashlib.sha256).digest()


def twice(member, first, second):
    """Claims as text, with a member twice."""
    def build(stage):
        rest = {name: value for name, value in claims_of(stage).items() if name != member}
        return json.dumps(rest)[:-1] + f', "{member}": {json.dumps(first)}, "{member}": {json.dumps(second)}' + "}"
    return build


def der(stage):
    """A signature of ECDSA in DER instead of two numbers side by side."""
    return b"\x30\x44\x02\x20" + b"\x11" * 32 + b"\x02\x20" + b"\x11" * 32


ES = {"alg": "ES256", "kid": "e1"}

SIGNATURES = [
    signed("a good token", YES, "RFC 7519 §7.2"),
    signed("no algorithm and no signature", NO, "RFC 8725 §3.1", {"alg": "none"}, signature=b""),
    signed("no algorithm, in other letters", NO, "RFC 8725 §3.1", {"alg": "nOnE"}, signature=b"a"),
    signed("the algorithm is missing", NO, "RFC 7515 §4.1.1", {"alg": None}),
    signed("the algorithm is a list", NO, "RFC 7515 §4.1.1", {"alg": ["RS256"]}),
    signed("the algorithm in lower case", NO, "RFC 7515 §4.1.1", {"alg": "rs256"}),
    signed("HS256 with the public key as its secret", NO, "RFC 8725 §2.1, CVE-2016-10555", {"alg": "HS256"}, key=Public),
    signed("the same where the issuer may use HS256 too", NO, "RFC 8725 §3.2, CVE-2016-10555", {"alg": "HS256"},
           {"iss": "mixed"}, key=Public),
    signed("HS256 with an empty secret", NO, "RFC 8725 §3.5", {"alg": "HS256", "kid": None}, {"iss": "mixed"},
           signature=hmac.new(b"", b"", hashlib.sha256).digest()),
    signed("an algorithm that the issuer may not use", NO, "RFC 8725 §3.1", {"alg": "PS256"}),
    signed("the algorithm of another key of the issuer", NO, "RFC 8725 §3.1", {"alg": "RS256", "kid": "e1"}),
    signed("an ECDSA signature of zeros", NO, "CVE-2022-21449", ES, signature=bytes(64)),
    signed("an ECDSA signature of which s is the order", NO, "CVE-2022-21449", ES, signature=b"\x11" * 32 + bytes.fromhex(
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")),
    signed("an ECDSA signature in DER", NO, "RFC 7518 §3.4", ES, signature=der),
    signed("an ECDSA signature of 62 bytes", NO, "RFC 7518 §3.4", ES, signature=b"\x11" * 62),
    signed("an empty signature", NO, "RFC 7515 §5.2", signature=b""),
    signed("a signature of one byte", NO, "RFC 8017 §8.2.2", signature=b"a"),
    signed("a signature with a byte behind it", NO, "RFC 8017 §8.2.2", change=lambda made, _: made + "AA"),
    signed("a signature of ones", NO, "RFC 8017 §8.2.2", signature=b"\xff" * 256),
    signed("claims that were changed", NO, "RFC 7515 §5.2", change=lambda made, stage: ".".join(
        [made.split(".")[0], part(claims_of(stage, account_id="PVICTIM")), made.split(".")[2]])),
    signed("signed by a stranger", NO, "RFC 7515 §5.2", key=lambda stage: stage.stranger),
    signed("signed by another issuer under a key of the same name", NO, "CVE-2026-49998", claims={"iss": "other"}),
    signed("a key inside the token", NO, "RFC 8725 §3.10, CVE-2018-0114",
           lambda stage: header_of(stage, jwk=stage.stranger.jwk()), key=lambda stage: stage.stranger),
    signed("the address of a key set in the token", NO, "RFC 8725 §3.10, CVE-2026-32301",
           lambda stage: header_of(stage, jku=stage.trap, kid="a"), key=lambda stage: stage.stranger),
    signed("the address of a certificate in the token", NO, "RFC 8725 §3.10",
           lambda stage: header_of(stage, x5u=stage.trap, kid=None), key=lambda stage: stage.stranger),
    signed("an issuer that is an address", NO, "CVE-2026-32301", claims=lambda stage: claims_of(stage, iss=stage.trap),
           key=lambda stage: stage.stranger),
]

HEADERS = [
    signed("something critical that is known", NO, "RFC 7515 §4.1.11", {"crit": ["exp"], "exp": 1}),
    signed("a list of what is critical that is empty", NO, "RFC 7515 §4.1.11", {"crit": []}),
    signed("claims that are not base64url", NO, "RFC 7797 §6", {"b64": False, "crit": ["b64"]}),
    signed("b64 that is not critical", NO, "RFC 7797 §6", {"b64": False}),
    *(signed(f"a key's name that is {what}", NO, "RFC 8725 §3.10", {"kid": name}) for what, name in [
        ("a path", "../../../../dev/null"), ("a question to a database", "' UNION SELECT 'a"), ("a command", "`sleep 9`"),
        ("a number", 1), ("empty", ""), ("of 257 bytes", "a" * 257), ("a NUL", "r1\0"), ("of another case", "R1")]),
    signed("no name of a key where keys have names", YES, "RFC 7515 §4.1.4", {"kid": None}),
    signed("a member of the header twice", NO, "RFC 7515 §4", lambda stage: '{"alg":"none","alg":"RS256","kid":"r1"}'),
    signed("a header that is a list", NO, "RFC 7515 §4", lambda stage: '["RS256"]'),
    signed("a header that is not JSON", NO, "RFC 7515 §4", lambda stage: '{"alg":"RS256","kid":"r1",}'),
    signed("a header with rubbish behind it", NO, "RFC 7515 §4", lambda stage: '{"alg":"RS256","kid":"r1"}{}'),
    signed("a header that is not UTF-8", NO, "RFC 8725 §3.7", lambda stage: b'{"alg":"RS256","kid":"r1","x":"\xff"}'),
    signed("a header of 1,000 lists inside each other", NO, "RFC 8259 §9",
           lambda stage: '{"alg":"RS256","kid":"r1","x":' + "[" * 1000 + "]" * 1000 + "}"),
    signed("two parts", NO, "RFC 7515 §7.1", change=lambda made, _: made.rpartition(".")[0]),
    signed("four parts", NO, "RFC 7515 §7.1", change=lambda made, _: made + ".AA"),
    signed("five parts, as of an encrypted token", NO, "RFC 7516 §3.1", {"alg": "dir", "enc": "A256GCM"},
           change=lambda made, _: made + ".AA.AA"),
    signed("empty parts", NO, "RFC 7515 §7.1", change=lambda made, _: ".."),
    signed("a token inside a token", NO, "RFC 7519 §5.2", {"cty": "JWT"}, lambda stage: stage.values[b"@TOKEN@"]),
    signed("base64 with padding", NO, "RFC 7515 §2", change=lambda made, _: made + "=="),
    signed("base64 with the other alphabet", NO, "RFC 7515 §2", signature=b"\xfb" * 256,
           change=lambda made, _: made.replace("-", "+").replace("_", "/")),
    signed("bits beyond the last byte", NO, "RFC 4648 §3.5",
           change=lambda made, _: made[:-1] + chr(ord(made[-1]) + 1) if made[-1] in "AQgw" else made + "!"),
    signed("one sign that base64 cannot end with", NO, "RFC 4648 §4", change=lambda made, _: made + "AAA"),
]

TIMES = [
    claim("exp", ..., NO, "no end", "RFC 7519 §4.1.4"),
    claim("exp", 1, NO, "an end in 1970", "RFC 7519 §4.1.4"),
    claim("exp", 0, NO, "an end of 0", "RFC 7519 §4.1.4"),
    claim("exp", -1, NO, "an end below 0", "RFC 7519 §2"),
    claim("exp", "9999999999", NO, "an end as text", "RFC 7519 §2"),
    claim("exp", 9999999999.5, NO, "an end with a fraction", "RFC 7519 §2"),
    claim("exp", None, NO, "an end that is nothing", "RFC 7519 §2"),
    claim("exp", True, NO, "an end that is true", "RFC 7519 §2"),
    claim("exp", [9999999999], NO, "an end in a list", "RFC 7519 §2"),
    claim("exp", (1 << 64) - 1, YES, "an end of 2⁶⁴ − 1", "RFC 7519 §2"),
    claim("exp", 1 << 64, NO, "an end of 2⁶⁴", "RFC 7519 §2"),
    signed("an end with an exponent", NO, "RFC 7519 §2", claims=lambda stage: json.dumps(claims_of(stage, exp=...))[:-1]
           + ', "exp": 1e99}'),
    signed("two ends", NO, "RFC 7519 §4", claims=twice("exp", 9999999999, 1)),
    signed("good only from the next hour on", NO, "RFC 7519 §4.1.5",
           claims=lambda stage: claims_of(stage, nbf=now() + HOUR)),
    claim("nbf", "0", NO, "a beginning as text", "RFC 7519 §2"),
    claim("nbf", None, NO, "a beginning that is nothing", "RFC 7519 §2"),
    claim("nbf", -5, NO, "a beginning below 0", "RFC 7519 §2"),
    claim("iss", ..., NO, "no issuer", "RFC 8725 §3.8"),
    claim("iss", "RSA", NO, "an issuer in other letters", "RFC 8725 §3.8"),
    claim("iss", ["rsa"], NO, "an issuer in a list", "RFC 7519 §4.1.1"),
    signed("two issuers", NO, "RFC 7519 §4", claims=twice("iss", "rsa", "other")),
    claim("aud", ..., NO, "no audience", "RFC 8725 §3.9"),
    claim("aud", "livegate2", NO, "another audience", "RFC 8725 §3.9"),
    claim("aud", "live", NO, "the beginning of the audience", "RFC 8725 §3.9"),
    claim("aud", [], NO, "an empty list of audiences", "RFC 7519 §4.1.3"),
    claim("aud", ["a", 1, "livegate"], NO, "a number among audiences", "RFC 7519 §4.1.3"),
    claim("aud", {"livegate": 1}, NO, "an audience that is an object", "RFC 7519 §4.1.3"),
    claim("aud", ["a", "livegate"], YES, "the audience among others", "RFC 7519 §4.1.3"),
]

ACCOUNTS = [
    claim("account_id", ..., NO, "no account", "own rule"),
    claim("account_id", "", NO, "an empty account", "own rule"),
    claim("account_id", None, NO, "an account that is nothing", "own rule"),
    claim("account_id", True, NO, "an account that is true", "own rule"),
    claim("account_id", 1.5, NO, "an account with a fraction", "own rule"),
    claim("account_id", ["PACC1", "PVICTIM"], NO, "two accounts in a list", "own rule"),
    claim("account_id", {"id": "PVICTIM"}, NO, "an account that is an object", "own rule"),
    claim("account_id", "a" * 255, YES, "an account of 255 bytes", "own rule"),
    claim("account_id", "a" * 256, NO, "an account of 256 bytes", "own rule"),
    claim("account_id", "PVICTIM\0", NO, "another account and a NUL", "RFC 8725 §3.7"),
    claim("account_id", "a\nb", NO, "an account with a line end", "RFC 8725 §3.7"),
    claim("account_id", "a\x85b", NO, "an account with a control sign of Latin 1", "RFC 8725 §3.7"),
    claim("account_id", "pvictim", YES, "an account in other letters, which is another account", "CVE-2026-39972"),
    claim("account_id", "PVICTIM ", YES, "an account and a blank, which is another account", "CVE-2026-39972"),
    signed("two accounts", NO, "RFC 7519 §4", claims=twice("account_id", "PACC1", "PVICTIM")),
    signed("two accounts, one of them escaped", NO, "RFC 8259 §4",
           claims=lambda stage: json.dumps(claims_of(stage))[:-1] + ', "account\\u005fid": "PVICTIM"}'),
    signed("claims that are a list", NO, "RFC 7519 §4", claims=lambda stage: "[]"),
    signed("claims that are not UTF-8", NO, "RFC 8725 §3.7",
           claims=lambda stage: json.dumps(claims_of(stage)).encode()[:-1] + b',"x":"\xc0\x80"}'),
    signed("half a surrogate as the account", NO, "RFC 8259 §8.2",
           claims=lambda stage: json.dumps(claims_of(stage, account_id=...))[:-1] + ',"account_id":"\\ud800"}'),
    signed("a token of about 8 KiB", YES, "RFC 8725 §2.4", claims=lambda stage: claims_of(stage, x="a" * 5500)),
    signed("a token of more than 8 KiB", NO, "RFC 8725 §2.4", claims=lambda stage: claims_of(stage, x="a" * 6000)),
]


def with_fields(*fields, path=b"/sync/v1"):
    return request(*fields, line=b"GET " + path + b" HTTP/1.1").replace(AUTHORIZATION + b"\r\n", b"", 1)


WAYS = [
    Row("no token", NO, "RFC 6750 §3", with_fields()),
    Row("two tokens", NO, "RFC 6750 §2", request(AUTHORIZATION)),
    Row("two tokens in one field", NO, "RFC 6750 §2.1", with_fields(AUTHORIZATION + b", Bearer @VICTIM@")),
    Row("another scheme", NO, "RFC 7617 §2", with_fields(b"Authorization: Basic " + base64.b64encode(b"a:b"))),
    Row("a scheme and no token", NO, "RFC 6750 §2.1", with_fields(b"Authorization: Bearer")),
    Row("no blank behind the scheme", NO, "RFC 6750 §2.1", with_fields(b"Authorization: Bearer@TOKEN@")),
    Row("a tab behind the scheme", NO, "RFC 6750 §2.1", with_fields(b"Authorization: Bearer\t@TOKEN@")),
    Row("two blanks and another case", "200", "RFC 9110 §11.1", with_fields(b"Authorization: bEARER  @TOKEN@")),
    Row("a word behind the token", NO, "RFC 6750 §2.1", with_fields(AUTHORIZATION + b" x")),
    Row("quotes around the token", NO, "RFC 6750 §2.1", with_fields(b'Authorization: Bearer "@TOKEN@"')),
    Row("a token in the address", NO, "RFC 6750 §2.3", with_fields(path=b"/sync/v1?access_token=@TOKEN@")),
    Row("an account beside the token", "200", "own rule",
        request(b"Account-ID: PVICTIM", line=b"GET /sync/v1?account_id=PVICTIM&account=PVICTIM HTTP/1.1")),
    Row("a fixed token with a sign more", NO, "own rule", with_fields(b"Authorization: Bearer @STATIC@x")),
    Row("a fixed token", "200", "own rule", with_fields(b"Authorization: Bearer @STATIC@")),
    Row("the SHA-256 of a fixed token", NO, "own rule",
        with_fields(b"Authorization: Bearer " + hashlib.sha256(b"token-PACC3").hexdigest().encode())),
]
