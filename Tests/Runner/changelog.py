"""Whether each change of what others rely on has its line in the changelog: settings, metrics, close codes, refusals.

Compared are their tables in each commit since the last release with those of the commit before it, and those of the working tree
with the last commit's. A change is reported where its commit left the changelog alone and the changelog still does not name it.
Before the first release the commits since this rule count. A checkout without history has nothing to compare, and passes.
"""

import re
import subprocess
from pathlib import Path

from .processes import ROOT

CHANGELOG = "Sources/Gateway/Gateway.docc/Changelog.md"
RULE = "Tests/Runner/changelog.py"
# By the files that have them, how each is written there: a name, and for settings the default.
TABLES = {
    "Sources/GatewaySettings/*.swift": ("setting", r'Setting\(\s*"([a-z_.]+)",.*?default:\s*"([^"]*)"'),
    "Sources/Gateway/Admin/Metric*.swift": ("metric", r'"(livegate_[a-z_]+)"()'),
    # In whichever target: one that moves is no change.
    "Sources/*/CloseCode.swift": ("close code", r'CloseCode\(rawValue: (\d+)\)()'),
    "Sources/HTTP/RefusalCode.swift": ("refusal", r'case \w+ = "([a-z_]+)"()'),
}


def git(root, *words):
    """What git says; None where it cannot, or is not installed."""
    try:
        done = subprocess.run(["git", "-C", str(root), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def entries(text, pattern):
    return set(re.findall(pattern, text, re.S))


def contract(root, commit=None):
    """All that others rely on, of a commit, or of the working tree: kind, name and default."""
    found = set()
    for files, (kind, pattern) in TABLES.items():
        if commit is None:
            texts = [path.read_text() for path in sorted(Path(root).glob(files))]
        else:
            listed = git(root, "ls-tree", "-r", "--name-only", commit, "Sources/") or ""
            paths = [path for path in listed.split("\n") if path and Path(path).match(files)]
            texts = [git(root, "show", f"{commit}:{path}") or "" for path in paths]
        for text in texts:
            found |= {(kind, *entry) for entry in entries(text, pattern)}
    return found


def base(root):
    """The commit from which on changes count; None where there is no history that has it."""
    if git(root, "rev-parse", "--is-shallow-repository") != "false\n":
        return None
    tag = git(root, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD")
    if tag:
        return tag.strip()
    added = (git(root, "log", "--format=%H", "--diff-filter=A", "--", RULE) or "").split()
    return added[-1] if added else None


def unnamed(before, after, changelog):
    """What differs, and is not named in the changelog."""
    changed = {(kind, name) for kind, name, *_ in before ^ after}
    return sorted(f"{kind} {name}" for kind, name in changed if not re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", changelog))


def newest(changelog):
    """The section of what is not released yet: a name in an older one is no line for a change of today."""
    return "\n## ".join(("\n" + changelog).split("\n## ")[:2])


def problems(root=ROOT):
    """A line for each change that the changelog does not have."""
    file = Path(root) / CHANGELOG
    if git(root, "rev-parse", "--verify", "--quiet", "HEAD") is None or not file.exists():
        return []
    whole, found = file.read_text(), []
    changelog = newest(whole)
    begin = base(root)
    commits = (git(root, "log", "--format=%H", "--no-merges", f"{begin}..HEAD", "--", *TABLES) or "").split() if begin else []
    for commit in commits:
        if CHANGELOG in (git(root, "show", "--format=", "--name-only", commit) or "").split("\n"):
            continue
        for what in unnamed(contract(root, f"{commit}^"), contract(root, commit), changelog):
            found.append(f"commit {commit[:10]}: {what} was added, changed or removed; say in {CHANGELOG} what it asks of whom")
    if git(root, "show", f"HEAD:{CHANGELOG}") == whole:
        for what in unnamed(contract(root, "HEAD"), contract(root), changelog):
            found.append(f"uncommitted: {what} is added, changed or removed; say in {CHANGELOG} what it asks of whom")
    return found


if __name__ == "__main__":
    lines = problems()
    print("\n".join(lines))
    raise SystemExit(1 if lines else 0)
