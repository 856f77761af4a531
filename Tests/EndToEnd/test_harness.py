"""The harness itself: the embedded broker is a broker, and programs end with their tests."""

import asyncio
import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from archives import is_to_wait
from asker import Asker
from clients import Answer, served
from livecat import Livecat
from processes import open_files
from programs import KCAT, ROOT, SHARED, Program, eventually, produce
from rawclient import RawClient, play, until
from shared_brokers import VARIABLE
from wire import BINARY, CLOSE, MORE, PING, PONG, TEXT, frame, split_frame


def consumed(bootstrap, topic):
    done = subprocess.run([*KCAT, "-C", "-b", bootstrap, "-t", topic, "-e", "-q", "-f", "%k %s\n"],
                          capture_output=True, timeout=300, check=True)
    return sorted(done.stdout.decode().splitlines())


def test_the_embedded_broker_is_a_broker_which_goes_and_comes_back(mock_broker, start):
    mock_broker.topic("made-later", 2)
    produce(mock_broker.bootstrap, "made-later", ["one", {"two": 2}], partition=1)
    produce(mock_broker.bootstrap, "made-later", [("key", "three")])
    assert consumed(mock_broker.bootstrap, "made-later") == [" one", ' {"two": 2}', "key three"]
    mock_broker.down()
    refused = subprocess.run(["kcat", "-L", "-b", mock_broker.bootstrap, "-m", "1"], capture_output=True, timeout=300)
    assert refused.returncode != 0
    # What could not be delivered is an error, and kcat waits for a broker that comes back.
    with pytest.raises(AssertionError, match="Delivery failed"):
        produce(mock_broker.bootstrap, "incidents", ["lost"], message_timeout_ms=1000)
    writer = start(*KCAT, "-P", "-b", mock_broker.bootstrap, "-t", "incidents", "-p", "0")
    writer.send("one")
    writer.process.stdin.close()
    writer.line("brokers are down")
    mock_broker.up()
    assert writer.wait(60) == 0
    assert consumed(mock_broker.bootstrap, "incidents") == [" one"]


def test_who_asks_the_administration_asks_again_where_its_connection_was_closed(gateway, mock_broker):
    asker = Asker(gateway(mock_broker.bootstrap, limits__handshake_timeout="100ms").admin)
    # It has said nothing for too long.
    assert asker.ended()
    assert asker.ask("GET", "/livez")[0] == 200


def test_the_descriptors_of_a_program_are_counted_without_those_that_no_client_opens(mock_broker):
    pid, address = os.getpid(), mock_broker.bootstrap.rpartition(":")
    # As Dispatch does when somebody has to wait by another clock than before.
    timer = os.fdopen(ctypes.CDLL(None).timerfd_create(1, 0), "rb")
    with timer, socket.create_connection((address[0], int(address[2]))) as to_broker, socket.socket() as client:
        files = [os.readlink(f"/proc/self/fd/{file.fileno()}") for file in (timer, to_broker, client)]
        assert {*files} <= {*open_files(pid)}
        assert {*files} & {*open_files(pid, mock_broker.bootstrap)} == {files[2]}


RUN = "import shared_brokers, sys; print(shared_brokers.Run().folder, flush=True); sys.stdin.read()"
USER = """
import shared_brokers, sys
cluster = shared_brokers.shared_cluster("shared")
print(cluster.bootstrap["plaintext"], flush=True)
sys.stdin.read()
"""


@pytest.mark.kafka
def test_all_processes_of_a_run_have_one_cluster_which_ends_with_the_run_alone(start):
    env = {"PYTHONPATH": str(ROOT / "Tests/Harness/Python"), "LIVEGATE_SHARED": str(SHARED)}
    first = start(sys.executable, "-c", RUN, env=env)
    folder = Path(first.line("/"))
    try:
        users = [start(sys.executable, "-c", USER, env={**env, VARIABLE: str(folder)}) for _ in range(3)]
        address, = {user.line("127.0.0.1:", within=120) for user in users}
        # Among them the one that has started it.
        for user in users:
            user.signal(signal.SIGKILL)
            user.wait()
        produce(address, "still-there", ["one"])
        assert consumed(address, "still-there") == [" one"]
        first.signal(signal.SIGKILL)
        eventually(lambda: not (folder / "shared/cluster").exists(), 30, "the end of the cluster")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_program_and_what_it_started_end_with_their_test(start):
    program = start("/bin/sh", "-c", "sleep 1000 & echo $!; wait")
    child = program.line("").strip()
    program.end()
    eventually(lambda: subprocess.run(["kill", "-0", child], capture_output=True).returncode != 0)


# A signal that comes right before a shell waits for its child would not be seen before that ends.
STAYS = "echo set; while sleep 0.1; do :; done"


@pytest.mark.parametrize("words, number, trouble", [
    (["exit 0"], None, "by itself with 0"), (["exit 3"], None, "by itself with 3"),
    (["kill -SEGV $$"], None, "by itself with -11"), ([f"trap 'exit 7' TERM; {STAYS}"], None, "has ended with 7"),
    (["echo set; exec sleep 1000"], None, None), ([f"trap 'exit 0' TERM; {STAYS}"], None, None),
    # A gateway ends with 0, whatever it is told by, or its test has asked.
    ([f"trap 'exit 0' HUP; {STAYS}", "livegate"], signal.SIGHUP, "by itself with 0"),
    ([f"trap 'exit 0' HUP; {STAYS}", "livegate"], signal.SIGKILL, "has ended with -9")])
def test_a_program_that_ends_otherwise_than_it_is_told_to_fails_its_test(words, number, trouble):
    program = Program("/bin/sh", "-c", *words)
    if "set" in words[0]:
        program.line("set")
    if number:
        program.signal(number)
    if number or "set" not in words[0]:
        eventually(lambda: program.process.poll() is not None)
    with pytest.raises(AssertionError, match=trouble) if trouble else contextlib.nullcontext():
        program.end()
    # A status that was asked for is judged by who asked.
    if trouble:
        program.wait()
        program.end()
    # So it is for livecat, which has a class of its own.
    if words == ["exit 3"]:
        livecat = Livecat("--nonsense")
        eventually(lambda: livecat.process.poll() is not None)
        with pytest.raises(AssertionError, match="by itself with 64"):
            livecat.end()


def sends(*frames, answers=0, is_awaited=True):
    """Plays a client that is sent these frames by a server of WebSockets; what it has got. After `answers` frames of the client
    the server closes."""
    clients, got = [], []

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + b"".join(frames))
        buffer = b""
        while len(got) < answers:
            piece = await reader.read(4096)
            assert piece, got
            buffer += piece
            while found := split_frame(buffer):
                got.append((found[0] & 0x0F, found[2]))
                buffer = buffer[found[3]:]
        writer.write(frame(CLOSE, b"\x03\xe8", masked=False))

    async def scenario():
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            clients.append(await RawClient.open("127.0.0.1:%d" % server.sockets[0].getsockname()[1]))
            await (until(lambda: clients[0].close) if is_awaited else asyncio.wait([clients[0].task]))
    play(scenario())
    return clients[0], got


def test_a_raw_client_reads_texts_and_answers_pings():
    client, got = sends(frame(TEXT, b'{"id":"a"}', masked=False), frame(PING, b"there?", masked=False),
                        frame(PONG, masked=False), answers=1)
    assert (client.ids, client.close, got) == (["a"], (1000, ""), [(PONG, b"there?")])


@pytest.mark.parametrize("is_awaited", [True, False])
@pytest.mark.parametrize("wrong", [
    frame(BINARY, b"{}", masked=False), frame(TEXT, b"{}", final=False, masked=False), frame(MORE, b"{}", masked=False),
    frame(0x3, masked=False), frame(0xB, masked=False), b"\xc1\x02{}", frame(PING, bytes(126), masked=False),
    frame(TEXT, b"{}"), frame(TEXT, b"no JSON", masked=False)])
def test_a_raw_client_raises_what_no_gateway_sends(wrong, is_awaited):
    """While something is waited for, and at the end."""
    with pytest.raises((AssertionError, json.JSONDecodeError)) as met:
        sends(wrong, is_awaited=is_awaited)
    assert "did not come true" not in str(met.value)


def test_who_is_refused_is_not_served(door, live):
    assert served(live(door, with_="at"))["at"]
    with pytest.raises(AssertionError, match="resync"):
        served(live(door, since="x"))


@pytest.mark.parametrize("status, code, after, waits", [
    (503, "not_ready", "1", True), (503, "not_ready", "5", True), (503, "not_ready", "6", False), (503, "not_ready", "", False),
    (503, "not_ready", None, False), (503, "overloaded", "1", False), (503, "draining", "1", False),
    (429, "too_many", "1", False)])
def test_a_503_that_is_not_granted_is_not_waited_for(status, code, after, waits):
    fields = {} if after is None else {"retry-after": after}
    assert is_to_wait(Answer(status, fields, json.dumps({"code": code}))) == waits
