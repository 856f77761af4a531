# Tests: BrowserPolicy.swift, CrossOrigin.swift, Credential.swift
"""The JavaScript module's connection in a real browser: behind bad proxies, without a network, hidden, frozen, and shared by
tabs. Nothing is lost and nothing doubled, whatever changes."""

import json
import secrets

import pytest

from livepage import LivePage, Pages
from middleman import Middleman
from programs import eventually


@pytest.fixture
def origin(ends_with_test):
    return ends_with_test(Pages()).origin


@pytest.fixture
def node(gateway, mock_broker, origin, tmp_path):
    (tmp_path / "secret").write_text(secrets.token_hex(32))
    return gateway(mock_broker.bootstrap, auth__origins=[origin], auth__tickets={"secret_file": str(tmp_path / "secret")})


@pytest.fixture
def behind(browser, node, origin, tokens, ends_with_test):
    """Opens a page behind a proxy of this manner; its `meanwhile` is given the proxy too."""
    def begin(manner, meanwhile=None, **options):
        middleman = ends_with_test(Middleman(node.host, manner, one_request=True))
        return middleman, LivePage(browser, origin, middleman.host, tokens.token("PACC1"), jumps=True,
                                   meanwhile=meanwhile and (lambda page: meanwhile(page, middleman)), **options)
    return begin


# An attempt that has not opened after so many milliseconds is given up (core/connection-attempts.js).
OPEN_LIMIT = 12_000


def connections(node):
    """The connections that the gateway has of the account."""
    status, text = node.asked("/admin/connections?account=PACC1")
    assert status == 200
    return [json.loads(line) for line in text.splitlines()]


# Proxies

def retry(page, middleman):
    page.skip_wait()


def give_up(kind):
    """Goes on behind the time in which requests of this kind should have been answered, for each of them."""
    given_up = 0

    def begin(page, middleman):
        nonlocal given_up
        page.skip_wait()
        if middleman.count(kind) > given_up:
            given_up += 1
            page.jump(OPEN_LIMIT)
    return begin


# By the proxy's manner: what of it has no answer, and the ways by which the page has been connected, the last of them for good.
PROXIES = {"strips": (None, ["eventStream"]), "holds": ("upgrade", ["eventStream"]), "gathers": ("stream", ["longPoll"]),
           "ends": (None, ["webSocket", "eventStream", "longPoll"])}


@pytest.mark.parametrize("manner", PROXIES)
def test_behind_a_bad_proxy_it_goes_down_to_what_works_and_up_again_elsewhere(behind, tell, manner):
    unanswered, ways = PROXIES[manner]
    middleman, page = behind(manner, give_up(unanswered) if unanswered else retry)
    told = [0]
    tell(told)

    def has_come_down():
        # What the page has not got yet has to stand in the log.
        if len(told) < len(page.seen["ids"]) + 100:
            told.append(len(told))
            tell(told[-1:])
        return page.known == {"office": ways[-1]}
    page.until(has_come_down, "the way that works")
    tell(range(len(told), len(told) + 50))
    told += range(len(told), len(told) + 50)
    page.has_each_once(told)
    assert list(dict.fromkeys(page.seen["ways"])) == ways
    # On another network, which has no such proxy.
    middleman.manner = "passes"
    page.run("window.client.pathChanged({isSatisfied: true, network: 'home'})")
    page.until(lambda: page.way == "webSocket" and page.state == "connected", "a WebSocket")
    tell(range(len(told), len(told) + 50))
    page.has_each_once(range(len(told) + 50))


def test_what_works_on_a_network_is_remembered_there_and_the_better_way_is_tried_again(behind, tell):
    middleman, page = behind("strips", retry)
    page.until(lambda: page.is_proven("eventStream") or page.skip_to_trial(), "the way that works")
    # The next visit asks for nothing else.
    asked = middleman.count("upgrade")
    page.open()
    tell(range(10))
    page.has_each_once(range(10))
    assert page.seen["ways"] == ["eventStream"] and middleman.count("upgrade") == asked

    def is_tried():
        # An hour later, as the page's clock has it; each time that is due.
        page.skip_to_trial()
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
    page.jump(130_000)
    page.until(lambda: "office" not in page.known, "the better way, which needs no record")
    page.until(lambda: page.way == "webSocket" and page.state == "connected", "the next stream")
    tell(range(40, 50))
    page.has_each_once(range(50))


# What becomes of the page

def away_offline(page):
    page.browser.network(offline=True)
    page.until(lambda: page.run("return navigator.onLine") is False, "the loss")
    # A connection that answers is believed more than a path that is said to be gone (Scenarios/connection/offline-but-it-carries).
    page.middleman.drop()
    page.until(lambda: page.run("return window.client.state.waiting?.why") == "offline", "the wait for a network")
    page.asked = len(page.middleman.requests)


def back_offline(page):
    # Longer than it waits between any two attempts, but for the one that it makes each minute: what browsers say may be wrong.
    page.jump(50_000)
    assert page.run("return window.client.state.waiting?.why") == "offline"
    assert len(page.middleman.requests) == page.asked, "it has tried without a network"
    page.browser.network(offline=False)


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


@pytest.mark.parametrize("away, back, ticket", [(away_offline, back_offline, False), (away_hidden, back_hidden, True),
                                                (away_frozen, back_frozen, False)], ids=["offline", "hidden", "frozen"])
def test_a_page_that_is_away_has_no_connection_and_misses_nothing(behind, node, tell, away, back, ticket):
    middleman, page = behind("passes", hiddenGrace=0, ticket=ticket)
    page.middleman = middleman
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
