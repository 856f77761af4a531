"""A connection to the administration address, read by the byte."""

import json
import socket

from programs import PATIENCE


class Closed(Exception):
    """The connection ended where an answer was to begin."""


class Asker:
    """A connection to an address, read by the byte. What is sent and read step by step goes over this one alone; ``ask`` takes
    a new one where the node has closed it meanwhile, as it does with those that say nothing for a while."""

    def __init__(self, address, timeout=60 * PATIENCE):
        host, _, port = address.rpartition(":")
        self.peer, self.timeout = (host, int(port)), timeout
        self._connect()

    def _connect(self):
        self.socket = socket.create_connection(self.peer, timeout=self.timeout)
        self.file = self.socket.makefile("rb")

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, method, path, body=None, version="HTTP/1.1", host="localhost", **fields):
        lines = [f"{method} {path} {version}", *([f"Host: {host}"] if host is not None else [])]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        try:
            self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + (body or b""))
        except ConnectionError as error:
            raise Closed(error) from None

    def answer(self, withoutBody=False):
        """Status, fields in lower case, and body."""
        try:
            line = self.file.readline()
        except ConnectionError as error:
            raise Closed(error) from None
        if not line:
            raise Closed
        status = int(line.split()[1])
        fields = {}
        while (line := self.file.readline()) != b"\r\n":
            name, _, value = line.decode().partition(":")
            fields[name.lower()] = value.strip()
        if withoutBody:
            return status, fields, b""
        if fields.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.file.readline(), 16):
                body += self.file.read(size)
                assert self.file.read(2) == b"\r\n"
            assert self.file.readline() == b"\r\n"
            return status, fields, body
        return status, fields, self.file.read(int(fields["content-length"]))

    def ask(self, method, path, *rest, **fields):
        try:
            return self._ask(method, path, *rest, **fields)
        except Closed:
            # No byte of an answer has come: closed while nothing was asked. A new connection has to answer.
            self.close()
            self._connect()
            return self._ask(method, path, *rest, **fields)

    def _ask(self, method, path, *rest, **fields):
        self.send(method, path, *rest, **fields)
        return self.answer(withoutBody=method == "HEAD")

    def json(self, path, method="GET"):
        """The body of a 200 as JSON."""
        status, _, body = self.ask(method, path)
        assert status == 200, (path, status, body)
        return json.loads(body)

    def ended(self):
        return self.file.read() == b""
