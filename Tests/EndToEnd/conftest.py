"""What the end-to-end tests stand on: built programs, brokers, a running gateway, tokens."""

import hashlib
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request

import pytest

import clock
from certificates import Certificates
from clients import Client
from live import event_stream, live, sync  # noqa: F401  fixtures
from programs import PROGRAMS, SHARED, Program, eventually, free_port, produce, run


def pytest_collection_modifyitems(items):
    """Tests that need Apache Kafka come last: it starts once, and the others need not wait for it."""
    items.sort(key=lambda item: any("kafka" in name for name in item.fixturenames))


@pytest.fixture(scope="session", autouse=True)
def programs_are_built():
    assert (PROGRAMS / "livegate").exists(), f"no programs in {PROGRAMS}: run Tests/run build, or set LIVEGATE_BIN"


@pytest.fixture
def start():
    """Starts programs that end with the test: `start("livegate", "serve", …)`, or any command by its path."""
    started = []

    def begin(program, *arguments, **options):
        path = PROGRAMS / program if "/" not in str(program) and (PROGRAMS / program).exists() else program
        started.append(Program(path, *arguments, **options))
        return started[-1]

    yield begin
    for program in reversed(started):
        program.end()


class MockBroker:
    """librdkafka's embedded broker in a process of its own."""

    def __init__(self, program):
        self.program = program
        self.bootstrap = program.line("127.0.0.1:")

    def order(self, text):
        answered = len(self.program.out)
        self.program.send(text)
        answer = eventually(lambda: self.program.out[answered:], what=f"an answer to '{text}'")[0]
        assert answer == "ok", answer

    def topic(self, name, partitions=1):
        self.order(f"topic {name} {partitions}")

    def down(self):
        self.order("down")

    def up(self):
        self.order("up")


@pytest.fixture
def door(gateway, mock_broker):
    """A running gateway for which nothing is set that matters."""
    return gateway(mock_broker.bootstrap)


@pytest.fixture
def tell(mock_broker):
    """Writes events of an account, numbered as told: `tell(range(3))`, `tell(["a"], account="PACC2", entity="note")`."""
    def write(ids, account="PACC1", entity="incident", partition=0):
        produce(mock_broker.bootstrap, "incidents",
                [{"account_id": account, "entity": entity, "id": str(name), "type": "updated"} for name in ids],
                partition=partition)
    return write


@pytest.fixture
def mock_broker(start):
    """A broker with the topic `incidents` of four partitions."""
    return MockBroker(start("mockbroker", "incidents:4"))


def unavailable(reason):
    """Skips the test, and says why; in CI it must run."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


class ApacheKafka:
    """A cluster of its own on free ports. `arguments` are those of `kafka run`: `--version 3.9`, `--acl`, `--nodes 3`."""

    def __init__(self, folder, *arguments):
        self.path = SHARED / "kafka/kafka"
        missing = None if self.path.exists() else f"{self.path} is missing"
        if shutil.which("java") is None:
            missing = "there is no java"
        if missing:
            unavailable(f"no Apache Kafka: {missing}")
        self.env = {"KAFKA_TEST_DIR": str(folder / "cluster")}
        self.program = Program(self.path, "run", "--until-eof", "--port", "0", *arguments, env=self.env)
        self.facts = json.loads(self.program.line('"bootstrap"', within=120))
        # By kind of address: plaintext, tls, sasl, sasl_tls, faults.
        self.bootstrap = self.facts["bootstrap"]

    def tool(self, *arguments):
        """Runs the tool on this cluster: `tool("kill", "all")`, `tool("topic", "create", "t")`. Returns its output."""
        done = subprocess.run([self.path, *arguments], env={**os.environ, **self.env}, capture_output=True, text=True,
                              timeout=180)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def end(self):
        self.program.process.stdin.close()
        try:
            self.program.wait(30)
        finally:
            self.program.end()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory):
    """Apache Kafka 4.2, one broker, shared by all tests that leave it as they found it. Whoever logs in or shows a
    certificate has no right until granted one; all others have every right."""
    cluster = ApacheKafka(tmp_path_factory.mktemp("kafka"), "--acl", "--heap", "256m",
                          "--property", "log.cleaner.backoff.ms=200")
    yield cluster
    cluster.end()


@pytest.fixture(scope="session")
def older_kafka(tmp_path_factory):
    """Apache Kafka 3.9, the same, but that its TLS address asks everybody for a certificate."""
    cluster = ApacheKafka(tmp_path_factory.mktemp("kafka-3.9"), "--version", "3.9", "--acl", "--heap", "256m",
                          "--property", "listener.name.tls.ssl.client.auth=required")
    yield cluster
    cluster.end()


@pytest.fixture(scope="session")
def newer_librdkafka(tmp_path_factory):
    """The environment in which the same programs run with a librdkafka that Kafka 4 accepts SCRAM from."""
    folder = tmp_path_factory.mktemp("librdkafka")
    done = subprocess.run([SHARED / "kafka/newer-librdkafka", folder], capture_output=True, text=True)
    if done.returncode != 0:
        unavailable(f"no newer librdkafka: {done.stderr.strip()[-200:]}")
    return {"LD_LIBRARY_PATH": str(folder)}


@pytest.fixture
def start_kafka(tmp_path):
    """Starts clusters that end with the test."""
    started = []

    def begin(*arguments):
        folder = tmp_path / f"kafka-{len(started)}"
        folder.mkdir()
        started.append(ApacheKafka(folder, *arguments))
        return started[-1]

    yield begin
    for cluster in started:
        cluster.end()


@pytest.fixture(scope="session")
def clock_ahead(tmp_path_factory):
    """The environment in which a program's wall clock is so many seconds ahead."""
    library = clock.build(tmp_path_factory.mktemp("clock"))
    return lambda seconds: {"LD_PRELOAD": str(library), "CLOCK_AHEAD_SECONDS": str(seconds)}


class Tokens:
    """A key of our own, known to the gateway as the issuer `test`."""

    def __init__(self, folder):
        self.private, self.public = folder / "key.pem", folder / "public.pem"
        for command in (["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.private],
                        ["pkey", "-in", self.private, "-pubout", "-out", self.public]):
            subprocess.run(["openssl", *command], check=True, capture_output=True)
        self.settings = [{"issuer": "test", "audience": "livegate", "algorithms": ["ES256"], "keys": str(self.public),
                          "account_claim": "account_id"}]

    def token(self, account, *arguments):
        """A token for the account; further arguments go to `livegate token`."""
        status, out, err = run("livegate", "token", "--account", account, "--key", self.private, "--issuer", "test",
                               "--audience", "livegate", *arguments)
        assert status == 0, err
        return out.strip()


@pytest.fixture(scope="session")
def tokens(tmp_path_factory):
    return Tokens(tmp_path_factory.mktemp("tokens"))


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


def static_tokens(folder, accounts):
    """A file of static tokens: `token-ACCOUNT` for each account, for tests that need many."""
    file = folder / "tokens.yaml"
    file.write_text("".join(
        f"- {{sha256: {hashlib.sha256(f'token-{account}'.encode()).hexdigest()}, account: {json.dumps(account)}}}\n"
        for account in accounts))
    return file


class Gateway:
    def __init__(self, program, host, admin, settings):
        self.program, self.host, self.admin, self.settings = program, host, admin, settings
        self.url = f"ws://{host}/live/v1"

    def asked(self, path):
        """Status and body of an administration address, 0 when nobody answers."""
        try:
            with urllib.request.urlopen(f"http://{self.admin}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def status(self, path):
        return self.asked(path)[0]

    def readyz(self):
        return self.asked("/readyz")

    def log(self, sentence=""):
        """The facts of the lines whose message contains `sentence`. Whatever stands on standard error is a line of ours."""
        lines = [json.loads(line) for line in list(self.program.err)]
        assert all(line.keys() >= {"time", "level", "message"} for line in lines), lines
        return [line for line in lines if sentence in line["message"]]

    def wait_for_log(self, sentence, within=20.0, count=1):
        """The facts of the last of `count` lines with `sentence`, waited for."""
        eventually(lambda: len(self.log(sentence)) >= count, within, lambda: f"'{sentence}'; {self.program.told()}")
        return self.log(sentence)[count - 1]

    def stop(self):
        """The facts of its last line: what it has counted."""
        self.program.signal()
        assert self.program.wait() == 0, self.program.told()
        return self.log("stopped")[0]

    def wait_until_ready(self, within=20.0):
        def ready():
            assert self.program.process.poll() is None, self.program.told()
            return self.status("/readyz") == 200
        eventually(ready, within, lambda: f"readiness; {self.program.told()}")
        return self


@pytest.fixture
def listen(tokens):
    """Connects clients that keep what they receive: `listen(gateway, account)`, with a query if need be."""
    clients = []

    def begin(gateway, account, query=""):
        clients.append(Client(gateway.url + query, tokens.token(account)))
        return clients[-1]

    yield begin
    for client in clients:
        client.end()


@pytest.fixture
def gateway(start, tmp_path, tokens):
    """Starts gateways: `gateway(bootstrap)` with the test issuer and topic `incidents`; settings by keyword are laid over
    that, a dot in a key as two underscores (`limits__max_message_bytes`). Ready when it returns, unless `ready=False`.
    `around` is a command that runs the program and its arguments, which it gets as its last words."""
    def begin(bootstrap, ready=True, env=None, around=(), **changes):
        host, admin = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        settings = {
            "listen": [host], "admin": admin, "auth": {"jwt": tokens.settings},
            "kafka": {"brokers": bootstrap, "topics": ["incidents"], "settings": {"fetch.wait.max.ms": 10}},
            "events": {"preset": "rails"},
            # Tests that look at every frame do not expect one at a time of its own choosing.
            "limits": {"ping_interval": "1h"},
        }
        for name, value in changes.items():
            place, *rest = settings, *name.split("__")
            for part in rest[:-1]:
                place = place.setdefault(part, {})
            place[rest[-1]] = {**settings["limits"], **value} if name == "limits" else value
        file = tmp_path / f"livegate-{host.rpartition(':')[2]}.yaml"
        # JSON values are YAML in one line.
        file.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in settings.items()))
        command = [*around, PROGRAMS / "livegate", "serve", "--config", file]
        running = Gateway(start(*command, env=env), host, admin, settings)
        return running.wait_until_ready() if ready else running
    return begin
