# Tests: Reloader.swift, ReloadDecision.swift, SettingsReading.swift
"""Each file and each section that counts at once, changed under a gateway that runs; each file that is wrong, found by looks and
not by a signal; and static tokens that are gone whatever else is wrong."""

import hashlib
import json
import secrets
import shutil
import signal

import pytest
from websockets.exceptions import ConnectionClosed

from caller import Caller, first
from clients import EventStream, LiveClient, Sync
from gateway import Tokens, rewrite, static_tokens, ticket_of
from metrics import scrape
from programs import eventually
from renewing import INTERVAL, put, swap
from wire import get, upgrade, version1

APP, OTHER = "https://app.example.com", "https://other.example.com"


def renew(file, text):
    """Another text for a file, in one rename."""
    beside = file.with_name(f"{file.name}.text")
    beside.write_text(text)
    beside.rename(file)


def changed(door, change, *settings):
    """Returns once the log says that this change was read, and names these settings for it and no others."""
    count = len(door.log("settings reloaded"))
    change()
    line = door.wait_for_log("settings reloaded", count=count + 1)
    assert sorted(line.get("changed", "").split()) == sorted(settings)


def section(door, name, **changes):
    """Changes a section of the settings file."""
    return lambda: rewrite(door, **{name: {**door.settings.get(name, {}), **changes}})


def status(door, token=None, path="/sync/v1", *fields):
    return first(door.host, get(path, token, fields))[0]


def in_use(door):
    return sum(value for name, value in scrape(door.admin).items() if name.startswith("livegate_connections{"))


# One loop in each: what it does for one client after a reload it does for all.

def test_who_is_let_in_goes_by_the_newest_files_and_whoever_is_in_stays(
        gateway, mock_broker, tokens, tmp_path, live, event_stream, sync, tell):
    keys, secret, folder = tmp_path / "keys.pem", tmp_path / "secret", tmp_path / "next"
    folder.mkdir()
    shutil.copy(tokens.public, keys)
    older, newer = secrets.token_hex(32), secrets.token_hex(32)
    secret.write_text(older)
    door = gateway(mock_broker.bootstrap, loops=1, reload_interval=INTERVAL, auth={
        "jwt": [{**tokens.settings[0], "keys": str(keys)}], "origins": [APP], "cookie": "session",
        "tickets": {"secret_file": str(secret), "lifetime": "10m"}})
    old, successor = tokens.token("PACC1"), Tokens(folder)
    streams, poll = [live(door), event_stream(door)], sync(door)
    poll.send(since=poll.page()["at"], wait=50)

    # The keys of an issuer: the old one is gone, the new one counts.
    new = successor.token("PACC1")
    assert (status(door, old), status(door, new)) == (200, 401)
    changed(door, lambda: put(successor.public, keys), "auth.jwt[0].keys")
    eventually(lambda: status(door, new) == 200, 20, "the new key")
    assert status(door, old) == 401

    # Origins. What was read before them counts by then too.
    spent, kept, lost = (ticket_of(door, new) for _ in range(3))
    assert status(door, path=f"/sync/v1?ticket={spent}") == 200
    changed(door, lambda: renew(secret, f"{newer}\n{older}\n"), "auth.tickets.secret_file")
    assert status(door, new, "/sync/v1", f"Origin: {OTHER}") == 403
    changed(door, section(door, "auth", origins=[OTHER]), "auth.origins")
    eventually(lambda: status(door, new, "/sync/v1", f"Origin: {OTHER}") == 200, 20, "the new origin")
    assert status(door, new, "/sync/v1", f"Origin: {APP}") == 403

    # Tickets: one of the older secret is taken while that stands in the file, and none twice for all that was read.
    assert status(door, path=f"/sync/v1?ticket={kept}") == 200
    assert status(door, path=f"/sync/v1?ticket={spent}") == 401
    bought = ticket_of(door, new)
    changed(door, lambda: renew(secret, newer), "auth.tickets.secret_file")

    # The name of the cookie.
    def with_cookie(name):
        return status(door, None, "/sync/v1", f"Origin: {OTHER}", f"Cookie: {name}={new}")
    assert (with_cookie("session"), with_cookie("sid")) == (200, 401)
    changed(door, section(door, "auth", cookie="sid"), "auth.cookie")
    eventually(lambda: with_cookie("sid") == 200, 20, "the new cookie")
    assert with_cookie("session") == 401
    assert status(door, path=f"/sync/v1?ticket={lost}") == 401
    assert status(door, path=f"/sync/v1?ticket={bought}") == 200

    tell(["a"])
    eventually(lambda: all(stream.ids == ["a"] for stream in streams), 20, "the event at each stream")
    assert [event["id"] for event in poll.answer().body["events"]] == ["a"]
    assert streams[0].closed is None and not streams[1].has_ended


def test_whose_address_counts_how_many_may_come_and_how_it_ends_change_at_once(
        gateway, mock_broker, tokens, live, ends_with_test):
    door = gateway(mock_broker.bootstrap, loops=1, reload_interval=INTERVAL)
    token = tokens.token("PACC1")
    changed(door, section(door, "log", level="debug"), "log.level")
    eventually(lambda: door.asked("/admin/loglevel")[1].strip() == "debug", 20, "the level")

    def call(prefix=b""):
        return ends_with_test(Caller(door.host, prefix=prefix))

    def named(caller):
        """The address that the log has for a request which is refused, and keeps its connection."""
        count = len(door.log("request refused"))
        caller.send(get("/sync/v1?since=gone", token, ["X-Forwarded-For: 203.0.113.7"]))
        caller.body(caller.head(400))
        return door.wait_for_log("request refused", count=count + 1)["peer"]

    # Read for each request, on a connection of before too.
    kept = call()
    assert named(kept) == "127.0.0.1"
    changed(door, section(door, "balancer", trusted=["127.0.0.1"], client_address="x-forwarded-for"),
            "balancer.trusted", "balancer.client_address")
    eventually(lambda: named(kept) == "203.0.113.7", 20, "the address of the header")
    changed(door, section(door, "balancer", client_address="none"), "balancer.client_address")
    eventually(lambda: named(kept) == "127.0.0.1", 20, "that the header is ignored")
    changed(door, section(door, "balancer", proxy_protocol=True), "balancer.proxy_protocol")

    def said():
        """All that one gets who comes without a header."""
        with Caller(door.host) as peer:
            peer.send(get("/live/v1", token))
            return peer.rest()
    eventually(lambda: said() == b"", 20, "the end of a connection without a header")
    assert named(call(version1("203.0.113.8"))) == "203.0.113.8"
    assert named(kept) == "127.0.0.1"
    changed(door, lambda: rewrite(door, balancer={}), "balancer.proxy_protocol", "balancer.trusted")
    eventually(lambda: said().startswith(b"HTTP/1.1 400 "), 20, "an answer to a connection without a header")

    # Whoever has a place keeps it, though there are fewer than that.
    talker, listener = live(door), live(door)
    eventually(lambda: in_use(door) == 2, 20, "two connections")
    changed(door, section(door, "limits", max_connections=1), "limits.max_connections")

    def answer():
        found = first(door.host, upgrade(token))
        return found[0], found[0] != 101 and json.loads(found[2])["code"]
    eventually(lambda: answer() == (503, "overloaded"), 20, "the refusal of one more")
    changed(door, section(door, "limits", max_connections=100, max_messages_per_second=1),
            "limits.max_connections", "limits.max_messages_per_second")
    eventually(lambda: answer()[0] == 101, 20, "a place")
    # All connections are held to it.
    try:
        for _ in range(50):
            talker.socket.send("nobody reads this")
    except ConnectionClosed:
        pass
    assert talker.wait_until_closed() == 4429 and listener.closed is None

    # The end goes by what was read last: at the start it was to wait for nobody.
    changed(door, section(door, "lifecycle", drain_delay="10m"), "lifecycle.drain_delay")
    rewrite(door, log={**door.settings["log"], "format": "text"})
    eventually(lambda: any("settings reloaded" in line and line[0] != "{" for line in list(door.program.err)), 20,
               "a line of text")
    door.program.signal(signal.SIGTERM)
    eventually(lambda: door.readyz()[0] == 503, 20, "the drain")
    assert "draining" in door.readyz()[1] and first(door.host, upgrade(token))[0] == 101 and listener.closed is None
    door.program.signal(signal.SIGTERM)
    assert listener.wait_until_closed() == 1012 and door.program.wait() == 0


class Settings:
    """All files that settings can name, good ones, in a folder behind a link."""

    def __init__(self, folder, certificates, tokens):
        self.certificates, self.link, self.folder = certificates, folder / "current", folder / "first"
        self.folder.mkdir()
        pair = certificates.settings["ecdsa"]
        shutil.copy(pair["certificate"], self.folder / "chain.pem")
        shutil.copy(pair["key"], self.folder / "key.pem")
        shutil.copy(tokens.public, self.folder / "public.pem")
        for name in ("sessions", "tickets", "client", "admin"):
            (self.folder / name).write_text(secrets.token_hex(32))
        static_tokens(self.folder, ["PACC1"])
        swap(self.link, "first")

        def path(name):
            return str(self.link / name)
        self.sections = {
            "tls": {"certificate": path("chain.pem"), "key": path("key.pem"), "ticket_secret_file": path("sessions")},
            "auth": {"jwt": [{**tokens.settings[0], "keys": path("public.pem")}], "tokens": path("tokens.yaml"),
                     "tickets": {"secret_file": path("tickets")},
                     "introspection": {"url": "http://127.0.0.1:1/introspect", "client_id": "livegate",
                                       "client_secret_file": path("client")}}}


# What each file is told as, and what breaks it, beside being gone and being empty.
BREAKS = [
    ("tls.certificate", "chain.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
    ("tls.key", "key.pem", None), ("tls.ticket_secret_file", "sessions", "short"),
    ("auth.jwt[0].keys", "public.pem", '{"keys":[]}'), ("auth.tokens", "tokens.yaml", "- {sha256: 00, account: PACC1}\n"),
    ("auth.tickets.secret_file", "tickets", "short"), ("auth.introspection.client_secret_file", "client", "a\nb\n"),
]


def test_one_file_that_is_wrong_keeps_everything_as_it_was_until_it_is_mended(
        gateway, mock_broker, certificates, tokens, tmp_path, tell):
    files = Settings(tmp_path, certificates, tokens)
    door = gateway(mock_broker.bootstrap, loops=1, reload_interval=INTERVAL, **files.sections)
    context = certificates.client()
    steady = [LiveClient(door, "token-PACC1", context), LiveClient(door, tokens.token("PACC1"), context)]
    limit = 50

    def failed():
        return scrape(door.admin)['livegate_reloads_total{outcome="failed"}']

    for setting, name, text in BREAKS:
        file = files.folder / name
        good = file.read_text()
        broken = text if text is not None else open(certificates.settings["rsa"]["key"]).read()
        for wrong in (None, "", broken):
            taken, told = len(door.log("settings reloaded")), len(door.log("settings not reloaded"))
            file.unlink() if wrong is None else renew(file, wrong)
            line = door.wait_for_log("settings not reloaded", count=told + 1)
            assert line["level"] == "error" and line["reason"], line
            # An entry is named with its file; of a pair that does not fit either may be.
            assert line["setting"].startswith("tls." if name in ("chain.pem", "key.pem") else setting), line
            # What is right beside it waits with it, and what is told is not told again.
            before, limit = failed(), limit + 1
            section(door, "limits", max_headers=limit)()
            eventually(lambda: failed() > before, 20, lambda: f"a second failure of {setting}; {door.program.told()}")
            assert len(door.log("settings reloaded")) == taken and len(door.log("settings not reloaded")) == told + 1
            assert door.status("/readyz") == 200 and "[-]reload " in door.asked("/readyz?verbose")[1]
            changed(door, lambda: renew(file, good), "limits.max_headers")
    assert "[+]reload ok" in door.asked("/readyz?verbose")[1]

    # All of them at once, as an orchestrator swaps the link to their folder: first to one in which a file is missing.
    half, whole = tmp_path / "half", tmp_path / "whole"
    for folder in (half, whole):
        shutil.copytree(files.folder, folder)
        for name in ("chain.pem", "key.pem"):
            shutil.copy(certificates.settings["rsa"]["certificate" if name == "chain.pem" else "key"], folder / name)
        for name in ("sessions", "tickets", "client"):
            (folder / name).write_text(secrets.token_hex(32))
    (half / "tickets").unlink()
    told = len(door.log("settings not reloaded"))
    swap(files.link, "half")
    assert door.wait_for_log("settings not reloaded", count=told + 1)["setting"] == "auth.tickets.secret_file"
    changed(door, lambda: swap(files.link, "whole"), "tls.certificate", "tls.key", "tls.ticket_secret_file",
            "auth.tickets.secret_file", "auth.introspection.client_secret_file")

    # Nobody who was there has noticed anything.
    tell(["a"])
    eventually(lambda: all(client.ids == ["a"] for client in steady), 20, "the event")
    assert [client.closed for client in steady] == [None, None]
    for client in steady:
        client.end()


def entry(token, account, subject=None):
    digest = hashlib.sha256(token.encode()).hexdigest()
    more = f", subject: {subject}" if subject else ""
    return f"- {{sha256: {digest}, account: {account}{more}}}\n"


@pytest.mark.parametrize("is_broken", [False, True], ids=["all-right", "something-else-is-wrong"])
def test_a_static_token_that_is_gone_or_means_somebody_else_ends_all_that_it_opened(
        gateway, mock_broker, tokens, tmp_path, tell, ends_with_test, is_broken):
    file, keys = tmp_path / "tokens.yaml", tmp_path / "keys.pem"
    shutil.copy(tokens.public, keys)
    names = ("gone", "moved", "renamed")
    file.write_text(entry("stays", "PACC1") + "".join(entry(name, "PACC1", "u1") for name in names))
    door = gateway(mock_broker.bootstrap, loops=1, reload_interval=INTERVAL, auth={
        "jwt": [{**tokens.settings[0], "keys": str(keys)}], "tokens": str(file)})

    def opened(name):
        poll = ends_with_test(Sync(door, name))
        poll.send(since=poll.page()["at"], wait=50)
        return ends_with_test(LiveClient(door, name)), ends_with_test(EventStream(door, name)), poll
    lost, stays = [opened(name) for name in names], opened("stays")
    eventually(lambda: in_use(door) == 12, 20, lambda: f"all of them; {in_use(door)}")

    # Half a file says nothing of those whose names it lacks.
    whole = file.read_text()
    told = len(door.log("settings not reloaded"))
    renew(file, whole[:-20])
    assert "lost_tokens" not in door.wait_for_log("settings not reloaded", count=told + 1)
    assert in_use(door) == 12
    told = len(door.log("settings reloaded"))
    renew(file, whole)
    door.wait_for_log("settings reloaded", count=told + 1)
    eventually(lambda: "[+]reload ok" in door.asked("/readyz?verbose")[1], 20, "a good reload")

    if is_broken:
        told = len(door.log("settings not reloaded"))
        renew(keys, "")
        door.wait_for_log("settings not reloaded", count=told + 1)
    sentence = "settings not reloaded" if is_broken else "settings reloaded"
    count = len(door.log(sentence))
    renew(file, entry("stays", "PACC1") + entry("moved", "PACC2", "u1") + entry("renamed", "PACC1", "u2")
          + entry("new", "PACC1"))
    for name, (socket, stream, poll) in zip(names, lost):
        assert socket.wait_until_closed() == 4403, name
        stream.wait_until_ended()
        assert stream.events[-1].name == "bye" and stream.events[-1].json == {"code": 4403, "why": "revoked"}, name
        refused = poll.answer()
        assert refused.status == 401 and refused.body["code"] == "invalid_token", name
    assert door.wait_for_log(sentence, count=count + 1)["lost_tokens"] == 3
    # They are refused, and what they mean now counts, like all that is new, once all is right.
    assert status(door, "gone") == 401
    after = {"moved": 401, "renamed": 401, "new": 401} if is_broken else {"moved": 200, "renamed": 200, "new": 200}
    assert {name: status(door, name) for name in after} == after
    socket, stream, poll = stays
    tell(["a"])
    eventually(lambda: socket.ids == stream.ids == ["a"], 20, "the event")
    assert [event["id"] for event in poll.answer().body["events"]] == ["a"] and socket.closed is None
