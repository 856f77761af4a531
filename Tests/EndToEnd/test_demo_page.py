# Tests: DemoFiles.swift
"""The demo's page in a real browser: it changes by itself, by keyboard and without a network, through restarts, in two tabs."""

import contextlib
import pathlib
import re

import pytest

from clients import LiveClient
from demo import Demo
from programs import PROGRAMS, Program, eventually

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / ".build-results"
ENTER, TAB = "\uE007", "\uE004"

# Id and status of each row, as people see them.
ROWS = "return [...document.querySelectorAll('#rows li')].map(row => [row.querySelector('.small').textContent.split(' ')[0], " \
    "row.querySelector('.status').textContent])"

# How many incidents the page has kept for its next visit, both each by itself and in its list.
KEPT = """
    const [done] = arguments
    indexedDB.databases().then(all => {
        const request = indexedDB.open(all.find(({name}) => name.startsWith("livegate demo")).name)
        request.onsuccess = () => {
            const all = request.result.transaction("livegate.entries").objectStore("livegate.entries").getAll()
            all.onsuccess = () => {
                request.result.close()
                const list = all.result.find(({items}) => items)
                done(Math.min(all.result.filter(({number}) => number).length, list?.items.length ?? 0))
            }
        }
    })
"""


class Page:
    """The page in one tab of a browser."""

    def __init__(self, browser, demo):
        self.browser, self.demo = browser, demo
        browser.go(demo.page)

    def text(self, name):
        """Nothing while the page is still on its way."""
        return self.browser.run("return document.getElementById(arguments[0])?.textContent ?? ''", name)

    def rows(self):
        return dict(self.browser.run(ROWS))

    def open(self, incident):
        self.browser.run("location.hash = arguments[0]", incident)
        self.until(lambda: self.browser.run("return document.getElementById('facts').hidden") is False, "the details")

    def status(self):
        return self.browser.run("return [...document.querySelectorAll('#facts dd')].map(cell => cell.textContent)[1]")

    def press(self, button):
        self.browser.run("document.getElementById(arguments[0]).click()", button)

    def until(self, condition, what, within=60):
        place = "return [document.URL, document.readyState, document.body?.innerText.slice(0, 200)]"
        return eventually(condition, within, lambda: f"{what}; at {self.browser.run(place)}, "
                          f"sign {self.text('sign-text')!r}, told {self.text('told')!r}, "
                          f"details {self.text('details-note')!r}, rows {self.rows()}, log {self.browser.messages()}")

    def connected(self):
        self.until(lambda: self.text("sign-text") == "connected", "the connection")

    def change_offline(self, button, status):
        """Gives an incident this status without a network; the next one where the story was faster with the first."""
        for _ in range(20):
            incident = self.demo.open_incident()
            self.open(incident)
            self.browser.network(offline=True)
            self.until(lambda: self.text("sign-text") == "offline", "the sign")
            self.press(button)
            self.until(lambda: self.status() in (status, "resolved"), "what people see at once")
            if "wait to be sent" in self.text("list-note"):
                return incident
            self.browser.network(offline=False)
            self.connected()
        raise AssertionError("somebody else was always faster")

    def is_as_the_api(self):
        """Its rows are the newest that the API has, in their order, at a moment between two of its changes."""
        rows, listed = self.browser.run(ROWS), self.demo.ask("GET", "/api/incidents?limit=100")[2]["incidents"]
        return 0 < min(25, len(listed)) <= len(rows) and rows == [[one["id"], one["status"]] for one in listed][:len(rows)]

    def equals_api(self):
        self.until(self.is_as_the_api, "the same list as the API has")

    def sees_it_change(self):
        """An incident that it has shown as new, and that somebody else has acknowledged while it did."""
        def seen():
            incident = self.demo.open_incident()
            if not eventually(lambda: incident in self.rows(), 60, f"the row of {incident}") or \
                    self.rows()[incident] != "triggered":
                return None
            # Another one where the story was faster.
            return incident if self.demo.ask("POST", f"/api/incidents/{incident}/acknowledge")[0] == 200 else None
        incident = self.until(seen, "an incident that nobody has touched")
        self.until(lambda: self.rows().get(incident) in ("acknowledged", "resolved"), "the row that changes by itself")
        return incident


@pytest.fixture(scope="module")
def running():
    """One demo for all tests of this file."""
    with contextlib.ExitStack() as ending:
        def start(program, *words):
            started = Program(PROGRAMS / program, *words)
            ending.callback(started.end)
            return started
        yield Demo(start)


@pytest.fixture
def demo(running):
    yield running
    running.ask("DELETE", "/demo/trouble")


def test_list_and_details_change_by_themselves_in_each_tab_in_the_dark_and_on_a_phone(demo, browser):
    page = Page(browser, demo)
    page.connected()
    page.equals_api()
    incident = page.sees_it_change()
    first = browser.new_tab()
    # A second tab, in which somebody does something; the hidden one catches up.
    second = Page(browser, demo)
    second.connected()
    second.open(incident)
    second.press("resolve")
    second.until(lambda: second.status() == "resolved" and "to be sent" not in second.text("list-note"), "that it was sent")
    demo.ask("POST", f"/api/incidents/{incident}/notes", {"content": "<b>Das war's.</b>"})
    second.until(lambda: "<b>Das war's.</b>" in second.text("notes"), "the note, as it was written")
    browser.switch(first)
    page.until(lambda: page.rows().get(incident) == "resolved", "the change in the other tab")
    page.equals_api()
    page.open(incident)
    page.until(lambda: page.status() == "resolved", "the details")
    RESULTS.mkdir(exist_ok=True)
    browser.picture(RESULTS / "demo.png")
    browser.look(390, 800, dark=True)
    eventually(lambda: browser.run("return innerWidth") == 390, 30, "the phone's width")
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    colours = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    dark, light = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in browser.run(colours))
    assert dark < 150 and light > 600
    browser.picture(RESULTS / "demo-phone-dark.png")
    browser.run("location.hash = ''")
    page.until(lambda: browser.run("return document.getElementById('list').offsetHeight") > 0, "the list on a phone")
    assert browser.run("return document.documentElement.scrollWidth") <= 390


HEARD = {
    "header": ("banner", ""), "main": ("main", ""), "h1": ("heading", "Incidents"), ".skip": ("link", "Skip to the list"),
    "#sign": ("status", ""), "#told": ("status", ""), "#list": ("region", "Newest first"), "#rows": ("list", ""),
    "#actions": ("group", "What to do"), "#acknowledge": ("button", "Acknowledge"),
    "#resolve": ("button", "Resolve"), "#notes": ("list", "Notes"), "#note": ("textbox", "New note"),
    "#note-form button": ("button", "Add it"),
}


def test_everything_is_reached_by_keyboard_and_has_the_role_and_name_that_a_screen_reader_says(demo, browser):
    page = Page(browser, demo)
    page.connected()
    page.until(page.rows, "the rows")
    focus = "const it = document.activeElement; return [it.id || it.className, it.hash ?? '']"
    browser.press(TAB)
    assert browser.run(focus) == ["skip", "#list"]
    browser.press(ENTER)
    page.until(lambda: browser.run(focus)[0] == "list", "the list, which has the focus")
    browser.press(TAB)
    assert browser.run("return document.activeElement.closest('#rows li') !== null")
    incident = browser.run(focus)[1]
    browser.press(ENTER)
    page.until(lambda: browser.run(focus)[0] == "details", "the details, which have the focus")
    assert browser.run("return location.hash") == incident
    # To the form, and send.
    browser.run("document.getElementById('note').focus()")
    browser.press("Aus der Seite", TAB)
    assert browser.run("return document.activeElement.textContent") == "Add it"
    browser.press(ENTER)
    page.until(lambda: "Aus der Seite" in page.text("notes"), "the note of the page")
    page.until(lambda: page.text("told") == "The note was added.", "what was done")
    # The story may have written a note behind it.
    notes = demo.ask("GET", f"/api/incidents/{incident.removeprefix('#')}")[2]["notes"]
    assert [note["content"] for note in notes].count("Aus der Seite") == 1
    landmarks = "return ['header', 'main', '[role=status]'].map(name => document.querySelectorAll(name).length)"
    assert browser.run(landmarks) == [1, 1, 2]
    assert {part: browser.heard(part) for part in HEARD} == HEARD
    title = page.text("details-title")
    assert title and browser.heard("#details") == ("region", title)
    role, name = browser.heard("#rows li a")
    assert role == "link" and re.search(r"triggered|acknowledged|resolved", name), name
    browser.run("location.hash = ''")
    # It was said of what is not looked at any more.
    page.until(lambda: page.text("told") == "", "what was done, which is gone")
    # It counts what events bring, and who reloads the page by hand.
    counted = r"Refreshed by events: (\d+), by hand: (\d+)\. On the screen within half a second: (\d+) of (\d+)\."
    before = page.until(lambda: (found := re.search(counted, page.text("counts"))) and "0" not in found.group(1, 4) and found,
                        "what an event has brought")
    browser.run("location.reload()")
    after = page.until(lambda: (found := re.search(counted, page.text("counts"))) and found[2] != before[2] and found,
                       "that somebody has reloaded it")
    assert int(after[2]) == int(before[2]) + 1 and int(after[1]) >= int(before[1])


def test_what_is_done_without_a_network_is_kept_and_sent_once(demo, browser, ends_with_test):
    live = ends_with_test(LiveClient(demo, demo.token, with_="at"))
    page = Page(browser, demo)
    page.connected()
    incident = page.change_offline("resolve", "resolved")
    # It outlives the page, and lost answers change nothing: it is sent again with its key.
    demo.ask("PUT", "/demo/trouble?fail_after=503")
    browser.network(offline=False)

    def resolved_events():
        return [event["type"] for event in live.events if event["id"] == incident].count("resolved")
    page.until(lambda: resolved_events() == 1, "that it was sent")
    browser.go(demo.page + "?again")
    demo.ask("DELETE", "/demo/trouble")
    page.until(lambda: page.text("sign-text") == "connected" and "to be sent" not in page.text("list-note")
               and page.rows().get(incident) == "resolved", "that the page knows")
    page.equals_api()
    assert resolved_events() == 1


def test_it_goes_on_after_the_api_failed_the_broker_was_away_and_everything_was_restarted(demo, browser):
    page = Page(browser, demo)
    page.connected()
    page.until(lambda: browser.wait(KEPT) > 0, "that something is kept")
    demo.ask("PUT", "/demo/trouble?fail=503")
    page.until(lambda: page.text("sign-text") == "connecting", "that what was announced cannot be fetched")
    # The next visit has nobody to ask, and shows what this one knew.
    browser.go(demo.page + "?again")
    page.until(lambda: page.rows() and page.text("sign-text") == "connecting",
               "what was known before, and that nothing can be fetched")
    demo.ask("DELETE", "/demo/trouble")
    page.connected()
    page.equals_api()
    incident = demo.open_incident()
    page.until(lambda: incident in page.rows(), "its row")
    demo.ask("PUT", "/demo/trouble?broker=down")
    page.until(lambda: page.text("sign-text") == "the source of events is silent", "that nothing is heard of changes", 120)
    demo.ask("POST", f"/api/incidents/{incident}/resolve")
    demo.ask("DELETE", "/demo/trouble")
    page.until(lambda: page.rows().get(incident) == "resolved", "what happened meanwhile")
    page.connected()
    page.equals_api()
    before, token = set(page.rows()), demo.token
    demo.stop()
    page.until(lambda: page.text("sign-text") in ("connecting", "cannot connect"), "the sign")
    assert set(page.rows()) >= before, "what was known before is gone"
    demo.run()
    assert demo.token != token
    page.connected()
    # The new one begins with nothing, so that no row of before may stay.
    page.equals_api()
