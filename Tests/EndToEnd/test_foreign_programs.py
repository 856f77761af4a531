"""wscat and curl, over plain connections and TLS."""

import json
import os
import shutil
import subprocess
import tarfile

import pytest

from foreign import IDS, WITHIN, expected, produce_events
from programs import SHARED, Program, event, eventually, produce
from wire import KEY


@pytest.fixture(scope="session")
def wscat(tmp_path_factory):
    archive = SHARED / "clients/wscat.tar.gz"
    missing = None if archive.exists() else f"{archive} is missing"
    if shutil.which("node") is None:
        missing = "there is no node"
    if missing:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"no wscat: {missing}")
    folder = tmp_path_factory.mktemp("wscat")
    with tarfile.open(archive) as packed:
        packed.extractall(folder)
    return ["node", folder / "node_modules/wscat/bin/wscat"]


def test_wscat_prints_messages(foreign_door, mock_broker, wscat):
    door = foreign_door()
    trust = ["--ca", door.certificates.authority] if door.ssl else []
    client = Program(*wscat, "-c", door.url, "-P", "-H", f"Authorization: {door.authorization}", *trust)
    try:
        eventually(lambda: connections(door) == 1, 15, f"a connection; {client.told()}")
        produce_events(mock_broker)
        eventually(lambda: len(client.out) >= len(IDS), 15, f"the messages; {client.told()}")
        assert [json.loads(line.removeprefix("< ")) for line in client.out] == expected()
    finally:
        client.end()


def test_wscat_tells_the_status_of_a_refusal(foreign_door, wscat):
    door = foreign_door()
    trust = ["--ca", door.certificates.authority] if door.ssl else []
    client = Program(*wscat, "-c", door.url, *trust)
    try:
        client.line("401", within=15)
        # As a shell sees -1.
        assert client.wait() == 255
    finally:
        client.end()


def connections(door):
    return sum('"message":"connection opened"' in line for line in door.running.program.err)


def curl(door, *words):
    trust = ["--cacert", door.certificates.authority] if door.ssl else []
    return ["curl", "--silent", "--show-error", "--no-buffer", "--http1.1", *trust, *words]


def test_curl_shows_refusals_with_their_body(foreign_door):
    door = foreign_door()
    shape = ["--write-out", r"\n%{http_code} %{content_type}"]
    upgrade = [word for line in ("Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {KEY}",
                                 "Sec-WebSocket-Version: 13") for word in ("--header", line)]
    rows = {
        "invalid_token": ([door.web, *upgrade], 401), "not_found": ([f"{door.web}/x"], 404),
        "method_not_allowed": (["--data", "x=1", door.web], 405),
    }
    for code, (words, status) in rows.items():
        done = subprocess.run(curl(door, *shape, *words), capture_output=True, text=True, timeout=WITHIN)
        body, last = done.stdout.rsplit("\n", 1)
        assert (done.returncode, last) == (0, f"{status} application/problem+json"), done
        assert json.loads(body)["code"] == code
    plain = subprocess.run(curl(door, door.web), capture_output=True, text=True, timeout=WITHIN)
    assert plain.stdout == "Client did not request a WebSocket."


def test_curl_upgraded_by_hand_gets_frames(foreign_door, mock_broker, tmp_path):
    door = foreign_door()
    lines = ["Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {KEY}", "Sec-WebSocket-Version: 13",
             f"Authorization: {door.authorization}"]
    head, body = tmp_path / "head", tmp_path / "body"
    client = Program(*curl(door, "--dump-header", head, "--output", body, door.web,
                           *(word for line in lines for word in ("--header", line))))
    try:
        door.running.program.line('"message":"connection opened"')
        produce(mock_broker.bootstrap, "incidents", [event("PACC1", "PAM4FGS")])
        message = b'{"ent":"incident","id":"PAM4FGS","type":"updated"}'
        expected = bytes([0x81, len(message)]) + message
        eventually(lambda: body.exists() and body.read_bytes() == expected, what=f"the frame; {client.told()}")
        assert "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head.read_text().splitlines()
    finally:
        client.end()
