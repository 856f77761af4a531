"""The protocol document for client authors: its examples run, and its tables have every code."""

import json
import os
import re
import subprocess

from programs import PATIENCE, ROOT

DOCUMENT = (ROOT / "Sources/LiveClient/LiveClient.docc/Protocol.md").read_text()
FLOW = DOCUMENT[DOCUMENT.index("## An app without WebSockets"):]
BLOCKS = re.findall(r"^```(bash|json)\n(.*?)^```$", FLOW, re.M | re.S)


def normal(text):
    """What differs from run to run, as the document writes it."""
    text = re.sub(r'"(at|detail)":"[^"]*"', r'"\1":"…"', text.strip())
    return re.sub(r'"ts":\d+', '"ts":0', text)


def script():
    """The commands in one shell, each block's output behind a line of its own, and what is expected of it."""
    lines, expected = ["set -eu"], []
    for at, (kind, text) in enumerate(BLOCKS):
        if kind == "bash":
            lines += [f"echo; echo '== {at}'", text]
            expected.append((at, None))
        else:
            expected[-1] = (expected[-1][0], text)
    return "\n".join(lines), expected


def test_the_flow_in_curl_is_true(gateway, mock_broker, tokens, tmp_path):
    served = gateway(mock_broker.bootstrap)
    renewed = gateway(mock_broker.bootstrap, history__epoch=2)
    commands, expected = script()
    done = subprocess.run(
        ["bash", "-c", commands], cwd=tmp_path, capture_output=True, text=True, timeout=120 * PATIENCE,
        env={**os.environ, "GATEWAY": f"http://{served.host}", "RENEWED": f"http://{renewed.host}",
             "TOKEN": tokens.token("PACC1"), "KAFKA": mock_broker.bootstrap})
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = dict(re.findall(r"^== (\d+)\n(.*?)(?=^== |\Z)", done.stdout, re.M | re.S))
    assert sum(text is not None for _, text in expected) >= 6
    for at, text in expected:
        lines = [line for line in normal(outputs[str(at)]).splitlines() if line]
        wanted = [] if text is None else normal(text).splitlines()
        assert len(lines) == len(wanted), (BLOCKS[at][1], lines)
        for line, want in zip(lines, wanted):
            assert re.fullmatch(re.escape(want).replace('"more":…', '"more":(true|false)'), line), (line, want)


def test_its_examples_of_messages_are_json():
    shown = re.findall(r"^    (\{.*\})$", DOCUMENT, re.M) + re.findall(r"^\| `(\{.*?\})` \|", DOCUMENT, re.M)
    assert len(shown) == 9
    for text in shown:
        json.loads(text.replace('"ts":…', '"ts":1'))


def rows(heading):
    """First and second cell of each row of the table behind a heading."""
    section = DOCUMENT[DOCUMENT.index(heading):].split("\n#", 1)[0]
    cells = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [(row[0], row[1]) for row in cells[2:]]


def test_it_has_every_refusal_with_its_status():
    source = (ROOT / "Sources/HTTP/RefusalCode.swift").read_text()
    codes = dict(re.findall(r'case (\w+) = "(\w+)"', source))
    known = {(status, codes[case]) for case, status in re.findall(r"case \.(\w+): \((\d+),", source)}
    told = {(status, code) for status, cell in rows("### Refusals") for code in re.findall(r"`(\w+)`", cell)}
    assert len(known) >= 18 and told == known


def test_it_has_every_close_code():
    source = (ROOT / "Sources/CloseCodes/CloseCode.swift").read_text()
    numbers = dict(re.findall(r"static let (\w+) = CloseCode\(rawValue: (\d+)\)", source))
    known = {numbers[name] for name in re.findall(r"Row\(code: \.(\w+),", source)}
    assert len(known) >= 15 and {code for cell, _ in rows("### Close codes") for code in cell.split(", ")} == known


def test_it_has_every_parameter():
    """The document's own table names what the server reads."""
    names = {name for cell, _ in rows("| parameter | where | effect |") for name in re.findall(r"`(\w+)=", cell)}
    assert names == {"since", "with", "ent", "mode", "beat", "limit", "wait", "upto"}
