"""The address of operators: names and pages that lead a browser there, paths, methods, bodies, the token."""

from bad_inputs import Row

ALLOWED = b"Authorization: Bearer @ADMIN@"
NO, ELSEWHERE, BAD, FOREIGN = "401", "421", "400", "403"
REBINDING = "RFC 9110 §7.4, DNS rebinding"


def request(line=b"GET /admin/loglevel", host=b"localhost", *fields, token=ALLOWED, body=b"", version=b"HTTP/1.1"):
    lines = [line + b" " + version, b"Host: " + host if host is not None else b"", token, *fields, b"Connection: close"]
    return b"\r\n".join([*filter(None, lines), b"", body])


def hosted(name, answer, host, line=b"GET /admin/loglevel"):
    return Row(name, answer, REBINDING, request(line, host))


def put(*fields, host=b"localhost", body=b"info", token=ALLOWED):
    return request(b"PUT /admin/loglevel", host, *fields, b"Content-Length: %d" % len(body), token=token, body=body)


def asked(name, answer, path, source="own rule", method=b"GET"):
    return Row(name, answer, source, request(method + b" " + path, b"localhost"))


ROWS = [
    hosted("localhost", "200", b"localhost"),
    hosted("a name of `admin_hosts`", "200", b"gate.internal:9080"),
    hosted("an address", "200", b"127.0.0.1"),
    hosted("another name", ELSEWHERE, b"evil.example"),
    hosted("a name that begins like an address", ELSEWHERE, b"127.0.0.1.evil.example"),
    hosted("a name that begins like localhost", ELSEWHERE, b"localhost.evil.example"),
    hosted("a name that ends like localhost", ELSEWHERE, b"evil-localhost"),
    hosted("localhost with a dot at its end", ELSEWHERE, b"localhost."),
    hosted("an address in decimal", ELSEWHERE, b"2130706433"),
    hosted("an address in hexadecimal", ELSEWHERE, b"0x7f.0.0.1"),
    hosted("an address with a name before @", BAD, b"evil@127.0.0.1"),
    hosted("an empty Host", ELSEWHERE, b""),
    hosted("another name for a probe", "200", b"evil.example", b"GET /readyz"),
    Row("another name as the target", ELSEWHERE, "RFC 9112 §3.2.2", request(b"GET http://evil.example/admin/loglevel")),
    Row("two Hosts", BAD, "RFC 9112 §3.2", request(b"GET /admin/loglevel", b"localhost", b"Host: evil.example")),
    Row("no Host in HTTP/1.1", BAD, "RFC 9112 §3.2", request(host=None)),
    Row("no token", NO, "RFC 6750 §3", request(token=b"")),
    Row("another token", NO, "RFC 6750 §3", request(token=ALLOWED + b"x")),
    Row("the beginning of the token", NO, "RFC 6750 §3", request(token=b"Authorization: Bearer A")),
    Row("a client's token", NO, "own rule", request(token=b"Authorization: Bearer @TOKEN@")),
    Row("the token twice", NO, "RFC 6750 §2", request(b"GET /admin/loglevel", b"localhost", ALLOWED)),
    Row("the token in the address", NO, "RFC 6750 §2.3", request(b"GET /admin/loglevel?access_token=@ADMIN@", token=b"")),
    Row("an unknown path without the token", NO, "own rule", request(b"GET /secret", token=b"")),
    Row("metrics without the token", NO, "own rule", request(b"GET /metrics", token=b"")),
    asked("an unknown path", "404", b"/secret"),
    asked("a path with dots", "404", b"/livez/../admin/loglevel", "RFC 3986 §5.2.4"),
    asked("a path with encoded dots", "404", b"/livez%2f..%2fadmin/loglevel", "RFC 3986 §5.2.4"),
    asked("two slashes at the beginning", "404", b"//admin/loglevel", "RFC 9112 §3.2.1"),
    asked("a slash at the end", "404", b"/admin/loglevel/"),
    asked("an account with an encoded slash", "404", b"/admin/accounts/..%2f..%2fmetrics", "RFC 3986 §2.2"),
    asked("an account that is not UTF-8", BAD, b"/admin/accounts/%ff", "RFC 3629 §3"),
    asked("an account with half an encoding", BAD, b"/admin/accounts/%4", "RFC 3986 §2.1"),
    asked("a limit of 0", BAD, b"/admin/connections?limit=0"),
    asked("a limit of 100,001", BAD, b"/admin/connections?limit=100001"),
    asked("a limit with a sign", BAD, b"/admin/connections?limit=+1"),
    asked("a duplicate account", BAD, b"/admin/connections?account=a&account=b"),
    asked("markup in an account", "404", b"/admin/accounts/%3Cscript%3E", "RFC 9110 §17.3"),
    asked("a change by GET", "405", b"/admin/drain", "RFC 9110 §9.2.1"),
    asked("DELETE", "405", b"/admin/loglevel", "RFC 9110 §9.1", b"DELETE"),
    asked("TRACE", "405", b"/admin/loglevel", "RFC 9110 §9.3.8", b"TRACE"),
    asked("a disconnect of nobody", BAD, b"/admin/disconnect", method=b"POST"),
    asked("a drain over a window that is none", BAD, b"/admin/drain?window=soon", method=b"POST"),
    Row("a change from a page of another origin", FOREIGN, "RFC 6454 §3", put(b"Origin: https://evil.example")),
    Row("a change from null", FOREIGN, "RFC 6454 §7.1", put(b"Origin: null")),
    Row("a change from another port", FOREIGN, "RFC 6454 §4", put(b"Origin: http://localhost:81")),
    Row("a change from a name that begins like ours", FOREIGN, "RFC 6454 §4", put(b"Origin: http://localhost.evil.example")),
    Row("a change with two origins", FOREIGN, "RFC 6454 §7.1", put(b"Origin: http://localhost", b"Origin: https://evil.example")),
    Row("a change from our own page", "200", "RFC 6454 §4", put(b"Origin: http://localhost")),
    Row("a change to a level that is none", BAD, "own rule", put(body=b"loud")),
    Row("a change to a level with a line end", BAD, "own rule", put(body=b"info\r\nx: y")),
    Row("a body of 4 KiB and a byte", "413", "RFC 9110 §15.5.14", put(body=b"a" * 4097)),
    Row("a body whose length field names 2⁶⁰ bytes", "413", "RFC 9110 §8.6",
        request(b"PUT /admin/loglevel", b"localhost", b"Content-Length: 1152921504606846976")),
    Row("a body of chunks over 4 KiB", "413", "RFC 9112 §7.1",
        request(b"PUT /admin/loglevel", b"localhost", b"Transfer-Encoding: chunked", body=b"1001\r\n" + b"a" * 4097 + b"\r\n0\r\n\r\n")),
    Row("a chunk whose size names 2⁶⁴ bytes", BAD, "RFC 9112 §7.1",
        request(b"PUT /admin/loglevel", b"localhost", b"Transfer-Encoding: chunked", body=b"10000000000000000\r\na")),
    Row("a chunk whose size is no number", BAD, "RFC 9112 §7.1, CVE-2023-38697",
        request(b"PUT /admin/loglevel", b"localhost", b"Transfer-Encoding: chunked", body=b"+4\r\ninfo\r\n0\r\n\r\n")),
    Row("a chunk longer than its size", BAD, "RFC 9112 §7.1",
        request(b"PUT /admin/loglevel", b"localhost", b"Transfer-Encoding: chunked", body=b"3\r\ninfo\r\n0\r\n\r\n")),
    Row("a chunk that ends with a bare LF", BAD, "RFC 9112 §7.1, CVE-2025-22871",
        request(b"PUT /admin/loglevel", b"localhost", b"Transfer-Encoding: chunked", body=b"4\ninfo\r\n0\r\n\r\n")),
    Row("Content-Length beside Transfer-Encoding", BAD, "RFC 9112 §6.3",
        request(b"PUT /admin/loglevel", b"localhost", b"Transfer-Encoding: chunked", b"Content-Length: 4", body=b"0\r\n\r\n")),
    Row("a request of HTTP/0.9", BAD, "RFC 9112 §2.3", b"GET /metrics\r\n"),
    Row("TLS where there is none", BAD, "RFC 8446 §5", b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03\r\n\r\n"),
]
