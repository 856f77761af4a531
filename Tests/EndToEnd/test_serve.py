# Tests: AdminConnection.swift, ServeCommand.swift
"""`livegate serve`: its flags, its log, its ends."""

import datetime
import json
import os
import pty
import re
import signal
import socket
import subprocess
import threading

import pytest

from gateway import ANY
from programs import PROGRAMS, environment, eventually, run

NOBODY = "127.0.0.1:1"


@pytest.fixture
def settings(tmp_path):
    """Writes settings for a gateway on ports that the kernel chooses, whose broker cannot be reached."""
    def write(text=""):
        file = tmp_path / "livegate.yaml"
        file.write_text(
            f"listen: ['{ANY}']\nadmin: {ANY}\nauth: {{anonymous: PACC1}}\n"
            f"kafka: {{brokers: '{NOBODY}'}}\nlifecycle: {{drain_delay: 0s, drain_window: 0s}}\n{text}")
        return file
    return write


def records(program):
    return [json.loads(line) for line in program.err]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_log_is_a_json_object_a_line_without_secrets_and_a_signal_ends_it(start, settings, number):
    program = start(
        "livegate", "serve", "--config", settings(), "--log-level", "trace",
        env={"LIVEGATE_KAFKA_SETTINGS": "{security.protocol: sasl_plaintext, sasl.mechanism: PLAIN, sasl.username: u}",
             "LIVEGATE_KAFKA_SETTINGS_SASL_PASSWORD": "geheim", "LIVEGATE_KAFKA_SETTINGS_DEBUG": "all"})
    program.line('"message":"listening"')
    program.signal(number)
    assert program.wait() == 0 and program.out == []
    assert len(program.err) >= 3 and any(record.get("signal") == number.name for record in records(program))
    for record in records(program):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["time"])
        assert abs(datetime.datetime.fromisoformat(record["time"]) - datetime.datetime.now(datetime.timezone.utc)
                   ) < datetime.timedelta(minutes=5)
        assert record["level"] in ("trace", "debug", "info", "notice", "warning", "error", "critical")
        assert record["message"]
    assert "geheim" not in "".join(program.err)


def test_flags_go_over_the_environment_which_goes_over_the_file(start, settings):
    program = start(
        "livegate", "serve", "--config", settings("log: {level: loud}\n"), "--listen", "127.0.0.2:0",
        "--listen=[::1]:0", "--log-level", "notice", "--topics", "a,b",
        env={"LIVEGATE_LISTEN": "nonsense", "LIVEGATE_ADMIN": "127.0.0.3:0", "LIVEGATE_KAFKA_BROKER": "x"})
    listening = json.loads(program.line('"message":"listening"'))
    assert re.fullmatch(r"127\.0\.0\.2:[1-9]\d* \[::1\]:[1-9]\d*", listening["address"])
    assert re.fullmatch(r"127\.0\.0\.3:[1-9]\d*", listening["admin"])
    warning = json.loads(program.line("LIVEGATE_KAFKA_BROKER"))
    assert warning["level"] == "warning" and "LIVEGATE_KAFKA_BROKERS" in warning["reason"]
    program.signal()
    assert program.wait() == 0


@pytest.mark.parametrize("text, flags, key", [
    ("", ["--listen", "nowhere"], "--listen: listen[0]: "), ("", ["--admin", "nowhere"], "--admin: admin: "),
    ("", ["--kafka-brokers", ","], "--kafka-brokers: kafka.brokers: "), ("", ["--topics", "a b"], "--topics: kafka.topics[0]: "),
    ("", ["--log-level", "loud"], "--log-level: log.level: "), (None, [], ""),
    ("tls: {certificate: c.pem, key: c.pem}\n", [], "tls.certificate: cannot read"),
])
def test_wrong_settings_end_it_with_78(settings, tmp_path, text, flags, key):
    file = tmp_path / "missing" if text is None else settings(text)
    status, out, err = run("livegate", "serve", "--config", file, *flags)
    assert (status, out) == (78, "") and key in err and err.count("\n") == 1
    assert err.startswith(key if flags else str(file))


def test_an_address_in_use_or_not_ours_ends_it_with_71(settings):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, out, err = run("livegate", "serve", "--config", settings(), "--listen", f"127.0.0.1:{port}")
        assert (status, out) == (71, "") and f"127.0.0.1:{port}" in err
        status, _, err = run("livegate", "serve", "--config", settings(), "--admin", f"127.0.0.1:{port}")
        assert status == 71 and f"127.0.0.1:{port}" in err
    # TEST-NET-1, which no machine has (RFC 5737).
    status, _, err = run("livegate", "serve", "--config", settings(), "--listen", "192.0.2.1:8080")
    assert status == 71 and "192.0.2.1:8080" in err


def test_a_second_gateway_on_the_same_socket_file_is_refused_and_a_stale_one_replaced(start, settings, tmp_path):
    path = tmp_path / "gate.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    program = start("livegate", "serve", "--config", settings(), "--listen", f"unix:{path}")
    program.line('"message":"listening"')
    status, _, err = run("livegate", "serve", "--config", settings(), "--listen", f"unix:{path}")
    assert status == 71 and str(path) in err


@pytest.mark.parametrize("form, looks", [("auto", r"^\d{4}-.*Z notice gateway: listening "), ("json", r'^\{"time":"'), ("text", None)])
def test_the_log_is_text_on_a_terminal_and_where_the_settings_say_so(start, settings, form, looks):
    if form == "text":
        program = start("livegate", "serve", "--config", settings(), env={"LIVEGATE_LOG_FORMAT": "text"})
        line = program.line("listening")
        assert re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z notice gateway: listening address=", line), "in a pipe"
        return
    primary, secondary = pty.openpty()
    process = subprocess.Popen(
        [PROGRAMS / "livegate", "serve", "--config", settings(f"log: {{format: {form}}}\n")], stderr=secondary,
        stdin=subprocess.DEVNULL, env=environment(), start_new_session=True)
    os.close(secondary)
    seen = b""
    try:
        while b"listening" not in seen or not seen.endswith(b"\n"):
            seen += os.read(primary, 4096)
    finally:
        process.terminate()
        # A terminal that nobody reads any more would keep the last lines waiting.
        drain = threading.Thread(target=lambda: read_to_end(primary), daemon=True)
        drain.start()
        assert process.wait(60) == 0
    line = next(line for line in seen.decode().splitlines() if "listening" in line)
    assert re.search(looks, line), line


def read_to_end(descriptor):
    try:
        while os.read(descriptor, 4096):
            pass
    except OSError:
        pass


def test_a_standard_error_that_nobody_reads_stops_nothing(settings, port):
    """The pipe is full from the start; the gateway answers and ends all the same."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 65536)
    except BlockingIOError:
        os.set_blocking(writing, True)
    process = subprocess.Popen(
        [PROGRAMS / "livegate", "serve", "--config", settings("log: {level: trace}\n"), "--admin", port.address],
        stderr=writing, stdin=subprocess.DEVNULL, env=environment(), start_new_session=True)
    try:
        def is_alive():
            try:
                with socket.create_connection(("127.0.0.1", port.number), timeout=5) as connection:
                    connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                    return b" 200 " in connection.recv(100)
            except OSError:
                return False
        eventually(is_alive, what="an answer of /livez")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(reading)
        os.close(writing)
