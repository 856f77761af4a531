"""Revoking, and what of it is seen from outside."""

import json
import time

from caller import answer, bearer
from programs import run
from wire import ask, get


def settings_of(node):
    return node.program.command[-1]


def later():
    """An `iat` that no revocation of before concerns."""
    return int(time.time()) + 1


def revoke(node, *arguments):
    status, out, err = run("livegate", "revoke", "--config", settings_of(node), *arguments)
    assert (status, out, err) == (0, "", "")


def metric(node, name):
    line = next(line for line in node.asked("/metrics")[1].splitlines() if line.startswith(name + " "))
    return float(line.split()[-1])


def status(node, token):
    return answer(node.host, bearer(token))[0]


def ticket(node, token):
    text = ask(node.host, get("/ticket/v1", token, ["Connection: close"]).replace(b"GET", b"POST", 1))
    return json.loads(text.partition(b"\r\n\r\n")[2])["ticket"]
