"""A WebSocket server that plays scripts, for what livecat does with one."""

import base64
import contextlib
import hashlib
import re
import socket
import ssl
import struct
import threading

from wire import BINARY, CLOSE, PING, PONG, TEXT, frame, split_frame


class Connection:
    """One accepted connection, with what a script needs to play a server."""

    def __init__(self, peer, sock):
        self.peer, self.sock, self.buffer = peer, sock, b""

    def more(self):
        try:
            piece = self.sock.recv(65536)
        except (ConnectionError, ssl.SSLError):
            piece = b""
        self.buffer += piece
        return piece

    def head(self):
        """The next request head as text; also kept in `peer.heads`."""
        while b"\r\n\r\n" not in self.buffer:
            if not self.more():
                raise EOFError
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        self.peer.heads.append(head.decode("latin-1"))
        return self.peer.heads[-1]

    def send(self, data):
        self.sock.sendall(data if isinstance(data, bytes) else data.encode())

    def upgrade(self, *fields):
        """Reads a handshake and answers 101."""
        key = re.search(r"(?im)^sec-websocket-key: (.*?)\r?$", self.head()).group(1)
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        self.send("\r\n".join(["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
                               f"Sec-WebSocket-Accept: {accept}", *fields, "", ""]))

    def refuse(self, status, *fields, body=""):
        """Reads a request and answers something else than 101."""
        self.head()
        self.send("\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body.encode())}", *fields, "", body]))

    def frame(self, opcode, payload=b"", final=True):
        self.send(frame(opcode, payload if isinstance(payload, bytes) else payload.encode(), final, masked=False))

    def text(self, *messages):
        for message in messages:
            self.frame(TEXT, message)

    def binary(self, payload):
        self.frame(BINARY, payload)

    def ping(self, payload=b""):
        self.frame(PING, payload)

    def pong(self, payload=b""):
        self.frame(PONG, payload)

    def close(self, code=1000, reason=""):
        """Sends a close frame and waits for its answer. No code: an empty frame."""
        self.frame(CLOSE, b"" if code is None else struct.pack("!H", code) + reason.encode())
        with contextlib.suppress(EOFError):
            while self.receive()[0] != "close":
                pass

    def receive(self):
        """The client's next frame: ("text", "…"), ("binary", b"…"), ("ping", b"…"), ("close", code, reason) …"""
        while (found := split_frame(self.buffer)) is None:
            if not self.more():
                raise EOFError
        first, is_masked, payload, end = found
        assert is_masked, "a client masks"
        self.buffer = self.buffer[end:]
        kind = {TEXT: "text", BINARY: "binary", CLOSE: "close", PING: "ping", PONG: "pong"}[first & 15]
        if kind == "close":
            code = int.from_bytes(payload[:2], "big") if payload else None
            return kind, code, payload[2:].decode()
        return kind, payload.decode() if kind == "text" else payload

    def serve(self):
        """Keeps every frame until the client closes, and answers that."""
        with contextlib.suppress(EOFError):
            while True:
                received = self.receive()
                self.peer.frames.append(received)
                if received[0] == "close":
                    self.frame(CLOSE, b"" if received[1] is None else struct.pack("!H", received[1]))
                    return

    def secure(self, context):
        """Speaks TLS from here on: what stands behind a proxy's 200."""
        self.sock = context.wrap_socket(self.sock, server_side=True)


class Peer:
    """Plays a script for each connection; the last one serves all further ones."""

    def __init__(self, *scripts, context=None, path=None, family=socket.AF_INET):
        self.heads, self.frames, self.errors, self.connections = [], [], [], 0
        self.scripts, self.context = scripts, context
        if path:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(str(path))
        else:
            self.listener = socket.socket(family)
            self.listener.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
            self.port = self.listener.getsockname()[1]
        self.listener.listen()
        self.host = f"localhost:{self.port}" if context else None if path else f"127.0.0.1:{self.port}"
        self.url = f"{'wss' if context else 'ws'}://{self.host}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            script = self.scripts[min(self.connections, len(self.scripts) - 1)]
            self.connections += 1
            threading.Thread(target=self._play, args=(script, sock), daemon=True).start()

    def _play(self, script, sock):
        try:
            if self.context:
                sock = self.context.wrap_socket(sock, server_side=True)
            script(Connection(self, sock))
        except (EOFError, ConnectionError, ssl.SSLError, OSError) as error:
            self.errors.append(error)
        finally:
            with contextlib.suppress(OSError):
                sock.close()

    def end(self):
        # close() alone leaves a thread that is in accept() there.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def target(self, head=-1):
        """Path and query of a request."""
        return self.heads[head].split(" ")[1]

    def field(self, name, head=-1):
        """The values of a header field in a request."""
        return re.findall(rf"(?im)^{name}: (.*?)\r?$", self.heads[head])
