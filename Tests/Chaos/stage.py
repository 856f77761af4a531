"""What is hurt: Kafka of three brokers, two nodes of Livegate, and HAProxy before them."""

import json
import signal
import subprocess
import time
import urllib.error
import urllib.request

from brokers import ApacheKafka, unavailable
from gateway import static_tokens, write_settings
from kafka_admin import create_topic
from ports import Port
from programs import PROGRAMS, Program, eventually, produce

TOPIC, PARTITIONS = "incidents", 6
BROKERS = ("1", "2", "3")
NODES = ("a", "b")

HAPROXY = """
global
    # Two descriptors each; a machine that allows few would refuse more.
    maxconn 8000
    # A worker that was reloaded keeps its connections so long; then clients are cut, as with a real deploy.
    hard-stop-after 4s
defaults
    mode http
    timeout connect 2s
    timeout client 90s
    timeout server 90s
    timeout tunnel 1h
    timeout http-request 10s
    option redispatch
    retries 3
frontend clients
    bind {address}
    default_backend nodes
backend nodes
    balance leastconn
    option httpchk
    http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host livegate
    default-server inter 300ms fall 2 rise 1
"""


class Node:
    """One gateway, that is started again at the same addresses whenever it was killed."""

    def __init__(self, name, folder, settings):
        self.name, self.folder = name, folder
        self.ports = Port(), Port()
        self.host, self.admin = (port.address for port in self.ports)
        self.file = write_settings(folder, {**settings, "listen": [self.host], "admin": self.admin,
                                           "lifecycle": {"drain_delay": "0s", "drain_window": "0s"}})
        self.program, self.errors, self.is_over = None, [], False

    def start(self):
        if self.is_over:
            return
        self.collect()
        self.program = Program(PROGRAMS / "livegate", "serve", "--config", self.file)

    def collect(self):
        """Keeps what an operator would have to look at, of a run that is over; but not that brokers are in trouble."""
        if self.program:
            lines = self.program.err
            for line in lines:
                facts = json.loads(line) if line.startswith("{") and line.endswith("}") else {"level": "critical"}
                if facts["level"] in ("error", "critical") and facts.get("part") != "kafka":
                    self.errors.append(line)
            with open(self.folder / f"node-{self.name}.log", "a") as log:
                log.write("\n".join(lines) + "\n")

    def kill(self):
        # One that is gone already has ended by itself, which its end reports.
        if self.is_running:
            self.program.signal(signal.SIGKILL)
            self.program.wait()
        self.program.end()

    @property
    def is_running(self):
        return self.program is not None and self.program.process.poll() is None

    @property
    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://{self.admin}/readyz", timeout=2) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False


class Stage:
    def __init__(self, folder, say):
        self.folder, self.say = folder, say
        self.kafka = self.balancer = None
        self.nodes = {}
        self.port = Port()
        self.address = self.port.address

    def start(self):
        if not (PROGRAMS / "livegate").exists():
            unavailable(f"no programs in {PROGRAMS}: run Tests/run build, or set LIVEGATE_BIN")
        self.kafka = ApacheKafka(self.folder, "--nodes", "3", "--heap", "256m",
                                 "--property", "min.insync.replicas=2", "--property", "default.replication.factor=3")
        create_topic(self.plaintext.split(",")[0], TOPIC, partitions=PARTITIONS, replication=3)
        # A topic without any record could be recreated without a trace, so cursors of that time do not outlive its first.
        for partition in range(PARTITIONS):
            produce(self.plaintext, TOPIC, [{"account_id": "nobody", "entity": "incidents::incident", "id": "0", "type": "created"}],
                    partition=partition)
        self.say("three brokers are up")

    @property
    def plaintext(self):
        return self.kafka.bootstrap["plaintext"]

    def start_nodes(self, accounts, origin):
        """`origin` is that of the pages that may connect."""
        tokens = static_tokens(self.folder, accounts)
        settings = {
            "auth": {"tokens": str(tokens), "origins": [origin]},
            # The way that `kafka fault` cuts and slows.
            "kafka": {"brokers": self.kafka.bootstrap["faults"], "topics": [TOPIC],
                      # A balancer would take out both at once, though clients lose nothing by waiting where they are.
                      "broker_grace": "never"},
            "events": {"preset": "rails"},
            "log": {"level": "notice"},
            "limits": {"max_lag": "30s"},
            "history": {"retention": "24h", "max_events_per_account": 100_000, "max_timestamp_delay": "1h"},
        }
        self.nodes = {name: Node(name, self.folder, settings) for name in NODES}
        for node in self.nodes.values():
            node.start()
        for node in self.nodes.values():
            eventually(lambda: node.is_ready, 60, f"readiness of node {node.name}; {node.program.told()}")
        servers = "".join(f"    server {node.name} {node.host} check addr 127.0.0.1 port {node.admin.rpartition(':')[2]}\n"
                          for node in self.nodes.values())
        file = self.folder / "haproxy.cfg"
        file.write_text(HAPROXY.format(address=self.address) + servers)
        self.balancer = Program("/usr/sbin/haproxy", "-W", "-db", "-f", file)
        eventually(lambda: self._answers(), 20, f"an answer of HAProxy; {self.balancer.told()}")
        self.say("two nodes are ready behind HAProxy")

    def _answers(self):
        try:
            urllib.request.urlopen(f"http://{self.address}/", timeout=2)
        except urllib.error.HTTPError as error:
            return error.code != 503
        except OSError:
            return False
        return True

    def reload_balancer(self):
        self.balancer.signal(signal.SIGUSR2)

    def brokers(self, *words):
        """An order to the cluster; one that it cannot follow, such as pausing a broker that was killed, is none."""
        done = subprocess.run([self.kafka.path, *words], env={"PATH": "/usr/bin:/bin:/usr/local/bin", **self.kafka.env},
                              capture_output=True, text=True, timeout=900)
        return done.returncode == 0

    def heal(self):
        self.say("healing")
        self.brokers("fault", "all", "cut")
        self.brokers("resume", "all")
        for broker in BROKERS:
            self.brokers("start-node", broker)
        for node in self.nodes.values():
            if node.is_running:
                node.program.signal(signal.SIGCONT)
            else:
                node.start()
        begin = time.monotonic()
        for node in self.nodes.values():
            eventually(lambda: node.is_ready, 120, f"readiness of node {node.name}; {node.program.told()}")
        self.say(f"both nodes are ready again after {time.monotonic() - begin:.1f} s")

    def stop_nodes(self):
        """Ends the nodes as an operator does; their statuses."""
        statuses = {}
        for node in self.nodes.values():
            node.program.signal()
            statuses[node.name] = node.program.wait(30)
            node.collect()
        return statuses

    def end(self):
        for node in self.nodes.values():
            # A trouble that is not over yet would start it again.
            node.is_over = True
            if node.program:
                node.kill()
        if self.balancer:
            self.balancer.end()
        if self.kafka:
            self.brokers("resume", "all")
            self.kafka.end()


def token(account):
    return f"token-{account}"
