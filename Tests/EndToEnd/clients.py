"""A foreign client of a running gateway, which keeps what it receives."""

import json
import threading

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from programs import PATIENCE, eventually


class Client:
    """PyPI's `websockets`, read by a thread until it is closed."""

    def __init__(self, url, token):
        self.socket = connect(url, additional_headers={"Authorization": f"Bearer {token}"}, compression=None,
                              max_size=None, ping_interval=None, open_timeout=20 * PATIENCE)
        self.texts = []
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
        return [json.loads(text) for text in list(self.texts)]

    @property
    def ids(self):
        return [message["id"] for message in self.messages if "id" in message]

    def wait_for(self, count, within=20.0):
        """The messages, once there are `count`."""
        eventually(lambda: len(self.texts) >= count, within, f"message {count} of {len(self.texts)}, closed {self.closed}")
        return self.messages

    def wait_for_id(self, wanted, within=20.0):
        """The ids, once `wanted` has come. Each message is looked at once."""
        seen = 0

        def came():
            nonlocal seen
            until = len(self.texts)
            found = any(json.loads(text).get("id") == wanted for text in self.texts[seen:until])
            seen = until
            return found
        try:
            eventually(came, within)
        except AssertionError:
            raise AssertionError(f"no id {wanted}; closed {self.closed}, last of {seen}: {self.texts[-3:]}") from None
        return self.ids

    def wait_until_closed(self, within=10.0):
        eventually(lambda: self.closed is not None, within, "the end of the connection")
        return self.closed

    def end(self):
        self.socket.close()
        self.reader.join(5)


def incident(account, identity, **more):
    """A record as the preset `rails` reads it."""
    return {"account_id": account, "entity": "incidents::incident", "id": identity, "type": "created", **more}
