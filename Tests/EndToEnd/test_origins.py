# Tests: BrowserPolicy.swift, CrossOrigin.swift, Credential.swift
"""What browsers send by themselves, at the door of a running gateway: an origin, cookies, a token in a subprotocol."""

import base64
import contextlib
import json
import secrets

import pytest

from caller import first
from programs import PATIENCE, eventually
from wire import ask, connect, event_stream_request, get, upgrade

APP, OTHER, EVIL = "https://app.example.com", "https://a.b.example.org", "https://evil.example"
PREFLIGHT = (f"OPTIONS /sync/v1 HTTP/1.1\r\nHost: h\r\nOrigin: {APP}\r\nAccess-Control-Request-Method: GET\r\n"
             "Access-Control-Request-Headers: authorization\r\n\r\n").encode()
CORS = ("access-control-allow-origin", "access-control-allow-credentials", "access-control-expose-headers", "vary")


@pytest.fixture
def browser_door(gateway, mock_broker, tmp_path):
    """A gateway with origins, a cookie and tickets."""
    (tmp_path / "secret").write_text(secrets.token_hex(32))
    return gateway(mock_broker.bootstrap, auth__origins=[APP, "https://*.example.org"], auth__cookie="session",
                   auth__tickets={"secret_file": str(tmp_path / "secret")})


def cors(fields):
    return [fields.get(name) for name in CORS]


def subprotocols(token, name="livegate.v1"):
    return f"Sec-WebSocket-Protocol: {name}, bearer." + base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")


def test_a_listed_page_can_read_every_answer_and_another_is_refused_before_its_token(browser_door, tokens):
    host, token = browser_door.host, tokens.token("PACC1")
    for origin in (APP, OTHER):
        mine = [origin, "true", "Retry-After", "Origin"]
        header = [f"Origin: {origin}"]
        for request, status in [
            (upgrade(token, headers=header), 101), (event_stream_request(token, headers=header), 200),
            (get("/sync/v1", token, header), 200), (get("/sync/v1", None, header), 401),
            (get("/sync/v1?since=x", token, header), 400), (get("/live/v1", token, header), 400),
            (get("/elsewhere", token, header), 404), (get("/sync/v1?limit=0", token, header), 400),
        ]:
            answered, fields, _ = first(host, request)
            assert (answered, cors(fields)) == (status, mine), request
    for origin in (EVIL, "null", APP + ".evil.example", "https://example.org"):
        for request in (upgrade(token, headers=[f"Origin: {origin}"]), get("/sync/v1", None, [f"Origin: {origin}"]),
                        event_stream_request(token, headers=[f"Origin: {origin}"])):
            status, fields, body = first(host, request)
            assert (status, json.loads(body)["code"]) == (403, "forbidden")
            # It can read that it is refused.
            assert cors(fields) == ["*", None, None, "Origin"]
        asked, fields, _ = first(host, PREFLIGHT.replace(APP.encode(), origin.encode()))
        assert (asked, cors(fields)) == (204, ["*", None, None, "Origin"])
    # Who is no browser, and who cannot be understood.
    for request, status in [(get("/sync/v1", token), 200), (upgrade(token), 101), (b"GET\r\n\r\n", 400)]:
        answered, fields, _ = first(host, request)
        assert (answered, cors(fields)) == (status, [None, None, None, "Origin"])
    # A browser asks beforehand, on a connection that goes on.
    last = get("/sync/v1", token, [f"Origin: {APP}", "Connection: close"])
    answer = ask(host, PREFLIGHT * 2 + last, 20 * PATIENCE).decode()
    one, two, three = (part for part in answer.split("HTTP/1.1 ")[1:])
    assert one == two or one.split("Date: ")[0] == two.split("Date: ")[0]
    head = one.split("\r\n")
    assert head[0] == "204 No Content" and "Content-Length" not in one
    for field in ["Access-Control-Allow-Methods: GET, POST", "Access-Control-Max-Age: 600",
                  "Access-Control-Allow-Headers: Authorization, Last-Event-ID, Content-Type",
                  f"Access-Control-Allow-Origin: {APP}", "Access-Control-Allow-Credentials: true", "Vary: Origin"]:
        assert field in head
    assert three.startswith("200 ") and f"Access-Control-Allow-Origin: {APP}" in three
    assert first(host, PREFLIGHT.replace(b"Access-Control-Request-Method: GET\r\n", b""))[0] == 405


@pytest.mark.parametrize("limit, status, code", [
    ("max_connections_per_address", 429, "too_many"), ("max_handshakes_per_second", 503, "overloaded")])
def test_a_page_can_read_that_it_is_over_a_limit_and_when_to_come_back(gateway, mock_broker, tokens, limit, status, code):
    door = gateway(mock_broker.bootstrap, auth__origins=[APP], limits={limit: 1})
    token = tokens.token("PACC1")
    with connect(door.host, 20 * PATIENCE) as held:
        held.sendall(upgrade(token))
        held.recv(4096)

        def refused(request):
            # Of handshakes there is one each second for whoever comes first.
            return eventually(lambda: (lambda found: found if found[0] == status else None)(
                first(door.host, request)), what=f"a {status}")
        _, fields, body = refused(get("/sync/v1", token, [f"Origin: {APP}"]))
        assert json.loads(body)["code"] == code and 1 <= int(fields["retry-after"]) <= 5
        assert cors(fields) == [APP, None, "Retry-After", "Origin"] and fields["connection"] == "close"
        for origin in ([f"Origin: {EVIL}"], []):
            assert cors(refused(get("/sync/v1", token, origin))[1]) == [None, None, None, "Origin"]
        # Else its browser would not even ask, and tell the page nothing.
        answered, fields, _ = first(door.host, PREFLIGHT)
        assert (answered, fields["access-control-allow-origin"]) == (204, APP)
        if status == 429:
            # Whoever may ask beforehand asks nothing else on that connection.
            answer = ask(door.host, PREFLIGHT + get("/sync/v1", token, [f"Origin: {APP}"]), 20 * PATIENCE)
            assert answer.count(b"HTTP/1.1 ") == 1 and b"\r\nConnection: close" in answer, answer
        assert cors(refused(PREFLIGHT.replace(APP.encode(), EVIL.encode()))[1]) == [None, None, None, "Origin"]


# Of one loop, whose refusals wait for the request: see ConnectionLoop.swift.
LATE = 256


def test_only_so_many_over_the_limit_are_waited_for(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap, loops=1, auth__origins=[APP], limits={"max_connections_per_address": 1})
    request = get("/sync/v1", tokens.token("PACC1"), [f"Origin: {APP}"])
    with contextlib.ExitStack() as ending:
        held = ending.enter_context(connect(door.host, 20 * PATIENCE))
        held.sendall(upgrade(tokens.token("PACC1")))
        held.recv(4096)
        silent = [ending.enter_context(connect(door.host, 20 * PATIENCE)) for _ in range(LATE)]
        # The next one is told at once, though it has said nothing.
        with connect(door.host, 20 * PATIENCE) as last:
            assert last.recv(4096).startswith(b"HTTP/1.1 429 ")
        # One that asks, or goes, makes room.
        silent[0].sendall(request)
        assert silent[0].recv(4096).startswith(b"HTTP/1.1 429 ")
        silent[1].close()

        def is_waited_for():
            status, fields, _ = first(door.host, request)
            return status == 429 and cors(fields)[0] == APP
        eventually(is_waited_for, what="a refusal that names the page")


def test_a_token_in_a_subprotocol_or_a_cookie_lets_in(browser_door, tokens):
    host, token = browser_door.host, tokens.token("PACC1")
    status, fields, _ = first(host, upgrade(headers=[f"Origin: {APP}", subprotocols(token)]))
    assert status == 101 and fields["sec-websocket-protocol"] == "livegate.v1"
    cookie = f"Cookie: a=b; session={token}"
    for headers, status in [
        ([cookie, f"Origin: {APP}"], 101), ([f'Cookie: session="{token}"', f"Origin: {APP}"], 101),
        ([cookie], 403), ([cookie, "Sec-Fetch-Site: same-origin"], 101), ([cookie, f"Origin: {EVIL}"], 403),
        ([cookie, f"Origin: {APP}", subprotocols(token)], 101),
        ([cookie + f"; session={token}", f"Origin: {APP}"], 400), (["Cookie: session=x", f"Origin: {APP}"], 401),
        ([subprotocols(token), f"Authorization: Bearer {token}"], 400), ([subprotocols(token, "other")], 400),
        ([subprotocols("x")], 401), (["Sec-WebSocket-Protocol: livegate.v1, bearer.=="], 401),
    ]:
        assert first(host, upgrade(headers=headers))[0] == status, headers
    same = "Sec-Fetch-Site: same-origin"
    assert first(host, get("/sync/v1", headers=[cookie, same]))[0] == 200
    # A browser adds an origin to each POST: what has none is no browser's, whatever it claims.
    for fields, status in (([f"Origin: {APP}"], 200), ([same], 403), ([], 403)):
        found, _, body = first(host, get("/ticket/v1", headers=[cookie, *fields]).replace(b"GET", b"POST", 1))
        assert found == status and (status == 200 or json.loads(body)["code"] == "forbidden"), fields


def test_a_page_can_read_that_a_port_speaks_tls(gateway, mock_broker, certificates):
    door = gateway(mock_broker.bootstrap, auth__origins=[APP], tls=certificates.settings["ecdsa"])
    for origin, expected in ((APP, [APP, None, "Retry-After", "Origin"]), (EVIL, [None, None, None, "Origin"])):
        status, fields, body = first(door.host, get("/sync/v1", None, [f"Origin: {origin}"]))
        assert (status, cors(fields)) == (400, expected) and "https://" in json.loads(body)["detail"]


def test_a_connection_that_let_nobody_in_is_not_kept_as_long_as_one_that_did(gateway, mock_broker, tokens):
    limits = {"limits__handshake_timeout": "1s", "limits__max_connections_per_subject": 1}
    door = gateway(mock_broker.bootstrap, auth__origins=[APP], **limits)
    token = tokens.token("PACC1", "--subject", "ann")

    def answered(peer, request, status):
        peer.sendall(request)
        return peer.recv(65536).startswith(b"HTTP/1.1 %d " % status)
    for request, status in ((PREFLIGHT, 204), (get("/sync/v1?since=x", token), 400)):
        with connect(door.host) as known, connect(door.host) as peer:
            assert answered(known, get("/sync/v1", token), 200) and answered(known, PREFLIGHT, 204)
            assert answered(peer, request, status)
            assert peer.recv(1) == b""
            # Who was let in stays for longer, and is counted for it: another connection of that user ends behind its answer.
            with connect(door.host) as other:
                assert answered(other, get("/sync/v1", token), 200) and other.recv(1) == b""
            assert answered(known, PREFLIGHT, 204)
    # However often it asks beforehand: only who was let in may go on with it.
    assert ask(door.host, PREFLIGHT * 17, 20 * PATIENCE).count(b"HTTP/1.1 204 ") == 16
    known = get("/sync/v1", token) + PREFLIGHT * 17 + get("/sync/v1", token, ["Connection: close"])
    assert ask(door.host, known, 20 * PATIENCE).count(b"HTTP/1.1 20") == 19
