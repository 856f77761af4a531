"""Requests to the archive and the inbox: every parameter and body, cut, doubled, too large, with the ids of others, with SQL."""

import json

from archives import archive_id
from bad_inputs import Row
from bad_inputs.http_requests import HIDDEN, target

PARAMETER, BAD, METHOD = "400 `bad_parameter`", "400 `bad_request`", "405 `method_not_allowed`"
INJECTION = "CWE-89"
# Of an event of 1970 that the account may have, of another account's, and of a log that this server does not know.
OWN, OTHERS, FOREIGN = (archive_id(account, "note", "N", "made", 1000, partition, 7).encode()
                        for account, partition in (("PACC1", 0), ("PVICTIM", 1), ("PACC1", 2**31 - 1)))
AHEAD = archive_id("PACC1", "note", "N", "made", 2**47, 0, 0).encode()
DROP = b"%27%3B%20DROP%20TABLE%20events%3B--"


def page(name, answer, query, source="own rule", path=b"/archive/v1?order=asc&"):
    return Row(name, answer, source, target(path + query))


def newest(name, answer, query, source="own rule"):
    return page(name, answer, query, source, b"/archive/v1?")


def inbox(name, answer, query, source="own rule"):
    return page(name, answer, query, source, b"/inbox/v1?")


PAGES = [
    page("a good id", "200", b"before=" + OWN),
    page("an id of another account's event", "200", b"before=" + OTHERS),
    page("an id of another server's event", "200", b"after=" + FOREIGN),
    page("an id, each byte encoded", "200", b"after=" + b"".join(b"%%%02x" % byte for byte in OWN), "RFC 3986 §2.1"),
    page("an id without its last byte", PARAMETER, b"before=" + OWN[:-1]),
    page("an id with a byte more", PARAMETER, b"before=" + OWN + b"-"),
    page("an id and itself behind it", PARAMETER, b"after=" + OWN + OWN),
    page("an empty id", PARAMETER, b"before="),
    page("an id of NULs", PARAMETER, b"before=" + b"%00" * 40, "CWE-158"),
    page("an id with a byte that none has", PARAMETER, b"before=" + OWN[:-1] + b"%2B"),
    page("an id of 7 KiB", PARAMETER, b"before=" + b"-" * 7000),
    page("an id twice", PARAMETER, b"before=" + OWN + b"&before=" + OWN, "RFC 3986 §3.4"),
    page("SQL instead of an id", PARAMETER, b"before=" + DROP, INJECTION),
    page("SQL behind an id", PARAMETER, b"before=" + OWN + DROP, INJECTION),
    page("a time below zero", PARAMETER, b"from=-1"),
    page("a time with an exponent", PARAMETER, b"from=1e3"),
    page("a time in hexadecimal", PARAMETER, b"to=0x10"),
    page("a time with a fraction", PARAMETER, b"to=1.5"),
    page("a time behind a blank", PARAMETER, b"to=%201"),
    page("an empty time", PARAMETER, b"from="),
    page("a time of 30 digits", "200", b"to=" + b"9" * 30),
    page("a time twice", PARAMETER, b"from=1&from=1", "RFC 3986 §3.4"),
    page("SQL instead of a time", PARAMETER, b"from=0%20OR%201=1", INJECTION),
    page("a time from behind its end", "200", b"from=9&to=1"),
    page("16 entities", "200", b"ent=" + b",".join(b"e%d" % number for number in range(16))),
    page("17 entities of a page", PARAMETER, b"ent=" + b",".join(b"e%d" % number for number in range(17))),
    page("an entity of 64 bytes", "200", b"ent=" + b"e" * 64),
    page("an entity of 65 bytes", PARAMETER, b"ent=" + b"e" * 65),
    page("no entity between commas", PARAMETER, b"ent=a,,b"),
    page("an entity that is not UTF-8", PARAMETER, b"ent=%ff%fe", "RFC 3629 §3"),
    page("SQL as an entity", "200", b"ent=" + DROP, INJECTION),
    page("an id of a thing without an entity", PARAMETER, b"id=N"),
    page("an id of a thing with two entities", PARAMETER, b"ent=note,call&id=N"),
    page("an id of a thing of 255 bytes", "200", b"ent=note&id=" + b"N" * 255),
    page("an id of a thing of 256 bytes", PARAMETER, b"ent=note&id=" + b"N" * 256),
    page("an empty id of a thing", PARAMETER, b"ent=note&id="),
    page("an id of a thing that is not UTF-8", PARAMETER, b"ent=note&id=%c3%28", "RFC 3629 §3"),
    page("an id of a thing with a NUL", "200", b"ent=note&id=N%00", "CWE-158"),
    page("an id of a thing twice", PARAMETER, b"ent=note&id=N&id=N", "RFC 3986 §3.4"),
    page("SQL as the id of a thing", "200", b"ent=note&id=" + DROP, INJECTION),
    page("SQL's wildcards as the id of a thing", "200", b"ent=note&id=%25_%25", INJECTION),
    newest("an order in upper case", PARAMETER, b"order=DESC"),
    newest("both orders", PARAMETER, b"order=asc,desc"),
    newest("an empty order", PARAMETER, b"order="),
    newest("SQL as an order", PARAMETER, b"order=desc" + DROP, INJECTION),
    page("an order twice", PARAMETER, b"order=asc", "RFC 3986 §3.4"),
    page("no event at all", PARAMETER, b"limit=0"),
    page("fewer events than none", PARAMETER, b"limit=-1"),
    page("an empty number of events", PARAMETER, b"limit="),
    page("501 events", "200", b"limit=501"),
    page("10³⁰ events", "200", b"limit=1" + b"0" * 30),
    page("SQL as a number of events", PARAMETER, b"limit=1" + DROP, INJECTION),
    page("a parameter that nobody knows", "200", b"x=" + DROP),
    inbox("unread that is 0", PARAMETER, b"unread=0"),
    inbox("unread that is empty", PARAMETER, b"unread="),
    inbox("unread twice", PARAMETER, b"unread=1&unread=1", "RFC 3986 §3.4"),
    inbox("SQL as unread", PARAMETER, b"unread=1" + DROP, INJECTION),
    inbox("an inbox before an id that is cut", PARAMETER, b"before=" + OWN[1:]),
    inbox("an inbox of no thing", PARAMETER, b"limit=0"),
    inbox("an inbox of 17 entities", PARAMETER, b"ent=" + b",".join(b"e%d" % number for number in range(17))),
    Row("a page that is posted", METHOD, "RFC 9110 §15.5.6", target(b"/archive/v1", b"POST")),
    Row("a page that is deleted", METHOD, "RFC 9110 §15.5.6", target(b"/archive/v1", b"DELETE")),
    Row("a mark that is fetched", METHOD, "RFC 9110 §15.5.6", target(b"/inbox/v1/read")),
    Row("a page with a slash behind", "404 `not_found`", "RFC 3986 §3.3", target(b"/archive/v1/")),
    Row("an inbox of a token without a person", "403 `forbidden`", "own rule",
        target(b"/inbox/v1").replace(b"@TOKEN@", b"@NOBODY@")),
]


def post(body, *fields, kind=b"Content-Type: application/json", length=None, token=b"@TOKEN@", behind=b""):
    length = b"Content-Length: %d" % len(body) if length is None else length
    lines = [b"POST /inbox/v1/read HTTP/1.1", b"Host: localhost", b"Authorization: Bearer " + token, kind, length, *fields]
    close = [] if behind else [b"Connection: close"]
    return b"\r\n".join([*filter(None, [*lines, *close]), b"", body]) + behind


def chunked(body):
    return post(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body), length=b"Transfer-Encoding: chunked")


def mark(aid=OWN, **more):
    return json.dumps({"aid": aid.decode(), **more}).encode()


def sized(size):
    """A mark of so many bytes, most of them in a member that nobody knows."""
    return mark(x="")[:-2] + b"x" * (size - len(mark(x=""))) + b'"}'


def refused(name, body, source="own rule", **words):
    """What stands behind it is never read as a request."""
    return Row(name, BAD, source, post(body, behind=HIDDEN, **words))


MARKS = [
    Row("a good mark of everything", "204", "own rule", post(mark())),
    Row("a good mark of a thing", "204", "own rule", post(mark(ent="note", id="N"))),
    Row("a mark with members that nobody knows", "204", "own rule", post(mark(x=[{}], y=None))),
    Row("a mark in chunks", "204", "RFC 9112 §7.1", chunked(mark())),
    Row("a mark of 4 KiB", "204", "own rule", post(sized(4096))),
    refused("a mark of 4 KiB and a byte", sized(4097)),
    Row("a mark of 4 KiB in chunks", "204", "RFC 9112 §7.1", chunked(sized(4096))),
    Row("a mark of 4 KiB and a byte in chunks", BAD, "RFC 9112 §7.1", chunked(sized(4097))),
    Row("a chunk larger than its size", BAD, "RFC 9112 §7.1",
        post(b"1\r\n%b\r\n0\r\n\r\n" % mark(), length=b"Transfer-Encoding: chunked")),
    refused("a mark without a type", mark(), "RFC 9110 §8.3", kind=b""),
    refused("a mark as text", mark(), "RFC 9110 §8.3", kind=b"Content-Type: text/plain"),
    refused("a mark as a form, which a page of others may send", mark(), "Fetch Standard §2.2.2",
            kind=b"Content-Type: application/x-www-form-urlencoded"),
    refused("a type that begins like JSON", mark(), "RFC 9110 §8.3", kind=b"Content-Type: application/json-seq"),
    refused("two types", mark(), "RFC 9110 §5.3", kind=b"Content-Type: application/json\r\nContent-Type: text/plain"),
    Row("a type with a parameter, in upper case", "204", "RFC 9110 §8.3.1",
        post(mark(), kind=b"Content-Type: APPLICATION/JSON; charset=utf-8")),
    refused("an empty mark", b""),
    refused("a mark that is cut", mark()[:-1], "RFC 8259 §2"),
    refused("a mark and itself behind it", mark() * 2, "RFC 8259 §2"),
    refused("a mark in a list", b"[" + mark() + b"]"),
    refused("null as a mark", b"null"),
    refused("a text as a mark", b'"' + OWN + b'"'),
    refused("a mark behind a byte order mark", b"\xef\xbb\xbf" + mark(), "RFC 8259 §8.1"),
    refused("a mark that is not UTF-8", mark(x="?").replace(b"?", b"\xff"), "RFC 8259 §8.1"),
    refused("4,000 brackets as a mark", b"[" * 2000 + b"]" * 2000, "CWE-674"),
    refused("4,000 brackets in a mark", mark(x=0)[:-2] + b"[" * 2000 + b"]" * 2000 + b"}", "CWE-674"),
    refused("a mark without an id", b"{}"),
    refused("a number as an id", b'{"aid":1000}'),
    refused("null as an id", b'{"aid":null}'),
    refused("an id in a mark that is cut", mark(OWN[:-1])),
    refused("an id in a mark and itself behind it", mark(OWN + OWN)),
    refused("two ids", b'{"aid":"%b","aid":"%b"}' % (OWN, OTHERS), "RFC 8259 §4"),
    refused("two ids, once with an escape", b'{"aid":"%b","a\\u0069d":"%b"}' % (OWN, OTHERS), "RFC 8259 §4"),
    refused("SQL as an id in a mark", mark(b"' OR 1=1 --"), INJECTION),
    refused("an entity without a thing", mark(ent="note")),
    refused("a thing without an entity", mark(id="N")),
    refused("an empty entity and thing", mark(ent="", id="")),
    refused("a number as a thing", mark(ent="note", id=7)),
    refused("two things", mark(ent="note", id="N")[:-1] + b',"id":"M"}', "RFC 8259 §4"),
    Row("a thing of 255 bytes", "204", "own rule", post(mark(ent="note", id="N" * 255))),
    refused("a thing of 256 bytes", mark(ent="note", id="N" * 256)),
    refused("an entity of 65 bytes in a mark", mark(ent="e" * 65, id="N")),
    Row("SQL as a thing", "204", INJECTION, post(mark(ent="'; DROP TABLE marks; --", id="N'); DELETE FROM events; --"))),
    Row("an id of another account in a mark", "204", "own rule", post(mark(OTHERS))),
    Row("an id of another server in a mark", "204", "own rule", post(mark(FOREIGN, ent="note", id="N"))),
    refused("an id of the year 6429", mark(AHEAD)),
    Row("a mark of a token without a person", "403 `forbidden`", "own rule", post(mark(), token=b"@NOBODY@", behind=HIDDEN)),
]
