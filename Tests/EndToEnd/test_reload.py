# Tests: Reloader.swift, Service.swift
"""Files that change under a gateway that runs: what is renewed is used, what is broken is not, and nobody is dropped."""

import json
import os
import pathlib
import ssl
import subprocess
import threading

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from clients import plain_connection
from gateway import hang_up, rewrite, static_tokens
from programs import PATIENCE, eventually, event, produce
from renewing import INTERVAL, put, swap
from secure import SecureSocket

def served(host):
    """The certificate that a new connection is shown, as PEM."""
    address, _, port = host.rpartition(":")
    return ssl.get_server_certificate((address, int(port)))


def leaf(chain):
    """The first certificate of a file."""
    return pathlib.Path(chain).read_text().partition("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\n"


class Files:
    """The files of a gateway's settings, in folders behind a link that can be swapped."""

    def __init__(self, folder, certificates):
        self.folder, self.certificates, self.link = folder, certificates, folder / "current"
        for kind in ("ecdsa", "rsa"):
            self.fill(folder / kind, kind)
        swap(self.link, "ecdsa")
        self.tls = {"certificate": str(self.link / "chain.pem"), "key": str(self.link / "key.pem")}

    def fill(self, folder, kind):
        folder.mkdir(exist_ok=True)
        put(self.certificates.settings[kind]["certificate"], folder / "chain.pem")
        put(self.certificates.settings[kind]["key"], folder / "key.pem")

    def leaf(self, kind):
        return leaf(self.certificates.settings[kind]["certificate"])


def come(door, context, token):
    """A WebSocket over TLS that may be read and written at once."""
    plain = plain_connection(door)
    return connect(door.url, sock=SecureSocket(plain, context, "localhost"), open_timeout=60 * PATIENCE,
                   ping_interval=None, additional_headers={"Authorization": f"Bearer {token}"})


def reloads(door):
    """How many reloads the log says, of either outcome."""
    return len(door.log("settings reloaded")) + len(door.log("settings not reloaded"))


def wait_for_reload(door, before):
    eventually(lambda: reloads(door) > before, what=lambda: f"a reload; {door.program.told()}")


@pytest.fixture
def files(tmp_path, certificates):
    folder = tmp_path / "files"
    folder.mkdir()
    return Files(folder, certificates)


def test_renewed_files_are_used_without_a_signal_and_broken_ones_are_not(
        gateway, mock_broker, files, certificates, tokens, tmp_path):
    tokens_file = static_tokens(tmp_path, ["PACC1", "PACC2"])
    door = gateway(mock_broker.bootstrap, tls=files.tls, reload_interval=INTERVAL,
                   auth={"jwt": tokens.settings, "tokens": str(tokens_file)})
    context = certificates.client()

    def client(token):
        return come(door, context, token)

    assert served(door.host) == files.leaf("ecdsa")
    with client("token-PACC1") as first, client("token-PACC2") as second, \
            client(tokens.token("PACC2", "--subject", "x")) as third:
        # A swapped link.
        swap(files.link, "rsa")
        eventually(lambda: served(door.host) == files.leaf("rsa"), what="the certificate behind the swapped link")
        told = door.wait_for_log("settings reloaded")
        assert told["changed"].split() == ["tls.certificate", "tls.key"] and told["level"] == "notice"

        # Renamed files: the certificate is there before its key, and both count only together.
        (tmp_path / "renewed").mkdir()
        put(certificates.settings["ecdsa"]["certificate"], files.folder / "rsa" / "chain.pem")
        told = door.wait_for_log("settings not reloaded")
        assert told["level"] == "error" and told["setting"] == "tls.key" and "does not fit" in told["reason"]
        assert served(door.host) == files.leaf("rsa") and door.status("/readyz") == 200
        eventually(lambda: "[-]reload " in door.asked("/readyz?verbose")[1], what="the line of the failed reload")
        put(certificates.settings["ecdsa"]["key"], files.folder / "rsa" / "key.pem")
        eventually(lambda: served(door.host) == files.leaf("ecdsa"), what="the renewed certificate")
        eventually(lambda: "[+]reload ok" in door.asked("/readyz?verbose")[1], what="the line of the good reload")

        # One that has expired, one that is empty, one that is gone: each is reported once, and the old one serves on.
        expired = certificates / "expired.pem"
        for number, breaks in enumerate((
                lambda: (put(expired, files.link / "chain.pem"), put(certificates / "expired.key", files.link / "key.pem")),
                lambda: os.truncate(files.link / "chain.pem", 0),
                lambda: (files.link / "chain.pem").unlink())):
            before = len(door.log("settings not reloaded"))
            breaks()
            eventually(lambda: len(door.log("settings not reloaded")) > before, what=f"that {number} is refused")
            assert served(door.host) == files.leaf("ecdsa")
        problems = len(door.log("settings not reloaded"))

        # A token that is gone closes its connections, whatever else is broken, and is refused from then on.
        static_tokens(tmp_path, ["PACC1"])
        with pytest.raises(ConnectionClosed) as closed:
            second.recv(timeout=180)
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4403, "revoked")

        def is_refused():
            try:
                client("token-PACC2").close()
            except InvalidStatus as refusal:
                return refusal.response.status_code == 401
        # Each loop uses what was read as soon as it has a turn.
        eventually(is_refused, what="that the token is refused")
        # A line is written beside the work, so that a client may know before it is there.
        eventually(lambda: door.log("settings not reloaded")[-1].get("lost_tokens") == 1, what="the line of the lost token")

        # Mended.
        files.fill(files.folder / "rsa", "rsa")
        eventually(lambda: served(door.host) == files.leaf("rsa"), what="the certificate that was mended")

        # Whoever was connected from the beginning still is, and gets what comes.
        produce(mock_broker.bootstrap, "incidents", [event("PACC1", "a"), event("PACC2", "b")])
        assert json.loads(first.recv(timeout=180))["id"] == "a" and json.loads(third.recv(timeout=180))["id"] == "b"
        # Nothing was written of looks that found nothing.
        assert problems <= len(door.log("settings not reloaded")) <= problems + 3

        settings = rewrite(door, limits={"ping_interval": "1h", "max_lag": "7s"}, loops=1)
        eventually(lambda: any("limits.max_lag" in line.get("changed", "") for line in door.log("settings reloaded")),
                   what="the limit that changed")
        assert door.wait_for_log("a changed setting takes effect after a restart")["setting"] == "loops"
        settings.write_text("limits: {max_lag: x\n")
        told = door.wait_for_log("settings not reloaded", count=len(door.log("settings not reloaded")) + 1)
        assert told["file"].startswith(str(settings)) and first.state.name == "OPEN"


def test_signals_under_load_lose_nobody_and_leak_no_descriptor(gateway, mock_broker, files, certificates, tokens, sync):
    door = gateway(mock_broker.bootstrap, tls=files.tls, reload_interval="0s")
    context = certificates.client()
    token = tokens.token("PACC1")
    clients = [come(door, context, token) for _ in range(20)]
    stop, failures, comings = threading.Event(), [], []

    def come_and_go():
        try:
            while not stop.is_set():
                come(door, context, token).close()
                comings.append(1)
        except Exception as failure:  # Whatever it is, it is one that came in vain.
            failures.append(repr(failure))

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        hang_up(door)
        wait_for_reload(door, 0)
        eventually(lambda: len(comings) > 3, what="that others come and go")
        before = None
        for number in range(20):
            files.fill(files.folder / "ecdsa", "rsa" if number % 2 else "ecdsa")
            count = reloads(door)
            hang_up(door)
            wait_for_reload(door, count)
            produce(mock_broker.bootstrap, "incidents", [event("PACC1", number)])
        assert all("error" != line["level"] for line in door.log())
    finally:
        stop.set()
        thread.join()
    assert failures == []
    for client in clients:
        assert [json.loads(client.recv(timeout=180))["id"] for _ in range(20)] == [str(number) for number in range(20)]
    # With all of them gone it has what it had before they came: each reload has given back what it took.
    for client in clients:
        client.close()
    idle = gateway(mock_broker.bootstrap, tls=files.tls, reload_interval="0s")
    eventually(lambda: door.descriptors() <= idle.descriptors(), what=lambda: (
        f"{door.descriptors()} descriptors, one that was never asked has {idle.descriptors()}"))


def s_client(door, certificates, *words):
    """What `openssl s_client` prints of one connection."""
    return subprocess.run(
        ["openssl", "s_client", "-connect", door.host, "-servername", "localhost", "-CAfile", certificates.authority,
         *words], input=b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", capture_output=True, timeout=300).stdout.decode()


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_a_session_is_resumed_on_another_node_and_after_a_restart(
        tls_door, certificates, tmp_path, version, mock_broker, gateway):
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef0123456789abcdef\n")
    tls = {**certificates.settings["ecdsa"], "ticket_secret_file": str(secret)}
    first, second = (gateway(mock_broker.bootstrap, tls=tls) for _ in range(2))
    stranger = tls_door()
    kept = tmp_path / "session"

    def visit(door, *words):
        told = s_client(door, certificates, version, "-ign_eof", *words)
        assert "New, " in told or "Reused, " in told, told
        return "Reused, " in told

    assert not visit(first, "-sess_out", kept)
    assert visit(first, "-sess_in", kept)
    assert visit(second, "-sess_in", kept)
    # Whoever does not have the secret shakes hands in full.
    assert not visit(stranger, "-sess_in", kept)
    first.stop()
    restarted = gateway(mock_broker.bootstrap, tls=tls)
    assert visit(restarted, "-sess_in", kept)
    # Another certificate takes the tickets of the one before; another secret does not.
    tls.update(certificates.settings["rsa"])
    rewrite(restarted, tls=tls)
    hang_up(restarted)
    restarted.wait_for_log("settings reloaded")
    eventually(lambda: served(restarted.host) == leaf(tls["certificate"]), what="the other certificate")
    assert visit(restarted, "-sess_in", kept)
    secret.write_text("another secret of thirty-two bytes or more")
    hang_up(restarted)
    restarted.wait_for_log("settings reloaded", count=2)
    assert restarted.log("settings reloaded")[1]["changed"] == "tls.ticket_secret_file"
    eventually(lambda: not visit(restarted, "-sess_in", kept), what="the other secret")
