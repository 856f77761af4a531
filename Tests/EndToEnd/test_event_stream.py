"""`/live/v1` as server-sent events: the head, the fields of each event, and how it ends."""

import json
import re

from clients import EventStream
from programs import PATIENCE, eventually, produce
from wire import CURSOR, ask, connect, upgrade


def test_the_head_is_that_of_an_event_stream_and_the_first_line_says_when_to_come_back(door, event_stream):
    retries = set()
    for _ in range(8):
        stream = event_stream(door)
        stream.wait_for("live")
        assert stream.status == "HTTP/1.1 200 OK"
        assert stream.fields["content-type"] == "text/event-stream"
        assert stream.fields["cache-control"] == "no-store" and stream.fields["x-accel-buffering"] == "no"
        assert stream.fields.keys().isdisjoint({"content-length", "transfer-encoding"})
        first = stream.body.split(b"\n\n")[0].decode()
        assert re.fullmatch(r"retry: \d+", first) and 1000 <= int(first[7:]) <= 5000
        retries.add(first)
    assert len(retries) > 1


def test_a_message_is_its_cursor_and_what_with_asked_for(door, event_stream, tell):
    keys = {"": ["ent", "id", "type"], "at": ["ent", "id", "type", "at"], "ts": ["ent", "id", "type", "ts"],
            "at,ts": ["ent", "id", "type", "at", "ts"], "aid": ["ent", "id", "type", "aid"]}
    streams = [(event_stream(door, **({"with_": words} if words else {})), expected) for words, expected in keys.items()]
    # Of these, neither adds a key.
    streams += [(event_stream(door, beat=5), keys[""]), (event_stream(door, since="x"), keys[""])]
    for stream, _ in streams:
        stream.wait_for("live")
    tell(["a"])
    for stream, expected in streams:
        message = stream.wait_for(None)
        assert list(message.json) == expected and re.fullmatch(CURSOR, message.id)
        assert message.json.get("at", message.id) == message.id
        assert message.data.startswith('{"ent":"incident","id":"a","type":"updated"')


def test_control_messages_are_events_of_their_name_and_comment_lines_keep_the_way_open(gateway, mock_broker, event_stream):
    stream = event_stream(gateway(mock_broker.bootstrap, limits__ping_interval="200ms"), since="x")
    resync, alive = stream.wait_for("resync"), stream.wait_for("live")
    assert resync.data == f'{{"why":"invalid","at":"{resync.id}"}}'
    assert alive.data == f'{{"at":"{alive.id}"}}'
    eventually(lambda: len(stream.comments) >= 4, 10, "four comments")
    assert [event.name for event in stream.events] == ["resync", "live"]


def test_since_resumes_and_the_last_id_of_a_browser_counts_instead(door, event_stream, tokens, tell):
    first = event_stream(door)
    begin = first.wait_for("live").id
    tell(["a", "b", "c"])
    first.wait_for(None, count=3)
    ids = [begin] + [message.id for message in first.messages]
    for gone, cursor in enumerate(ids):
        resumed = event_stream(door, since=cursor)
        resumed.wait_for("live")
        browser = event_stream(door, since=ids[-1], headers=[f"Last-Event-ID: {cursor}"])
        browser.wait_for("live")
        assert resumed.ids == browser.ids == ["a", "b", "c"][gone:]
    broken = event_stream(door, since=begin, headers=["Last-Event-ID: x"])
    assert broken.wait_for("resync").json["why"] == "invalid"
    # A WebSocket has none: nothing but the handshake comes, and the answer to a ping.
    with connect(door.host, 10 * PATIENCE) as peer:
        peer.sendall(upgrade(tokens.token("PACC1"), headers=[f"Last-Event-ID: {begin}"]) + b"\x89\x80\0\0\0\0")
        answer = b""
        while not answer.endswith(b"\x8a\0"):
            assert (piece := peer.recv(4096)), answer
            answer += piece
    assert answer.partition(b"\r\n\r\n")[2] == b"\x8a\0"


def test_where_a_websocket_is_closed_an_event_stream_says_bye_and_ends(door, tokens, event_stream):
    def join(token):
        stream = EventStream(door, token)
        assert "200" in stream.status
        return stream

    expiring = tokens.joined_for_a_moment("PACC1", join)
    other = event_stream(door)
    expiring.wait_until_ended(90)
    bye = expiring.wait_for("bye")
    assert (bye.data, bye.id) == ('{"code":4401,"why":"token expired"}', None)
    assert [event.name for event in expiring.events] == ["live", "expiring", "bye"] and expiring.body.endswith(b"\n\n")
    expiring.end()
    other.wait_for("live")
    door.program.signal()
    other.wait_until_ended()
    assert other.events[-1].name == "bye" and other.events[-1].json["code"] == 1012


def test_nothing_of_a_record_makes_a_field(door, event_stream, mock_broker):
    """Every control character, and what would be fields, in each place of a record."""
    stream = event_stream(door)
    stream.wait_for("live")
    texts = [chr(code) for code in range(0x20)] + ["\x7f", "\x85", "\u2028", "\r\n", "\n\nevent: bye\nid: x\ndata: {}\n\n"]
    places = [{"entity": "e", "id": "i", "type": "t"} for _ in range(3 * len(texts))]
    for number, record in enumerate(places):
        text = texts[number // 3]
        record[list(record)[number % 3]] = (text + "x" + text)
    produce(mock_broker.bootstrap, "incidents", [{"account_id": "PACC1", **record} for record in places])
    stream.wait_for(None, count=len(places))
    assert stream.body.count(b"\n\n") == len(places) + 2
    got = [message.json for message in stream.messages]
    assert [(message["ent"], message["id"], message["type"]) for message in got] == [
        tuple(record.values()) for record in places]


def test_it_is_asked_for_by_accept_with_a_token_and_other_requests_are_refused(door, tokens):
    def answered(*fields):
        return ask(door.host, "\r\n".join(["GET /live/v1 HTTP/1.1", "Host: h", *fields, "", ""]).encode())
    for accept in ([], ["Accept: */*"], ["Accept: text/html"]):
        answer = answered(f"Authorization: Bearer {tokens.token('PACC1')}", *accept)
        assert answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(b"\r\n\r\nClient did not request a WebSocket.")
    answer = answered("Accept: text/event-stream")
    assert answer.startswith(b"HTTP/1.1 401 ") and json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "invalid_token"


def test_curl_reads_it(door, start, tokens, tell, event_stream):
    before = event_stream(door)
    begin = before.wait_for("live").id
    tell(["a"])
    eventually(lambda: before.ids == ["a"], 20, "the event at who came before")
    curl = start("curl", "-sN", "-H", "Accept: text/event-stream", "-H", f"Authorization: Bearer {tokens.token('PACC1')}",
                 f"http://{door.host}/live/v1?since={begin}")
    eventually(lambda: "event: live" in curl.out and curl.out[-1] == "", 20, lambda: f"what stood before; {curl.told()}")
    # The stream goes on.
    assert curl.process.poll() is None
    assert re.fullmatch(rf'retry: \d+\n\nid: {CURSOR}\ndata: \{{"ent":"incident","id":"a","type":"updated"\}}\n\n'
                        rf'event: live\nid: {CURSOR}\ndata: \{{"at":"{CURSOR}"\}}\n', "\n".join(curl.out))
