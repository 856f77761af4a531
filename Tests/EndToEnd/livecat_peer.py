"""A scripted WebSocket server for livecat's tests, livecat itself in a pipe, and livecat on a terminal."""

import base64
import contextlib
import fcntl
import hashlib
import os
import pty
import re
import select
import signal
import socket
import ssl
import struct
import subprocess
import termios
import threading
import time

import pytest

from programs import PATIENCE, PROGRAMS

# Long enough for a loaded machine; reached only on failure.
LIMIT = 20 * PATIENCE


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

    def read(self, count):
        while len(self.buffer) < count:
            if not self.more():
                raise EOFError
        piece, self.buffer = self.buffer[:count], self.buffer[count:]
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

    def frame(self, first, payload=b""):
        payload = payload if isinstance(payload, bytes) else payload.encode()
        size = len(payload)
        length = bytes([size]) if size < 126 else b"\x7e" + struct.pack("!H", size) if size < 65536 else \
            b"\x7f" + struct.pack("!Q", size)
        self.send(bytes([first]) + length + payload)

    def text(self, *messages):
        for message in messages:
            self.frame(0x81, message)

    def binary(self, payload):
        self.frame(0x82, payload)

    def ping(self, payload=b""):
        self.frame(0x89, payload)

    def pong(self, payload=b""):
        self.frame(0x8A, payload)

    def close(self, code=1000, reason=""):
        """Sends a close frame and waits for its answer. No code: an empty frame."""
        self.frame(0x88, b"" if code is None else struct.pack("!H", code) + reason.encode())
        with contextlib.suppress(EOFError):
            while self.receive()[0] != "close":
                pass

    def receive(self):
        """The client's next frame: ("text", "…"), ("binary", b"…"), ("ping", b"…"), ("close", code, reason) …"""
        first, second = self.read(2)
        assert second & 0x80, "a client masks"
        size = second & 0x7F
        if size >= 126:
            size = int.from_bytes(self.read(2 if size == 126 else 8), "big")
        mask = self.read(4)
        payload = bytes(byte ^ mask[index & 3] for index, byte in enumerate(self.read(size)))
        kind = {1: "text", 2: "binary", 8: "close", 9: "ping", 10: "pong"}[first & 15]
        if kind == "close":
            code = int.from_bytes(payload[:2], "big") if payload else None
            return kind, code, payload[2:].decode()
        return kind, payload.decode() if kind == "text" else payload

    def serve(self):
        """Takes everything down until the client closes, and answers that."""
        with contextlib.suppress(EOFError):
            while True:
                frame = self.receive()
                self.peer.frames.append(frame)
                if frame[0] == "close":
                    self.frame(0x88, b"" if frame[1] is None else struct.pack("!H", frame[1]))
                    return

    def secure(self, context):
        """Says TLS from here on: what stands behind a proxy's 200."""
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

    def field(self, name, head=-1):
        """The values of a header field in a request."""
        return re.findall(rf"(?im)^{name}: (.*?)\r?$", self.heads[head])


@pytest.fixture
def peer():
    """Starts scripted servers that end with the test: `peer(script, …)`."""
    started = []

    def begin(*scripts, **options):
        started.append(Peer(*scripts, **options))
        return started[-1]

    yield begin
    for server in started:
        server.end()


class Livecat:
    """livecat in pipes."""

    def __init__(self, *arguments, env=None, stdin=subprocess.PIPE, **options):
        self.process = subprocess.Popen([str(PROGRAMS / "livecat"), *map(str, arguments)], stdin=stdin, bufsize=0,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, **(env or {})}, **options)

    def finish(self, data=None):
        """Gives it input, waits for its end; status, output, notices."""
        try:
            out, err = self.process.communicate(data, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.end()
            raise
        return self.process.returncode, out, err.decode()

    def line(self):
        return self.process.stdout.readline()

    def notice(self):
        return self.process.stderr.readline().decode()

    def signal(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def livecat():
    """Starts livecat: `livecat(url, …)`; its standard input is an open pipe."""
    started = []

    def begin(*arguments, **options):
        started.append(Livecat(*arguments, **options))
        return started[-1]

    yield begin
    for program in started:
        program.end()


@pytest.fixture
def run_livecat(livecat):
    """Runs livecat to its end with some input, by default none: status, output, notices."""
    def run(*arguments, data=b"", **options):
        return livecat(*arguments, **options).finish(data)
    return run


class Terminal:
    """livecat on a terminal of 80 columns."""

    def __init__(self, *arguments, env=None, columns=80, **options):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        streams = {"stdin": slave, "stdout": slave, "stderr": slave, **options}
        self.process = subprocess.Popen(
            [str(PROGRAMS / "livecat"), *map(str, arguments)], start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **(env or {})}, **streams)
        self.slave, self.shown, self.position = slave, "", 0

    def _read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            with contextlib.suppress(OSError):
                self.shown += os.read(self.master, 65536).decode(errors="replace")

    def expect(self, text):
        """Waits until the text has been shown, behind what was waited for before."""
        end = time.monotonic() + LIMIT
        while text not in self.shown[self.position:]:
            assert time.monotonic() < end, f"not shown: {text!r} in {self.shown[self.position:]!r}"
            self._read(0.2)
        self.position = self.shown.index(text, self.position) + len(text)

    def type(self, text):
        os.write(self.master, text.encode())

    def finish(self):
        end = time.monotonic() + LIMIT
        while self.process.poll() is None:
            assert time.monotonic() < end, f"does not end: {self.shown!r}"
            self._read(0.05)
        self._read(0.05)
        return self.process.returncode

    def is_restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal():
    """Starts livecat on a terminal: `terminal(url, …)`."""
    started = []

    def begin(*arguments, **options):
        started.append(Terminal(*arguments, **options))
        return started[-1]

    yield begin
    for program in started:
        program.end()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """An authority, a certificate of localhost by it, one that is not valid any more, and a client's with its key."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-days", "2")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
    for name, days in (("server", "2"), ("expired", "-1"), ("client", "2")):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
                f"{name}.pem", "-days", days, "-extfile", "names")
    openssl("pkey", "-in", "client.key", "-aes128", "-passout", "pass:open sesame", "-out", "locked.key")
    return folder


def server_context(folder, name="server", wants_client=False):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    if wants_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(folder / "ca.pem")
    return context
