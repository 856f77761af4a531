"""The past as a client asks for it, and an archive's file as it stands on the disk."""

import base64
import http.client
import json
import re
import sqlite3
import struct
import time
from contextlib import closing

from clients import Answer, connection
from programs import eventually
from wire import query


class Archive:
    """A file of SQLite, and what stands in it."""

    def __init__(self, path):
        self.path = path
        self.store = f"sqlite:{path}"

    def rows(self, sql):
        """Of the file as it stands; none while there is nothing that could be asked, or it is damaged."""
        try:
            with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=10)) as database:
                return database.execute(sql).fetchall()
        except sqlite3.DatabaseError:
            return []

    def change(self, sql):
        """While no node has it. Nothing stays in a log beside it."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as database:
            database.execute(sql).fetchall()

    @property
    def ids(self):
        """Ids of things by event, in the order of what happened."""
        return [row[0] for row in self.rows(
            "SELECT t.name FROM events e JOIN things t ON t.id = e.thing ORDER BY e.key")]

    @property
    def positions(self):
        return dict(self.rows("SELECT partition, next FROM positions WHERE topic = 'incidents' ORDER BY partition"))

    @property
    def sure(self):
        """Before which offset all was read before the first partition's log was proved last (StoredLog.swift)."""
        ((log,),) = self.rows("SELECT log FROM positions WHERE topic = 'incidents' AND partition = 0")
        before = (log[1] & 15).bit_count()
        return int.from_bytes(log[2 + 8 * before:10 + 8 * before], "big")

    @property
    def gaps(self):
        return self.rows("SELECT first, last FROM gaps")

    @property
    def files(self):
        """All of them: of the archive, of those that were set aside, and what SQLite keeps beside them."""
        return sorted(self.path.parent.glob(self.path.name + "*"))

    def has(self, text):
        """Whether these bytes stand anywhere in them."""
        return any(text.encode() in file.read_bytes() for file in self.files)

    def wait_for(self, ids):
        eventually(lambda: sorted(self.ids) == sorted(ids), 20, lambda: f"{ids} in {self.ids}")


def is_to_wait(answer):
    """Whether it is a 503 of those that a client shall wait after: the store is slow or behind, and says when to come back. A
    node that is full or on its way out is none in these tests."""
    return (answer.status == 503 and answer.body["code"] == "not_ready"
            and re.fullmatch("[1-5]", answer.fields.get("retry-after", "")) is not None)


class Past:
    """One connection to the archive's addresses, which is opened again only behind a request to wait: an answer after another
    proves that it was kept."""

    def __init__(self, gateway, token, context=None):
        self.gateway, self.context = gateway, context
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._open()

    def _open(self):
        self.http = http.client.HTTPConnection(self.gateway.host)
        self.http.sock = connection(self.gateway, self.context)
        self.http.auto_open = 0

    def ask(self, path, method="GET", body=None, headers=None):
        self.http.request(method, path, body, {**self.headers, **(headers or {})})
        answer = self.http.getresponse()
        fields = {name.lower(): value for name, value in answer.getheaders()}
        # Nothing of it may stay with anybody on the way.
        assert fields["cache-control"] == "no-store", fields
        return Answer(answer.status, fields, answer.read().decode())

    def _answered(self, ask):
        """The answer to what `ask` asks, once more where the node says that it may be asked again, as every client does: on a
        machine that is busy enough a store is more than a second behind, or answers after two."""
        def answered():
            answer = ask()
            if not is_to_wait(answer):
                return answer
            self.http.close()
            time.sleep(int(answer.fields["retry-after"]))
            return self._open()
        return eventually(answered, 20, "an answer of the archive that is none to wait")

    def _body(self, path, words):
        answer = self._answered(lambda: self.ask(path + query(words)))
        assert answer.status == 200, (path, answer)
        return answer.body

    def page(self, **words):
        return self._body("/archive/v1", words)

    def inbox(self, **words):
        return self._body("/inbox/v1", words)

    def read(self, **mark):
        """Says up to where; the answer."""
        return self.ask("/inbox/v1/read", "POST", json.dumps(mark), {"Content-Type": "application/json"})

    def mark(self, **mark):
        answer = self._answered(lambda: self.read(**mark))
        assert (answer.status, answer.text) == (204, ""), answer

    def walk(self, **words):
        """Every event in its direction, page after page."""
        side = "after" if words.get("order") == "asc" else "before"
        events, more = [], True
        while more:
            page = self.page(**words)
            events += page["events"]
            more = page["more"]
            assert page["events"] or not more, "a page without events says that there are more"
            if more:
                words[side] = page["events"][-1]["aid"]
        return events

    def end(self):
        self.http.close()


def archive_line(door):
    """What `/readyz?verbose` says of the archive."""
    line, = [line for line in door.asked("/readyz?verbose")[1].splitlines() if "]archive" in line]
    return line


def metric(door, name):
    line, = [line for line in door.asked("/metrics")[1].splitlines() if line.startswith(f"{name} ")]
    return float(line.split()[1])


def fnv(*texts):
    """FNV-1a with 64 bits of the texts' bytes, each with 0xFF behind it."""
    state = 0xCBF29CE484222325
    for byte in b"".join(text.encode() + b"\xff" for text in texts):
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return state


def archive_id(account, entity, identity, kind, stamp, partition, offset):
    """What ArchiveID.swift makes of the record: 30 bytes in base64 whose characters stand in the order of their bytes."""
    topic = fnv("incidents")
    topic = (topic >> 32 ^ topic) % 2**32
    parts = struct.pack(">Q", stamp + 1)[2:] + struct.pack(">IIQQ", topic, partition, offset,
                                                           fnv(account, entity, identity, kind))
    usual = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    ordered = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
    return base64.b64encode(parts).decode().translate(str.maketrans(usual, ordered))
