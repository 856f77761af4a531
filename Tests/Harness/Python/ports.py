"""Ports for programs that must be told a number. Whoever can binds port 0 instead, and says what it was given.

As a program: without arguments it prints a port, and keeps it until it is ended. With a command it becomes that one, in which the
word PORT is the first of a block of ports that the command keeps as long as it lives.
"""

import os
import signal
import socket
import sys

# The nodes of a cluster, three at most, have ten ports each, side by side. The kernel gives nobody ports side by side, so they are
# taken here, below those that it chooses by itself.
BLOCKS = range(10_000, 32_000, 30)


def bound(port=0):
    """A socket that is bound to this port of all addresses, alone, and does not listen. Of all: a balancer listens on all, and
    beside a connection from another address it could not.

    The kernel gives the port to nobody who asks for any, and who connects to it is refused. A program that is told the number
    can listen there as often as it likes, because from here on the socket has SO_REUSEADDR, as servers have: Linux lets two
    such be bound beside each other as long as one of them listens at most."""
    held = socket.socket()
    try:
        held.bind(("0.0.0.0", port))
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    except OSError:
        held.close()
        raise
    return held


class Port:
    """A port of 127.0.0.1 that is kept for whom it is told to, until it is ended."""

    def __init__(self):
        self.held = bound()
        self.number = self.held.getsockname()[1]
        self.address = f"127.0.0.1:{self.number}"

    def end(self):
        self.held.close()


def block():
    """Sockets that keep the ports of a block, all side by side."""
    # Processes begin at different ones, to find a free one soon.
    for at in range(len(BLOCKS)):
        first, held = BLOCKS[(os.getpid() + at) % len(BLOCKS)], []
        try:
            for port in range(first, first + BLOCKS.step):
                held.append(bound(port))
            return held
        except OSError:
            for each in held:
                each.close()
    raise AssertionError("no block of ports is free")


def become(words):
    """Runs a command in this process, which keeps a block of ports. What it starts itself does not inherit them, if it is
    written in Python."""
    held = block()
    for each in held:
        each.set_inheritable(True)
    first = held[0].getsockname()[1]
    os.execvp(words[0], [str(first) if word == "PORT" else word for word in words])


if __name__ == "__main__":
    if sys.argv[1:]:
        become(sys.argv[1:])
    port = Port()
    print(port.number, flush=True)
    signal.pause()
