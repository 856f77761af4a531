"""`livegate token`. Which keys sign, and how, is tested in TokenIssuerTests."""

import base64
import json
import subprocess
import time

import pytest

from programs import run


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Private keys by kind, made with openssl as an operator would."""
    folder = tmp_path_factory.mktemp("keys")
    commands = {
        "rsa": ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
        "small": ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"],
        # The older form: parameters first, then the key.
        "ecparam": ["ecparam", "-name", "prime256v1", "-genkey"],
    }
    for kind, words in commands.items():
        subprocess.run(["openssl", *words, "-out", folder / kind], check=True, capture_output=True)
    return {kind: folder / kind for kind in commands}


def decoded(token):
    """Header and payload."""
    assert token.endswith("\n") and token.count("\n") == 1
    return [json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in token.strip().split(".")[:2]]


def test_a_token_says_what_was_asked_and_always_expires(keys):
    before = int(time.time())

    def payload(kind, algorithm, *words):
        status, out, err = run("livegate", "token", "--account", "PACC1", "--key", keys[kind], *words)
        assert (status, err) == (0, "")
        header, payload = decoded(out)
        assert (header.pop("alg"), header.pop("typ")) == (algorithm, "JWT")
        issued = payload.pop("iat")
        assert before <= issued <= time.time()
        return header, {**payload, "exp": payload["exp"] - issued}

    assert payload("ecparam", "ES256", "--issuer", "i", "--audience", "a", "--subject", "s", "--kid", "k", "--expires", "90s",
                   "--claim", "acc") == ({"kid": "k"}, {"iss": "i", "aud": "a", "sub": "s", "acc": "PACC1", "exp": 90})
    assert payload("rsa", "PS256", "--algorithm", "PS256") == ({}, {"account_id": "PACC1", "exp": 3600})
    assert payload("rsa", "RS256", "--expires", "250ms") == ({}, {"account_id": "PACC1", "exp": 1})


SOMEBODY, KEY = ["--account", "A"], ["--key", "rsa"]


@pytest.mark.parametrize("arguments, status, words", [
    ([*SOMEBODY, "--key", "small"], 65, "1024 bits"), ([*SOMEBODY, *KEY, "--algorithm", "ES256"], 65, "RS256"),
    ([*SOMEBODY, "--key", "none.pem"], 66, "none.pem"), ([*SOMEBODY, "--key", "."], 66, "."),
    ([], 64, "--account"), (SOMEBODY, 64, "--key"), (KEY, 64, "--account"),
    ([*SOMEBODY, *KEY, "--expires", "1 hour"], 64, "--expires"), ([*SOMEBODY, *KEY, "--expires", "0s"], 64, "--expires"),
    ([*SOMEBODY, *KEY, "--algorithm", "none"], 64, "--algorithm"), ([*SOMEBODY, *KEY, "--algorithm", "HS256"], 64, "--algorithm"),
    (["--account", "", *KEY], 64, "--account"), (["--account", "a\nb", *KEY], 64, "--account"),
    ([*SOMEBODY, *KEY, "--kid", "../k"], 64, "--kid"), ([*SOMEBODY, *KEY, "--claim", "exp"], 64, "--claim"),
    (["--acount", "A", *KEY], 64, "--account"),
])
def test_what_is_not_signed_has_its_status_and_one_line(keys, monkeypatch, arguments, status, words):
    monkeypatch.chdir(keys["rsa"].parent)
    ended, out, err = run("livegate", "token", *arguments)
    assert (ended, out) == (status, "") and words in err and err.count("\n") == 1, err
