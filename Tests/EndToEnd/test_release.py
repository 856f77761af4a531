"""A release of a copy of the source: what it is made of, its sums, its tag, and when there is none."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from debian import DEADLINE, needs
from programs import PROGRAMS, ROOT

pytestmark = [pytest.mark.packages, pytest.mark.slow, pytest.mark.unsanitized]

# Without the gate it may be another than the source's.
VERSION = "0.0.1"
# Built by its own tests.
WITHOUT = ("--without", "image")
NOBODY = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
for role in ("AUTHOR", "COMMITTER"):
    NOBODY |= {f"GIT_{role}_NAME": "Nobody", f"GIT_{role}_EMAIL": "nobody@localhost"}


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True, env=NOBODY).stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The source as it is now, committed once, without its history."""
    folder = tmp_path_factory.mktemp("source")
    for name in git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")
    return folder


def release(source, into, *words):
    return subprocess.run([source / "deploy/package", "release", "--programs", PROGRAMS, "--into", into, *words],
                          capture_output=True, text=True, env=NOBODY, timeout=DEADLINE)


@pytest.fixture(scope="module")
def made(source, tmp_path_factory):
    needs("dpkg-deb", "dpkg-shlibdeps", "chrpath", "esbuild", "node", "ldd")
    into = tmp_path_factory.mktemp("release") / "files"
    done = release(source, into, "--no-gate", "--as", VERSION, *WITHOUT)
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(done.stdout.splitlines()) == sorted(map(str, into.iterdir()))
    return into


def test_a_release_has_all_its_files_and_their_sums(made):
    architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
    names = {f"livegate_{VERSION}_{architecture}.deb", f"livecat_{VERSION}_{architecture}.deb", f"livegate-docs_{VERSION}.tar.gz",
             f"livegate-npm_{VERSION}.tgz", f"livegate_{VERSION}.spdx.json"}
    assert {path.name for path in made.iterdir()} == names | {"SHA256SUMS"}
    sums = dict(reversed(line.split()) for line in (made / "SHA256SUMS").read_text().splitlines())
    assert sums == {name: hashlib.sha256((made / name).read_bytes()).hexdigest() for name in names}
    with tarfile.open(made / f"livegate-docs_{VERSION}.tar.gz") as pages:
        assert f"livegate-docs_{VERSION}/documentation/gateway/security/index.html" in pages.getnames()
    with tarfile.open(made / f"livegate-npm_{VERSION}.tgz") as module:
        assert {"package/package.json", "package/livegate.js", "package/livegate.d.ts"} <= set(module.getnames())


def test_the_sbom_has_each_library_that_the_programs_need_as_dpkg_has_it(made, tmp_path):
    document = json.loads((made / f"livegate_{VERSION}.spdx.json").read_text())
    assert (document["spdxVersion"], document["dataLicense"]) == ("SPDX-2.3", "CC0-1.0")
    packages = {each["SPDXID"]: each for each in document["packages"]}
    assert len(packages) == len(document["packages"])
    relations = [(each["spdxElementId"], each["relationshipType"], each["relatedSpdxElement"]) for each in document["relationships"]]
    # What is related is there, and every licence that SPDX does not know is described.
    assert {end for one, _, other in relations for end in (one, other)} <= set(packages) | {"SPDXRef-DOCUMENT"}
    own = set(re.findall(r"LicenseRef-[A-Za-z0-9.-]+", " ".join(each["licenseDeclared"] for each in packages.values())))
    assert own == {each["licenseId"] for each in document["hasExtractedLicensingInfos"]}
    for name in ("livegate", "livecat"):
        file = PROGRAMS / name
        assert packages[f"SPDXRef-{name}"]["versionInfo"] == VERSION
        # Of the program as its package has it.
        package, = made.glob(f"{name}_{VERSION}_*.deb")
        subprocess.run(["dpkg-deb", "--extract", package, tmp_path], check=True)
        shipped = (tmp_path / "usr/bin" / name).read_bytes()
        assert shipped != file.read_bytes()
        assert packages[f"SPDXRef-{name}"]["checksums"] == [
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(shipped).hexdigest()}]
        # By way of the files: a library is linked if one of its package's files is needed, and none else is.
        headers = subprocess.run(["objdump", "-p", file], capture_output=True, text=True, check=True).stdout
        needed = set(re.findall(r"NEEDED\s+(\S+)", headers))
        linked = [packages[other] for one, how, other in relations if (one, how) == (f"SPDXRef-{name}", "DYNAMIC_LINK")]
        found = set()
        for each in linked:
            if each["name"] == "swift":
                found |= {library for library in needed if re.search("swift|dispatch|BlocksRuntime", library)}
                continue
            version, *files = subprocess.run(
                f"dpkg-query --show --showformat '${{Version}}\\n' {each['name']} && dpkg-query --listfiles {each['name']}",
                shell=True, capture_output=True, text=True, check=True).stdout.splitlines()
            here = needed & {Path(path).name for path in files}
            assert here and version == each["versionInfo"], each
            found |= here
        assert found == needed
    swift = packages["SPDXRef-swift"]["versionInfo"]
    assert f"Swift version {swift} " in subprocess.run(["swift", "--version"], capture_output=True, text=True).stdout
    released = {each["packageFileName"] for each in packages.values() if each["name"].startswith("file-")}
    assert released == {path.name for path in made.iterdir()} - {"SHA256SUMS", f"livegate_{VERSION}.spdx.json"}


def test_the_commit_has_the_tag_and_is_not_released_twice(made, source, tmp_path):
    assert git(source, "rev-parse", f"v{VERSION}^{{commit}}") == git(source, "rev-parse", "HEAD")
    assert git(source, "cat-file", "-t", f"v{VERSION}") == "tag\n"
    done = release(source, tmp_path / "again", "--no-gate", "--as", VERSION, *WITHOUT)
    assert done.returncode == 1 and f"the tag v{VERSION} is there already" in done.stderr and not (tmp_path / "again").exists()


@pytest.mark.parametrize("words, status, told", [
    (("--as", "0.0.2-dev", "--no-gate"), 1, "write 0.0.2 into Sources/Options/Release.swift"), (("--as", "0.0.2"), 64, "--as goes with --no-gate"),
    (("--without", "everything"), 64, "a release has no 'everything'"),
    (("--as", "0.0.2", "--no-gate", "--librdkafka", "source"), 64, "run with --librdkafka debian"),
])
def test_what_is_not_to_be_released_is_refused_before_anything_is_built(source, tmp_path, words, status, told):
    without = () if "source" in words else WITHOUT
    done = release(source, tmp_path / "files", *words, *without)
    assert (done.returncode, done.stdout) == (status, "") and told in done.stderr and not (tmp_path / "files").exists()
    assert git(source, "tag", "--list", "v0.0.2") == ""


def test_a_tree_with_changes_and_a_folder_with_files_are_refused(source, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old/file").touch()
    done = release(source, tmp_path / "old", "--no-gate", "--as", "0.0.3", *WITHOUT)
    assert done.returncode == 1 and "old is not empty" in done.stderr
    (source / "new").touch()
    try:
        done = release(source, tmp_path / "files", "--no-gate", "--as", "0.0.3", *WITHOUT)
    finally:
        (source / "new").unlink()
    assert done.returncode == 1 and "the tree is not what is committed" in done.stderr
