"""Clients that read as strictly as the protocol is written, one of each kind: a WebSocket, an event stream, /sync/v1.

Each is read by a thread of its own; with `context`, an SSL context, it speaks TLS. Thousands at once, and those that misbehave, are in `rawclient`."""

import http.client
import json
import threading
from dataclasses import dataclass

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect as connect_websocket

from programs import PATIENCE, eventually
from secure import SecureSocket
from wire import connect, cursor_of, event_of, event_stream_request, query


def connection(gateway, context):
    """A socket to a gateway or to what stands before it, over TLS where there is a context."""
    plain = plain_connection(gateway)
    return context.wrap_socket(plain, server_hostname="localhost") if context else plain


def plain_connection(gateway):
    return connect(gateway.host, 60 * PATIENCE, source=getattr(gateway, "source", None))


class LiveClient:
    """PyPI's `websockets`, read until it is closed. Its messages are events or control messages."""

    def __init__(self, gateway, token, context=None, **words):
        plain = plain_connection(gateway)
        self.socket = connect_websocket(
            gateway.url + query(words), sock=SecureSocket(plain, context, "localhost") if context else plain,
            additional_headers={"Authorization": f"Bearer {token}"}, compression=None, max_size=None, ping_interval=None,
            open_timeout=20 * PATIENCE)
        self.texts, self.read = [], []
        self.closed = None
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        try:
            while True:
                self.texts.append(self.socket.recv())
        except ConnectionClosed as end:
            self.closed = end.rcvd.code if end.rcvd else 1006

    @property
    def messages(self):
        # Asked for again and again while thousands come: each text is parsed once.
        self.read += [json.loads(text) for text in self.texts[len(self.read):]]
        return self.read

    @property
    def events(self):
        return [message for message in self.messages if "ent" in message]

    @property
    def ids(self):
        return [message["id"] for message in self.events]

    def controls(self, name):
        return [message[name] for message in self.messages if name in message and "ent" not in message]

    @property
    def cursors(self):
        """All that were given, in their order."""
        return [cursor for cursor in map(cursor_of, self.messages) if cursor]

    def wait_for(self, count, within=20.0):
        """The messages, once there are `count`."""
        self._wait(lambda: len(self.texts) >= count, within, f"message {count}")
        return self.messages

    def wait_for_events(self, count, within=20.0):
        self._wait(lambda: len(self.events) >= count, within, f"event {count}")
        return self.events

    def wait_for_control(self, name, count=1, within=20.0):
        """What stands inside the `count`-th control message of this name."""
        self._wait(lambda: len(self.controls(name)) >= count, within, f"{name} number {count}")
        return self.controls(name)[count - 1]

    def wait_for_id(self, wanted, within=20.0):
        """The ids, once `wanted` has come. Each message is compared once."""
        seen = 0

        def came():
            nonlocal seen
            messages = self.messages
            until = len(messages)
            found = any(message.get("id") == wanted for message in messages[seen:until])
            seen = until
            return found
        self._wait(came, within, f"id {wanted}")
        return self.ids

    def wait_until_closed(self, within=10.0):
        eventually(lambda: self.closed is not None, within, "the end of the connection")
        return self.closed

    def _wait(self, condition, within, what):
        eventually(condition, within, lambda: f"{what}; closed {self.closed}, last of {len(self.texts)}: {self.texts[-3:]}")

    def end(self):
        self.socket.close()
        self.reader.join(5)


def served(client):
    """What stands inside the `live` of a client that was given what it asked for. A `live` follows a resync as well: where one
    was told, this fails."""
    live = client.wait_for_control("live", within=30)
    assert not client.controls("resync"), client.texts
    return live


def resumed(client):
    """The ids that a client has at the end of its replay, which no resync may have broken."""
    served(client)
    return client.ids


def unchunked(body):
    """What a body says that a balancer sends in chunks (RFC 9112 §7.1), as far as they are whole."""
    text = b""
    while True:
        size, end, rest = body.partition(b"\r\n")
        if not end or len(rest) < int(size, 16) + 2:
            return text
        text, body = text + rest[:int(size, 16)], rest[int(size, 16) + 2:]


class EventStream:
    """A GET for an event stream; what comes is kept as bytes until the server ends it."""

    def __init__(self, gateway, token, headers=(), context=None, **words):
        self.socket = connection(gateway, context)
        self.socket.sendall(event_stream_request(token, f"/live/v1{query(words)}", headers))
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
        is_chunked = self.fields.get("transfer-encoding") == "chunked"
        body = (unchunked(self.body) if is_chunked else self.body).decode()
        assert "\r" not in body and "\0" not in body
        return body.split("\n\n")[:-1]

    @property
    def events(self):
        return [event for event in map(event_of, self.blocks) if event]

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

    def __init__(self, gateway, token, context=None):
        self.http = http.client.HTTPConnection(gateway.host)
        self.http.sock = connection(gateway, context)
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
