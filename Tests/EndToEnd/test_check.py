# Tests: SettingsCommands.swift
"""`livegate check`: every problem, one line each; warnings are marked; no connection is opened without --connect. The lines
are tested in SettingsRefusalTests, SettingsCheckTests, SettingsLinesTests and ConnectCheckTests."""

import os
import socket
import subprocess

import pytest

from gateway import ANYBODY
from programs import PROGRAMS, environment, run


def test_every_problem_is_told_and_warnings_change_nothing(check):
    status, lines = check(
        "listen: [x]\nloops: x\nlog: {level: x, formt: y}\nkafka:\n  topics: []\n  settings: {ssl.ca.location: ca.pem}\n",
        env={"LIVEGATE_ADMIN": "x"})
    assert status == 78
    assert [line.split(": ")[:2] for line in lines] == [
        ["livegate.yaml:1", "listen[0]"], ["livegate.yaml:2", "loops"], ["livegate.yaml:3", "log.formt"],
        ["livegate.yaml:3", "log.level"], ["livegate.yaml:5", "kafka.topics"],
        ["livegate.yaml:6", "kafka.settings.ssl.ca.location"], ["livegate.yaml", "warning"], ["LIVEGATE_ADMIN", "admin"]]
    assert check("", env={"LIVEGATE_KAFKA_BROKER": "x"}) == (0, [
        "livegate.yaml: warning: auth: lets nobody in: name issuers in auth.jwt, a file in auth.tokens, or an account in "
        "auth.anonymous",
        "LIVEGATE_KAFKA_BROKER: warning: means nothing: did you mean LIVEGATE_KAFKA_BROKERS?"])


def test_no_connection_is_opened(check):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        status, lines = check(f"{ANYBODY}kafka: {{brokers: '127.0.0.1:{port}', settings: {{security.protocol: plaintext}}}}\n")
        assert (status, lines) == (0, [])
        with pytest.raises(TimeoutError):
            server.accept()


def test_connect_asks_all_that_is_named(mock_broker, tmp_path):
    path = tmp_path / "livegate.yaml"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        path.write_text(f"{ANYBODY}listen: 127.0.0.1:{taken.getsockname()[1]}\nadmin: unix:admin.sock\n"
                        f"kafka: {{brokers: '{mock_broker.bootstrap}', topics: incidents}}\n")
        status, out, err = run("livegate", "check", "--connect", "--config", path)
    lines = out.splitlines()
    assert (status, err) == (78, "")
    assert [line.partition(" ")[0] for line in lines] == ["[+]kafka.brokers", "[+]kafka.topics", "[-]listen"], lines


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
