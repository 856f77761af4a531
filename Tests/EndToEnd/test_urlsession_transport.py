# Tests: URLSessionTransport.swift
"""The transport for Apple's platforms compiles here, though no program has it."""

import json
import pathlib
import re
import subprocess

import pytest

from brokers import unavailable
from programs import PATIENCE, PROGRAMS

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE = "Sources/LiveClient/Connection/URLSessionTransport.swift"
# Of what the module was compiled with: the words that say what its sources mean, with how many words follow each.
MEANING = {"-I": 1, "-Xcc": 1, "-package-name": 1, "-swift-version": 1, "-module-cache-path": 1, "-target": 1,
           "-DSWIFT_PACKAGE": 0, "-strict-memory-safety": 0, "-warnings-as-errors": 0, "-sdk": 1}


def compiled_with(manifest, module):
    """The command with which the build made this module."""
    found = re.search(rf'^  "C\.{module}-[^"]*\.module":\n(?:    .*\n)*?    args: (\[.*\])$', manifest.read_text(), re.M)
    assert found, f"{manifest} has no command for {module}"
    return json.loads(found.group(1))


def meaning(words):
    words, kept = iter(words), []
    for word in words:
        if word in MEANING:
            kept += [word, *(next(words) for _ in range(MEANING[word]))]
    return kept


def checked(source):
    """Status and words of the compiler about this source in the place of the file."""
    folder = PROGRAMS.resolve()
    manifest = folder.parents[1] / f"{folder.name}.yaml"
    if not manifest.exists():
        unavailable(f"no {manifest}: the programs were not built here")
    others = [path for path in sorted((ROOT / "Sources/LiveClient").rglob("*.swift")) if path != ROOT / FILE]
    done = subprocess.run(
        ["swiftc", "-frontend", "-emit-sil", "-o", "/dev/null", "-parse-as-library", "-module-name", "LiveClient",
         "-D", "LIVEGATE_URLSESSION", *meaning(compiled_with(manifest, "LiveClient")), "-primary-file", source, *others],
        capture_output=True, text=True, cwd=ROOT, timeout=300 * PATIENCE)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.unsanitized
def test_it_compiles_against_the_urlsession_of_linux(tmp_path):
    assert checked(ROOT / FILE) == (0, "")
    # The check would say so if it did not.
    wrong = tmp_path / "URLSessionTransport.swift"
    text = (ROOT / FILE).read_text()
    assert text.count("task.resume()") == 1
    wrong.write_text(text.replace("task.resume()", "task.resumes()"))
    status, words = checked(wrong)
    assert status != 0 and "has no member 'resumes'" in words
