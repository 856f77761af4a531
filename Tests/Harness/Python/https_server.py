"""A small HTTP server, with TLS or without, whose answers a test sets: key sets, answers of introspection, and what goes wrong.

As a program, for unit tests: `https_server.py [CERTIFICATE KEY]` prints its port, answers what `PATHS` says, and ends with its
standard input.
"""

import json
import re
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        length = int(self.headers.get("Content-Length", 0))
        self.body = self.rfile.read(length).decode()
        self.server.requests.append((self.command, self.path, dict(self.headers), self.body))
        self.server.answer(self)

    do_POST = do_GET

    def reply(self, body, status=200, **fields):
        body = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **fields}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def raw(self, data):
        """Exactly these bytes, and the end of the connection."""
        self.wfile.write(data)
        self.close_connection = True

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """`answer` is called with each request, on a thread of its own, and may be replaced at any time."""
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, answer, certificate=None, key=None, port=0):
        self.answer, self.requests = answer, []
        self.ends = threading.Event()
        super().__init__(("127.0.0.1", port), Request)
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(certificate, key)
        self.port = self.server_address[1]
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def finish_request(self, request, address):
        # On the connection's own thread: a handshake that hangs keeps nobody else waiting.
        if self.context:
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, address)

    def handle_error(self, request, address):
        pass

    def end(self):
        self.ends.set()
        self.shutdown()
        self.server_close()


def chunked(request, count):
    request.send_response(200)
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    request.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (count, b"x" * count))


PATHS = {
    "/fine": lambda request: request.reply("fine"),
    "/echo": lambda request: request.reply(
        {"method": request.command, "body": request.body, "authorization": request.headers.get("Authorization")}),
    r"/status/(\d+)": lambda request, status: request.reply("no", int(status)),
    "/redirect": lambda request: request.reply("", 302, Location="/fine"),
    r"/large/(\d+)": lambda request, count: request.reply(b"x" * int(count)),
    r"/chunked/(\d+)": lambda request, count: chunked(request, int(count)),
    r"/head/(\d+)": lambda request, count: request.reply(
        "fine", **{f"X-{number}": "x" * 1000 for number in range(int(count))}),
    "/never": lambda request: request.server.ends.wait(),
    "/cut": lambda request: request.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfine"),
    "/garbage": lambda request: request.raw(b"fine\r\n\r\n"),
}


def answer_by_path(request):
    for pattern, reply in PATHS.items():
        match = re.fullmatch(pattern, request.path)
        if match:
            return reply(request, *match.groups())
    return request.reply("", 404)


if __name__ == "__main__":
    server = Server(answer_by_path, *sys.argv[1:])
    print(server.port, flush=True)
    sys.stdin.read()
