# Tests: SettingsCommands.swift
"""`livegate check`: every problem, one line each; warnings are marked; no connection is opened."""

import os
import socket
import subprocess

import pytest

from gateway import ANYBODY
from programs import PROGRAMS, environment, run


@pytest.mark.parametrize("text, line", [
    ("lisen: []\n", "livegate.yaml:1: lisen: no such key: did you mean 'listen'?"),
    ("kafka:\n  broker: x\n", "livegate.yaml:2: kafka.broker: no such key: did you mean 'brokers'?"),
    ("loops: 1\nloops: 1\n", "livegate.yaml:2: loops: stands twice, first in line 1"),
    ("kafka: {brokers: &b 'k:1'}\n",
     "livegate.yaml:1: kafka.brokers: an anchor (&): anchors and aliases are not read, write it out"),
    ("loops: two\n", "livegate.yaml:1: loops: 'two' is not a whole number from 0 to 1024"),
    ("kafka:\n\tbrokers: x\n", "livegate.yaml:2: kafka.brokers: a tab as indentation: YAML takes blanks only"),
    ("a: 1\n---\nb: 1\n", "livegate.yaml:2: a second document: settings are one document"),
    (b"log: {level: \xff}\n", "livegate.yaml:1: log: bytes that are not UTF-8"),
    ("log: {level: [}\n", "livegate.yaml:1: log.level[0]: not YAML: did not find expected node content"),
    ("listen: [127.0.0.1:9080]\n",
     "livegate.yaml: admin: 127.0.0.1:9080 is the address of listen[0], 127.0.0.1:9080, too: one listener is one address"),
    ("kafka: {settings: {isolation.level: read_uncommitted}}\n",
     "livegate.yaml:1: kafka.settings.isolation.level: cannot be set: "),
    ("kafka: {settings: {auto.offset.reset: latest}}\n",
     "livegate.yaml:1: kafka.settings.auto.offset.reset: cannot be set: "),
    ("kafka: {settings: {enable.auto.commit: true}}\n",
     "livegate.yaml:1: kafka.settings.enable.auto.commit: cannot be set: "),
    ("kafka: {settings: {group.id: x}}\n", "livegate.yaml:1: kafka.settings.group.id: cannot be set: "),
    ("kafka: {settings: {enable.partition.eof: false}}\n",
     "livegate.yaml:1: kafka.settings.enable.partition.eof: cannot be set: "),
    ("kafka: {settings: {bootstrap.servers: x}}\n", "livegate.yaml:1: kafka.settings.bootstrap.servers: cannot be set: is "
     "set by kafka.brokers"),
    ("kafka: {settings: {metadata.broker.list: x}}\n", "livegate.yaml:1: kafka.settings.metadata.broker.list: cannot"),
    ("kafka: {settings: {no.such.property: 1}}\n", "livegate.yaml:1: kafka.settings.no.such.property: librdkafka "),
    ("kafka:\n  settings:\n    socket.timeout.ms: soon\n", "livegate.yaml:3: kafka.settings.socket.timeout.ms: "),
    ("kafka: {settings: {ssl.ca.location: missing.pem}}\n",
     "livegate.yaml:1: kafka.settings.ssl.ca.location: cannot read missing.pem: No such file or directory"),
    ("kafka: {settings: {ssl.key.location: .}}\n", "livegate.yaml:1: kafka.settings.ssl.key.location: cannot read "),
    ("kafka: {settings: {security.protocol: sasl_plaintext, sasl.mechanism: PLAIN}}\n",
     "livegate.yaml:1: kafka.settings: librdkafka refuses them together: "),
])
def test_a_problem_is_told_with_file_line_and_key(check, text, line):
    status, lines = check(text if isinstance(text, bytes) or "auth" in text else ANYBODY.replace("\n", "") + "\n" + text)
    if not isinstance(text, bytes):
        # The line of `auth` stands before.
        first = line.split(": ", 1)[0]
        if first.count(":") == 1:
            number = int(first.rpartition(":")[2])
            line = line.replace(f":{number}:", f":{number + 1}:", 1)
        line = line.replace("first in line 1", "first in line 2")
    assert status == 78
    assert len(lines) == 1 and lines[0].startswith(line), lines


def test_every_problem_is_told(check):
    status, lines = check("listen: [x]\nloops: x\nlog: {level: x, formt: y}\nkafka:\n  topics: []\n",
                          env={"LIVEGATE_ADMIN": "x"})
    assert status == 78
    assert [line.split(": ")[:2] for line in lines] == [
        ["livegate.yaml:1", "listen[0]"], ["livegate.yaml:2", "loops"], ["livegate.yaml:3", "log.formt"],
        ["livegate.yaml:3", "log.level"], ["livegate.yaml:5", "kafka.topics"], ["livegate.yaml", "warning"],
        ["LIVEGATE_ADMIN", "admin"]]


def test_problems_of_values_and_of_files_are_told_together(check):
    status, lines = check(f"{ANYBODY}loops: two\ntls: {{certificate: c.pem}}\nkafka: {{settings: {{ssl.ca.location: ca.pem}}}}\n")
    assert status == 78
    assert lines == [
        "livegate.yaml:2: loops: 'two' is not a whole number from 0 to 1024",
        "livegate.yaml:3: tls.key: is missing: a certificate needs its key",
        "livegate.yaml:3: tls.certificate: cannot read c.pem: No such file or directory",
        "livegate.yaml:4: kafka.settings.ssl.ca.location: cannot read ca.pem: No such file or directory"]


def test_the_log_must_reach_further_back_than_time_stamps_may_lag(check):
    why = "history.retention: must be longer than history.max_timestamp_delay"
    assert check(f"{ANYBODY}history:\n  retention: 1h\n") == (78, [f"livegate.yaml:3: {why}, 1h: '1h' is not"])
    assert check(f"{ANYBODY}history:\n  max_timestamp_delay: 5m\n  retention: 299s\n") == (
        78, [f"livegate.yaml:4: {why}, 5m: '299s' is not"])
    assert check(f"{ANYBODY}history: {{retention: 3601s}}\nlimits: {{broker_grace: never}}\n") == (0, [])


def test_warnings_are_marked_and_change_nothing(check):
    status, lines = check("", env={"LIVEGATE_KAFKA_BROKER": "x"})
    assert status == 0
    assert lines == [
        "livegate.yaml: warning: auth: lets nobody in: name issuers in auth.jwt, a file in auth.tokens, or an account in "
        "auth.anonymous",
        "LIVEGATE_KAFKA_BROKER: warning: means nothing: did you mean LIVEGATE_KAFKA_BROKERS?"]


def test_scram_with_an_old_librdkafka_is_a_warning(check):
    status, lines = check(
        ANYBODY + "kafka:\n  settings:\n    security.protocol: sasl_plaintext\n    sasl.mechanism: SCRAM-SHA-512\n"
        "    sasl.username: u\n    sasl.password: geheim\n")
    assert status == 0
    # Debian's librdkafka is 2.0.2; the promise is about versions below 2.6.1.
    assert lines == [] or lines[0].startswith("livegate.yaml:5: warning: kafka.settings.sasl.mechanism: SCRAM of ")
    assert "geheim" not in str(lines)


def test_a_refused_password_is_not_shown(check):
    status, lines = check("kafka: {settings: {ssl.key.password: [geheim], sasl.passwort: geheim}}\n")
    assert status == 78 and "geheim" not in str(lines)


def test_no_connection_is_opened(check):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        status, lines = check(f"{ANYBODY}kafka: {{brokers: '127.0.0.1:{port}', settings: {{security.protocol: plaintext}}}}\n")
        assert (status, lines) == (0, [])
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    for path in (tmp_path / "missing.yaml", tmp_path):
        status, out, err = run("livegate", "check", "--config", path)
        assert (status, out) == (78, "") and err.startswith(f"{path}: cannot be read: ") and err.count("\n") == 1


def test_settings_come_through_a_pipe_as_well(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, ANYBODY.encode())
    os.close(writing)
    done = subprocess.run([PROGRAMS / "livegate", "check", "--config", f"/dev/fd/{reading}"], pass_fds=[reading],
                          capture_output=True, timeout=300, env=environment())
    os.close(reading)
    assert (done.returncode, done.stderr) == (0, b"")
