"""Clients that know cursors: a WebSocket, an event stream and /sync/v1, each read as strictly as the protocol is written."""

import http.client
import json
import threading
from dataclasses import dataclass
from urllib.parse import urlencode

import pytest

from clients import Client
from programs import PATIENCE, eventually
from rawclient import connect


# What stands for a cursor in a pattern: characters that need no escape in a URL.
CURSOR = "[A-Za-z0-9_-]+"


def query(words):
    """`with_="at,ts"` becomes `?with=at,ts`; what stands under `raw` is taken as it is."""
    raw = words.pop("raw", None)
    text = "&".join(filter(None, [urlencode({name.rstrip("_"): word for name, word in words.items()}, safe=","), raw]))
    return f"?{text}" if text else ""


def cursor_of(message):
    """The cursor of a message, wherever it stands; None where it carries none."""
    for place in (message, *message.values()):
        if isinstance(place, dict) and "at" in place:
            return place["at"]
    return None


class LiveClient(Client):
    """A WebSocket; its messages are events or control messages."""

    def __init__(self, gateway, token, **words):
        self.read = []
        super().__init__(gateway.url + query(words), token)

    @property
    def messages(self):
        # Asked for again and again while thousands come: each text is looked at once.
        self.read += [json.loads(text) for text in self.texts[len(self.read):]]
        return self.read

    @property
    def events(self):
        return [message for message in self.messages if "ent" in message]

    def controls(self, name):
        return [message[name] for message in self.messages if name in message and "ent" not in message]

    def wait_for_control(self, name, count=1, within=20.0):
        """What stands inside the `count`-th control message of this name."""
        self._wait(lambda: len(self.controls(name)) >= count, within, f"{name} number {count}")
        return self.controls(name)[count - 1]

    def wait_for_events(self, count, within=20.0):
        self._wait(lambda: len(self.events) >= count, within, f"event {count}")
        return self.events

    def _wait(self, condition, within, what):
        try:
            eventually(condition, within, what)
        except AssertionError as failure:
            raise AssertionError(f"{failure}; closed {self.closed}, last of {len(self.texts)}: {self.texts[-3:]}") from None

    @property
    def cursors(self):
        """All that were given, in their order."""
        return [cursor for cursor in map(cursor_of, self.messages) if cursor]


@dataclass
class Event:
    """One event of an event stream: None where a field is missing."""
    name: str | None
    id: str | None
    data: str

    @property
    def json(self):
        return json.loads(self.data)


class EventStream:
    """A GET for an event stream; what comes is kept as bytes by a thread until the server ends it."""

    def __init__(self, gateway, token, headers=(), **words):
        self.socket = connect(gateway.host, 60 * PATIENCE)
        lines = [f"GET /live/v1{query(words)} HTTP/1.1", "Host: localhost", "Accept: text/event-stream",
                 f"Authorization: Bearer {token}", *headers]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        received = b""
        while b"\r\n\r\n" not in received:
            chunk = self.socket.recv(4096)
            assert chunk, received
            received += chunk
        head, _, self.body = received.partition(b"\r\n\r\n")
        self.status, *fields = head.decode().split("\r\n")
        self.fields = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
        self.has_ended = False
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        try:
            while chunk := self.socket.recv(65536):
                self.body += chunk
        except OSError:
            pass
        self.has_ended = True

    @property
    def blocks(self):
        """What is complete, without the empty lines that end it."""
        body = self.body.decode()
        assert "\r" not in body and "\0" not in body
        return body.split("\n\n")[:-1]

    @property
    def events(self):
        found = []
        for block in self.blocks:
            lines = [line for line in block.split("\n") if not line.startswith(":")]
            fields = [line.partition(": ")[::2] for line in lines if line]
            names = [name for name, _ in fields]
            if names in ([], ["retry"]):
                continue
            # In this order, and each at most once.
            assert names in (["event", "id", "data"], ["event", "data"], ["id", "data"]), block
            found.append(Event(*(dict(fields).get(name) for name in ("event", "id", "data"))))
        return found

    @property
    def messages(self):
        return [event for event in self.events if event.name is None]

    @property
    def ids(self):
        return [event.json["id"] for event in self.messages]

    @property
    def comments(self):
        return [line for block in self.blocks for line in block.split("\n") if line.startswith(":")]

    def wait_for(self, name, count=1, within=20.0):
        """The `count`-th event of this name; None is a message."""
        def found():
            return [event for event in self.events if event.name == name][count - 1:count]
        return eventually(found, within, f"{name} number {count}; {self.body[-400:]}")[0]

    def wait_until_ended(self, within=10.0):
        eventually(lambda: self.has_ended, within, "the end of the event stream")

    def end(self):
        self.socket.close()


@dataclass
class Answer:
    status: int
    fields: dict
    text: str

    @property
    def body(self):
        return json.loads(self.text)


class Sync:
    """One connection to /sync/v1, which is never opened again: an answer after another proves that it was kept."""

    def __init__(self, gateway, token):
        self.http = http.client.HTTPConnection(gateway.host, timeout=60 * PATIENCE)
        self.http.connect()
        self.http.auto_open = 0
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def ask(self, method="GET", **words):
        self.send(method, **words)
        return self.answer()

    def send(self, method="GET", **words):
        self.http.request(method, "/sync/v1" + query(words), headers=self.headers)

    def answer(self):
        answer = self.http.getresponse()
        fields = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, fields, answer.read().decode())

    def page(self, **words):
        """The body of a 200."""
        answer = self.ask(**words)
        assert answer.status == 200, answer
        return answer.body

    def end(self):
        self.http.close()


def _opening(kind):
    """A fixture that opens clients of this kind: `live(gateway, account, since=…)`. They end with the test."""
    @pytest.fixture
    def opening(tokens):
        opened = []

        def begin(gateway, account="PACC1", **options):
            opened.append(kind(gateway, tokens.token(account), **options))
            return opened[-1]

        yield begin
        for client in opened:
            client.end()
    return opening


live, event_stream, sync = _opening(LiveClient), _opening(EventStream), _opening(Sync)
