# Tests: BrowserPolicy.swift, CrossOrigin.swift, Credential.swift
"""The JavaScript module's connection in a real browser: behind bad proxies, without a network, hidden, frozen, and shared by
tabs. Nothing is lost and nothing doubled, whatever changes."""

import itertools
import json
import secrets

import pytest

from browser import Browser
from livepage import LivePage, Pages
from middleman import Middleman
from programs import eventually


@pytest.fixture(scope="module")
def origin():
    pages = Pages()
    yield pages.origin
    pages.end()


@pytest.fixture
def browser(tmp_path, ends_with_test):
    return ends_with_test(Browser(tmp_path))


@pytest.fixture
def node(gateway, mock_broker, origin, tmp_path):
    (tmp_path / "secret").write_text(secrets.token_hex(32))
    return gateway(mock_broker.bootstrap, auth__origins=[origin], auth__tickets={"secret_file": str(tmp_path / "secret")})


@pytest.fixture
def behind(browser, node, origin, tokens, ends_with_test):
    """Opens a page behind a proxy with these manners."""
    def begin(*manner, **options):
        middleman = ends_with_test(Middleman(node.host, *manner, one_request=True))
        return middleman, LivePage(browser, origin, middleman.host, tokens.token("PACC1"), **options)
    return begin


def connections(node):
    """The connections that the gateway has of the account."""
    status, text = node.asked("/admin/connections?account=PACC1")
    assert status == 200
    return [json.loads(line) for line in text.splitlines()]


# Proxies

@pytest.mark.parametrize("manner", ["strips", "holds"])
def test_upgrades_that_are_swallowed(behind, tell, manner):
    middleman, page = behind(manner)
    page.until(lambda: page.known == {"office": "eventStream"}, "the way that works", 120)
    tell(range(50))
    page.has_each_once(range(50))
    assert "webSocket" not in page.seen["ways"]


def test_what_works_on_a_network_is_remembered_there_and_the_better_way_is_tried_again(behind, tell):
    middleman, page = behind("strips", ahead=True)
    page.until(lambda: page.is_proven("eventStream"), "the way that works", 120)
    # The next visit asks for nothing else.
    asked = middleman.count("upgrade")
    page.open()
    tell(range(10))
    page.has_each_once(range(10))
    assert page.seen["ways"] == ["eventStream"] and middleman.count("upgrade") == asked

    def is_tried():
        # An hour later, as the page's clock has it; each time that is due.
        page.run("""
            const record = JSON.parse(localStorage.getItem("livegate.ways")).find(({network}) => network === "office")
            const {way, state, environment} = window.client
            if (state.connected && way === "eventStream" && record) {
                window.ahead += Math.max(0, record.upAt + 1 - environment.now())
            }
        """)
        return middleman.count("upgrade") > asked
    page.until(is_tried, "a trial, which fails")
    page.until(lambda: page.way == "eventStream" and page.state == "connected", "the way that works, after a trial")
    tell(range(10, 20))
    page.has_each_once(range(20))
    # On another network nothing is known.
    middleman.manner = "passes"
    page.run("window.client.pathChanged({isSatisfied: true, network: 'home'})")
    page.until(lambda: page.way == "webSocket" and page.state == "connected", "a WebSocket at home")
    assert page.known["office"] == "eventStream"
    tell(range(20, 30))
    page.has_each_once(range(30))
    page.run("window.client.pathChanged({isSatisfied: true, network: 'office'})")
    # A WebSocket that answers is believed also on another network: until this one is gone.
    middleman.drop()
    page.until(lambda: page.way == "eventStream" and page.state == "connected", "what is known of the office")
    # The proxy is gone: the trial is believed once its stream has lived for two minutes.
    page.until(lambda: is_tried() and page.way == "webSocket" and page.state == "connected", "a trial that succeeds")
    tell(range(30, 40))
    page.has_each_once(range(40))
    page.run("window.ahead += 130_000")
    page.until(lambda: "office" not in page.known, "the better way, which needs no record")
    page.until(lambda: page.way == "webSocket" and page.state == "connected", "the next stream")
    tell(range(40, 50))
    page.has_each_once(range(50))


def test_event_streams_that_are_gathered(behind, tell):
    middleman, page = behind("gathers")
    page.until(lambda: page.known == {"office": "longPoll"}, "the way that works", 120)
    tell(range(50))
    page.has_each_once(range(50))
    assert page.seen["ways"][0] == "longPoll"
    middleman.manner = "passes"
    page.run("window.client.pathChanged({isSatisfied: true, network: 'home'})")
    page.until(lambda: page.way == "webSocket" and page.state == "connected", "a WebSocket")
    tell(range(50, 100))
    page.has_each_once(range(100))


@pytest.mark.slow
def test_connections_that_are_cut(behind, tell):
    # Where it is polls at last, the next one is not far.
    middleman, page = behind("cuts", 2, pollInterval=1_000)
    told, numbers = [], itertools.count()

    def streams_are_cut():
        # What the page has not got yet has to stand in the log.
        if len(told) < len(page.seen["ids"]) + 500:
            batch = list(itertools.islice(numbers, 5))
            told.extend(batch)
            tell(batch)
        return middleman.count("stream") >= 2
    page.until(streams_are_cut, "two event streams", 120)
    middleman.manner = "passes"
    page.has_each_once(told)


# What becomes of the page

def test_without_a_network_nothing_is_tried(behind, browser, node, tell):
    middleman, page = behind("passes")
    tell(range(10))
    page.has_each_once(range(10))
    browser.network(offline=True)
    page.until(lambda: page.run("return navigator.onLine") is False, "the loss")
    # A connection that answers is believed more than a path that is said to be gone.
    tell(range(10, 20))
    middleman.drop()
    page.until(lambda: page.run("return window.client.state.waiting?.why") == "offline", "the wait for a network")
    asked = len(middleman.requests)
    tell(range(20, 30))
    eventually(lambda: not connections(node), 60, "a gateway without connections")
    assert len(middleman.requests) == asked
    browser.network(offline=False)
    page.has_each_once(range(30))


def away_hidden(page):
    page.browser.new_tab()


def back_hidden(page):
    page.browser.close_tab()
    page.browser.switch(page.tab)


def away_frozen(page):
    page.browser.freeze(True)


def back_frozen(page):
    page.browser.freeze(False)
    # It is thawed in a tab that is still hidden.
    page.browser.new_tab()
    back_hidden(page)


@pytest.mark.parametrize("away, back, ticket", [(away_hidden, back_hidden, True), (away_frozen, back_frozen, False)],
                         ids=["hidden", "frozen"])
def test_a_page_that_nobody_looks_at_has_no_connection_and_misses_nothing(
        browser, node, origin, tokens, tell, away, back, ticket):
    page = LivePage(browser, origin, node.host, tokens.token("PACC1"), hiddenGrace=0, ticket=ticket)
    for turn in range(2):
        tell(range(turn * 20, turn * 20 + 10))
        page.has_each_once(range(turn * 20 + 10))
        away(page)
        eventually(lambda: not connections(node), 60, "a gateway without connections")
        tell(range(turn * 20 + 10, turn * 20 + 20))
        back(page)
        page.has_each_once(range(turn * 20 + 20))
    eventually(lambda: len(connections(node)) == 1, 60, "one connection")


@pytest.mark.parametrize("way", ["webSocket", "eventStream", "longPoll"])
def test_a_page_that_a_browser_keeps_to_come_back_to_goes_on(browser, node, origin, tokens, tell, way):
    page = LivePage(browser, origin, node.host, tokens.token("PACC1"), ways=[way])
    begun = 0

    def was_kept():
        """Whether the browser had kept it; it need not, where memory is short."""
        nonlocal begun
        tell(range(begun, begun + 10))
        page.has_each_once(range(begun + 10))
        browser.go(origin + "/elsewhere")
        eventually(lambda: not connections(node), 60, "a gateway without connections")
        tell(range(begun + 10, begun + 20))
        browser.back()
        eventually(lambda: browser.run("return location.pathname") == "/", 60, "the page of before")
        if browser.run("return window.wasKept") is True:
            return True
        page.open()
        return False
    assert any(was_kept() for _ in range(5)), "the browser has kept no page"
    page.has_each_once(range(20))


def test_tabs_share_a_connection_and_go_on_when_its_tab_is_closed_or_frozen(browser, node, origin, tokens, tell):
    token, pages = tokens.token("PACC1"), []
    for _ in range(3):
        if pages:
            browser.new_tab("window")
        pages.append(LivePage(browser, origin, node.host, token, share=True, account="PACC1"))

    def told(names):
        tell(names)
        for page in pages:
            page.has_each_once(range(names[-1] + 1))

    def leader():
        found = [page for page in pages if page.is_leader]
        return found[0] if len(found) == 1 else None

    def one_leads():
        eventually(lambda: leader() and len(connections(node)) == 1, 60, lambda: f"one connection, not {connections(node)}")
        return leader()
    told(range(10))
    closed = one_leads()
    closed.run("")
    browser.close_tab()
    pages.remove(closed)
    browser.switch(pages[0].tab)
    told(range(10, 20))
    frozen = one_leads()
    frozen.run("")
    browser.freeze(True)
    pages.remove(frozen)
    told(range(20, 30))
    assert one_leads() is pages[0]
    browser.switch(frozen.tab)
    browser.freeze(False)
    pages.append(frozen)
    told(range(30, 40))
    one_leads()
