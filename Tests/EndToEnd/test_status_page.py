# Tests: StatusPage.swift
"""The status page in a real browser: what it shows, in the dark and at a phone's width, and that it asks for the token."""

import pathlib
import re
import subprocess

import pytest

from asker import Asker
from programs import PATIENCE, eventually

RESULTS = pathlib.Path(__file__).resolve().parents[2] / ".build-results"


def browse(url, profile, *options):
    """The page as Chromium has it when it has asked and drawn."""
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         f"--user-data-dir={profile}", "--virtual-time-budget=8000", *options, url],
        capture_output=True, timeout=120 * PATIENCE, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture
def watched(door, live, tell):
    client = live(door)
    tell(range(20))
    client.wait_for_events(20)
    asker = Asker(door.admin)
    # Two points make a line.
    eventually(lambda: len(asker.json("/admin/charts")["points"]) >= 2, 30, "points of the charts")
    return door


def test_the_page_shows_the_node_and_is_kept_as_a_picture(watched, tmp_path):
    page = browse(f"http://{watched.admin}/", tmp_path / "profile", "--dump-dom")
    assert re.search(r'id="state"[^>]*>ready · version', page), page[-3000:]
    assert "Nothing that is known." in page and "<td>PACC1</td><td>1</td>" in page
    assert page.count("<svg") == 5 and page.count("<polyline") >= 4
    assert re.search(r'aria-label="Connections: now 1 open', page)
    RESULTS.mkdir(exist_ok=True)
    for name, options in {"status": ["--window-size=1200,900"], "status-phone": ["--window-size=390,1400"],
                          "status-dark": ["--window-size=1200,900", "--blink-settings=preferredColorScheme=0"]}.items():
        picture = RESULTS / f"{name}.png"
        browse(f"http://{watched.admin}/", tmp_path / name, *options, f"--screenshot={picture}")
        assert picture.stat().st_size > 5000


def test_nothing_on_the_page_runs_but_its_own_script(door):
    status, fields, body = Asker(door.admin).ask("GET", "/")
    policy = fields["content-security-policy"]
    assert status == 200 and "default-src 'none'" in policy and "unsafe" not in policy
    text = body.decode()
    assert "http" not in re.sub(r'"http://www\.w3\.org/2000/svg"', "", text) and " style=" not in text
    # What is hidden stays so, however it is laid out.
    assert "[hidden]{display:none!important}" in text
    assert len(re.findall(r"<script", text)) == 1 and not re.search(r"\son\w+=", text)


def test_the_page_asks_for_the_token_where_one_is_needed(gateway, mock_broker, tmp_path):
    (tmp_path / "token").write_text("geheim")
    running = gateway(mock_broker.bootstrap, admin_token_file=str(tmp_path / "token"))
    page = browse(f"http://{running.admin}/", tmp_path / "profile", "--dump-dom")
    assert re.search(r'id="state"[^>]*>asks for a token', page), page[-3000:]
    assert re.search(r'<form id="login">', page) and re.search(r'<main id="main" hidden', page)
