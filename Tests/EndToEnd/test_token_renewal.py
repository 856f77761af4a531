# Tests: Connection+Tokens.swift, Connection+Renewal.swift, TokenRenewal.swift, PartialMessage.swift
"""The token of an open stream: its client is told that it ends, sends the next one, and goes on."""

import asyncio
import base64
import json
import time

import pytest

from caller import answer, bearer
from clients import EventStream
from rawclient import RawClient, play, until
from wire import BINARY, TEXT, frame


def expiry(token):
    return json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))["exp"]


def message(token, pad=0):
    return json.dumps({"token": token, **({"pad": "x" * pad} if pad else {})}).encode()


def ids(client):
    return [message["id"] for message in client.messages if "ent" in message]


def controls(client):
    """The names of its control messages, without what is said of the broker where this machine stood still."""
    names = [next(iter(message)) for message in client.messages if "ent" not in message]
    return [name for name in names if name != "source"]


def pieces(payload, count):
    """One message in so many fragments."""
    size = -(-len(payload) // count)
    cut = [payload[at:at + size] for at in range(0, len(payload), size)]
    return b"".join(frame(TEXT if not at else 0, piece, final=at == len(cut) - 1) for at, piece in enumerate(cut))


@pytest.fixture
def small_door(gateway, mock_broker):
    """A gateway that takes messages of 100 bytes."""
    return gateway(mock_broker.bootstrap, limits__max_message_bytes=100)


def test_a_stream_goes_on_with_the_next_token_and_ends_with_that(door, tokens, tell, ends_with_test):
    ending = tokens.token("PACC1", "--expires", "15s")
    streams = [ends_with_test(EventStream(door, token)) for token in (ending, tokens.token("PACC1", "--expires", "1h"))]

    async def scenario():
        # Short enough to be told of at once, and far longer than the way to the next line.
        short, next_one = tokens.token("PACC1", "--expires", "45s"), tokens.token("PACC1", "--expires", "1h")
        kept = await RawClient.open(door.host, short, path="/live/v1?with=at")
        plain = await RawClient.open(door.host, short)
        left = await RawClient.open(door.host, ending, path="/live/v1?with=at")
        for client, token in ((kept, short), (left, ending)):
            await until(lambda: {"expiring": {"exp": expiry(token)}} in client.messages)
        # The same one again is taken again, and not told of again.
        left.writer.write(frame(TEXT, message(ending)))
        for client in (kept, plain):
            client.writer.write(frame(TEXT, message(next_one)))
        await until(lambda: {"token": {"exp": expiry(next_one)}} in kept.messages)
        await until(lambda: left.close is not None, within=40)
        # Not before, and told what it was in the answer to whoever comes with it again.
        assert left.close == (4401, "token expired") and time.time() >= expiry(ending) - 0.01
        assert left.messages[-1] == {"bye": {"code": 4401, "why": "token expired"}}
        status, _, body = await asyncio.to_thread(answer, door.host, bearer(ending))
        assert status == 401 and time.strftime("expired at %Y-%m-%dT%H:%M:%SZ", time.gmtime(expiry(ending))) in body
        assert controls(left) == ["live", "expiring", "token", "bye"] and not ids(left)
        tell(["after"])
        await until(lambda: ids(kept) == ids(plain) == ["after"])
        assert kept.close is None and all("ent" in message for message in plain.messages)
        # The next one ends too.
        last = tokens.token("PACC1", "--expires", "15s")
        kept.writer.write(frame(TEXT, message(last)))
        await until(lambda: kept.close is not None, within=40)
        assert controls(kept) == ["live", "expiring", "token", "token", "expiring", "bye"] and kept.close[0] == 4401
    play(scenario())
    # So it is for event streams.
    assert streams[0].wait_for("expiring").json == {"exp": expiry(ending)}
    assert streams[0].wait_for("bye", within=40).json["code"] == 4401
    assert not [event for event in streams[1].events if event.name == "expiring"] and not streams[1].has_ended


def test_what_is_no_token_is_ignored_within_the_limit_and_a_bad_token_closes(small_door, tokens):
    good, long = tokens.token("PACC1"), 16 * 1024
    full = long - len(message(good, 1)) + 1
    rows = [
        (frame(TEXT, message(good)), None), (frame(TEXT, message(good, full)), None), (pieces(message(good, full), 7), None),
        (frame(TEXT, message(good, full + 1)), 1009), (pieces(message(good, full + 1), 7), 1009),
        (frame(TEXT, b"x" * 100), None), (frame(TEXT, b"x" * 101), 1009), (frame(BINARY, message(good)), 1009),
        (frame(TEXT, b'{"other":"' + b"x" * 88 + b'"}'), None), (frame(TEXT, b'{"other":"' + b"x" * 89 + b'"}'), 1009),
        (frame(TEXT, b" " * 101), 1009), (frame(TEXT, message(good)[:-1]), 1009), (frame(TEXT, b'{"token":"x"}'), 4401),
        (frame(TEXT, b'{"token":5}'), 4401), (frame(TEXT, message(tokens.token("PACC2"))), 4401),
        (frame(TEXT, message(good + "x")), 4401), (pieces(message(tokens.token("PACC2")), 3), 4401),
        (frame(TEXT, message("x" * 8192)), (4401, "token expired")), (frame(TEXT, message("x" * 8193)), (4401, "token too large")),
    ]

    async def scenario():
        for sent, code in rows:
            client = await RawClient.open(small_door.host, good, path="/live/v1?with=at")
            await until(lambda: client.messages)
            client.writer.write(sent)
            if code is None:
                # Whatever it was, what follows is taken.
                count = len(client.messages)
                client.writer.write(frame(TEXT, message(good)))
                await until(lambda: {"token": {"exp": expiry(good)}} in client.messages[count:] or client.close)
                assert client.close is None, sent[:60]
            else:
                await until(lambda: client.close is not None)
                assert code in (client.close[0], client.close), (sent[:60], client.close)
        # Who sends tokens without end is asked to wait.
        client = await RawClient.open(small_door.host, good, path="/live/v1?with=at")
        await until(lambda: client.messages)
        client.writer.write(60 * frame(TEXT, message(good)))
        await until(lambda: client.close is not None)
        assert client.close[0] == 4429 and "retry_ms=" in client.close[1]
        first, *taken, last = controls(client)
        assert (first, set(taken), last) == ("live", {"token"}, "bye") and len(taken) >= 10
    play(scenario())


def test_livecat_goes_on_with_the_token_that_its_file_holds_later(door, tokens, tell, livecat, tmp_path):
    file = tmp_path / "token"
    # Its end is told of at once, and there is time to write the next one.
    file.write_text(tokens.token("PACC1", "--expires", "45s"))
    client = livecat("--with", "at", "--token-file", file, f"ws://{door.host}/live/v1")

    def notice(word):
        while word not in (line := client.notice()):
            assert "disconnected" not in line, word
        return line
    notice("expiring: the token ends at ")
    file.write_text(tokens.token("PACC1", "--expires", "1h"))
    notice("sent the next token")
    notice("the next token is accepted, it ends at ")
    tell(["after"])
    assert json.loads(client.line())["id"] == "after"
