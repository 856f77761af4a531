"""Which parts the files that changed since `main` can reach, by the package's own graph of targets."""

import json
import re
import subprocess

from .builds import RAW_MEMORY
from .processes import ROOT

# Folders beside the targets, and the parts that they are for.
FOLDERS = {
    "Tests/EndToEnd": ["end-to-end", "kafka"], "Tests/Harness/Python": ["end-to-end", "kafka"],
    "Tests/JavaScript": ["javascript"], "Tests/Scenarios": ["javascript", "unit"], "Sources/LiveClientJS": ["javascript"],
    "Tests/Conformance": ["conformance"], "Tests/Fuzz": ["corpus"], "Tests/Sanitizers": ["address-smoke", "thread-smoke"],
    "deploy": ["end-to-end"], "Package.swift": None, "Tests/Runner": None, "Tests/run": None, "Tests/parts": None,
}
PROGRAMS = {"livegate", "livecat", "liveboard", "livebench", "mockbroker", "storekill", "pastdevices", "sdkclients",
            "urlsessionclient"}
ECHO = {"wsecho", "wsecho-client"}


def files():
    """What differs from where this branch left `main`, committed or not."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    base = git("merge-base", "HEAD", "main").strip()
    return sorted({*git("diff", "--name-only", base).split("\n"), *git("ls-files", "--others", "--exclude-standard").split("\n")}
                  - {""})


def package():
    """The targets of the package: by name their folder, what they need, and whether they are tests."""
    dump = subprocess.run(["swift", "package", "dump-package"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = {}
    for target in json.loads(dump)["targets"]:
        folder = target.get("path") or ("Tests/" if target["type"] == "test" else "Sources/") + target["name"]
        needs = [next(iter(dependency.values()))[0] for dependency in target["dependencies"]]
        found[target["name"]] = (folder, needs, target["type"] == "test")
    return found


def reached(targets, names):
    """These targets and all that need them."""
    found = set(names)
    while more := {name for name, (_, needs, _) in targets.items() if name not in found and found & set(needs)}:
        found |= more
    return found


def choose(paths, targets, gate):
    """The parts for these files, the targets of unit tests (all where it names none), and the end-to-end files where those alone
    have changed."""
    parts, owners = {"lint", "tidy"}, set()
    for path in paths:
        folder = next((folder for folder in FOLDERS if path == folder or path.startswith(f"{folder}/")), None)
        owner = max((name for name, (place, _, _) in targets.items() if path.startswith(f"{place}/")),
                    key=lambda name: len(targets[name][0]), default=None)
        if folder and FOLDERS[folder] is None:
            return set(gate), [], []
        if folder:
            parts |= set(FOLDERS[folder])
        if owner:
            # Whatever it is: pages are compiled in, and tests hold articles to tables.
            owners.add(owner)
    hit = reached(targets, owners)
    # The page is compiled into the gateway.
    if any(path.startswith("Sources/LiveClientJS/") for path in paths):
        hit |= reached(targets, {"DemoPage"})
    tests = sorted(name for name in hit if targets[name][2] and name != "TidyTests")
    if tests:
        parts |= {"unit"}
        parts |= {"address-smoke"} if set(tests) & set(RAW_MEMORY) else set()
        parts |= {"consumer"} if "KafkaTests" in tests else set()
    if hit & PROGRAMS:
        parts |= {"end-to-end", "kafka"}
    if "livegate" in hit:
        parts |= {"thread-smoke"}
    if hit & ECHO:
        parts |= {"conformance"}
    alone = [path for path in paths if re.fullmatch(r"Tests/EndToEnd/test_\w+\.py", path)]
    python = [path for path in paths if path.startswith(("Tests/EndToEnd/", "Tests/Harness/Python/", "deploy/"))]
    only = alone if python == alone and not hit & PROGRAMS else []
    return parts & set(gate), tests, only

