# Tests: Syscalls.swift, Listener.swift, Transport.swift, LogOutput.swift
"""Calls that fail, one after another, in everything that a gateway does for its clients: the n-th of each kind for n = 1, 2, 3 …
until one pass makes no n-th call. Whatever fails, the process lives, whoever is connected gets every event, whoever was hit is
told or let go, and no descriptor and no place in a limit is lost.

By default each sweep takes long steps, and one error of each call. `LIVEGATE_FAULTS=all` takes every call and all errors."""

import errno
import http.client
import itertools
import json
import os
import signal
import ssl
import subprocess
import threading
import zlib

import pytest

from caller import Caller
from faults import ALWAYS, TAKES_ALL, sweep
from processes import descriptor_of
from programs import KCAT, PATIENCE, event, eventually
from wire import CLOSE, PING, PONG, TEXT, connect, event_stream_request, frame, get, upgrade

# A sanitizer's runtime wants to be the first library.
pytestmark = [pytest.mark.slow, pytest.mark.unsanitized]

PROXY = b"PROXY TCP4 192.0.2.7 192.0.2.9 4711 443\r\n"


class Failed(Exception):
    """A visit ended as one may that was hit: with an error that says so, or without an answer."""


class Visitor(Caller):
    """One connection behind a balancer, over TLS. A deadline that passes is an error of the test: nobody may be left waiting."""

    failure = Failed

    def __init__(self, scene):
        try:
            super().__init__(scene.door.host, scene.context, PROXY)
        except (ConnectionError, ssl.SSLError) as error:
            raise Failed from error


class Scene:
    """A gateway behind a balancer with TLS and compression, events that never end, and a client that must notice nothing."""

    def __init__(self, gateway, broker, certificates, tokens, faults, **changes):
        self.faults, self.context, self.token = faults, certificates.client(), tokens.token("PACC1")
        self.door = gateway(broker.bootstrap, env=faults.env, tls=certificates.settings["ecdsa"], loops=2,
                            balancer={"trusted": ["127.0.0.1"], "proxy_protocol": True}, websocket={"deflate": True},
                            limits__max_connections_per_subject=3, limits__max_handshakes_per_second=0, **changes)
        self.stopping, self.seen = threading.Event(), []
        self.steady = Visitor(self)
        self.steady.send(upgrade(self.token))
        self.steady.upgraded()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.kcat = subprocess.Popen([*KCAT, "-P", "-b", broker.bootstrap, "-t", "incidents", "-p", "0", "-X", "linger.ms=0"],
                                     stdin=subprocess.PIPE, text=True)
        self.writer = threading.Thread(target=self._write, daemon=True)
        self.writer.start()
        self.visit()
        self.rest = self.door.descriptors()
        self.spared = descriptor_of(self.door.program.pid, self.steady.socket)

    def _write(self):
        for number in itertools.count():
            if self.stopping.wait(0.03):
                return
            self.kcat.stdin.write(json.dumps(event("PACC1", number)) + "\n")
            self.kcat.stdin.flush()

    def _read(self):
        try:
            while not self.stopping.is_set():
                self.seen.append(int(json.loads(self.steady.read_until(TEXT))["id"]))
        except (Failed, OSError) as error:
            self.seen.append(error)

    def visit(self):
        """All that clients do, each on a connection of its own; what failed."""
        return [name for name, part in (("socket", self.socket), ("sync", self.sync), ("stream", self.stream),
                                        ("leaver", self.leaver), ("admin", self.admin)) if not self.passes(part)]

    @staticmethod
    def passes(part):
        try:
            part()
            return True
        except TimeoutError:
            raise
        except (Failed, OSError, http.client.HTTPException):
            return False

    def socket(self):
        with Visitor(self) as visitor:
            visitor.send(upgrade(self.token, headers=["Sec-WebSocket-Extensions: permessage-deflate"]))
            visitor.upgraded(extensions=0x40)
            packed = zlib.compressobj(wbits=-15)
            text = packed.compress(b'{"nobody":"reads this"}') + packed.flush(zlib.Z_SYNC_FLUSH)
            visitor.send(frame(0x40 | TEXT, text[:-4]) + frame(PING, b"here"))
            assert visitor.read_until(PONG) == b"here"
            visitor.read_until(TEXT)
            visitor.send(frame(CLOSE, b"\x03\xe8"))
            assert visitor.read_until(CLOSE)[:2] == b"\x03\xe8"

    def sync(self):
        with Visitor(self) as visitor:
            visitor.send(get("/sync/v1", self.token))
            cursor = visitor.page()["at"]
            visitor.send(get(f"/sync/v1?since={cursor}&wait=60", self.token))
            assert visitor.page()["events"]

    def stream(self):
        with Visitor(self) as visitor:
            visitor.send(event_stream_request(self.token))
            visitor.head(200)
            visitor.until(b"data: ")

    def leaver(self):
        """One who leaves in the middle of the handshake."""
        with connect(self.door.host, 20 * PATIENCE) as peer:
            peer.sendall(PROXY + b"\x16\x03\x01")

    def admin(self):
        address = http.client.HTTPConnection(self.door.admin, timeout=20 * PATIENCE)
        address.request("GET", "/metrics")
        answer = address.getresponse()
        text = answer.read().decode()
        address.close()
        if answer.status != 200:
            raise Failed(answer.status)
        return text

    def judge(self):
        """Nothing is left of those who came, and the steady one has every event."""
        assert self.door.program.process.poll() is None, self.door.program.told()
        places = ['livegate_connections{kind="websocket"} 1', 'livegate_connections{kind="event_stream"} 0',
                  'livegate_connections{kind="sync"} 0']
        eventually(lambda: all(place in self.admin() for place in places), what=lambda: f"places; {self.admin()}")
        eventually(lambda: self.door.descriptors() <= self.rest, 30,
                   lambda: f"{self.rest} descriptors, not {self.door.descriptors()}; {self.door.program.told()}")
        count = len(self.seen)
        eventually(lambda: len(self.seen) > count, what=lambda: f"an event more; {self.seen[-3:]}")
        assert self.seen == list(range(self.seen[0], self.seen[0] + len(self.seen))), self.seen[-3:]
        assert self.door.status("/livez") == 200

    def end(self):
        self.faults.disarm()
        self.stopping.set()
        self.writer.join(5)
        self.kcat.stdin.close()
        self.kcat.wait(10)
        self.steady.end()


@pytest.fixture
def scene(gateway, mock_broker, certificates, tokens, faults, ends_with_test):
    return lambda **changes: ends_with_test(Scene(gateway, mock_broker, certificates, tokens, faults, **changes))


# The first of each is what the short run takes.
SYSTEM = {"accept4": ["EMFILE", "ECONNABORTED", "ENOBUFS", "EINTR"], "recv": ["ECONNRESET", "EAGAIN", "EINTR", "ENOMEM"],
          "send sendmsg": ["EAGAIN", "EPIPE", "ENOBUFS", "EINTR"], "epoll_ctl": ["ENOMEM", "ENOSPC"],
          "epoll_wait": ["EINTR", "ENOMEM"], "read": ["EIO", "EINTR"], "write": ["EIO", "EINTR"], "shutdown": ["ENOTCONN"],
          "getsockopt getsockname setsockopt": ["ENOBUFS"], "poll": ["ENOMEM"]}
# Who is hit by these goes on as if nothing had been.
HARMLESS = {"EINTR", "EAGAIN"}
# What the libraries do for a visit: keys, tokens, compression. Not libssl, which asks for memory at each record: the steady
# client would be hit too.
LIBRARIES = ["libcrypto", "libcjose", "libjansson", "libz."]


def test_whatever_call_fails_others_notice_nothing_and_nothing_is_lost(scene, faults):
    stage = scene()
    for calls, codes in SYSTEM.items():
        for code in codes if TAKES_ALL else codes[:1]:
            hit, came = sweep(faults, stage.visit, calls, getattr(errno, code), 2, spared=stage.spared)
            print(f"{calls} {code}: {hit} hit, {came}", flush=True)
            # One call, one connection.
            assert len(came) <= (0 if code in HARMLESS else hit)
            stage.judge()
    assert stage.visit() == []
    told = [line["message"] for line in stage.door.log() if line["level"] in ("error", "warning")]
    assert len(told) <= 2 * len(SYSTEM), told
    for library in LIBRARIES:
        hit, came = sweep(faults, stage.visit, "malloc", errno.ENOMEM, 4, library=library)
        print(f"{library}: {hit} hit, {came}", flush=True)
        stage.judge()
    assert stage.visit() == []


def test_whatever_fails_in_a_question_about_a_token_it_is_answered(scene, faults, token_server):
    stage = scene(auth__introspection={**token_server.settings, "timeout": "5s"})
    numbers = itertools.count()

    def answered(request):
        # Every second question needs a connection of its own.
        request.close_connection = len(token_server.asked) % 2 == 0
        request.reply({"active": True, "account_id": "PACC1"})

    def ask():
        token = f"opaque-{next(numbers)}"
        token_server.say[token] = answered
        with Visitor(stage) as visitor:
            visitor.send(upgrade(token))
            visitor.more()
        status = visitor.buffer.split()[1]
        assert status in (b"101", b"503"), visitor.buffer
        return ["503"] * (status == b"503")

    assert ask() == []
    # libcurl keeps its connection, and what wakes it.
    stage.rest = stage.door.descriptors()
    for calls, code in (("recv", errno.ECONNRESET), ("send", errno.EPIPE), ("socket", errno.EMFILE),
                        ("connect", errno.ENETUNREACH), ("malloc", errno.ENOMEM)):
        hit, came = sweep(faults, ask, calls, code, 6, library="libcurl")
        print(f"{calls}: {hit} hit, {len(came)} failed", flush=True)
        assert ask() == []
    stage.judge()


def test_settings_for_which_there_is_no_memory_change_nothing(scene, faults):
    stage = scene(reload_interval="0s")
    pid = stage.door.program.pid

    def outcomes():
        return [int(stage.admin().partition(f'\nlivegate_reloads_total{{outcome="{outcome}"}} ')[2].partition("\n")[0])
                for outcome in ("ok", "failed")]

    def reload():
        before = outcomes()
        os.kill(pid, signal.SIGHUP)
        after = eventually(lambda: (now := outcomes()) != before and now, 20, "a reload")
        return ["failed"] * (after[1] - before[1])

    assert reload() == []
    for library in ("libyaml", "libcrypto"):
        hit, came = sweep(faults, reload, "malloc", errno.ENOMEM, 6, library=library)
        print(f"{library}: {hit} hit, {len(came)} failed", flush=True)
        # Half a settings file is none. OpenSSL does without some of what it asks for.
        assert hit > 0 and (came == ["failed"] * hit if library == "libyaml" else len(came) <= hit)
        assert reload() == [] and stage.visit() == []
    stage.judge()


def dropped(stage):
    return int(stage.admin().partition("\nlivegate_log_lines_dropped_total ")[2].partition("\n")[0])


def test_a_full_disk_under_the_log_loses_lines_and_nothing_else(scene, faults):
    stage = scene()
    faults.arm("write", errno.ENOSPC, repeats=ALWAYS, descriptor=2, halves=True)
    while dropped(stage) < 10:
        assert stage.visit() == []
    assert faults.disarm() > 2
    assert stage.visit() == []
    # The half of a line that stands there, and what was lost with it.
    torn = [line for line in stage.door.program.err if not line.endswith("}")]
    assert len(torn) == 1
    stage.door.program.err.remove(torn[0])
    told = stage.door.wait_for_log("log lines were dropped: they could not be written")
    assert told["reason"] == "No space left on device" and told["dropped"] == dropped(stage)
    stage.judge()


def test_a_log_on_a_disk_without_room_from_the_start_keeps_nobody_from_being_served(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap, stays=True, around=["/bin/sh", "-c", 'exec "$@" 2>/dev/full', "sh"])
    with connect(door.host) as peer:
        peer.sendall(upgrade(tokens.token("PACC1")))
        assert peer.recv(4096).startswith(b"HTTP/1.1 101 ")
    eventually(lambda: "\nlivegate_log_lines_dropped_total 0\n" not in door.asked("/metrics")[1], what="dropped lines")
    assert door.readyz()[0] == 200 and door.program.err == []
    door.program.signal()
    assert door.program.wait() == 0
