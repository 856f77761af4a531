# Tests: AdminConnection.swift, Administration.swift, GatewayServer+Admin.swift
"""The administration address, asked as balancers, scrapers, people and others ask."""

import contextlib

import pytest

from asker import Asker, Closed
from gateway import hang_up, rewrite
from programs import eventually
from wire import ask, upgrade

PARTS = ["loops", "window", "broker", "keys", "control", "archive", "reload", "draining"]


@pytest.fixture
def asker(door):
    return Asker(door.admin)


def test_requests_follow_each_other_on_one_connection(asker):
    asker.send("GET", "/livez")
    asker.send("PUT", "/admin/loglevel", b"debug\n")
    asker.send("GET", "/admin/loglevel")
    asker.send("GET", "/nothing")
    asker.send("HEAD", "/readyz")
    assert asker.answer()[0::2] == (200, b"ok\n")
    assert asker.answer()[0::2] == (200, b"debug\n")
    assert asker.answer()[0::2] == (200, b"debug\n")
    status, fields, _ = asker.answer()
    assert status == 404 and "connection" not in fields
    status, fields, _ = asker.answer(withoutBody=True)
    assert (status, fields["content-length"], fields["cache-control"]) == (200, "6", "no-store")
    asker.send("GET", "/readyz?verbose&x=1", Connection="close")
    status, fields, body = asker.answer()
    assert status == 200 and body.decode().splitlines() == [f"[+]{part} ok" for part in PARTS]
    assert fields["connection"] == "close" and asker.ended()
    # A client of HTTP/1.0 gets the end that it expects.
    status, fields, body = asker.ask("GET", "/readyz", version="HTTP/1.0", host=None)
    assert (status, fields["connection"], body) == (200, "close", b"ready\n") and asker.ended()


def test_the_log_level_is_changed_while_the_node_runs(door, asker):
    assert asker.ask("PUT", "/admin/loglevel", b"loud")[0] == 400
    assert asker.ask("PUT", "/admin/loglevel", b"")[0] == 400
    assert asker.ask("PUT", "/admin/loglevel", b"debug")[0] == 200
    assert door.wait_for_log("log level set")["text"] == "debug"
    # At this level each refusal is a line.
    for count in range(1, 4):
        assert ask(door.host, upgrade("no token")).startswith(b"HTTP/1.1 401 ")
        assert door.wait_for_log("request refused", count=count)["level"] == "debug"
    assert asker.ask("PUT", "/admin/loglevel", b"error")[0] == 200
    assert asker.ask("GET", "/admin/loglevel")[2] == b"error\n"
    # Who asked what of all that may change something, and how it was answered; not the body.
    assert [(line["peer"], line["method"], line["path"], line["status"]) for line in door.log("administration request")] == [
        ("127.0.0.1", "PUT", "/admin/loglevel", status) for status in (400, 400, 200)]
    # And at this one none.
    assert ask(door.host, upgrade("no token")).startswith(b"HTTP/1.1 401 ")
    assert asker.ask("PUT", "/admin/loglevel", b"debug")[0] == 200
    assert ask(door.host, upgrade("no token")).startswith(b"HTTP/1.1 401 ")
    door.wait_for_log("request refused", count=4)
    assert len(door.log("request refused")) == 4


def test_pages_and_names_of_others_do_not_reach_it_and_with_a_token_nobody_without_does(gateway, mock_broker, check, tmp_path):
    (tmp_path / "token").write_text("geheim\n")
    door = gateway(mock_broker.bootstrap, admin_token_file=str(tmp_path / "token"), admin_hosts=["gate.internal"],
                   limits__handshake_timeout="3s")
    asker, token = Asker(door.admin), {"Authorization": "Bearer geheim"}
    for method, path, words, status in (
            ("GET", "/admin/loglevel", {}, 401), ("GET", "/admin/loglevel", {"Authorization": "Bearer geheiM"}, 401),
            ("GET", "/admin/loglevel", token, 200), ("GET", "/admin/loglevel", {**token, "host": "gate.internal"}, 200),
            ("GET", "/admin/loglevel", {**token, "host": "evil.example"}, 421),
            ("GET", "/readyz", {}, 200), ("GET", "/livez", {}, 200), ("GET", "/readyz", {"host": "evil.example"}, 200),
            ("PUT", "/admin/loglevel", {**token, "body": b"debug", "Origin": "https://evil.example"}, 403),
            ("PUT", "/admin/loglevel", {**token, "body": b"info", "Origin": "http://localhost"}, 200),
            ("POST", "/admin/loglevel", {**token, "body": b""}, 405)):
        found, fields, _ = asker.ask(method, path, **words)
        assert found == status, (method, path, words)
        if status == 401:
            assert fields["www-authenticate"].startswith("Bearer ")
        if status == 405:
            assert fields["allow"] == "GET, HEAD, PUT"
    assert asker.ask("PUT", "/admin/loglevel", b"x" * 4097, **token)[0] == 413 and asker.ended()
    assert "geheim" not in "".join(door.program.err)
    # A file without a token is none.
    (tmp_path / "empty").write_text("\n")
    refused, lines = check("auth: {anonymous: PACC1}\nadmin: ':9080'\nadmin_token_file: empty\n")
    assert refused == 78 and "holds no token" in lines[0]
    # Who does not finish a request is told so, and who says nothing is not.
    slow, body, silent = Asker(door.admin), Asker(door.admin), Asker(door.admin)
    slow.socket.sendall(b"GET /livez HT")
    body.socket.sendall(b"PUT /admin/loglevel HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\ndeb")
    assert slow.answer()[0] == body.answer()[0] == 408
    assert slow.ended() and body.ended() and silent.ended()


def test_whoever_keeps_connections_keeps_no_probe_out(gateway, mock_broker):
    door = gateway(mock_broker.bootstrap, limits__handshake_timeout="10m")
    idle = [Asker(door.admin) for _ in range(64)]
    for asker in idle:
        asker.send("GET", "/livez")
        assert asker.answer()[0] == 200
    assert Asker(door.admin).ask("GET", "/livez")[0] == 200
    # The one that had been there longest has given way, and no other.
    assert idle[0].ended()
    idle[-1].send("GET", "/livez")
    assert idle[-1].answer()[0] == 200
    # So do those that have sent nothing, not all of a request, or a bad one whose answer they have.
    for asker in idle:
        asker.socket.close()
    for words in (b"", b"GET", b"GET /livez HTTP/9\r\n\r\n"):
        silent = [Asker(door.admin) for _ in range(100)]
        for asker in silent:
            with contextlib.suppress(OSError):
                asker.socket.sendall(words)
        assert Asker(door.admin).ask("GET", "/readyz")[0] == 200


def test_a_new_time_of_a_request_counts_here_too(gateway, mock_broker):
    door = gateway(mock_broker.bootstrap, limits__handshake_timeout="10m", reload_interval="0s")
    # Half a request keeps the time that it began with: the node has the connection, since it answers a later one.
    patient = Asker(door.admin)
    patient.socket.sendall(b"GET /livez HTTP/1.1\r\n")
    assert Asker(door.admin).ask("GET", "/livez")[0] == 200
    rewrite(door, limits={**door.settings["limits"], "handshake_timeout": "100ms"})
    hang_up(door)
    assert door.wait_for_log("settings reloaded")["changed"] == "limits.handshake_timeout"

    def hurried():
        # Whoever has said nothing within the time, as on a machine that gives its process no turn, is let go without a word.
        asker = Asker(door.admin)
        try:
            asker.socket.sendall(b"GET /livez HTTP/1.1\r\n")
            return asker.answer()[0] == 408 and asker.ended()
        except (Closed, ConnectionError):
            return None
    assert eventually(lambda: [answered] if (answered := hurried()) is not None else None, what="a request in time") == [True]
    patient.socket.sendall(b"Host: localhost\r\n\r\n")
    assert patient.answer()[0] == 200
