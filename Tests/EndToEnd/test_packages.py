"""The packages of Debian, made of the built programs and installed in a Debian that has nothing else."""

import re
import subprocess
from pathlib import Path

import pytest

from debian import DEADLINE, ENVIRONMENT, bare, needs
from programs import PROGRAMS, ROOT

pytestmark = [pytest.mark.packages, pytest.mark.slow, pytest.mark.unsanitized]

PACKAGE = ROOT / "deploy/package"
VERSION = re.search(r'static let version = "(.*)"', (ROOT / "Sources/Options/Release.swift").read_text())[1]
# There is no tag yet that could be built: the same programs, as an older package. Debian sorts it before 0.0.1, as it is meant.
BEFORE, BEFORE_IN_DEBIAN = "0.0.1-rc.1", "0.0.1~rc.1"
SETTINGS = "/etc/livegate/livegate.yaml"


def make(folder, *words):
    """The packages by name."""
    done = subprocess.run([PACKAGE, "deb", "--programs", PROGRAMS, "--into", folder, *words], capture_output=True, text=True,
                          timeout=DEADLINE)
    assert done.returncode == 0, done.stderr
    return {path.name.split("_")[0]: path for path in map(Path, done.stdout.splitlines())}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("packages")


@pytest.fixture(scope="module")
def packages(folder):
    needs("dpkg-deb", "dpkg-shlibdeps", "chrpath", "lintian")
    return make(folder / "now")


@pytest.fixture(scope="module")
def bare_debian(folder):
    return bare(folder / "debian")


@pytest.fixture(scope="module")
def before(packages, bare_debian, folder):
    """A machine with the version before, whose operator has changed the settings."""
    machine = bare_debian.copy(folder / "before")
    machine.install(*make(folder / "older", "--as", BEFORE).values())
    machine.run("sed", "-i", "s/^listen: .*/listen: [127.0.0.1:9999]/", SETTINGS)
    return machine


@pytest.fixture
def machine(before, tmp_path):
    return before.copy(tmp_path / "machine")


@pytest.fixture
def running(machine):
    """The same under a systemd that runs a node and keeps what it is asked."""
    machine.write("/usr/bin/systemctl", '#!/bin/sh\necho "$@" >> /asked\n[ "$1" != is-enabled ] || echo enabled\n', "755")
    machine.run("mkdir", "-p", "/run/systemd/system")
    return machine


def asked(machine):
    """What was asked of its systemd for the node, without options."""
    text = machine.run("sh", "-c", "cat /asked 2>/dev/null || true")
    lines = [[word for word in line.split() if not word.startswith("--")] for line in text.splitlines()]
    return [" ".join(words) for words in lines if words[0] in ("start", "restart", "try-restart", "stop", "enable")]


def test_a_bare_debian_runs_what_it_installs(bare_debian, packages, start, tmp_path):
    machine = bare_debian.copy(tmp_path / "machine")
    machine.install(*packages.values())
    for name in packages:
        assert machine.run(name, "--version") == f"{name} {VERSION}\n"
        assert machine.run(name, "--help").startswith("Usage: ")
    demo = start(*machine.command("livegate", "demo", "--seconds", "5"), env=ENVIRONMENT)
    line = demo.line("livecat -")
    assert '"ent":"incident"' in machine.run("sh", "-c", f"{line} --count 1")
    assert demo.wait(30) == 0
    # The settings are sound as they are installed, and the node reads them, but not everybody.
    as_node = ["setpriv", "--reuid", "livegate", "--regid", "livegate", "--clear-groups"]
    assert "lets nobody in" in machine.run(*as_node, "livegate", "check", "--config", SETTINGS)
    assert machine.run("stat", "--format", "%a %U %G", "/etc/livegate", SETTINGS) == "750 root livegate\n640 root livegate\n"
    machine.run("setpriv", "--reuid", "nobody", "--clear-groups", "--regid", "nogroup", "cat", SETTINGS, status=1)
    # Nothing but what is documented, and nothing from beside the program.
    assert "RUNPATH" not in subprocess.run(["objdump", "-p", machine.folder / "changes/usr/bin/livegate"], capture_output=True,
                                           text=True, check=True).stdout


def test_pages_completions_and_unit_are_where_a_machine_looks_for_them(before, tmp_path):
    machine = before.copy(tmp_path / "machine")
    machine.install("man-db", "bash-completion", "systemd")
    for name in ("livegate", "livecat"):
        page = f"/usr/share/man/man1/{name}.1.gz"
        assert f"{name} - " in machine.run("man", "--warnings", "-l", page) and machine.run("man", "--where", name) == f"{page}\n"
        completed = machine.run("bash", "-c", f". /usr/share/bash-completion/bash_completion && _completion_loader {name}; "
                                              f"complete -p {name}")
        assert completed.endswith(f" {name}\n")
        machine.run("test", "-s", f"/usr/share/zsh/vendor-completions/_{name}")
        machine.run("test", "-s", f"/usr/share/fish/vendor_completions.d/{name}.fish")
    unit = "/usr/lib/systemd/system/livegate.service"
    assert machine.run("systemd-analyze", "verify", unit) == ""
    # It begins when the operator says so.
    assert machine.run("systemctl", "is-enabled", "livegate.service", status=1) == "disabled\n"


def test_an_upgrade_keeps_settings_and_who_may_read_them(machine, packages):
    machine.run("chmod", "600", SETTINGS)
    machine.run("chown", "livegate", SETTINGS)
    told = machine.install(*packages.values())
    assert f"Unpacking livegate ({VERSION.replace('-', '~')}) over ({BEFORE_IN_DEBIAN})" in told
    assert machine.run("livegate", "--version") == f"livegate {VERSION}\n"
    assert machine.run("grep", "^listen", SETTINGS) == "listen: [127.0.0.1:9999]\n"
    assert machine.run("stat", "--format", "%a %U", SETTINGS) == "600 livegate\n"
    assert machine.run("sh", "-c", "ls /etc/livegate") == "livegate.yaml\n"


def test_an_upgrade_restarts_a_node_that_runs(running, packages):
    running.install(packages["livegate"])
    assert asked(running) == ["restart livegate.service"]


def test_an_upgrade_leaves_a_node_alone_whose_settings_the_new_version_refuses(running, packages):
    running.run("sed", "-i", "$ a no_such_setting: 1", SETTINGS)
    told = running.install(packages["livegate"])
    assert "no_such_setting" in told and "the node was not restarted" in told and asked(running) == []
    assert running.run("dpkg-query", "--show", "--showformat", "${Status}", "livegate") == "install ok installed"


def test_a_first_installation_starts_nothing(bare_debian, packages, tmp_path):
    machine = bare_debian.copy(tmp_path / "machine")
    machine.write("/usr/bin/systemctl", '#!/bin/sh\necho "$@" >> /asked\n', "755")
    machine.run("mkdir", "-p", "/run/systemd/system")
    machine.install(packages["livegate"])
    assert asked(machine) == []


def test_a_removal_stops_the_node_and_a_purge_takes_what_is_its_own(running):
    running.write("/etc/livegate/key.pem", "the operator's")
    running.write("/var/lib/livegate/archive.sqlite", "the node's")
    running.run("apt-get", "remove", "--yes", "livegate", "livecat")
    assert asked(running) == ["stop livegate.service"]
    assert running.run("sh", "-c", "ls /usr/bin/live* 2>&1 || true").count("cannot access") == 1
    assert running.run("grep", "^listen", SETTINGS) == "listen: [127.0.0.1:9999]\n"
    assert running.run("cat", "/var/lib/livegate/archive.sqlite") == "the node's"
    running.run("apt-get", "purge", "--yes", "livegate")
    assert running.run("ls", "/etc/livegate") == "key.pem\n"
    running.run("test", "-e", "/var/lib/livegate", status=1)
    # Its number is nobody else's.
    assert "livegate" in running.run("getent", "passwd", "livegate")


def test_a_purge_of_the_last_package_leaves_nothing_of_it(machine):
    machine.run("apt-get", "purge", "--yes", "livegate", "livecat")
    assert machine.run("sh", "-c", "find /etc /usr /var/lib -name '*livegate*' -o -name '*livecat*'") == ""


def test_lintian_finds_nothing(packages):
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", *packages.values()], capture_output=True,
                          text=True, timeout=DEADLINE)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_the_same_source_makes_the_same_bytes(packages, folder):
    again = make(folder / "again")
    assert {name: path.read_bytes() for name, path in again.items()} == {
        name: path.read_bytes() for name, path in packages.items()}


@pytest.mark.parametrize("words, status, told", [
    ([], 64, "nothing to make"), (["dep"], 64, "unknown command 'dep'"), (["deb", "--in", "x"], 64, "unknown option '--in'"),
    (["deb", "--into"], 64, "--into wants a value"), (["deb", "--as", "1.2"], 64, "'1.2' is not a version"),
    (["deb", "--as", "01.2.3"], 64, "'01.2.3' is not a version"),
    (["deb", "--programs", "/etc"], 1, "no program 'livegate' in /etc"),
    (["image", "--librdkafka", "2"], 64, "'2' is no librdkafka"), (["image", "--bases", "mine"], 64, "'mine' are no bases"),
    (["image", "--programs", "/etc"], 64, "run with --librdkafka debian"),
])
def test_wrong_use_is_told_in_a_line(tmp_path, words, status, told):
    done = subprocess.run([PACKAGE, *words], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == status and told in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_programs_of_another_version_are_refused(tmp_path):
    for name in ("livegate", "livecat"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} 0.0.0\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run([PACKAGE, "deb", "--programs", tmp_path, "--into", tmp_path / "x"], capture_output=True, text=True)
    assert done.returncode == 1 and f"livegate 0.0.0, the source {VERSION}: build it again" in done.stderr
