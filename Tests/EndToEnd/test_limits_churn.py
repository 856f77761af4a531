# Tests: ConnectionQuota.swift
"""Thousands come and go in every way that there is, and some are refused: afterwards each limit lets in as many as before, not
one less and not one more, and no descriptor is left."""

import contextlib
import itertools
import threading

import pytest

from programs import eventually
from visitor import Visitor, cursor, hold
from wire import get, upgrade

PER_SUBJECT, NODE, PER_ADDRESS = 12, 20, 30
# As many come at once; so many of the subject's places are held meanwhile that some of them are refused.
WORKERS, HELD = 8, 8
VISITS = {"plain": 3000, "tls": 1200}


@pytest.mark.unsanitized
@pytest.mark.parametrize("way", ["plain", "tls"])
def test_every_place_comes_back_in_whatever_way_thousands_leave(
        gateway, mock_broker, certificates, tokens, tmp_path, way):
    door = gateway(
        mock_broker.bootstrap, limits={
            "max_connections": NODE, "max_connections_per_subject": PER_SUBJECT,
            "max_connections_per_address": PER_ADDRESS},
        **({"tls": certificates.settings["ecdsa"]} if way == "tls" else {}))
    context = certificates.client() if way == "tls" else None
    token, other = tokens.token("PACC1", "--subject", "churn"), tokens.token("PACC2")
    visitor = Visitor(door, token, None, context)
    visitor = Visitor(door, token, cursor(visitor), context)
    hold(visitor, upgrade(token), 1)[0].close()
    before = door.descriptors()

    held = hold(visitor, upgrade(token), HELD)
    turns, lock, done = iter(range(VISITS[way])), threading.Lock(), set()

    def run():
        while True:
            with lock:
                turn = next(turns, None)
            if turn is None:
                return
            # Refused, or cut in the middle of what it said: that is one of the ways.
            with contextlib.suppress(OSError):
                visitor.ways[turn % len(visitor.ways)]()
                done.add(turn % len(visitor.ways))
    threads = [threading.Thread(target=run) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # None of the ways failed each time.
    assert done == set(range(len(visitor.ways)))
    for peer in held:
        peer.close()
    eventually(lambda: door.descriptors() <= before, 20, lambda: f"{before} descriptors, not {door.descriptors()}")

    # The subject's places: all of them, and not one more. Then the node's.
    held = hold(visitor, upgrade(token), PER_SUBJECT)
    peer, line = visitor.ask(upgrade(token))
    assert b" 429 " in line
    peer.close()
    held += hold(visitor, upgrade(other), NODE - PER_SUBJECT)
    peer, line = visitor.ask(upgrade(other))
    assert b" 503 " in line
    peer.close()
    # The address's: silent connections count beside those streams. Each is asked when it is there, so that the next one comes
    # behind it, and none is answered.
    silent = [visitor.connect() for _ in range(PER_ADDRESS - NODE)]

    def is_full():
        peer, line = visitor.ask(get("/nothing"))
        if peer:
            peer.close()
        return b" 404 " not in line
    eventually(is_full, what="a full address")
    for peer in itertools.chain(held, silent):
        peer.close()
    counted = dict(pair.split("=") for pair in door.stop()["refused"].split())
    assert int(counted["too_many"]) > 0 and int(counted["overloaded"]) > 0
