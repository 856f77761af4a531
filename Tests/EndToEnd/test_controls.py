"""What a WebSocket is told besides its events, to the byte, and who is told it."""

import re
import subprocess
import time

import pytest

from clients import served
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
        # Where there is no replay a client that has cursors is told at once that it is live, and only once; else of events alone.
        live_is = [rf'\{{"live":\{{"at":"{CURSOR}"\}}\}}'] if "at" in form else []
        assert len(client.texts) == len(live_is) + 1 and all(map(re.fullmatch, live_is, client.texts)), client.texts


@pytest.mark.slow
def test_quiet_streams_with_cursors_get_a_fresh_one_after_five_seconds_at_the_shortest(gateway, mock_broker, live, tell):
    # An eighth of this retention is less.
    door = gateway(mock_broker.bootstrap, limits__ping_interval="100ms", history__retention="10s",
                   history__max_timestamp_delay="1s")
    begin = time.monotonic()
    plain = [live(door), live(door, with_="ts"), live(door, ent="incident")]
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
    # Whoever has no cursors is told of events alone, not even of the end.
    tell(["a"])
    for client in plain:
        client.wait_for_id("a")
    door.program.signal()
    for client in plain:
        assert client.wait_until_closed() == 1012
        assert len(client.texts) == 1
