"""A running gateway, and the tokens that it accepts."""

import functools
import hashlib
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

import jose
from caller import first
from ports import Port
from processes import descriptors
from programs import PATIENCE, PROGRAMS, eventually, run
from wire import get


# The address of whoever is told its port by the kernel.
ANY = "127.0.0.1:0"

# An `auth` for settings that are only checked.
ANYBODY = "auth: {anonymous: PACC1}\n"


class Gateway:
    def __init__(self, program, settings, ports=()):
        self.program, self.settings, self.ports = program, settings, ports

    @functools.cached_property
    def listening(self):
        """Where it listens: all addresses, and that of the administration. Where they are kept for it they are known; others are
        waited for in its log, in either form."""
        if self.ports:
            return self.settings["listen"], self.settings["admin"]
        said = self.program.line("listening")
        addresses, admin = (re.search(rf'\b{name}(?:":|=)(?:"([^"]*)"|(\S+))', said) for name in ("address", "admin"))
        return (addresses[1] or addresses[2]).split(), admin[1] or admin[2]

    @property
    def host(self):
        return self.listening[0][0]

    @property
    def admin(self):
        return self.listening[1]

    @property
    def url(self):
        return f"ws://{self.host}/live/v1"

    def asked(self, path):
        """Status and body of an administration address, 0 when nobody answers."""
        try:
            with urllib.request.urlopen(f"http://{self.admin}{path}", timeout=20 * PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def status(self, path):
        return self.asked(path)[0]

    def readyz(self):
        return self.asked("/readyz")

    def log(self, sentence=""):
        """The facts of the lines whose message contains `sentence`. Whatever stands on standard error is a line of ours."""
        lines = [json.loads(line) for line in list(self.program.err)]
        assert all(line.keys() >= {"time", "level", "message"} for line in lines), lines
        return [line for line in lines if sentence in line["message"]]

    def troubles(self):
        """Its lines of warning and error, without those which say that no broker has answered for a while, for no other
        reason: on a machine that is busy enough none does, for as long as it takes."""
        silence = "no Kafka broker can be reached"
        return [line for line in self.log() if line["level"] in ("warning", "error", "critical")
                and not (line["message"].startswith(silence) and "reason" not in line)]

    def descriptors(self, *besides):
        """How many are open, without those of connections to its brokers and to the addresses `besides`."""
        return descriptors(self.program.pid, self.settings["kafka"]["brokers"], *besides)

    def wait_for_log(self, sentence, within=20.0, count=1):
        """The facts of the last of `count` lines with `sentence`, waited for."""
        eventually(lambda: len(self.log(sentence)) >= count, within, lambda: f"'{sentence}'; {self.program.told()}")
        return self.log(sentence)[count - 1]

    def stop(self):
        """The facts of its last line: what it has counted."""
        self.program.signal()
        assert self.program.wait() == 0, self.program.told()
        last = self.log()[-1]
        assert last["message"] == "stopped", self.program.told()
        return last

    def wait_until_ready(self, within=20.0):
        def ready():
            assert self.program.process.poll() is None, self.program.told()
            return self.status("/readyz") == 200
        eventually(ready, within, lambda: f"readiness; {self.program.told()}")
        return self


NUMBERS = itertools.count(1)


def write_settings(folder, settings):
    """The settings as a file; JSON values are YAML in one line."""
    file = folder / f"livegate-{next(NUMBERS)}.yaml"
    file.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in settings.items()))
    return file


def laid_over(settings, changes):
    """Settings by keyword over others, a dot in a key as two underscores: `limits__max_message_bytes`."""
    for name, value in changes.items():
        section, *rest = settings, *name.split("__")
        for part in rest[:-1]:
            section = section.setdefault(part, {})
        section[rest[-1]] = {**settings["limits"], **value} if name == "limits" else value
    return settings


def launch(start, folder, tokens, bootstrap, ready=True, env=None, around=(), stays=False, **changes):
    """Starts a gateway with `start`, which is given a command: the fixture `gateway` says what the others mean. The kernel
    chooses its ports. One that `stays` can come back at its addresses: nobody else is given them while it is away."""
    kept = [Port(), Port()] if stays else []
    host, admin = (port.address for port in kept) if stays else (ANY, ANY)
    settings = laid_over({
        "listen": [host], "admin": admin, "auth": {"jwt": tokens.settings},
        "kafka": {"brokers": bootstrap, "topics": ["incidents"], "settings": {"fetch.wait.max.ms": 10}},
        "events": {"preset": "rails"},
        # Tests that look at every frame do not expect one at a time of its own choosing. Whoever has come stays, though the
        # machine stands still before it has said all.
        "limits": {"ping_interval": "1h", "handshake_timeout": "60s"},
        # A stop waits for nobody, unless a test says so.
        "lifecycle": {"drain_delay": "0s", "drain_window": "0s"},
        # Tests look for the lines of single connections, which are not written by default.
        "log": {"level": "info"},
    }, changes)
    command = [*around, PROGRAMS / "livegate", "serve", "--config", write_settings(folder, settings)]
    running = Gateway(start(*command, env=env), settings, kept)
    return running.wait_until_ready() if ready else running


class Tokens:
    """A key of our own, known to the gateway as the issuer `test`."""

    def __init__(self, folder):
        self.private, self.public = folder / "key.pem", folder / "public.pem"
        for command in (["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.private],
                        ["pkey", "-in", self.private, "-pubout", "-out", self.public]):
            subprocess.run(["openssl", *command], check=True, capture_output=True)
        self.settings = [{"issuer": "test", "audience": "livegate", "algorithms": ["ES256"], "keys": str(self.public),
                          "account_claim": "account_id"}]

    def token(self, account, *arguments):
        """A token for the account; further arguments go to `livegate token`."""
        status, out, err = run("livegate", "token", "--account", account, "--key", self.private, "--issuer", "test",
                               "--audience", "livegate", *arguments)
        assert status == 0, err
        return out.strip()

    def signed(self, account, **claims):
        """A token with these claims as well, such as `iat` and `jti`, which `livegate token` does not let one choose."""
        issued = int(time.time())
        payload = {"iss": "test", "aud": "livegate", "account_id": account, "iat": issued, "exp": issued + 3600, **claims}
        return jose.token(self, {"alg": "ES256"}, payload)

    def sign(self, signed):
        """ES256."""
        der = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.private], input=signed, check=True,
                             capture_output=True).stdout
        # Two integers (ITU-T X.690); JWS wants 32 bytes of each (RFC 7518 §3.4).
        r, rest = der[4:4 + der[3]], der[4 + der[3]:]
        return b"".join(int.from_bytes(number).to_bytes(32) for number in (r, rest[2:]))

    def joined_for_a_moment(self, account, join):
        """What `join` makes of a token that expires soon. On a machine that is so busy that it has expired by then, another
        one may be valid for longer."""
        for seconds in (3, 10, 60):
            issued = time.time()
            try:
                return join(self.token(account, "--expires", f"{seconds}s"))
            except Exception:
                # `exp` is in whole seconds.
                if time.time() < issued + seconds - 1:
                    raise
        raise AssertionError("a minute is not enough to join")


def static_tokens(folder, accounts):
    """A file of static tokens: `token-ACCOUNT` for each account, for tests that need many."""
    file = folder / "tokens.yaml"
    file.write_text("".join(
        f"- {{sha256: {hashlib.sha256(f'token-{account}'.encode()).hexdigest()}, account: {json.dumps(account)}}}\n"
        for account in accounts))
    return file


# What an operator does to a gateway that runs

def posted(door, path):
    """Status and text of a request to its administration."""
    asked = urllib.request.Request(f"http://{door.admin}{path}", data=b"", method="POST")
    try:
        with urllib.request.urlopen(asked, timeout=20 * PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def rewrite(door, **changes):
    """Changes sections of the settings file in one rename."""
    door.settings.update(changes)
    file = pathlib.Path(door.program.command[-1])
    beside = file.with_suffix(".new")
    beside.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in door.settings.items()))
    beside.rename(file)
    return file


def hang_up(door):
    os.kill(door.program.pid, signal.SIGHUP)


def ticket_of(door, token):
    """A ticket that is bought with the token."""
    request = get("/ticket/v1", token).replace(b"GET", b"POST", 1)
    status, _, body = first(door.host, request)
    assert status == 200 and list(json.loads(body)) == ["ticket", "expires_in"], (status, body)
    return json.loads(body)["ticket"]


def skip_counts(stopped):
    return {name: int(count) for name, _, count in
            (part.partition("=") for part in stopped.get("skipped", "").split())}
