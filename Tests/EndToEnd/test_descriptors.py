"""More connections than descriptors: nobody is forgotten, and it passes. That nothing spins meanwhile AcceptTroubleTests hold."""

import datetime
import json
import re
import resource

import pytest

from gateway import hang_up, rewrite
from processes import descriptors
from programs import PATIENCE, eventually
from wire import connect, frame, upgrade

ROOM = 30


def limit_descriptors(pid, count):
    """As a low `ulimit -n`; to be raised again later, the hard limit stays."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (count, hard))


def try_to_join(host, token):
    """The socket and the first bytes that come, or nothing if the server just closed."""
    peer = connect(host, 20 * PATIENCE)
    try:
        peer.sendall(upgrade(token))
        return peer, peer.recv(4096)
    except ConnectionError:
        return peer, b""


def test_a_gateway_without_descriptors_refuses_and_recovers(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap, loops=4)
    pid, token = door.program.pid, tokens.token("PACC1")
    limit_descriptors(pid, descriptors(pid) + ROOM)
    inside, refused = [], []
    for _ in range(ROOM + 200):
        peer, answer = try_to_join(door.host, token)
        if answer.startswith(b"HTTP/1.1 101 "):
            inside.append(peer)
        else:
            refused.append(answer)
            peer.close()
    # The kernel may give a descriptor back a moment before the next one is asked for; Kafka's own come and go.
    assert ROOM // 2 <= len(inside) <= ROOM + 5
    said = [answer for answer in refused if answer]
    assert len(said) > len(refused) // 2
    for answer in said:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ") and re.search(rb"\r\nRetry-After: [1-5]\r\n", head), head
        assert json.loads(body)["code"] == "overloaded"
    told = [json.loads(line) for line in door.program.err if "no descriptor is left" in line]
    assert told[0]["level"] == "error" and told[0]["address"] == door.host
    # All loops together tell it once in a minute.
    times = [datetime.datetime.fromisoformat(line["time"]) for line in told]
    assert all(later - earlier >= datetime.timedelta(seconds=59.9) for earlier, later in zip(times, times[1:]))

    # Those inside are served meanwhile.
    inside[0].sendall(frame(0x9, b"hello"))
    assert inside[0].recv(100) == b"\x8a\x05hello"

    # Some leave: their places are given to others.
    for peer in inside[:10]:
        peer.close()

    def is_let_in():
        peer, answer = try_to_join(door.host, token)
        inside.append(peer)
        return answer.startswith(b"HTTP/1.1 101 ")
    eventually(is_let_in, what="a place for a new connection")
    for peer in inside:
        peer.close()

    # Everybody who was answered was counted; the first line may have come before the first answer.
    door.program.signal()
    stopped = json.loads(door.program.line('"stopped"'))
    counted = dict(pair.split("=") for pair in stopped["refused"].split())
    assert int(counted["overloaded"]) >= len(said)


@pytest.mark.parametrize("way", ["plain", "tls"])
def test_silent_clients_leave_the_node_its_descriptors(gateway, mock_broker, certificates, tokens, way):
    door = gateway(
        mock_broker.bootstrap, around=("bash", "-c", 'ulimit -n 300; exec "$@"', "bash"), reload_interval="0s",
        **({"tls": certificates.settings["ecdsa"]} if way == "tls" else {}))
    before = door.descriptors()
    silent = [connect(door.host, 20 * PATIENCE) for _ in range(300)]
    # Whoever comes last is answered, or closed where that needs TLS: the others before have been accepted.
    last = connect(door.host, 20 * PATIENCE)
    try:
        said = last.recv(4096)
    except ConnectionError:
        said = b""
    assert said.startswith(b"HTTP/1.1 503 ") if way == "plain" else said == b""
    assert descriptors(door.program.pid) < 300 - 100
    # The node itself goes on: it is asked, reads files, opens connections.
    assert door.asked("/livez") == (200, "ok\n")
    rewrite(door, limits={**door.settings["limits"], "max_lag": "9s"})
    hang_up(door)
    assert door.wait_for_log("settings reloaded")["changed"] == "limits.max_lag"
    if way == "plain":
        mock_broker.down()
        eventually(lambda: "[-]broker" in door.asked("/readyz?verbose")[1], 60, "the loss of the broker")
        mock_broker.up()
        eventually(lambda: "[+]broker ok" in door.asked("/readyz?verbose")[1], 60, "a connection to the broker")
    refused, name = (('overloaded', "livegate_handshakes_total"), ('descriptors', "livegate_early_closes_total"))[way == "tls"]
    lines = [line for line in door.asked("/metrics")[1].splitlines() if line.startswith(name) and f'"{refused}"' in line]
    assert len(lines) == 1 and float(lines[0].split()[1]) >= 100, lines
    for peer in [*silent, last]:
        peer.close()
    if way == "plain":
        # As many may be connected by default as fit beside the node's own: whoever comes on top is read and told so.
        eventually(lambda: door.descriptors() <= before, what="the end of the silent ones")
        token, inside = tokens.token("PACC1"), []
        while (joined := try_to_join(door.host, token))[1].startswith(b"HTTP/1.1 101 "):
            inside.append(joined[0])
        assert door.wait_for_log("clients are refused: the node is at a limit")["limit"].startswith("max_connections ")
        for peer in [*inside, joined[0]]:
            peer.close()
