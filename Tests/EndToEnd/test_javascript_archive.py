"""The JavaScript module's archive on a real gateway: two devices of one person in Node, and a page of another origin in Chromium, which
page back, go live and read."""

import json
import os
import shutil

import pytest

from archives import archive_line
from livepage import LivePage, Pages
from programs import ROOT, Program, eventually

DEVICES = ROOT / "Tests/JavaScript/devices.js"

# In a page with a client: its inbox, a mark of all that is in the first line, and the inbox behind it.
READ_FIRST = """
    const [done] = arguments
    import("/archive.js").then(async ({ LiveArchive }) => {
        const archive = new LiveArchive(window.client), before = await archive.inbox({ limit: 1 })
        const told = new Promise(read => window.client.subscribe(update => { if (update.read) read(update.read) }))
        await archive.markRead({ thing: before.things[0].thing, upTo: before.things[0].last.aid })
        const [read, after] = [await told, await archive.inbox({ limit: 1 })]
        done({ before, read, after })
    }).catch(error => done(String(error)))
"""


class Devices:
    """Both devices: `devices("page", {…})` gives what devices.js says of it."""

    def __init__(self, door, token):
        self.program = Program("node", DEVICES, f"http://{door.host}", token)
        self.program.line("open", 20)

    def __call__(self, *words):
        asked = len(self.program.out)
        self.program.send(json.dumps(words))
        eventually(lambda: len(self.program.out) > asked, 20, lambda: f"{words}: {self.program.told()}")
        answer = json.loads(self.program.out[asked])
        assert len(answer) == 1, answer
        return answer.get("value") if "value" in answer else answer["error"]

    def end(self):
        self.program.end()


@pytest.fixture
def devices(tokens, ends_with_test):
    if shutil.which("node") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("there is no node")

    def begin(door, person="amy"):
        token = tokens.signed("PACC1", sub=person) if person else tokens.token("PACC1")
        return ends_with_test(Devices(door, token))
    return begin


def as_told(event):
    """An event of the module as the server has it."""
    return {"ent": event["entity"], **{name: event[name] for name in ("id", "type", "ts", "aid")}}


def unread(inbox):
    return [(line["thing"]["id"], line["unread"]) for line in inbox["things"]], inbox["unreadThings"]


def test_two_devices_show_the_past_and_what_is_unread(archived, gateway, mock_broker, archive, tell, past, devices):
    door = archived()
    eventually(lambda: archive_line(door) == "[+]archive ok", 20, "the archive")
    for number in range(23):
        tell([f"T{number % 7}"], partition=number % 4)
    tell(["secret"], account="PACC2")
    eventually(lambda: len(archive.ids) == 24, 20, "the events")
    amy, ask = past(door, "amy"), devices(door)
    whole = amy.page()["events"]

    # Pages, in both orders; the first says where to be live from.
    pages = ask("pages", {"limit": 4})
    assert [as_told(event) for page in pages for event in page["events"]] == whole
    assert [("at" in page, page["more"], page["gaps"]) for page in pages] == [(True, True, [])] + 4 * [(False, True, [])] + [
        (False, False, [])]
    forth = ask("pages", {"limit": 5, "order": "oldestFirst", "after": whole[-1]["aid"]})
    assert [as_told(event) for page in forth for event in page["events"]] == whole[:-1][::-1]
    one = {"thing": {"entity": "incident", "id": "T3"}, "to": whole[0]["ts"] + 1, "from": 0}
    assert [as_told(event) for event in ask("page", one)["events"]] == [event for event in whole if event["id"] == "T3"]
    # An id of another account is a moment, and one that nobody has given a bug.
    secret = past(door, account="PACC2").page()["events"][0]["aid"]
    assert [as_told(event) for event in ask("page", {"before": secret, "limit": 2})["events"]] == whole[:2]
    assert ask("page", {"before": "x&limit=1"}) == "badRequest"

    # A list that is loaded from its newest end, and to which what comes live belongs.
    ask("show", 8)

    def shown(events, is_complete=False):
        stretch = (ask("list") or {}).get("stretch") or {"ids": None}
        return stretch == {"ids": [event["aid"] for event in events], "isComplete": is_complete, "isStale": False}
    # Two pages of five have as many.
    eventually(lambda: shown(whole[:10]), 20, lambda: ask("list"))
    tell(["new"])

    def live(index):
        return [as_told(update["event"]) for update in ask("updates", index) if "event" in update]
    new = eventually(lambda: live(1), 20, "the new event")
    assert new == amy.page(limit=1)["events"]
    eventually(lambda: shown(new + whole[:10]), 20, lambda: ask("list"))
    ask("show", 100)
    eventually(lambda: shown(new + whole, True), 20, lambda: ask("list"))

    # What is unread, on both devices: at once, or by an action that was kept without a network.
    lines = [line for page in ask("inboxPages", {"limit": 3}) for line in page["things"]]
    assert [(line["thing"]["id"], line["unread"]) for line in lines] == unread(ask("inbox", 0, {}))[0]
    assert unread(ask("inbox", 1, {}))[1] == len(lines) == 8
    marks = [{"thing": lines[0]["thing"], "upTo": lines[0]["last"]["aid"]},
             {"thing": lines[1]["thing"], "upTo": lines[1]["last"]["aid"]}, {"upTo": lines[3]["last"]["aid"]}]
    assert ask("mark", marks[0]) is None and ask("markLater", marks[1]) == 1 and ask("mark", marks[2]) is None
    # One that would go back is none, and told to nobody.
    assert ask("mark", {"upTo": lines[5]["last"]["aid"]}) is None

    def told(index):
        return [update["read"] for update in ask("updates", index) if "read" in update]
    for index in (0, 1):
        eventually(lambda: told(index) == marks, 20, lambda: told(index))
        assert unread(ask("inbox", index, {}))[1] == 1
    assert [line["thing"]["id"] for line in ask("inbox", 1, {"isUnreadOnly": True})["things"]] == [lines[2]["thing"]["id"]]

    # Who is nobody has no inbox, and a node without an archive says so.
    assert devices(door, None)("inbox", 0, {}) == "forbidden"
    bare = devices(gateway(mock_broker.bootstrap))
    assert [bare("page", {}), bare("inbox", 0, {}), bare("mark", marks[2])] == ["off"] * 3


def test_a_page_of_another_origin_reads_its_inbox(archived, archive, tell, past, tokens, browser, ends_with_test):
    pages = ends_with_test(Pages())
    door = archived(auth__origins=[pages.origin])
    eventually(lambda: archive_line(door) == "[+]archive ok", 20, "the archive")
    tell(["A", "B", "A"])
    eventually(lambda: len(archive.ids) == 3, 20, "the events")
    page = LivePage(browser, pages.origin, door.host, tokens.signed("PACC1", sub="amy"),
                    asksForEventIDs=True)
    found = page.browser.wait(READ_FIRST)
    assert isinstance(found, dict), found
    assert [unread(found[name]) for name in ("before", "after")] == [([("A", 2)], 2), ([("A", 0)], 1)]
    line = found["before"]["things"][0]
    assert found["read"] == {"thing": line["thing"], "upTo": line["last"]["aid"]}
    assert as_told(line["last"]) == past(door, "amy").page(limit=1)["events"][0]
