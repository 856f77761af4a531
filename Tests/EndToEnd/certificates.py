"""Certificates of our own: an authority, one below it, and servers' chains with RSA and ECDSA keys."""

import ssl
import subprocess

LEAF = "subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n"
AUTHORITY = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n"
KEYS = {"rsa": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
        "ecdsa": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]}


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Certificates:
    def __init__(self, folder):
        self.folder = folder
        self.authority = folder / "root.pem"
        for name in ("root", "middle"):
            openssl("genpkey", *KEYS["ecdsa"], "-out", folder / f"{name}.key")
        openssl("req", "-x509", "-key", folder / "root.key", "-subj", "/CN=Test Root", "-days", "2", "-out", self.authority)
        self._sign("middle", "Test Middle", "root", AUTHORITY)
        # What `tls` in the settings is, by the kind of key: with the whole chain, so that the root alone suffices.
        self.settings = {}
        for kind, key in KEYS.items():
            openssl("genpkey", *key, "-out", folder / f"{kind}.key")
            self._sign(kind, "localhost", "middle", LEAF)
            chain = folder / f"{kind}-chain.pem"
            chain.write_text((folder / f"{kind}.pem").read_text() + (folder / "middle.pem").read_text())
            self.settings[kind] = {"certificate": str(chain), "key": str(folder / f"{kind}.key")}

    def _sign(self, name, subject, issuer, extensions):
        file, request = (self.folder / f"{name}{ending}" for ending in (".ext", ".csr"))
        file.write_text(extensions)
        openssl("req", "-new", "-key", self.folder / f"{name}.key", "-subj", f"/CN={subject}", "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.folder / f"{issuer}.pem", "-CAkey",
                self.folder / f"{issuer}.key", "-CAcreateserial", "-days", "2", "-extfile", file, "-out",
                self.folder / f"{name}.pem")

    def client(self, **versions):
        """A client's context that trusts our root alone; `maximum_version=ssl.TLSVersion.TLSv1_2` and the like."""
        context = ssl.create_default_context(cafile=str(self.authority))
        for name, value in versions.items():
            setattr(context, name, value)
        return context
