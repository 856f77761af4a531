"""Apps in pages of headless Chromium: some browsers, each with several windows, all of which can be seen."""

import json
import random
import threading
import time

from browser import Browser
from programs import PATIENCE

# Between two visits of one of them by the user who closes a page and opens it again.
REST = (1, 4)


class Pages:
    """So many windows, of which a browser has a few. While nobody is calm, one after the other is loaded anew."""

    def __init__(self, folder, live, api, accounts, count, seed, windows):
        """A browser takes some 200 MB, each window more of it some 40."""
        self.of_each = windows
        self.live, self.api, self.random = live, api, random.Random(f"pages {seed}")
        self.lock, self.stopping = threading.Lock(), threading.Event()
        self.browsers, self.windows, self.failure = [], [], None
        try:
            for at in range(count):
                self._open(folder, at, accounts[at % len(accounts)])
        except BaseException:
            self._close()
            raise
        self.thread = threading.Thread(target=self._play, daemon=True)
        self.thread.start()

    def _open(self, folder, at, account):
        if at % self.of_each == 0:
            profile = folder / f"browser-{at // self.of_each}"
            profile.mkdir(exist_ok=True)
            self.browsers.append(Browser(profile))
        browser = self.browsers[-1]
        if at % self.of_each > 0:
            # A tab behind another one is hidden, and would be in the background.
            browser.new_tab("window")
        handle = browser.tab
        url = f"{self.api}/Tests/Chaos/page/index.html?name=page{at}&account={account}&live=http://{self.live}"
        self.windows.append((browser, handle, url))
        self._visit(self.windows[-1])

    def _visit(self, window):
        """Loads the page, again where its scripts did not come."""
        browser, handle, url = window
        end = time.monotonic() + 120 * PATIENCE
        problem = "its scripts did not come"
        while True:
            try:
                with self.lock:
                    browser.switch(handle)
                    browser.go(url)
                    if browser.run("return window.app !== undefined"):
                        return
            except AssertionError as failure:
                problem = failure
            assert time.monotonic() < end, f"{url} cannot be loaded: {problem}"

    def _play(self):
        try:
            while not self.stopping.wait(self.random.uniform(*REST)):
                self._visit(self.random.choice(self.windows))
        except Exception as failure:  # noqa: BLE001: told by the one who waits
            self.failure = failure

    def _run(self, script):
        answers = []
        for browser, handle, url in self.windows:
            with self.lock:
                browser.switch(handle)
                answers.append(json.loads(browser.run(f"return JSON.stringify(window.failure ?? {script})")))
            assert not isinstance(answers[-1], str), f"{url}: {answers[-1]}"
        return answers

    def reports(self):
        if self.failure:
            raise AssertionError(f"the pages: {self.failure!r}")
        return self._run("window.app.report()")

    def calm(self):
        self.stopping.set()
        self.thread.join(300 * PATIENCE)
        self._run("(window.app.calm(), true)")

    def _close(self):
        for browser in self.browsers:
            browser.kill()

    def end(self):
        self.stopping.set()
        self.thread.join(60)
        self._close()
