"""The pages of the documentation, made by `docc` and opened in a real browser."""

import contextlib
import functools
import http.server
import importlib.util
import re
import subprocess
import threading
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from programs import PATIENCE, PROGRAMS, ROOT, eventually

pytestmark = [pytest.mark.slow, pytest.mark.unsanitized]

BASE = "/livegate/"
RESULTS = ROOT / ".build-results"


def maker():
    """The program that makes the pages, as a module."""
    loader = SourceFileLoader("site_make", str(ROOT / "deploy/site/make"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("site_make", loader))
    loader.exec_module(module)
    return module


class Files(http.server.SimpleHTTPRequestHandler):
    """A server of files, with the pages in a folder of their own."""

    def translate_path(self, path):
        return super().translate_path("/" + path.removeprefix(BASE) if path.startswith(BASE) else "/nothing")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Made with pictures of two kinds of which one is there."""
    into = tmp_path_factory.mktemp("site")
    (into / "status.png").write_bytes(b"\x89PNG")
    done = subprocess.run([ROOT / "deploy/package", "docs", "--programs", PROGRAMS, "--into", into, "--base", BASE, "--pictures", into],
                          capture_output=True, text=True, timeout=300 * PATIENCE)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def site(folder):
    with contextlib.ExitStack() as stack:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=folder))
        stack.callback(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)
        yield f"http://127.0.0.1:{server.server_address[1]}{BASE}"


def colours(browser):
    """How light the ground is, and how light the ink."""
    script = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    return [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in browser.run(script)]


def asked_elsewhere(browser, site):
    """What the page has loaded from other servers."""
    origin = site.removesuffix(BASE)
    loaded = browser.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
    return [name for name in loaded if not name.startswith(origin)]


def phone_in_the_dark(browser):
    browser.look(390, 800, dark=True)
    eventually(lambda: browser.run("return innerWidth") == 390, 30, "the phone's width")


def found(browser):
    return browser.run("return [...document.querySelectorAll('#found a')].map(link => [link.textContent, link.href])")


def test_the_front_page_has_three_ways_in_on_a_phone_in_the_dark(browser, site, folder):
    browser.go(site)
    assert browser.run("return [...document.querySelectorAll('h2')].map(head => head.textContent)") == [
        "I run it", "I build an app on it", "I change it"]
    assert colours(browser)[0] > 600
    phone_in_the_dark(browser)
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    ground, ink = colours(browser)
    assert ground < 150 and ink > 600
    assert asked_elsewhere(browser, site) == []
    # The picture that the tests have left, and no other.
    assert browser.run("return [...document.querySelectorAll('img')].map(image => image.getAttribute('src'))") == ["status.png"]
    RESULTS.mkdir(exist_ok=True)
    browser.picture(RESULTS / "site-phone-dark.png")


def test_the_search_leads_to_a_section_which_the_page_shows(browser, site):
    browser.go(site)
    assert browser.heard("#words") == ("searchbox", "Search the documentation")
    browser.run("document.getElementById('words').focus()")
    browser.press("max_pending_bytes")
    eventually(lambda: found(browser), 30, "something that was found")
    assert any(name.startswith("Limits") for name, _ in found(browser)), found(browser)
    browser.go(site + "?q=close%20codes%20protocol")
    name, address = eventually(lambda: found(browser), 30, "something that was found")[0]
    assert "/documentation/liveclient/protocol/" in address, (name, address)
    browser.go(address)
    eventually(lambda: "4401" in browser.run("return document.body.innerText"), 60, "the article")
    browser.go(site + "?q=xyzzy")
    eventually(lambda: browser.run("return document.getElementById('count').textContent") == "Nothing found.", 30, "the answer")


@pytest.mark.parametrize("path, text", [
    ("documentation/gateway/security/", "What a node promises"), ("documentation/liveclient/livemachine/", "LiveMachine"),
    ("documentation/gateway/", "Installing"),
])
def test_a_page_is_read_on_a_phone_in_the_dark(browser, site, path, text):
    browser.go(site + path)
    phone_in_the_dark(browser)
    eventually(lambda: text in browser.run("return document.body.innerText"), 60, "the article")
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    ground, ink = colours(browser)
    assert ground < 150 and ink > 600
    assert asked_elsewhere(browser, site) == []
    # Each page leads back to the front page.
    back = "return document.querySelector('custom-header')?.shadowRoot?.querySelector('a')?.href"
    assert eventually(lambda: browser.run(back), 30, "the head of the page") == site


def test_a_link_that_leads_nowhere_is_found(folder, tmp_path):
    make = maker()
    pages = make.pages_of(folder)
    assert make.broken_links(folder, pages) == []
    page = pages["/documentation/gateway/demo"]
    for url, is_broken in [("/documentation/gateway/demo", False), ("/documentation/gateway/nowhere", True),
                           ("/documentation/gateway/demo#What-it-serves", False), ("/documentation/gateway/demo#No-such", True),
                           ("http://sqlite.org/", True), ("https://sqlite.org/", False)]:
        page.data["references"]["tried"] = {"url": url}
        assert make.broken_links(folder, pages) == ([f"/documentation/gateway/demo: {url}"] if is_broken else [])
    del page.data["references"]["tried"]
    text = (folder / "index.html").read_text()
    (tmp_path / "index.html").write_text(text + '<a href="documentation/gateway/nowhere/">')
    front = [line for line in make.broken_links(tmp_path, pages) if line.endswith("nowhere/")]
    assert front == ["the front page: documentation/gateway/nowhere/"]
