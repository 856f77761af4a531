# Tests: BrowserPolicy.swift, CrossOrigin.swift, Credential.swift, NodeTickets.swift
"""A real browser: pages of several origins open what they may, and what they may not is refused."""

import base64
import http.server
import secrets
import threading

import pytest

from programs import eventually, produce, event


class Pages:
    """An empty page at an address of its own, `http://NAME:PORT`, which is an origin."""

    def __init__(self, name):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages.Page)
        self.origin = f"http://{name}:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>page</title>")

        def log_message(self, *_):
            pass

    def end(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def app(ends_with_test):
    return ends_with_test(Pages("localhost"))


@pytest.fixture
def stranger(ends_with_test):
    """A page of another origin, which nobody listed. Another host, so that it is another site, too."""
    return ends_with_test(Pages("127.0.0.1"))


@pytest.fixture
def node(gateway, mock_broker, app, tmp_path):
    """A gateway that lists one of the two pages."""
    (tmp_path / "secret").write_text(secrets.token_hex(32))
    # By the name that the page has, so that a cookie of it is sent along.
    running = gateway(mock_broker.bootstrap, auth__origins=[app.origin], auth__cookie="session",
                      auth__tickets={"secret_file": str(tmp_path / "secret")})
    running.base = "http://localhost:" + running.host.rpartition(":")[2]
    return running


# What a page keeps of a WebSocket: its messages, the protocol that was chosen, the code of its close.
OPEN_SOCKET = """
    const [url, protocols] = arguments
    window.seen = {messages: [], protocol: null, code: null}
    const socket = window.socket = new WebSocket(url, protocols)
    socket.onopen = () => { window.seen.protocol = socket.protocol }
    socket.onmessage = message => { window.seen.messages.push(JSON.parse(message.data)) }
    socket.onclose = close => { window.seen.code = close.code }
"""

# A stream that is bought with a token, and bought again with each end, as the documentation has it.
OPEN_STREAM = """
    const [base, token] = arguments
    window.seen = {ids: [], tickets: 0, last: "", refused: null}
    window.connect = async () => {
        const bought = await fetch(base + "/ticket/v1", {method: "POST", headers: {Authorization: "Bearer " + token}})
        if (!bought.ok) { window.seen.refused = bought.status; return }
        const {ticket} = await bought.json()
        window.seen.tickets += 1
        const since = window.seen.last ? "&since=" + window.seen.last : ""
        const stream = window.stream = new EventSource(base + "/live/v1?ticket=" + ticket + since)
        const keep = message => { if (message.lastEventId) window.seen.last = message.lastEventId }
        stream.addEventListener("live", keep)
        stream.onmessage = message => { keep(message); window.seen.ids.push(JSON.parse(message.data).id) }
    }
    window.connect()
"""

# The status and what a page can read of an answer; "TypeError" where its browser lets it read nothing.
ASK = """
    const [url, options, done] = arguments
    fetch(url, options).then(async answer => done({
        status: answer.status, retry: answer.headers.get("Retry-After"), body: await answer.json(),
    })).catch(error => done({status: error.name}))
"""


def refusal(browser, url, options):
    """What a page that is not listed reads: that it is refused."""
    answer = browser.wait(ASK, url, options)
    return answer["status"], answer.get("body", {}).get("code")


def write(broker, name):
    produce(broker.bootstrap, "incidents", [event("PACC1", name)], partition=0)


def named(token):
    return "bearer." + base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")


def test_a_listed_page_opens_streams_by_a_subprotocol_and_by_tickets_and_a_stranger_opens_none(
        browser, node, app, stranger, tokens, mock_broker):
    token, url = tokens.token("PACC1"), node.base.replace("http", "ws") + "/live/v1?with=at"
    browser.go(app.origin)
    browser.run(OPEN_SOCKET, url, ["livegate.v1", named(token)])
    eventually(lambda: browser.run("return window.seen.messages.length") >= 1)
    assert browser.run("return window.seen.protocol") == "livegate.v1"
    write(mock_broker, "seen")
    eventually(lambda: [m.get("id") for m in browser.run("return window.seen.messages")][1:] == ["seen"])
    # It goes on with its next token.
    browser.run("window.socket.send(JSON.stringify({token: arguments[0]}))", tokens.token("PACC1", "--expires", "1h"))
    eventually(lambda: "token" in browser.run("return window.seen.messages")[-1])
    browser.go(stranger.origin)
    browser.run(OPEN_SOCKET, url, ["livegate.v1", named(token)])
    eventually(lambda: browser.run("return window.seen.code") == 1006)
    assert node.wait_for_log("request refused: its page's origin is not listed")["origin"] == stranger.origin
    # An event stream, which comes back with another ticket.
    browser.go(app.origin)
    browser.run(OPEN_STREAM, node.base, tokens.token("PACC1"))
    eventually(lambda: browser.run("return window.seen.last") != "")
    write(mock_broker, "one")
    eventually(lambda: browser.run("return window.seen.ids") == ["one"])
    browser.run("window.stream.close()")
    write(mock_broker, "two")
    browser.run("window.connect()")
    eventually(lambda: browser.run("return window.seen.ids") == ["one", "two"])
    assert browser.run("return window.seen.tickets") == 2
    browser.go(stranger.origin)
    assert refusal(browser, node.base + "/ticket/v1", {"method": "POST"}) == (403, "forbidden")


def test_a_listed_page_asks_with_a_token_or_a_cookie_and_reads_refusals_as_a_stranger_reads_its_own(
        browser, node, app, stranger, tokens):
    options = {"headers": {"Authorization": "Bearer " + tokens.token("PACC1")}}
    browser.go(app.origin)
    page = browser.wait(ASK, node.base + "/sync/v1", options)
    assert page["status"] == 200 and page["body"]["more"] is False
    refused = browser.wait(ASK, node.base + "/sync/v1", {"headers": {"Authorization": "Bearer x"}})
    assert refused["status"] == 401 and refused["body"]["code"] == "invalid_token"
    assert browser.wait(ASK, node.base + "/sync/v1?since=x", options)["body"]["code"] == "bad_cursor"
    browser.go(stranger.origin)
    assert refusal(browser, node.base + "/sync/v1", options) == (403, "forbidden")
    assert browser.wait(ASK, node.base + "/sync/v1", {"credentials": "include"})["status"] == "TypeError"
    # A page whose token is a cookie need not know it.
    browser.go(app.origin)
    # Cookies know no ports: the one of the page is sent to the gateway on the same host.
    browser.run("document.cookie = 'session=' + arguments[0] + '; path=/; SameSite=Lax'", tokens.token("PACC1"))
    assert browser.wait(ASK, node.base + "/sync/v1", {"credentials": "include"})["status"] == 200
    assert browser.wait(ASK, node.base + "/sync/v1", {"credentials": "omit"})["status"] == 401
    browser.run(OPEN_SOCKET, node.base.replace("http", "ws") + "/live/v1?with=at", ["livegate.v1"])
    eventually(lambda: browser.run("return window.seen.messages.length") >= 1)
    # A page of the gateway's own origin asks without an Origin, and says so.
    browser.go(node.base + "/elsewhere")
    assert browser.wait(ASK, "/sync/v1", {"credentials": "include"})["status"] == 200
