"""A headless Chromium, driven by chromedriver over plain HTTP (W3C WebDriver)."""

import base64
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.request

from brokers import unavailable
from programs import PATIENCE, eventually


class Browser:
    def __init__(self, folder):
        program, driver = shutil.which("chromium"), shutil.which("chromedriver")
        if not program or not driver:
            unavailable("no chromium or no chromedriver: install the packages chromium and chromium-driver")
        self.address = f"http://127.0.0.1:{self._begin(driver, folder / 'chromedriver.log')}"
        eventually(self._is_ready, 30, "chromedriver")
        arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     f"--user-data-dir={folder / 'profile'}"]
        # Its sandbox wants rights that root has not got in a container.
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        options = {"goog:chromeOptions": {"args": arguments, "binary": program},
                   "timeouts": {"script": int(100_000 * PATIENCE), "pageLoad": int(100_000 * PATIENCE)}}
        session = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": options}})
        self.session = f"/session/{session['sessionId']}"

    def _begin(self, driver, file):
        """Starts the driver; the port that it has chosen. It takes one of IPv6 and then the same of IPv4, and ends where somebody
        else has that: then it is to choose again."""
        def chosen():
            has_ended = self.driver.poll() is not None
            text = file.read_text()
            if has_ended:
                assert "port not available" in text, text
                self._start(driver, file)
            return re.search(r"successfully on port (\d+)", text)
        self._start(driver, file)
        return eventually(chosen, 30, "the port of chromedriver")[1]

    def _start(self, driver, file):
        self.log = open(file, "wb")
        self.driver = subprocess.Popen([driver, "--port=0"], stdout=self.log, stderr=self.log)

    def _is_ready(self):
        try:
            return self._ask("GET", "/status")["ready"]
        except OSError:
            return False

    def _ask(self, method, path, body=None):
        request = urllib.request.Request(
            self.address + path, None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120 * PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()[:1000]) from None

    def go(self, url):
        """Opens a page, whose scripts are gone with the next one. A browser that says so and still shows its own empty page,
        which is nobody's answer, is asked once more."""
        for _ in range(2):
            self._ask("POST", self.session + "/url", {"url": url})
            if not self.run("return document.URL").startswith(("about:blank", "data:")):
                return

    def back(self):
        self._ask("POST", self.session + "/back", {})

    def run(self, script, *arguments):
        """What a script returns, run in the page as the body of a function."""
        return self._ask("POST", self.session + "/execute/sync", {"script": script, "args": arguments})

    def wait(self, script, *arguments):
        """What a script gives to its last argument, a function."""
        return self._ask("POST", self.session + "/execute/async", {"script": script, "args": arguments})

    def press(self, *texts):
        """Presses and releases keys, one after the other, wherever the focus is; special ones as WebDriver numbers them."""
        steps = [{"type": kind, "value": key} for text in texts for key in text for kind in ("keyDown", "keyUp")]
        self._ask("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keys", "actions": steps}]})

    def heard(self, selector):
        """What a screen reader says of the first element that a selector finds: its role and its name."""
        element = self._ask("POST", self.session + "/element", {"using": "css selector", "value": selector})
        path = f"{self.session}/element/{next(iter(element.values()))}"
        return self._ask("GET", path + "/computedrole"), self._ask("GET", path + "/computedlabel")

    def _command(self, name, **parameters):
        self._ask("POST", self.session + "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def look(self, width, height, dark=False):
        """Another screen, and whether its owner likes it dark."""
        self._command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._command("Emulation.setEmulatedMedia", features=[scheme])

    def network(self, offline):
        """Whether the pages of this tab have a network."""
        self._command("Network.enable")
        self._command("Network.emulateNetworkConditions", offline=offline, latency=0, downloadThroughput=-1,
                      uploadThroughput=-1)

    def messages(self):
        """What the pages have written to their console, since it was asked for."""
        return [entry["message"] for entry in self._ask("POST", self.session + "/se/log", {"type": "browser"})]

    @property
    def tab(self):
        """The tab that commands go to, for ``switch``."""
        return self._ask("GET", self.session + "/window")

    def new_tab(self, kind="tab"):
        """Opens a tab and goes there; the one before, for ``switch``. With `window` both are looked at."""
        before = self.tab
        self.switch(self._ask("POST", self.session + "/window/new", {"type": kind})["handle"])
        return before

    def close_tab(self):
        """Commands go to none before ``switch``."""
        self._ask("DELETE", self.session + "/window")

    def forget_cookies(self):
        """Of all pages: cookies know no ports, so that one of a test before would be sent along."""
        self._command("Network.clearBrowserCookies")

    def close_all_but(self, kept):
        for handle in self._ask("GET", self.session + "/window/handles"):
            if handle != kept:
                self.switch(handle)
                self.close_tab()
        self.switch(kept)

    def freeze(self, frozen):
        """As a browser does with a tab that was hidden for long, which hides it; its scripts run no more until it is thawed."""
        self._command("Page.setWebLifecycleState", state="frozen" if frozen else "active")

    def switch(self, handle):
        self._ask("POST", self.session + "/window", {"handle": handle})

    def picture(self, file):
        file.write_bytes(base64.b64decode(self._ask("GET", self.session + "/screenshot")))

    def end(self):
        try:
            self._ask("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait(20 * PATIENCE)
            self.log.close()

    def kill(self):
        """Ends it at once with all its processes, as the end of a phone's battery does."""
        children = {}
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                children.setdefault(int(stat.read_text().rpartition(")")[2].split()[1]), []).append(int(stat.parent.name))
            except OSError:
                pass  # it has ended
        below = [self.driver.pid]
        for pid in below:
            below += children.get(pid, [])
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.driver.wait(20 * PATIENCE)
        self.log.close()
