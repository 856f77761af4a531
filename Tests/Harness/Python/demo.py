"""A running `livegate demo`, and its API as its own account asks it."""

import json
import urllib.error
import urllib.request

from ports import Port
from programs import PATIENCE, eventually


class Demo:
    def __init__(self, start, *words, port=None, api_port=None):
        # It takes no port 0, and is to have the same ones when it runs again.
        self.start, self.kept = start, (Port(), Port())
        self.ports = port or self.kept[0].number, api_port or self.kept[1].number
        self.run(*words)

    def run(self, *words):
        port, api_port = self.ports
        self.program = self.start("livegate", "demo", f"--port={port}", f"--api-port={api_port}", *words)
        line = self.program.line("livecat -c ", 60)
        self.token = line.partition("Bearer ")[2].strip('"')
        told = dict(text.split(None, 1) for text in self.program.out if text)
        self.live, self.api = told["address"], told["api"].removesuffix("/api/incidents")
        self.page = told["page"]
        # As the harness opens connections to gateways.
        self.host = self.live.removeprefix("http://").removesuffix("/live/v1")
        self.url = self.live.replace("http", "ws", 1)

    def ask(self, method, path, body=None, token=None, **fields):
        """Status, header and body, which is JSON."""
        fields = {name.replace("_", "-"): value for name, value in fields.items()}
        request = urllib.request.Request(
            self.api + path, None if body is None else json.dumps(body).encode(),
            {"Authorization": "Bearer " + (self.token if token is None else token), **fields}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60 * PATIENCE) as answer:
                return answer.status, answer.headers, json.loads(answer.read() or "null")
        except urllib.error.HTTPError as error:
            return error.code, error.headers, json.loads(error.read() or "null")

    def get(self, path):
        """Status, header and bytes of a file, without a token."""
        try:
            with urllib.request.urlopen(self.api + path, timeout=60 * PATIENCE) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def open_incident(self, besides=()):
        """One that is triggered; the story goes on meanwhile."""
        def find():
            found = self.ask("GET", "/api/incidents?status=open")[2]["incidents"]
            return next((incident["id"] for incident in found
                         if incident["status"] == "triggered" and incident["id"] not in besides), None)
        return eventually(find, 60, "an incident")

    def stop(self):
        self.program.signal()
        assert self.program.wait(30) == 0, self.program.told()
