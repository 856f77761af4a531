"""Requests that two readers could understand differently (RFC 9112), and those over a limit."""

from bad_inputs import Row

AUTHORIZATION = b"Authorization: Bearer @TOKEN@"
BAD, LARGE = "400 `bad_request`", "431 `header_too_large`"
# A whole request that must never be answered, wherever it stands.
HIDDEN = b"GET /sync/v1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer @VICTIM@\r\n\r\n"


def request(*fields, line=b"GET /sync/v1 HTTP/1.1", host=b"Host: localhost", close=b"Connection: close", body=b""):
    """A request that is let in but for what is given."""
    return b"\r\n".join([*filter(None, [line, host, AUTHORIZATION, *fields, close]), b"", body])


def target(path, method=b"GET"):
    return request(line=method + b" " + path + b" HTTP/1.1")


def line_of(size):
    start, end = b"GET /sync/v1?x=", b" HTTP/1.1"
    return request(line=start + b"a" * (size - len(start) - len(end)) + end)


def fields_of(count):
    """So many field lines in all."""
    return request(*(b"X: y" for _ in range(count - 3)))


def head_of(size):
    """So many bytes of field lines, CRLFs included. The token's own length is only known when it is sent."""
    def build(stage):
        plain = stage.fill(request(b"X: "))
        used = len(plain) - len(b"GET /sync/v1 HTTP/1.1\r\n") - 2
        return stage.fill(request(b"X: " + b"a" * (size - used)))
    return build


LINES = [
    Row("a request line that ends with a bare LF", BAD, "RFC 9112 §2.2",
        request().replace(b" HTTP/1.1\r\n", b" HTTP/1.1\n", 1)),
    Row("a field line that ends with a bare LF", BAD, "RFC 9112 §2.2, CVE-2022-32214", request(b"A: b\nC: d")),
    Row("a head that ends with CR LF LF", BAD, "RFC 9112 §2.2", request()[:-2] + b"\n"),
    Row("a bare CR in a field", BAD, "RFC 9112 §2.2, CVE-2023-30589", request(b"A: b\rC: d")),
    Row("lines that end with CR alone", BAD, "RFC 9112 §2.2", request().replace(b"\r\n", b"\r") + b"x"),
    Row("CR CR LF behind a field", BAD, "RFC 9112 §2.2", request(b"A: b\r")),
    Row("a NUL in the target", BAD, "RFC 9112 §3.2", target(b"/sync/v1\0")),
    Row("a NUL in a field", BAD, "RFC 9110 §5.5", request(b"A: b\0c")),
    Row("a NUL in the name of a field", BAD, "RFC 9110 §5.1", request(b"A\0: b")),
    Row("an ESC in a field", BAD, "RFC 9110 §5.5", request(b"A: \x1b[31m")),
    Row("a DEL in a field", BAD, "RFC 9110 §5.5", request(b"A: b\x7f")),
    Row("a byte beyond ASCII in the target", BAD, "RFC 9112 §3.2", target(b"/sync/v1\xc3\xa9")),
    Row("bytes that are not UTF-8 in a field", "200", "RFC 9110 §5.5", request(b"A: \xff\xfe")),
    Row("a field that goes on in the next line", BAD, "RFC 9112 §5.2", request(b"A: b\r\n c")),
    Row("a first field line that begins with a blank", BAD, "RFC 9112 §2.2", request(host=b" Host: localhost")),
    Row("a blank before a colon", BAD, "RFC 9112 §5.1, CVE-2021-22959", request(b"Content-Length : 0")),
    Row("a tab before a colon", BAD, "RFC 9112 §5.1", request(b"A\t: b")),
    Row("a field without a name", BAD, "RFC 9112 §5, CVE-2023-25725", request(b": b")),
    Row("a field without a colon", BAD, "RFC 9112 §5", request(b"A")),
    Row("a name with a bracket", BAD, "RFC 9110 §5.1", request(b"A(: b")),
    Row("three empty lines before a request", BAD, "RFC 9112 §2.2", b"\r\n" * 3 + request()),
    Row("two empty lines before a request", "200", "RFC 9112 §2.2", b"\r\n" * 2 + request()),
    Row("a blank line of blanks before a request", BAD, "RFC 9112 §2.2", b" \r\n" + request()),
    Row("two blanks in the request line", BAD, "RFC 9112 §3", request(line=b"GET  /sync/v1 HTTP/1.1")),
    Row("tabs in the request line", BAD, "RFC 9112 §3", request(line=b"GET\t/sync/v1\tHTTP/1.1")),
    Row("a blank behind the version", BAD, "RFC 9112 §3", request(line=b"GET /sync/v1 HTTP/1.1 ")),
    Row("a method that is no token", BAD, "RFC 9110 §9.1", request(line=b"GE(T /sync/v1 HTTP/1.1")),
    Row("a method in lower case", "405 `method_not_allowed`", "RFC 9110 §9.1", target(b"/sync/v1", b"get")),
    Row("TRACE, which would repeat the token", "405 `method_not_allowed`", "RFC 9110 §9.3.8",
        target(b"/sync/v1", b"TRACE")),
    Row("a request of HTTP/0.9", BAD, "RFC 9112 §2.3", b"GET /sync/v1\r\n"),
    Row("the preface of HTTP/2", "505 `version`", "RFC 9113 §3.4", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 9),
    Row("HTTP/2.0 in a request line", "505 `version`", "RFC 9112 §2.3", request(line=b"GET /sync/v1 HTTP/2.0")),
    Row("HTTP/1.10", BAD, "RFC 9112 §2.3", request(line=b"GET /sync/v1 HTTP/1.10")),
    Row("http/1.1 in lower case", BAD, "RFC 9112 §2.3", request(line=b"GET /sync/v1 http/1.1")),
    Row("an offer to go on with HTTP/2 in the clear", "200", "RFC 9113 §3.1",
        request(b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA", close=b"Connection: close, Upgrade")),
]

FRAMING = [
    Row("Content-Length and Transfer-Encoding, with a request behind", BAD, "RFC 9112 §6.3",
        request(b"Content-Length: 5", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + HIDDEN)),
    Row("Content-Length twice, the same", BAD, "RFC 9112 §6.3", request(b"Content-Length: 0", b"Content-Length: 0")),
    Row("Content-Length twice, two numbers", BAD, "RFC 9112 §6.3",
        request(b"Content-Length: 0", b"Content-Length: 4", body=HIDDEN)),
    Row("Content-Length as a list", BAD, "RFC 9112 §6.3", request(b"Content-Length: 0, 0")),
    Row("Content-Length with a sign", BAD, "RFC 9110 §8.6, CVE-2023-38697", request(b"Content-Length: +0")),
    Row("Content-Length below zero", BAD, "RFC 9110 §8.6", request(b"Content-Length: -1")),
    Row("Content-Length in hexadecimal", BAD, "RFC 9110 §8.6, CVE-2023-38697", request(b"Content-Length: 0x0")),
    Row("an empty Content-Length", BAD, "RFC 9110 §8.6", request(b"Content-Length:")),
    Row("Content-Length of 2⁶⁴", BAD, "RFC 9110 §8.6", request(b"Content-Length: 18446744073709551616")),
    Row("chunked twice", BAD, "RFC 9112 §6.1", request(b"Transfer-Encoding: chunked, chunked", body=b"0\r\n\r\n")),
    Row("chunked in two fields", BAD, "RFC 9112 §6.1, CVE-2022-32215",
        request(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n")),
    Row("a coding before chunked", BAD, "RFC 9112 §6.1", request(b"Transfer-Encoding: gzip, chunked", body=HIDDEN)),
    Row("a coding behind chunked", BAD, "RFC 9112 §6.3",
        request(b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n" + HIDDEN)),
    Row("identity as a coding", BAD, "RFC 9112 §6.1", request(b"Transfer-Encoding: identity", body=HIDDEN)),
    Row("a coding that is not quite chunked", BAD, "RFC 9112 §6.1, CVE-2022-32213",
        request(b"Transfer-Encoding: xchunked", body=HIDDEN)),
    Row("a vertical tab before chunked", BAD, "RFC 9110 §5.5", request(b"Transfer-Encoding: \x0bchunked", body=HIDDEN)),
    Row("Transfer-Encoding of HTTP/1.0", BAD, "RFC 9112 §6.1",
        request(b"Transfer-Encoding: chunked", line=b"GET /sync/v1 HTTP/1.0", body=b"0\r\n\r\n")),
    Row("a request in the body of another one", BAD, "RFC 9112 §6.3",
        request(b"Content-Length: %d" % len(HIDDEN), body=HIDDEN, close=b"")),
    Row("a request in a chunk of another one", BAD, "RFC 9112 §7.1",
        request(b"Transfer-Encoding: chunked", body=b"%x\r\n%b\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN), close=b"")),
    Row("a chunk with an extension and a bare LF", BAD, "RFC 9112 §7.1.1, CVE-2025-22871",
        request(b"Transfer-Encoding: chunked", body=b"0;a\nb\r\n\r\n" + HIDDEN, close=b"")),
    Row("a body that waits for 100", BAD, "RFC 9110 §10.1.1", request(b"Expect: 100-continue", b"Content-Length: 9")),
    Row("a ticket asked for with a request in the body", "200", "RFC 9112 §9.3",
        request(b"Content-Length: %d" % len(HIDDEN), line=b"POST /ticket/v1 HTTP/1.1", body=HIDDEN)),
    Row("rubbish behind a good request", "200, 400 `bad_request`", "RFC 9112 §9.3.2", request(close=b"") + b"\0" * 9),
    Row("a request behind one that ends the connection", "200", "RFC 9112 §9.6", request() + HIDDEN),
    Row("a request behind a refused one", BAD, "RFC 9112 §9.6", request(b"A", close=b"") + HIDDEN),
]

HOSTS = [
    Row("no Host", BAD, "RFC 9112 §3.2", request(host=b"")),
    Row("two Hosts", BAD, "RFC 9112 §3.2", request(b"Host: localhost")),
    Row("a Host with a name before @", BAD, "RFC 9112 §3.2", request(host=b"Host: a@localhost")),
    Row("a Host with a path", BAD, "RFC 9112 §3.2", request(host=b"Host: localhost/sync")),
    Row("a Host with a port of 65536", BAD, "RFC 9110 §7.2", request(host=b"Host: localhost:65536")),
    Row("a Host with a blank", BAD, "RFC 9112 §3.2", request(host=b"Host: local host")),
    Row("a Host with half a bracket", BAD, "RFC 3986 §3.2.2", request(host=b"Host: [::1")),
    Row("a target in absolute form", "200", "RFC 9112 §3.2.2", target(b"http://localhost/sync/v1")),
    Row("a target in absolute form with a name before @", BAD, "RFC 9110 §4.2.4", target(b"http://a@localhost/sync/v1")),
    Row("a target of another scheme", BAD, "RFC 9112 §3.2.2", target(b"ftp://localhost/sync/v1")),
    Row("a target of one slash behind the scheme", BAD, "RFC 9112 §3.2.2", target(b"http:/sync/v1")),
    Row("a target that begins with two slashes", "404 `not_found`", "RFC 9112 §3.2.1", target(b"//localhost/sync/v1")),
    Row("CONNECT to somebody else", "404 `not_found`", "RFC 9110 §9.3.6", target(b"192.0.2.1:25", b"CONNECT")),
    Row("CONNECT without a port", BAD, "RFC 9112 §3.2.3", target(b"localhost", b"CONNECT")),
    Row("GET with the target of OPTIONS", BAD, "RFC 9112 §3.2.4", target(b"*")),
    Row("OPTIONS for the whole server", "404 `not_found`", "RFC 9112 §3.2.4", target(b"*", b"OPTIONS")),
    Row("a target with a fragment", BAD, "RFC 9112 §3.2", target(b"/sync/v1#x")),
    Row("a target with backslashes", BAD, "RFC 3986 §3.3", target(b"\\sync\\v1")),
    Row("an encoded slash in the path", "404 `not_found`", "RFC 3986 §2.2", target(b"/sync%2Fv1")),
    Row("an encoded letter in the path", "404 `not_found`", "RFC 3986 §6.2.2", target(b"/%73ync/v1")),
    Row("a path with dots", "404 `not_found`", "RFC 3986 §5.2.4", target(b"/live/../sync/v1")),
    Row("a path to a file", "404 `not_found`", "RFC 9110 §17.3", target(b"/..%2f..%2fetc%2fpasswd")),
    Row("a path with a parameter", "404 `not_found`", "RFC 3986 §3.3", target(b"/sync/v1;a=b")),
]

LIMITS = [
    Row("a request line of 8 KiB", "200", "RFC 9112 §3", line_of(8192)),
    Row("a request line of 8 KiB and a byte", "414 `target_too_long`", "RFC 9112 §3", line_of(8193)),
    Row("100 fields", "200", "RFC 6585 §5", fields_of(100)),
    Row("101 fields", LARGE, "RFC 6585 §5, CVE-2024-37890", fields_of(101)),
    Row("fields of 16 KiB", "200", "RFC 6585 §5", head_of(16384)),
    Row("fields of 16 KiB and a byte", LARGE, "RFC 6585 §5, CVE-2023-43669", head_of(16385)),
    Row("a name of a field that does not end", LARGE, "RFC 6585 §5", request(b"A" * 300_000)),
    Row("a request line that does not end", "414 `target_too_long`", "RFC 9112 §3", b"A" * 300_000),
    Row("a parameter twice", "400 `bad_parameter`", "RFC 3986 §3.4", target(b"/sync/v1?limit=1&limit=2")),
    Row("a parameter twice, once encoded", "400 `bad_parameter`", "RFC 3986 §2.1", target(b"/sync/v1?limit=1&%6cimit=2")),
    Row("a number with a sign", "400 `bad_parameter`", "own rule", target(b"/sync/v1?limit=+1")),
    Row("a number of 30 digits", "200", "own rule", target(b"/sync/v1?limit=" + b"9" * 30)),
    Row("a number with an exponent", "400 `bad_parameter`", "own rule", target(b"/sync/v1?wait=1e9")),
    Row("half a percent-encoding", "400 `bad_parameter`", "RFC 3986 §2.1", target(b"/sync/v1?ent=a%2")),
    Row("17 entities", "400 `bad_parameter`", "own rule", target(b"/sync/v1?ent=" + b",".join([b"a"] * 17))),
    Row("a cursor with a line end", "400 `bad_cursor`", "CVE-2022-3215, GHSA-cq87-8r7h-962v",
        target(b"/sync/v1?since=%0d%0aSet-Cookie:%20a=b")),
    Row("a cursor of 7 KiB", "400 `bad_cursor`", "own rule", target(b"/sync/v1?since=" + b"A" * 7000)),
    Row("a cursor of NULs", "400 `bad_cursor`", "own rule", target(b"/sync/v1?since=%00%00%00%00")),
    Row("ranges without number", "200", "RFC 9110 §14.2", request(b"Range: bytes=" + b"0-," * 2000)),
]
