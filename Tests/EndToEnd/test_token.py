"""`livegate token`, row by row."""

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
    kinds = {
        "rsa": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
        "small": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"],
        "P-256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        "P-384": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
        "P-521": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
        "ed25519": ["-algorithm", "ED25519"],
    }
    files = {}
    for kind, options in kinds.items():
        files[kind] = folder / f"{kind}.pem"
        subprocess.run(["openssl", "genpkey", *options, "-out", files[kind]], check=True, capture_output=True)
    files["public"] = folder / "public.pem"
    subprocess.run(["openssl", "pkey", "-in", files["rsa"], "-pubout", "-out", files["public"]], check=True)
    # The older form, which `openssl ecparam -genkey` writes: parameters first, then the key.
    files["ecparam"] = folder / "ecparam.pem"
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-out", files["ecparam"]], check=True)
    return files


def decoded(token):
    """Header and payload."""
    assert token.endswith("\n") and token.count("\n") == 1
    return [json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in token.strip().split(".")[:2]]


@pytest.mark.parametrize("kind, arguments, algorithm", [
    ("rsa", [], "RS256"), ("P-256", [], "ES256"), ("P-384", [], "ES384"), ("P-521", [], "ES512"), ("ecparam", [], "ES256"),
    ("rsa", ["--algorithm", "PS256"], "PS256"), ("rsa", ["--algorithm=RS384"], "RS384"),
])
def test_the_key_gives_the_algorithm(keys, kind, arguments, algorithm):
    status, out, err = run("livegate", "token", "--account", "PACC1", "--key", keys[kind], *arguments)
    assert (status, err) == (0, "")
    assert decoded(out)[0] == {"alg": algorithm, "typ": "JWT"}


def test_the_payload_is_what_was_asked(keys):
    before = int(time.time())
    status, out, _ = run(
        "livegate", "token", "--account", "PACC1", "--key", keys["P-256"], "--issuer", "i", "--audience", "a",
        "--subject", "s", "--kid", "k", "--expires", "90s", "--claim", "acc")
    header, payload = decoded(out)
    assert status == 0 and header["kid"] == "k"
    issued = payload.pop("iat")
    assert before <= issued <= time.time()
    assert payload == {"iss": "i", "aud": "a", "sub": "s", "acc": "PACC1", "exp": issued + 90}


def test_a_token_always_expires(keys):
    _, out, _ = run("livegate", "token", "--account", "PACC1", "--key", keys["P-256"])
    payload = decoded(out)[1]
    assert payload.keys() == {"account_id", "iat", "exp"} and payload["exp"] - payload["iat"] == 3600
    _, out, _ = run("livegate", "token", "--account", "PACC1", "--key", keys["P-256"], "--expires", "250ms")
    payload = decoded(out)[1]
    assert payload["exp"] - payload["iat"] == 1


@pytest.mark.parametrize("kind, arguments, words", [
    ("small", [], "1024 bits"), ("ed25519", [], "P-256"), ("public", [], "public key"),
    ("P-256", ["--algorithm", "RS256"], "ES256"), ("rsa", ["--algorithm", "ES256"], "RS256"),
])
def test_a_key_that_cannot_sign_so_is_65(keys, kind, arguments, words):
    status, out, err = run("livegate", "token", "--account", "PACC1", "--key", keys[kind], *arguments)
    assert (status, out) == (65, "")
    assert words in err and err.count("\n") == 1


def test_a_file_that_cannot_be_read_is_66(tmp_path):
    for path in (tmp_path / "none.pem", tmp_path):
        status, out, err = run("livegate", "token", "--account", "PACC1", "--key", path)
        assert (status, out) == (66, "")
        assert str(path) in err and err.count("\n") == 1


@pytest.mark.parametrize("arguments", [
    [], ["--account", "A"], ["--key", "k.pem"], ["--account", "A", "--key", "k.pem", "--expires", "1 hour"],
    ["--account", "A", "--key", "k.pem", "--expires", "0s"], ["--account", "A", "--key", "k.pem", "--algorithm", "none"],
    ["--account", "A", "--key", "k.pem", "--algorithm", "HS256"], ["--account", "", "--key", "k.pem"],
    ["--account", "a\nb", "--key", "k.pem"], ["--account", "A", "--key", "k.pem", "--kid", "../k"],
    ["--account", "A", "--key", "k.pem", "--claim", "exp"], ["--acount", "A", "--key", "k.pem"],
])
def test_wrong_use_is_64_with_one_line(arguments):
    status, out, err = run("livegate", "token", *arguments)
    assert (status, out) == (64, "")
    assert err.count("\n") == 1


def test_the_command_explains_itself():
    status, out, err = run("livegate", "token", "--help")
    assert (status, err) == (0, "")
    for option in "account key issuer audience subject kid expires claim algorithm".split():
        assert f"--{option}" in out
