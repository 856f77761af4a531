"""`livegate check` looks into the files that settings name: certificates and keys of issuers."""

import base64
import json
import subprocess

import pytest

from gateway import ANYBODY


@pytest.fixture(scope="session")
def pki(tmp_path_factory):
    """Certificates: `good`, `other`, `old`, each with its key, and an encrypted key."""
    folder = tmp_path_factory.mktemp("pki")

    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, cwd=folder)

    (folder / "ca.cnf").write_text(
        "[ca]\ndefault_ca=d\n[d]\ndatabase=index\nnew_certs_dir=.\nserial=serial\ndefault_md=sha256\npolicy=p\n[p]\nCN=supplied\n")
    (folder / "index").write_text("")
    (folder / "serial").write_text("01\n")
    (folder / "index.attr").write_text("unique_subject = no\n")
    dates = {"good": ("20200101000000Z", "20500101000000Z"), "old": ("20200101000000Z", "20210101000000Z"),
             "early": ("20490101000000Z", "20500101000000Z")}
    for name in ("good", "other", "old", "early"):
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-keyout", f"{name}.key", "-out", f"{name}.csr")
        first, last = dates.get(name, dates["good"])
        openssl("ca", "-batch", "-config", "ca.cnf", "-selfsign", "-keyfile", f"{name}.key", "-in", f"{name}.csr",
                "-out", f"{name}.pem", "-startdate", first, "-enddate", last, "-notext")
    openssl("ec", "-in", "good.key", "-aes128", "-passout", "pass:secret", "-out", "locked.key")
    openssl("pkey", "-in", "good.key", "-pubout", "-out", "public.pem")
    (folder / "empty.pem").write_text("")
    return folder


@pytest.mark.parametrize("certificate, key, status, line", [
    ("good.pem", "other.key", 78, "tls.key: the private key in "), ("missing.pem", "good.key", 78, "tls.certificate: cannot"),
    ("good.pem", "missing.key", 78, "tls.key: cannot read "), ("empty.pem", "good.key", 78, "tls.certificate: "),
    ("good.pem", "public.pem", 78, "tls.key: "), ("good.pem", "locked.key", 78, "tls.key: the private key in "),
    ("old.pem", "old.key", 0, "warning: tls.certificate: "), ("early.pem", "early.key", 0, "warning: tls.certificate: "),
    ("good.pem", "good.key", 0, None),
])
def test_certificate_and_key_are_looked_at(check, pki, certificate, key, status, line):
    told, lines = check(f"{ANYBODY}tls:\n  certificate: {pki / certificate}\n  key: {pki / key}\n"
                        f"kafka: {{settings: {{security.protocol: ssl, ssl.ca.location: {pki}/good.pem}}}}\n")
    assert told == status and len(lines) == (1 if line else 0), lines
    if not line:
        return
    place, rest = lines[0].split(": ", 1)
    assert rest.startswith(line), lines
    assert place == f"livegate.yaml:{4 if 'tls.key' in line else 3}"


def jwks(*keys):
    return json.dumps({"keys": list(keys)})


SECRET = base64.urlsafe_b64encode(b"x" * 31).rstrip(b"=").decode()


@pytest.mark.parametrize("keys, algorithms, line", [
    ("{", "[ES256]", "malformed JWKS"), ('{"keys": 5}', "[ES256]", "malformed JWKS"), ("", "[ES256]", "it holds no key"),
    (jwks({"kty": "oct", "k": SECRET, "kid": "a"}), "[HS256]", "a secret of 31 bytes is too short for HS256"),
    (None, "[RS256]", "no key fits the algorithms RS256"), ("missing", "[ES256]", "cannot read "),
])
def test_keys_of_issuers_are_looked_at(check, pki, tmp_path, keys, algorithms, line):
    file = tmp_path / "keys"
    if keys is None:
        file.write_text((pki / "public.pem").read_text())
    elif keys != "missing":
        file.write_text(keys)
    status, lines = check(f"auth:\n  jwt:\n    - issuer: x\n      algorithms: {algorithms}\n      keys: keys\n")
    assert status == 78
    assert lines and lines[0].startswith("livegate.yaml:5: auth.jwt[0].keys: ") and line in lines[0], lines
    assert SECRET not in str(lines)
