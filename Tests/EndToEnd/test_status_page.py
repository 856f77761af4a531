# Tests: StatusPage.swift
"""The status page in a real browser: what it shows, in the dark and at a phone's width, and that it asks for the token."""

import pathlib
import re

from asker import Asker
from programs import eventually

RESULTS = pathlib.Path(__file__).resolve().parents[2] / ".build-results"


def test_nothing_on_the_page_runs_but_its_own_script(door):
    status, fields, body = Asker(door.admin).ask("GET", "/")
    policy = fields["content-security-policy"]
    assert status == 200 and "default-src 'none'" in policy and "unsafe" not in policy
    text = body.decode()
    assert "http" not in re.sub(r'"http://www\.w3\.org/2000/svg"', "", text) and " style=" not in text
    # What is hidden stays so, however it is laid out.
    assert "[hidden]{display:none!important}" in text
    assert len(re.findall(r"<script", text)) == 1 and not re.search(r"\son\w+=", text)


# As WebDriver numbers keys.
ENTER, TAB, SPACE, END = "\uE007", "\uE004", " ", "\uE010"


def shows_the_node(browser):
    """All is well, and each of the five charts but one has a line: for a line it takes two points."""
    text = browser.run("return document.body.innerText")
    assert "Nothing that is known." in text, text
    drawn = "return ['svg', 'polyline'].map(name => document.querySelectorAll(name).length)"
    eventually(lambda: browser.run(drawn)[1] >= 4, 60, lambda: f"lines; {browser.run(drawn)}")
    assert browser.run(drawn)[0] == 5
    assert browser.run("return document.querySelector('svg[aria-label^=\"Connections: now 3 open\"]') !== null")


def take_pictures(browser):
    RESULTS.mkdir(exist_ok=True)
    for name, look in {"status": (1200, 900), "status-phone": (390, 1400), "status-dark": (1200, 900, True)}.items():
        browser.look(*look)
        eventually(lambda: browser.run("return innerWidth") == look[0], 30, "the width")
        browser.picture(RESULTS / f"{name}.png")
        assert (RESULTS / f"{name}.png").stat().st_size > 5000


def test_the_page_shows_the_node_by_keyboard_in_the_dark_and_on_a_phone(gateway, mock_broker, tmp_path, browser, live, tell):
    """It asks for the token, says when it is the wrong one, and keeps it in its tab alone."""
    (tmp_path / "token").write_text("geheim")
    door = gateway(mock_broker.bootstrap, admin_token_file=str(tmp_path / "token"))
    clients = [live(door, account) for account in ("PACC1", "PACC2", "PACC2")]
    assert len(clients) == 3
    tell(range(20))
    page = f"http://{door.admin}/"

    def state():
        return browser.run("return document.getElementById('state').textContent")

    def focus():
        return browser.run("return document.activeElement.id || document.activeElement.tagName")

    browser.go(page)
    eventually(lambda: state() == "token required" and focus() == "token", 30, lambda: f"the question; {state()}")
    assert browser.run("return document.getElementById('main').hidden")
    browser.press("falsch", TAB)
    assert focus() == "BUTTON"
    browser.press(SPACE)
    eventually(lambda: state().startswith("refused: ") and focus() == "token", 30, lambda: f"the refusal; {state()}")
    browser.press("geheim", ENTER)
    eventually(lambda: state().startswith("ready · version "), 30, lambda: f"the page; {state()}")
    assert browser.run("return document.title").startswith("ready – Livegate ")
    assert browser.run("return document.getElementById('login').hidden")
    # What is wrong comes first, the busiest account is the first of its table.
    order = browser.run("return [...document.querySelectorAll('h2')].map(h => h.textContent)")
    assert order[0] == "What is wrong" and "Busiest accounts" in order
    rows = ("return [...document.querySelectorAll('#accounts tr')]"
            ".map(r => [...r.cells].slice(0, 2).map(c => c.textContent).join(' '))")
    eventually(lambda: browser.run(rows) == ["PACC2 2", "PACC1 1"], 30, lambda: f"accounts; {browser.run(rows)}")

    browser.go(page)
    eventually(lambda: state().startswith("ready"), 30, lambda: f"that the tab knows the token; {state()}")
    kept = "return [document.cookie, localStorage.length, sessionStorage.length, document.getElementById('token').value]"
    assert browser.run(kept) == ["", 0, 1, ""]
    browser.look(390, 700, dark=True)
    eventually(lambda: browser.run("return innerWidth") == 390, 30, "the phone's width")
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    colours = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    dark, light = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in browser.run(colours))
    assert dark < 150 and light > 600
    RESULTS.mkdir(exist_ok=True)
    browser.picture(RESULTS / "status-phone-dark.png")
    browser.press(END)
    eventually(lambda: browser.run("return scrollY + innerHeight >= document.documentElement.scrollHeight - 1"), 30,
               "the end of the page")
    browser.picture(RESULTS / "status-phone-dark-end.png")

    shows_the_node(browser)
    take_pictures(browser)

    # A node that is gone: what was known stays, and says that it is old.
    browser.look(1200, 900)
    door.stop()
    eventually(lambda: state().startswith("unreachable: "), 60, lambda: f"that the node is gone; {state()}")
    assert browser.run("return document.getElementById('main').className") == "old"
    first = browser.run("return document.querySelector('#problems li').textContent")
    assert re.fullmatch(r"The node does not answer this page: the values below are of \d\d:\d\d:\d\d UTC\.", first)
    browser.picture(RESULTS / "status-gone.png")
    again = gateway(mock_broker.bootstrap, admin_token_file=str(tmp_path / "token"))
    browser.new_tab()
    browser.go(f"http://{again.admin}/")
    eventually(lambda: state() == "token required", 30, "that another tab asks")


# The question for the charts waits until it is let go, where it has the wrong token.
HOLD = """
    const real = window.fetch;
    window.fetch = async (path, options) => {
        if (path !== "/admin/charts" || options.headers.Authorization !== "Bearer falsch") return real(path, options);
        await new Promise(done => { window.letGo = done; });
        const answer = await real(path, options);
        window.lateStatus = answer.status;
        return answer;
    };
"""


def test_a_late_refusal_does_not_forget_the_token_that_was_typed_since(gateway, mock_broker, tmp_path, browser):
    (tmp_path / "token").write_text("geheim")
    door = gateway(mock_broker.bootstrap, admin_token_file=str(tmp_path / "token"))

    def state():
        return browser.run("return document.getElementById('state').textContent")

    browser.go(f"http://{door.admin}/")
    eventually(lambda: state() == "token required", 30, lambda: f"the question; {state()}")
    browser.run(HOLD)
    browser.press("falsch", ENTER)
    eventually(lambda: state().startswith("refused: "), 30, lambda: f"the refusal; {state()}")
    browser.press("geheim", ENTER)
    eventually(lambda: state().startswith("ready"), 30, lambda: f"the page; {state()}")
    browser.run("window.letGo()")
    eventually(lambda: browser.run("return window.lateStatus") == 401, 30, "the late refusal")
    assert browser.run("return Object.values(sessionStorage)") == ["geheim"] and state().startswith("ready")
