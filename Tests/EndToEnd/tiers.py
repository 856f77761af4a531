"""Which end-to-end tests run where, and in which order; and what Tests/run is told of each. Read by conftest.py."""

import json
import os
import random
from pathlib import Path

import pytest

WORTH = Path(__file__).parent.parent / "Sanitizers/worth"
MARKS = {"journey": "journey", "thread": "thread_sanitizer", "address": "address_sanitizer"}
# Fixtures of another Kafka, or another librdkafka, than the gate has.
OTHERS = {"older_kafka", "newer_librdkafka"}


def worth():
    """By file, or file and test, the marks that Tests/Sanitizers/worth gives."""
    found = {}
    for line in WORTH.read_text().splitlines():
        if line.startswith("test_"):
            name, mark, why = line.split(None, 2)
            found.setdefault(name, []).append(getattr(pytest.mark, MARKS[mark])(why))
    return found


def mark(items):
    """Marks tests by what they need and by what a second run of them is worth."""
    marks = worth()
    for item in items:
        test = f"{item.path.name}::{item.originalname}"
        for given in marks.get(item.path.name, []) + marks.get(test, []):
            item.add_marker(given)
        if any("kafka" in name for name in item.fixturenames):
            item.add_marker(pytest.mark.kafka)
            parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
            if OTHERS & {*item.fixturenames, *(value for value in parameters if isinstance(value, str))}:
                item.add_marker(pytest.mark.other_kafka)


def arrange(items):
    """The order of a run: files at random and the tests in each at random, by the seed LIVEGATE_SEED, but files with slow tests
    first. Tests of one file stay together, since they share what their file starts. What needs Apache Kafka comes last: it starts
    once, and the others need not wait for it."""
    seed = os.environ.get("LIVEGATE_SEED")
    if seed:
        # Each worker comes to the same order.
        draw = random.Random(seed)
        draw.shuffle(items)
        turns = {path: draw.random() for path in sorted({item.path for item in items})}
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: (item.path not in slow, turns[item.path]))
    items.sort(key=lambda item: item.get_closest_marker("kafka") is not None)


def record(report):
    """A line for each phase of each test, in the file LIVEGATE_RECORDS, by the process that hands tests out."""
    file = os.environ.get("LIVEGATE_RECORDS")
    if not file or "PYTEST_XDIST_WORKER" in os.environ:
        return
    why = ""
    if report.failed:
        why = "\n".join([report.longreprtext, *(f"{title}\n{text}" for title, text in report.sections)])
    elif report.skipped:
        why = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    with open(file, "a") as lines:
        lines.write(json.dumps({"node": report.nodeid, "outcome": report.outcome, "seconds": report.duration, "why": why}) + "\n")
