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
        self._sign("expired", "localhost", "middle", LEAF, days=-1)
        self._sign("client", "client", "middle", LEAF)
        openssl("pkey", "-in", folder / "client.key", "-aes128", "-passout", "pass:open sesame", "-out",
                folder / "locked.key")
        # What `tls` in the settings is, by the kind of key: with the whole chain, so that the root alone suffices.
        self.settings = {}
        for kind, key in KEYS.items():
            self._sign(kind, "localhost", "middle", LEAF, key=key)
            self.settings[kind] = {"certificate": str(self._chain(kind)), "key": str(folder / f"{kind}.key")}

    def __truediv__(self, name):
        """A file among them: `certificates / "client.pem"`."""
        return self.folder / name

    def _chain(self, name):
        chain = self.folder / f"{name}-chain.pem"
        chain.write_text((self.folder / f"{name}.pem").read_text() + (self.folder / "middle.pem").read_text())
        return chain

    def _sign(self, name, subject, issuer, extensions, key=KEYS["ecdsa"], days=2):
        if not (self.folder / f"{name}.key").exists():
            openssl("genpkey", *key, "-out", self.folder / f"{name}.key")
        file, request = (self.folder / f"{name}{ending}" for ending in (".ext", ".csr"))
        file.write_text(extensions)
        openssl("req", "-new", "-key", self.folder / f"{name}.key", "-subj", f"/CN={subject}", "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.folder / f"{issuer}.pem", "-CAkey",
                self.folder / f"{issuer}.key", "-CAcreateserial", "-days", days, "-extfile", file, "-out",
                self.folder / f"{name}.pem")

    def server(self, name="ecdsa", wants_client=False):
        """The context of a server of ours, with the certificate of that name."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._chain(name), self / f"{name}.key")
        if wants_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self / "middle.pem")
            context.load_verify_locations(self.authority)
        return context

    def client(self, **versions):
        """A client's context that trusts our root alone; `maximum_version=ssl.TLSVersion.TLSv1_2` and the like."""
        context = ssl.create_default_context(cafile=str(self.authority))
        for name, value in versions.items():
            setattr(context, name, value)
        return context
