"""The fixtures of the end-to-end tests. What they hand out stands in Tests/Harness/Python, one module a kind."""

import contextlib
import functools
import os
import re
import signal
import subprocess
import uuid
from pathlib import Path

import pytest

import tiers
from archives import Archive, Past
from balancers import Site
from brokers import ApacheKafka, MockBroker, unavailable
from browser import Browser
from certificates import Certificates
from clients import EventStream, LiveClient, Sync
from faults import Faults
from faults import build as build_faults
from foreign import Door
from gateway import Tokens, launch
from issuers import TokenServer
from kafka_admin import create_topic
from livecat import Livecat, Terminal
from ports import Port
from programs import PROGRAMS, SHARED, Program, event, produce, run
from scripted_server import Peer
from shared_brokers import VARIABLE, Run, once, shared_cluster


def pytest_configure(config):
    # A run that outlives its terminal (nohup) ignores this signal, and so would what it starts. A handler is not inherited.
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)
    # What it starts are processes of the same run.
    if VARIABLE not in os.environ:
        run = Run()
        config.add_cleanup(run.end)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    # Before those that pytest leaves out by `-m`.
    tiers.mark(items)
    tiers.arrange(items)


def pytest_runtest_logreport(report):
    tiers.record(report)


@pytest.fixture(scope="session", autouse=True)
def programs_are_built():
    assert (PROGRAMS / "livegate").exists(), f"no programs in {PROGRAMS}: run Tests/run build, or set LIVEGATE_BIN"


@pytest.fixture
def ends_with_test():
    """Keeps what is to end with the test: `ends_with_test(thing)` returns it, and calls its `end()` afterwards. What that says
    fails the test: `Program.end` judges how a program has ended."""
    kept = []

    def keep(thing):
        kept.append(thing)
        return thing

    keep.kept = kept
    yield keep
    with contextlib.ExitStack() as ending:
        # All of them, whatever one meets at its end.
        for thing in kept:
            ending.callback(thing.end)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that fails shows what its programs said last: why a gateway stood still is told by its log alone."""
    report = yield
    if report.when == "call" and report.failed:
        kept = getattr(getattr(item, "funcargs", {}).get("ends_with_test"), "kept", [])
        for program in (thing for thing in kept if isinstance(thing, Program)):
            report.sections.append((f"last lines of {Path(program.command[0]).name} {program.pid}", program.last_lines()))
    return report


# Programs

@pytest.fixture
def start(ends_with_test):
    """Starts programs: `start("livegate", "serve", …)`, or any command by its path."""
    def begin(program, *arguments, **options):
        path = PROGRAMS / program if "/" not in str(program) and (PROGRAMS / program).exists() else program
        return ends_with_test(Program(path, *arguments, **options))
    return begin


@pytest.fixture
def port(ends_with_test):
    """A port of 127.0.0.1 that is this test's own, on which nobody listens unless it is told to."""
    return ends_with_test(Port())


@pytest.fixture
def gateway(start, tmp_path, tokens):
    """Starts gateways: `gateway(bootstrap)` with the test issuer and topic `incidents`; settings by keyword are laid over
    that, a dot in a key as two underscores (`limits__max_message_bytes`). Ready when it returns, unless `ready=False`.
    `around` is a command that runs the program and its arguments, which it gets as its last words. One that `stays`
    can come back at its address, with `listen=[first.host]`."""
    return functools.partial(launch, start, tmp_path, tokens)


@pytest.fixture
def check(tmp_path):
    """Runs `livegate check` on settings; returns the status and the lines without the folder."""
    def begin(text, env=None, file="livegate.yaml"):
        path = tmp_path / file
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        status, out, err = run("livegate", "check", "--config", path, env=env)
        assert out == ""
        return status, err.replace(f"{tmp_path}/", "").splitlines()
    return begin


@pytest.fixture(scope="session")
def faults_library(tmp_path_factory):
    return build_faults(tmp_path_factory.mktemp("faults"))


@pytest.fixture
def faults(faults_library, tmp_path):
    """Makes calls of programs that are started with `env=faults.env` fail, and sets their wall clock."""
    return Faults(faults_library, tmp_path / "faults")


@pytest.fixture(scope="session")
def killer(tmp_path_factory):
    """The library that ends a program at its n-th call, as killed.c tells."""
    library, source = tmp_path_factory.mktemp("killed") / "killed.so", Path(__file__).parents[1] / "Harness/Python/killed.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture
def clock_ahead(faults):
    """The environment in which a program's wall clock is so many seconds ahead."""
    def begin(seconds):
        faults.set_clock(seconds)
        return faults.env
    return begin


@pytest.fixture(scope="session")
def tokens(tmp_path_factory):
    return Tokens(tmp_path_factory.mktemp("tokens"))


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


# The embedded broker

@pytest.fixture
def mock_broker(start):
    """A broker with the topic `incidents` of four partitions."""
    return MockBroker(start("mockbroker", "incidents:4"))


@pytest.fixture
def door(gateway, mock_broker):
    """A running gateway for which nothing is set that matters."""
    return gateway(mock_broker.bootstrap)


@pytest.fixture
def tls_door(gateway, mock_broker, certificates):
    """Starts gateways that speak TLS, with a key of this kind."""
    def begin(kind="ecdsa", **changes):
        return gateway(mock_broker.bootstrap, tls=certificates.settings[kind], **changes)
    return begin


@pytest.fixture(params=["ws", "wss"])
def scheme(request):
    return request.param


@pytest.fixture
def foreign_door(gateway, mock_broker, tokens, certificates, scheme):
    """Starts gateways for clients that others wrote, over plain connections and over TLS."""
    def begin(deflate=False):
        changes = {"tls": certificates.settings["ecdsa"]} if scheme == "wss" else {}
        running = gateway(mock_broker.bootstrap, websocket={"deflate": deflate}, **changes)
        return Door(scheme, running, tokens, certificates)
    return begin


@pytest.fixture
def site(start, gateway, mock_broker, certificates, tmp_path, ends_with_test):
    """Starts two nodes behind a balancer with this file of deploy/: `site("haproxy/proxy-v2.cfg")`."""
    return lambda file, **settings: ends_with_test(
        Site(start, gateway, mock_broker.bootstrap, certificates, tmp_path, file, **settings))


@pytest.fixture
def tell(mock_broker):
    """Writes events of an account, numbered as told: `tell(range(3))`, `tell(["a"], account="PACC2", entity="note")`."""
    def write(ids, account="PACC1", entity="incident", partition=0):
        produce(mock_broker.bootstrap, "incidents", [event(account, str(name), entity=entity) for name in ids],
                partition=partition)
    return write


@pytest.fixture
def archive(tmp_path):
    """A place for an archive's file."""
    return Archive(tmp_path / "archive.db")


@pytest.fixture
def archived(gateway, mock_broker, archive):
    """Starts gateways with that archive."""
    return lambda **changes: gateway(mock_broker.bootstrap, archive__store=archive.store, **changes)


@pytest.fixture
def erasing(archived, mock_broker):
    """Starts gateways with that archive and a control topic."""
    mock_broker.topic("control", 1)
    return lambda: archived(control__topic="control", control__retention="90d")


# Apache Kafka

HEAP = ("--heap", "256m")


@pytest.fixture(scope="session")
def kafka():
    """Apache Kafka 4.2, one broker, shared by all tests of all processes of a run: they have topics of their own, and leave
    the broker alone. Whoever logs in or shows a certificate has no right until granted one; all others have every right."""
    return shared_cluster("kafka-4.2", "--acl", *HEAP, "--property", "log.cleaner.backoff.ms=200")


@pytest.fixture(scope="session")
def older_kafka():
    """Apache Kafka 3.9, the same, but that its TLS address asks everybody for a certificate."""
    return shared_cluster("kafka-3.9", "--version", "3.9", "--acl", *HEAP, "--property",
                          "listener.name.tls.ssl.client.auth=required")


@pytest.fixture(scope="session")
def own_kafka(tmp_path_factory):
    """Apache Kafka 4.2, one broker, of this process alone: for tests that hurt it, and heal it in the end."""
    cluster = ApacheKafka(tmp_path_factory.mktemp("kafka"), *HEAP)
    yield cluster
    cluster.end()


@pytest.fixture
def hurt(own_kafka):
    """Does things to the cluster of this process, and undoes them all in the end."""
    remedies = {"fault": ("fault", "all", "pass"), "pause": ("resume", "all"), "kill": ("start-node", "all"),
                "stop": ("start-node", "all")}
    done = set()

    def harm(*words):
        done.add(words[0])
        own_kafka.tool(*words)

    yield harm
    for verb in done & remedies.keys():
        own_kafka.tool(*remedies[verb])


@pytest.fixture(scope="session")
def newer_librdkafka():
    """The environment in which the same programs run with a librdkafka that Kafka 4 accepts SCRAM from."""
    with once("librdkafka") as folder:
        if not (folder / "librdkafka.so.1").exists():
            done = subprocess.run([SHARED / "kafka/newer-librdkafka", folder], capture_output=True, text=True)
            if done.returncode != 0:
                unavailable(f"no newer librdkafka: {done.stderr.strip()[-200:]}")
    return {"LD_LIBRARY_PATH": str(folder)}


@pytest.fixture
def start_kafka(tmp_path_factory, ends_with_test):
    """Starts clusters."""
    def begin(*arguments):
        return ends_with_test(ApacheKafka(tmp_path_factory.mktemp("kafka"), *arguments))
    return begin


@pytest.fixture
def topic_name(request):
    """The name of a topic that no other test has, nor this one when it runs once more; it is not there yet."""
    return re.sub("[^A-Za-z0-9]+", "-", request.node.name)[:100] + "-" + uuid.uuid4().hex[:8]


@pytest.fixture
def topic(kafka, topic_name):
    """A topic for this test alone, of four partitions."""
    create_topic(kafka.bootstrap["plaintext"], topic_name, 4)
    return topic_name


@pytest.fixture
def node(kafka, gateway, topic):
    """Starts nodes on that topic."""
    return lambda **changes: gateway(kafka.bootstrap["plaintext"], kafka__topics=[topic], **changes)


@pytest.fixture
def write(kafka, topic):
    """Writes events of an account to that topic."""
    def begin(ids, account="PACC1", partition=0):
        produce(kafka.bootstrap["plaintext"], topic, [event(account, str(name)) for name in ids], partition=partition)
    return begin


# Clients

def opening(kind):
    """A fixture that opens clients of this kind: `live(gateway, account, since=…)`."""
    @pytest.fixture
    def begin(tokens, ends_with_test):
        return lambda gateway, account="PACC1", **options: ends_with_test(
            kind(gateway, tokens.token(account), **options))
    return begin


live, event_stream, sync = opening(LiveClient), opening(EventStream), opening(Sync)


@pytest.fixture
def past(tokens, ends_with_test):
    """Opens clients of the archive's addresses: `past(gateway, "amy")` is a person, without a name only an account."""
    def begin(gateway, person=None, account="PACC1"):
        token = tokens.signed(account, sub=person) if person else tokens.token(account)
        return ends_with_test(Past(gateway, token))
    return begin


# Browsers

@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """One browser for all tests of a file."""
    running = Browser(tmp_path_factory.mktemp("browser"))
    yield running
    running.end()


@pytest.fixture
def browser(chromium):
    """A tab of this test alone; what its pages keep is of their origin, which each test has for itself."""
    first = chromium.new_tab()
    chromium.forget_cookies()
    yield chromium
    chromium.close_all_but(first)


# livecat

@pytest.fixture
def peer(ends_with_test):
    """Starts scripted servers: `peer(script, …)`."""
    return lambda *scripts, **options: ends_with_test(Peer(*scripts, **options))


@pytest.fixture
def livecat(ends_with_test):
    """Starts livecat: `livecat(url, …)`; its standard input is an open pipe."""
    return lambda *arguments, **options: ends_with_test(Livecat(*arguments, **options))


@pytest.fixture
def run_livecat(livecat):
    """Runs livecat to its end with some input, by default none: status, output, notices."""
    return lambda *arguments, data=b"", **options: livecat(*arguments, **options).finish(data)


@pytest.fixture
def terminal(ends_with_test):
    """Starts livecat on a terminal: `terminal(url, …)`."""
    return lambda *arguments, **options: ends_with_test(Terminal(*arguments, **options))


@pytest.fixture
def token_server(certificates, tmp_path, ends_with_test):
    """A server that judges tokens (RFC 7662)."""
    return ends_with_test(TokenServer(certificates, tmp_path))
