"""What a WebSocket is told besides its events, to the byte, and who is told it."""

import re
import signal
import subprocess
import time

from websockets.sync.client import connect

from clients import LiveClient, served
from programs import KCAT, eventually
from wire import CURSOR

PLAIN = r'\{"ent":"incident","id":"%s","type":"updated"'


def timestamps(bootstrap):
    done = subprocess.run([*KCAT, "-C", "-b", bootstrap, "-t", "incidents", "-p", "0", "-o", "beginning", "-e", "-q",
                           "-f", "%T\n"], capture_output=True, text=True, timeout=300, check=True)
    return [int(line) for line in done.stdout.split()]


def test_with_says_what_each_message_carries_in_this_order(door, live, tell, mock_broker):
    forms = {"": "", "at": rf',"at":"{CURSOR}"', "ts": r',"ts":(\d+)', "at,ts": rf',"at":"{CURSOR}","ts":(\d+)',
             "ts,at": rf',"at":"{CURSOR}","ts":(\d+)'}
    clients = [(live(door, **({"with_": words} if words else {})), form) for words, form in forms.items()]
    tell(["a"])
    [written] = timestamps(mock_broker.bootstrap)
    for client, form in clients:
        client.wait_for_id("a")
        [text] = [text for text in client.texts if '"ent"' in text]
        match = re.fullmatch(PLAIN % "a" + form + r"\}", text)
        assert match, text
        assert all(int(found) == written for found in match.groups())


def test_live_comes_at_once_where_there_is_no_replay_and_only_once(door, live, tell):
    client = live(door, with_="at")
    client.wait_for_control("live")
    tell(range(3))
    client.wait_for_events(3)
    assert re.fullmatch(rf'\{{"live":\{{"at":"{CURSOR}"\}}\}}', client.texts[0])
    assert len(client.controls("live")) == 1


def test_a_client_without_cursors_is_told_of_events_alone(gateway, mock_broker, live, tell):
    door = gateway(mock_broker.bootstrap, limits__ping_interval="100ms", history__retention="2s",
                   history__max_timestamp_delay="1s")
    plain = [live(door), live(door, with_="ts"), live(door, ent="incident")]
    beaten = live(door, with_="at")
    beaten.wait_for_control("beat", count=2)
    tell(["a"])
    for client in plain:
        client.wait_for_id("a")
    door.program.signal()
    for client in plain:
        assert client.wait_until_closed() == 1012
        assert len(client.texts) == 1


def test_resync_is_followed_by_live_on_the_same_stream(door, live, tell):
    client = live(door, since="x")
    client.wait_for_control("live")
    assert re.fullmatch(rf'\{{"resync":\{{"why":"invalid","at":"{CURSOR}"\}}\}}', client.texts[0])
    assert re.fullmatch(rf'\{{"live":\{{"at":"{CURSOR}"\}}\}}', client.texts[1])
    tell(["a"])
    client.wait_for_id("a")
    assert len(client.texts) == 3


def test_bye_says_the_code_of_the_close_that_follows(door, tokens):
    client = tokens.joined_for_a_moment("PACC1", lambda token: LiveClient(door, token, with_="at"))
    assert client.wait_until_closed(90) == 4401
    assert client.texts[-1] == '{"bye":{"code":4401,"why":"token expired"}}'
    assert [next(iter(message)) for message in client.messages] == ["live", "expiring", "bye"]
    client.end()


def test_bye_comes_before_the_close_of_a_node_that_stops(door, live):
    client, plain = live(door, with_="at"), live(door)
    client.wait_for_control("live")
    door.program.signal(signal.SIGTERM)
    assert client.wait_until_closed() == plain.wait_until_closed() == 1012
    assert re.fullmatch(r'\{"bye":\{"code":1012,"why":"restart","retry_ms":\d+\}\}', client.texts[-1])
    assert plain.texts == []


def test_what_a_client_sends_is_ignored_and_the_subprotocol_is_chosen(door, tokens, tell):
    with connect(door.url + "?with=at", additional_headers={"Authorization": f"Bearer {tokens.token('PACC1')}"},
                 subprotocols=["other", "livegate.v1"]) as socket:
        assert socket.subprotocol == "livegate.v1"
        for sent in ("ping", '{"since":"x"}', b"\0" * 100):
            socket.send(sent)
        assert socket.recv(10).startswith('{"live":')
        tell(["a"])
        assert '"id":"a"' in socket.recv(10)


def test_quiet_streams_with_cursors_get_a_fresh_one_after_five_seconds_at_the_shortest(gateway, mock_broker, live):
    # An eighth of this retention is less.
    door = gateway(mock_broker.bootstrap, history__retention="10s", history__max_timestamp_delay="1s")
    begin = time.monotonic()
    client = live(door, with_="at")
    before = client.wait_for_control("live")["at"]
    client.wait_for_control("beat", count=2)
    assert time.monotonic() - begin > 9.9
    beats = client.controls("beat")
    assert len({before, *[beat["at"] for beat in beats]}) == len(beats) + 1
    assert all(re.fullmatch(rf'\{{"beat":\{{"at":"{CURSOR}"\}}\}}', text) for text in client.texts[1:3])
    # Silence does not expire them: later than the retention, the last of them is good.
    eventually(lambda: time.monotonic() > begin + 11, 20)
    assert served(live(door, since=client.controls("beat")[-1]["at"]))
