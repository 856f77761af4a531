# Tests: Syscalls.swift, ConnectionLoop+Drain.swift
"""Calls that fail while a node drains: whoever is hit is let go, everybody else is told when to come back."""

import errno
import http.client
import threading

import pytest

from faults import TAKES_ALL, sweep
from programs import PATIENCE, eventually
from wire import connect, event_stream_request, get, upgrade

# A sanitizer's runtime wants to be the first library.
pytestmark = [pytest.mark.slow, pytest.mark.unsanitized]

# What a loop asks the kernel for a client that leaves; with LIVEGATE_FAULTS=all what it asks besides.
CALLS = [("recv", errno.ECONNRESET), ("send sendmsg", errno.EPIPE), ("epoll_ctl", errno.ENOMEM), ("shutdown", errno.ENOTCONN)]
if TAKES_ALL:
    CALLS += [("epoll_wait", errno.EINTR), ("read", errno.EINTR), ("write", errno.EIO)]


def asked(door, method, path):
    """Status and text. The question is repeated where it was hit itself: it counts, and changes nothing the second time."""
    for _ in range(5):
        administration = http.client.HTTPConnection(door.admin, timeout=20 * PATIENCE)
        try:
            administration.request(method, path)
            answer = administration.getresponse()
            return answer.status, answer.read().decode()
        except TimeoutError:
            raise
        except (OSError, http.client.HTTPException):
            pass
        finally:
            administration.close()
    raise AssertionError(path)


def counted(door, name):
    return int(asked(door, "GET", "/metrics")[1].partition(f"\n{name} ")[2].partition("\n")[0])


def accepted(door):
    return counted(door, 'livegate_handshakes_total{outcome="accepted"}')


def is_at_rest(door, rest):
    return all(counted(door, f'livegate_connections{{kind="{kind}"}}') == 0
               for kind in ("websocket", "event_stream", "sync")) and door.descriptors() <= rest


def test_a_drain_lets_everybody_go_whatever_fails(gateway, mock_broker, tokens, faults):
    door = gateway(mock_broker.bootstrap, env=faults.env, loops=2, limits__max_connections_per_subject=0)
    token = tokens.token("PACC1")
    requests = [upgrade(token), upgrade(token, "/live/v1?with=at"), event_stream_request(token),
                get("/sync/v1?wait=50", token), get("/sync/v1", token)] * 2

    def ended(peer):
        """What a client has got when its connection has ended, or it is told to go, which it does."""
        got = b""
        try:
            while b"restart retry_ms=" not in got and (piece := peer.recv(65536)):
                got += piece
        except ConnectionError:
            pass
        peer.close()
        return got

    def act(is_calm=False):
        """Those who were not told what they should have been told. Where nothing fails, it begins when all are in."""
        peers, results, before = [], {}, accepted(door)
        for request in requests:
            peer = connect(door.host, 30 * PATIENCE)
            peer.sendall(request)
            peers.append(peer)
        threads = [threading.Thread(target=lambda at=at, peer=peer: results.update({at: ended(peer)}), daemon=True)
                   for at, peer in enumerate(peers)]
        for thread in threads:
            thread.start()
        if is_calm:
            eventually(lambda: accepted(door) == before + len(peers), 20, "that all are let in")
        assert asked(door, "POST", "/admin/drain?window=300ms")[0] == 202
        for thread in threads:
            thread.join(60 * PATIENCE)
        assert len(results) == len(peers), "somebody was left waiting"
        assert asked(door, "POST", "/admin/undrain")[0] == 200 and asked(door, "GET", "/readyz")[0] == 200
        return [at for at, got in results.items() if not was_told(at % 5, got, is_calm)]

    def was_told(kind, got, is_calm):
        # Who comes later than the drain. Everybody else was let in.
        if not is_calm and got.startswith(b"HTTP/1.1 503 "):
            return b'"code":"draining"' in got and b"\r\nRetry-After: " in got
        return [b"restart retry_ms=", b"restart retry_ms=", b"event: bye", b'"events":[]', b'"at":'][kind] in got

    assert act(is_calm=True) == []
    eventually(lambda: is_at_rest(door, 10 ** 6), what="nobody")
    rest = door.descriptors()
    for calls, code in CALLS:
        hit, came = sweep(faults, act, calls, code, 2)
        print(f"{calls}: {hit} hit, {came}", flush=True)
        assert len(came) <= (0 if code == errno.EINTR else hit)
        eventually(lambda: is_at_rest(door, rest), 30, lambda: f"rest; {door.program.told()}")
    assert act(is_calm=True) == [] and door.status("/livez") == 200
