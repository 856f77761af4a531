"""A connection to the administration address, read by the byte."""

import json
import socket


class Asker:
    """One connection to an address, read by the byte."""

    def __init__(self, address, timeout=60):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=timeout)
        self.file = self.socket.makefile("rb")

    def send(self, method, path, body=None, version="HTTP/1.1", host="localhost", **fields):
        lines = [f"{method} {path} {version}", *([f"Host: {host}"] if host is not None else [])]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + (body or b""))

    def answer(self, withoutBody=False):
        """Status, fields in lower case, and body."""
        status = int(self.file.readline().split()[1])
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
        self.send(method, path, *rest, **fields)
        return self.answer(withoutBody=method == "HEAD")

    def json(self, path, method="GET"):
        """The body of a 200 as JSON."""
        status, _, body = self.ask(method, path)
        assert status == 200, (path, status, body)
        return json.loads(body)

    def ended(self):
        return self.file.read() == b""
