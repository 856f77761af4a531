# Tests: Command+Run.swift, DocumentCommands.swift,
#   MapCommand.swift, Options/Process.swift, TokenCommand.swift, livecat/Main.swift, livegate/Main.swift
"""The programs as people call them: help, version, wrong use, documents, pipes."""

import json
import os
import pty
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from programs import PROGRAMS, environment, eventually, run

COMMANDS = ["serve", "check", "config", "map", "token", "demo", "revoke", "completion", "man"]


def needs(tool):
    if shutil.which(tool) is None:
        pytest.skip(f"there is no {tool}: deploy/bootstrap --tests installs it")


@pytest.mark.parametrize("words", [["livegate"], ["livecat"], *(["livegate", command] for command in COMMANDS)])
def test_help_and_version_go_to_standard_output(words):
    for flag in ("--help", "-h"):
        status, out, err = run(*words, flag)
        assert status == 0 and err == ""
        assert out.startswith(f"Usage: {' '.join(words)} ")
        assert all(len(line) <= 80 for line in out.splitlines())
    for flag in ("--version", "-V"):
        status, out, err = run(*words, flag)
        assert (status, err) == (0, "")
        assert out.startswith(f"{words[0]} ") and out.count("\n") == 1


@pytest.mark.parametrize("words, nearest", [
    (["livegate", "srve"], "'serve'"), (["livegate", "chek"], "'check'"), (["livegate", "--verison"], "'--version'"),
    (["livegate"], "serve"), (["livegate", "serve"], "'--config FILE'"),
    (["livegate", "serve", "--config"], "'--config'"), (["livegate", "check", "--confg", "x"], "'--config'"),
    (["livegate", "serve", "--config", "x", "--lisen", ":1"], "'--listen'"),
    (["livegate", "map", "--config", "x", "more"], "'more'"), (["livegate", "completion", "zhs"], "'zsh'"),
    (["livegate", "token", "--acount", "A"], "'--account'"),
    (["livegate", "revoke", "--config", "x"], "'--account'"), (["livegate", "revoke", "--account", "A"], "'--config FILE'"),
    (["livegate", "revoke", "--config", "x", "--subject", "S"], "'--token'"),
    (["livegate", "revoke", "--config", "x", "--account", "A", "--token", "T"], "'--subject'"),
    (["livegate", "revoke", "--config", "x", "--token", "a\nb"], "token"), (["livegate", "config", "-x"], "'-x'"),
    (["livecat", "--conect", "ws://localhost"], "'--connect'"),
    (["livegate", "serve", "--config=x", "--admin=1\n2", "--\x1b[31m"], "--"),
])
def test_wrong_use_is_one_line_that_names_the_nearest_word(words, nearest):
    status, out, err = run(*words)
    assert (status, out) == (64, "")
    assert err.startswith(f"{words[0]}: ") and nearest in err
    assert err.count("\n") == 1 and "\x1b" not in err


def test_the_settings_that_are_printed_are_accepted(tmp_path):
    status, out, err = run("livegate", "config")
    assert (status, err) == (0, "")
    file = tmp_path / "livegate.yaml"
    file.write_text(out)
    status, out, err = run("livegate", "check", "--config", file)
    assert (status, out) == (0, "")
    assert err == (f"{file}: warning: auth: lets nobody in: name issuers in auth.jwt, a file in auth.tokens, or an account "
                   "in auth.anonymous\n")


@pytest.mark.parametrize("words, told", [
    (["livegate", "man"], COMMANDS + ["--config", "--kafka-brokers", "limits.max_message_bytes",
                                      "LIVEGATE_LIMITS_MAX_MESSAGE_BYTES", "auth.jwt[].account_claim"]),
    (["livecat", "--man"], ["--connect", "--show-ping-pong", "--token-file"]),
    (["liveboard", "--man"], ["--store", "--gateway", "--no-color"]),
])
def test_the_manual_page_is_clean_and_tells_every_option_and_setting(words, told):
    status, page, err = run(*words)
    assert (status, err) == (0, "")
    needs("groff")
    done = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-P-cbou"], input=page, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert [word for word in told if word not in done.stdout] == []


@pytest.mark.parametrize("shell, check", [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")])
def test_shells_take_the_completions(shell, check, tmp_path):
    status, script, err = run("livegate", "completion", shell)
    assert (status, err) == (0, "")
    assert all(command in script for command in COMMANDS)
    needs(shell)
    file = tmp_path / "completions"
    file.write_text(script)
    done = subprocess.run([shell, check, file], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_secrets_of_the_command_line_are_wiped_from_the_process_title(start):
    secrets = ["geheim-header", "geheim-auth", "geheim-passphrase", "geheim-url", "geheim-protocol", "geheim-message"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        program = start("livecat", f"ws://u:{secrets[3]}@127.0.0.1:{server.getsockname()[1]}/", "-H", f"X-Key: {secrets[0]}",
                        f"--auth=user:{secrets[1]}", "--passphrase", secrets[2], f"-sbearer.{secrets[4]}", "-x",
                        f'{{"token":"{secrets[5]}"}}')
        # It has read its command line when it connects; nobody answers it.
        connection, _ = server.accept()
        with connection:
            title = Path(f"/proc/{program.pid}/cmdline").read_text()
            assert "--passphrase" in title and "geheim" not in title
    assert program.wait() == 2 and "geheim" not in "".join(program.out + program.err)
    with socket.create_server(("127.0.0.1", 0)) as server:
        program = start("livecat", "-c", f"ws://127.0.0.1:{server.getsockname()[1]}/live/v1?ticket=geheim")
        connection, _ = server.accept()
        with connection:
            assert "geheim" not in Path(f"/proc/{program.pid}/cmdline").read_text()
    assert program.wait() == 2 and "geheim" not in "".join(program.out + program.err)


@pytest.mark.parametrize("allowed", [False, True])
def test_nobody_reads_the_memory_of_a_node_and_no_core_file_is_written_but_where_that_is_allowed(allowed):
    """proc(5): of a process that may not be dumped the files below /proc/PID are the superuser's, whoever runs it."""
    needs("setpriv")
    variables = environment({"LIVEGATE_ALLOW_DUMPS": "true" if allowed else "false"})
    nobody = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    program = subprocess.Popen([*nobody, PROGRAMS / "livegate", "map", "--config", "/dev/null"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=variables)
    with program:
        facts = Path(f"/proc/{program.pid}")
        # With its first answer it is livegate, and has begun.
        program.stdin.write(b"{}\n")
        program.stdin.flush()
        assert program.stdout.readline()
        owner = 65534 if nobody else os.geteuid()
        assert (facts / "environ").stat().st_uid == (owner if allowed else 0)
        assert program.poll() is None
        assert not nobody or "Uid:\t65534\t" in (facts / "status").read_text()
        program.stdin.close()
    assert program.returncode == 0


@pytest.mark.parametrize("command", ["config", "man", "map"])
@pytest.mark.parametrize("ignored", [False, True])
def test_a_closed_pipe_ends_a_program_quietly(command, ignored, tmp_path):
    file = tmp_path / "livegate.yaml"
    file.write_text("")
    words = [PROGRAMS / "livegate", command] + (["--config", file] if command == "map" else [])
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        words, input=b"{}\n", stdout=writing, stderr=subprocess.PIPE, timeout=300, env=environment(), restore_signals=not ignored,
        preexec_fn=(lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN)) if ignored else None)
    os.close(writing)
    assert done.returncode in (0, -signal.SIGPIPE) and done.stderr == b""


def test_map_answers_each_line_at_once(start, tmp_path):
    file = tmp_path / "livegate.yaml"
    file.write_text("events: {rename: {'incidents::note': note}}\n")
    program = start("livegate", "map", "--config", file)
    record = {"account_id": "PACC1", "entity": "incidents::note", "id": "P1", "type": "created"}
    for number, (line, answer) in enumerate([
        (json.dumps(record), {"account": "PACC1", "message": {"ent": "note", "id": "P1", "type": "created"}}),
        (json.dumps({"topic": "t", "value": json.dumps(record)}),
         {"account": "PACC1", "message": {"ent": "note", "id": "P1", "type": "created"}}),
        (json.dumps({"topic": "t", "value": None}), "tombstone"), ("", "not_json"), ("nonsense", "not_json"),
        (json.dumps({**record, "entity": "alerts::alert"}), "dropped"),
    ]):
        program.send(line)
        told = json.loads(eventually(lambda: program.out[number:number + 1], what=f"the answer to {line}")[0])
        if isinstance(answer, str):
            assert told["skip"] == answer and told["why"]
        else:
            assert told == answer
    program.process.stdin.close()
    assert program.wait() == 0 and program.err == []
    status, out, _ = run("livegate", "map", "--config", file, input="x")
    assert status == 0 and json.loads(out)["skip"] == "not_json", "a last line without an end"


def test_map_refuses_wrong_settings(tmp_path):
    file = tmp_path / "livegate.yaml"
    file.write_text("events:\n  account: nowhere\n")
    status, out, err = run("livegate", "map", "--config", file, input="{}\n")
    assert (status, out) == (78, "")
    assert err.startswith(f"{file}:2: events.account: ") and err.count("\n") == 1
    assert run("livegate", "map", "--config", tmp_path / "missing", input="")[0] == 78


def test_output_goes_through_a_terminal_and_a_full_disk_is_told():
    primary, secondary = pty.openpty()
    done = subprocess.run([PROGRAMS / "livegate", "--version"], stdout=secondary, timeout=300)
    os.close(secondary)
    assert done.returncode == 0 and os.read(primary, 100).startswith(b"livegate ")
    os.close(primary)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAMS / "livegate", "config"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 74 and "No space left on device" in done.stderr
