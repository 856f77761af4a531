"""A proxy between a client and a gateway that does what bad ones do."""

import socket
import threading


class Middleman:
    """`manner`: `strips` takes upgrades off requests, `holds` leaves them without an answer, `gathers` strips them and keeps
    event streams' bodies to itself, `cuts` ends each connection after `seconds`, `ends` each stream behind its first message
    that says that it is live, and `passes` does nothing of it. It may be changed at any time. A browser asks several things on
    one connection: with `one_request` it makes one for each, so that none passes unseen."""

    def __init__(self, host, manner, seconds=None, one_request=False):
        name, port = host.rsplit(":", 1)
        self.server = (name, int(port))
        self.manner, self.seconds, self.one_request = manner, seconds, one_request
        self.requests = []
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.host = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def count(self, kind):
        """How many requests of a kind came: `upgrade`, `stream`, `poll`, or `other`, which is what browsers ask beforehand."""
        return self.requests.count(kind)

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            head = self._head(client)
            server = socket.create_connection(self.server)
        except OSError:
            return client.close()
        self.sockets += [client, server]
        lines = head.split(b"\r\n")
        kind = self._kind(lines)
        self.requests.append(kind)
        if kind == "upgrade" and self.manner == "holds":
            server.close()
            return self._swallow(client)
        is_stripped = self.manner in ("strips", "gathers")
        if is_stripped:
            lines = self._without(lines, b"upgrade:", b"connection:", b"sec-websocket-")
        if self.one_request and (is_stripped or kind != "upgrade"):
            lines = [lines[0], b"Connection: close", *self._without(lines[1:], b"connection:")]
        if self.manner == "cuts":
            timer = threading.Timer(self.seconds, self._cut, (client, server))
            timer.daemon = True
            timer.start()
        server.sendall(b"\r\n".join(lines))
        threading.Thread(target=self._pump, args=(client, server), daemon=True).start()
        if self.manner == "gathers":
            self._gather(server, client)
        elif self.manner == "ends" and kind in ("upgrade", "stream"):
            self._pump(server, client, until=b"live")
        else:
            self._pump(server, client)

    @staticmethod
    def _kind(lines):
        if any(line.lower().startswith(b"upgrade:") for line in lines):
            return "upgrade"
        if not lines[0].startswith(b"GET ") or not b"/live/" in lines[0] and not b"/sync/" in lines[0]:
            return "other"
        return "poll" if b"/sync/" in lines[0] else "stream"

    @staticmethod
    def _without(lines, *names):
        return [line for line in lines if not line.lower().startswith(names)]

    def _swallow(self, client):
        try:
            while client.recv(65536):
                pass
        except OSError:
            pass
        self._cut(client)

    @staticmethod
    def _head(side):
        """A head, and what came behind it."""
        data = b""
        while b"\r\n\r\n" not in data:
            more = side.recv(65536)
            if not more:
                raise OSError("it has gone")
            data += more
        return data

    def _gather(self, server, client):
        try:
            data = self._head(server)
            head, body = data.split(b"\r\n\r\n", 1)
            if b"text/event-stream" not in head:
                client.sendall(data)
                return self._pump(server, client)
            client.sendall(head + b"\r\n\r\n")
            while more := server.recv(65536):
                body += more
            client.sendall(body)
        except OSError:
            pass
        self._cut(client, server)

    def _pump(self, source, target, until=None):
        """To the end of what comes, or behind the first piece that has this text."""
        try:
            while data := source.recv(65536):
                target.sendall(data)
                # The head of an answer names a protocol, which is called like it.
                if until and until in data.replace(b"livegate", b""):
                    break
        except OSError:
            pass
        self._cut(source, target)

    @staticmethod
    def _cut(*sides):
        for side in sides:
            try:
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            side.close()

    def drop(self):
        """Cuts what is open, as a path does that is gone; others may come."""
        sockets, self.sockets = self.sockets, []
        self._cut(*sockets)

    def end(self):
        self._cut(self.listener)
        self.drop()
