"""What browsers send: origins, cookies, subprotocols; and tickets, which are for them."""

import base64

from bad_inputs import Row
from bad_inputs.http_requests import AUTHORIZATION, request
from bad_inputs.tokens_of_clients import with_fields
from bad_inputs.upgrades import upgrade

NO, STOP, BAD, UPGRADE = "401 `invalid_token`", "403 `forbidden`", "400 `bad_request`", "400 `bad_upgrade`"
PAGE = b"Origin: https://app.example.com"
CSRF = "RFC 6455 §10.2"


def origin(name, answer, value, source=CSRF):
    return Row(name, answer, source, request(b"Origin: " + value))


ORIGINS = [
    origin("a listed page", "200", b"https://app.example.com"),
    origin("a page below a listed name", "200", b"https://a.b.example.org"),
    origin("another page", STOP, b"https://evil.example"),
    origin("null, as of a file or a sandboxed frame", STOP, b"null", "RFC 6454 §7.1"),
    origin("an empty origin", STOP, b""),
    origin("a listed page in capital letters", STOP, b"https://APP.example.com", "RFC 6454 §6.1"),
    origin("a listed page without TLS", STOP, b"http://app.example.com", "RFC 6454 §4"),
    origin("a listed page on another port", STOP, b"https://app.example.com:8443", "RFC 6454 §4"),
    origin("a listed page with its own port", STOP, b"https://app.example.com:443", "RFC 6454 §6.1"),
    origin("a listed page with a slash", STOP, b"https://app.example.com/"),
    origin("a listed page with a dot at its end", STOP, b"https://app.example.com."),
    origin("a listed page as the beginning of another name", STOP, b"https://app.example.com.evil.example"),
    origin("a listed page as the end of another name", STOP, b"https://evilapp.example.com"),
    origin("a listed page before @", STOP, b"https://app.example.com@evil.example"),
    origin("a listed page behind a NUL", BAD, b"https://evil.example\0https://app.example.com"),
    origin("two origins in one field", STOP, b"https://app.example.com https://evil.example", "RFC 6454 §7.1"),
    origin("a list of origins", STOP, b"https://app.example.com, https://evil.example"),
    Row("two origins", STOP, CSRF, request(PAGE, b"Origin: https://evil.example")),
    Row("one origin twice", STOP, CSRF, request(PAGE, PAGE)),
    origin("the bare name of a listed wildcard", STOP, b"https://example.org"),
    origin("the wildcard itself", STOP, b"https://*.example.org"),
    origin("an empty label before a listed name", STOP, b"https://.example.org"),
    origin("a name that ends like a listed one", STOP, b"https://evilexample.org"),
    origin("a name with a slash before a listed one", STOP, b"https://evil.example/.example.org"),
    origin("a name with a @ before a listed one", STOP, b"https://evil.example@a.example.org"),
    origin("a name with a port before a listed one", STOP, b"https://evil.example:1.example.org"),
    origin("an underscore's neighbour before a listed one", STOP, b"https://evil`.example.org"),
    Row("a WebSocket from another page", STOP, CSRF, upgrade(b"Origin: https://evil.example")),
    Row("another page asks beforehand", "204", "Fetch §4.8",
        request(b"Origin: https://evil.example", b"Access-Control-Request-Method: GET", line=b"OPTIONS /sync/v1 HTTP/1.1")),
    Row("another page without a token", STOP, "own rule", with_fields(b"Origin: https://evil.example")),
]


def without_token(*fields):
    return upgrade(*fields).replace(AUTHORIZATION + b"\r\n", b"", 1)


def cookie(name, answer, *fields, source="RFC 6265 §5.4"):
    return Row(name, answer, source, with_fields(*fields))


GOOD, SAME = b"Cookie: session=@TOKEN@", b"Sec-Fetch-Site: same-origin"
COOKIES = [
    cookie("a cookie from a listed page", "200", GOOD, PAGE),
    cookie("a cookie in quotes", "200", b'Cookie: session="@TOKEN@"', PAGE, source="RFC 6265 §4.1.1"),
    cookie("a cookie from another page", STOP, GOOD, b"Origin: https://evil.example", source="RFC 6265 §8.2"),
    cookie("a cookie from nowhere", STOP, GOOD, source="RFC 6265 §8.2"),
    cookie("a cookie from a page of the same site", STOP, GOOD, b"Sec-Fetch-Site: same-site", source="Fetch Metadata §2.4"),
    cookie("a cookie that a page of another site sends", STOP, GOOD, b"Sec-Fetch-Site: cross-site",
           source="Fetch Metadata §2.4"),
    cookie("a cookie typed into the address bar", STOP, GOOD, b"Sec-Fetch-Site: none", source="Fetch Metadata §2.4"),
    cookie("a cookie from a page of the same origin", "200", GOOD, SAME, source="Fetch Metadata §2.4"),
    Row("a POST with a cookie that claims to be of the same origin", STOP, "Fetch §3.2",
        with_fields(GOOD, SAME, path=b"/ticket/v1").replace(b"GET", b"POST", 1)),
    Row("a WebSocket with a cookie from nowhere", STOP, "RFC 6455 §10.2", without_token(GOOD)),
    cookie("the cookie twice", BAD, b"Cookie: session=@TOKEN@; session=@VICTIM@", PAGE),
    cookie("the cookie in two fields", BAD, GOOD, b"Cookie: session=@VICTIM@", PAGE),
    cookie("the cookie in other letters", NO, b"Cookie: Session=@TOKEN@", PAGE),
    cookie("a name that ends like the cookie's", NO, b"Cookie: xsession=@TOKEN@", PAGE),
    cookie("half a pair of quotes", NO, b'Cookie: session="@TOKEN@', PAGE, source="RFC 6265 §4.1.1"),
    cookie("an empty cookie", NO, b"Cookie: session=", PAGE),
    cookie("a quote that hides the cookie", "200", b'Cookie: a="b; session=@TOKEN@; c="', PAGE),
    cookie("3,000 cookies", NO, b"Cookie: " + b"a=b; " * 3000, PAGE, source="RFC 6265 §6.1"),
    Row("another's cookie beside an own token", "200", "own rule", request(b"Cookie: session=@VICTIM@", PAGE)),
]


def protocol(*words):
    return b"Sec-WebSocket-Protocol: " + b", ".join(words)


def coded(place):
    """The subprotocol with a token in base64url."""
    return lambda stage: b"bearer." + base64.urlsafe_b64encode(stage.fill(place)).rstrip(b"=")


def offering(name, answer, *words, prefix=without_token):
    def build(stage):
        return stage.fill(prefix(protocol(*(word(stage) if callable(word) else word for word in words))))
    return Row(name, answer, "own rule", build)


CHOSEN = b"livegate.v1"
SUBPROTOCOLS = [
    offering("a token in a subprotocol", "101", CHOSEN, coded(b"@TOKEN@")),
    offering("a token without the subprotocol that is chosen", UPGRADE, coded(b"@TOKEN@")),
    offering("two tokens in subprotocols", UPGRADE, CHOSEN, coded(b"@TOKEN@"), coded(b"@VICTIM@")),
    offering("a subprotocol beside Authorization", BAD, CHOSEN, coded(b"@VICTIM@"), prefix=upgrade),
    offering("an empty token in a subprotocol", NO, CHOSEN, b"bearer."),
    offering("a token that is not base64url in a subprotocol", NO, CHOSEN, b"bearer.!!!"),
    offering("a token as it is in a subprotocol", NO, CHOSEN, b"bearer.@TOKEN@"),
    offering("a line end inside the token of a subprotocol", NO, CHOSEN, coded(b"@TOKEN@\r\nX: y")),
    offering("a NUL inside the token of a subprotocol", NO, CHOSEN, coded(b"@TOKEN@\0")),
]


def ticket(name, answer, value, source="own rule"):
    """`value` is made of a fresh ticket of the node."""
    return Row(name, answer, source,
               lambda stage: with_fields(path=b"/sync/v1?ticket=" + value(stage.ticket()).encode()))


TICKETS = [
    ticket("a good ticket", "200", lambda good: good),
    ticket("a ticket that was cut", NO, lambda good: good[:-4]),
    ticket("a ticket with a sign more", NO, lambda good: good + "A"),
    ticket("a ticket with padding", NO, lambda good: good + "="),
    ticket("a ticket of which the first sign was changed", NO, lambda good: "B" + good[1:]),
    ticket("a ticket of which the name was changed", NO, lambda good: good[:5] + ("A" if good[5] != "A" else "B") + good[6:]),
    ticket("a ticket of which what is sealed was changed", NO,
           lambda good: good[:40] + ("A" if good[40] != "A" else "B") + good[41:]),
    ticket("a ticket of which the end was changed", NO, lambda good: good[:-3] + ("A" if good[-3] != "A" else "B") + good[-2:]),
    ticket("the beginning of a ticket alone", NO, lambda good: good[:23]),
    ticket("an empty ticket", NO, lambda good: ""),
    ticket("a ticket of 2 KiB", NO, lambda good: "A" * 2048),
    ticket("half a percent-encoding in a ticket", NO, lambda good: good + "%4"),
    Row("a ticket for the second time", NO, "own rule", with_fields(path=b"/sync/v1?ticket=@SPENT@")),
    Row("a ticket of a node with another secret", NO, "own rule", with_fields(path=b"/sync/v1?ticket=@STRANGE@")),
    Row("a token for a ticket", NO, "own rule", with_fields(path=b"/sync/v1?ticket=@TOKEN@")),
    Row("two tickets", "400 `bad_parameter`", "own rule",
        lambda stage: with_fields(path=f"/sync/v1?ticket={stage.ticket()}&ticket={stage.ticket()}".encode())),
    Row("a ticket beside a token of another account", BAD, "own rule",
        lambda stage: stage.fill(request(line=f"GET /sync/v1?ticket={stage.ticket()} HTTP/1.1".encode()).replace(
            b"@TOKEN@", b"@VICTIM@"))),
    Row("a ticket bought with a ticket", NO, "own rule",
        lambda stage: with_fields(path=f"/ticket/v1?ticket={stage.ticket()}".encode()).replace(b"GET", b"POST", 1)),
    Row("a ticket bought by GET, as an image would", "405 `method_not_allowed`", "RFC 9110 §9.2.1",
        request(line=b"GET /ticket/v1 HTTP/1.1")),
    Row("a ticket bought by another page", STOP, "RFC 6454 §3",
        request(b"Origin: https://evil.example", line=b"POST /ticket/v1 HTTP/1.1")),
]
