"""Another package depends on this one: by version, branch, revision and path."""

import json
import os
import shutil
import subprocess

import pytest

from programs import PATIENCE, ROOT

PRODUCTS = {"app": ["LiveClient", "LiveClientReactor"], "phone": ["LiveClient", "LiveCollections", "LiveClientURLSession"]}
BUILD = 1800 * PATIENCE
MANIFEST = """// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "app",
    platforms: [.macOS(.v14)],
    dependencies: [.package(DEPENDENCY)],
    targets: [
        TARGETS
    ]
)
"""
SOURCE = """IMPORTS

let client = try LiveClient(LiveClientConfiguration(url: "wss://live.example/live/v1")) { "token" }
await client.close()
print("closed")
"""
# An app's target as Xcode 26 makes it.
XCODE_SETTINGS = """, swiftSettings: [
            .defaultIsolation(MainActor.self), .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            .enableUpcomingFeature("MemberImportVisibility")]"""
# What the build of this repository says to the package manager, and another package's does not.
OURS = {"LIVEGATE_TARGETS", "LIVEGATE_OPTIMIZED", "LIVEGATE_UNSAFE_FLAGS", "LIVEGATE_FUZZ"}
WAYS = {
    "tag": 'url: "URL", from: "1.0.0"',
    "exact": 'url: "URL", exact: "1.0.0"',
    "branch": 'url: "URL", branch: "trunk"',
    "revision": 'url: "URL", revision: "REVISION"',
    "path": 'path: "PATH"',
}


def environment(**more):
    return {**{name: value for name, value in os.environ.items() if name not in OURS}, **more}


def run(folder, *words, seconds=120):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=seconds * PATIENCE, env=environment())
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def unsafe(folder):
    """The targets with flags that the package manager takes of no dependency."""
    described = json.loads(run(folder, "swift", "package", "dump-package"))
    return {target["name"] for target in described["targets"] for setting in target["settings"]
            if "unsafeFlags" in setting["kind"]}


@pytest.mark.unsanitized
def test_a_checkout_of_another_package_has_no_unsafe_flags(tmp_path):
    for place in ("own", "checkouts"):
        folder = tmp_path / place / "livegate"
        folder.mkdir(parents=True)
        shutil.copy(ROOT / "Package.swift", folder)
    assert {"LiveState", "WebSocket"} <= unsafe(tmp_path / "own/livegate")
    assert unsafe(tmp_path / "checkouts/livegate") == set()


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """This repository's files as they are, with a tag and a branch."""
    folder = tmp_path_factory.mktemp("origin") / "livegate"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if not (ROOT / name).exists():
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    git = ["git", "-c", "user.name=app", "-c", "user.email=app@example.org"]
    run(folder, "git", "init", "-q", "-b", "trunk")
    run(folder, "git", "add", "-A")
    run(folder, *git, "commit", "-q", "-m", "All of it")
    run(folder, *git, "tag", "1.0.0")
    return folder


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """Where each way builds, so that the next finds what is the same."""
    return tmp_path_factory.mktemp("scratch")


@pytest.mark.slow
@pytest.mark.unsanitized
# One in the gate, and the others in `--all`: each builds the client library again.
@pytest.mark.parametrize("way", [way if way == "tag" else pytest.param(way, marks=pytest.mark.packages) for way in WAYS])
def test_a_package_that_depends_on_this_one_is_built(repository, scratch, tmp_path, way):
    revision = run(repository, "git", "rev-parse", "HEAD").strip()
    dependency = WAYS[way].replace("URL", f"file://{repository}").replace("REVISION", revision).replace("PATH", str(repository))
    targets = []
    for name, products in PRODUCTS.items():
        needs = ", ".join(f'.product(name: "{product}", package: "livegate")' for product in products)
        settings = XCODE_SETTINGS if name == "phone" else ""
        targets.append(f'.executableTarget(name: "{name}", dependencies: [{needs}]{settings})')
        (tmp_path / "Sources" / name).mkdir(parents=True)
        if name == "phone":
            # The code of an article, as a reader's app has it.
            shutil.copy(ROOT / "Tests/LiveClientTests/Collections.swift", tmp_path / "Sources" / name)
        imports = "\n".join(f"import {product}" for product in products)
        (tmp_path / "Sources" / name / "main.swift").write_text(SOURCE.replace("IMPORTS", imports))
    manifest = MANIFEST.replace("DEPENDENCY", dependency).replace("TARGETS", ",\n        ".join(targets))
    (tmp_path / "Package.swift").write_text(manifest)
    run(tmp_path, "swift", "build", "--scratch-path", str(scratch), seconds=BUILD)
    for name in PRODUCTS:
        assert run(tmp_path, str(scratch / "debug" / name)) == "closed\n"
