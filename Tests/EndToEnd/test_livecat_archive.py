# Tests: Cat+Cursors.swift
"""livecat with a Livegate's archive: pages of the past, the inbox, and read marks."""

import json

from programs import eventually


def test_pages_inbox_and_marks_of_a_real_node(gateway, mock_broker, tell, tokens, run_livecat, tmp_path):
    node = gateway(mock_broker.bootstrap, archive__store=f"sqlite:{tmp_path}/archive.db")
    # A node is ready without it.
    node.wait_for_log("the archive is open")
    tell(range(5))
    token = tmp_path / "token"
    token.write_text(tokens.token("PACC1", "--subject", "u1"))

    def ask(*arguments):
        status, out, err = run_livecat("--token-file", token, *arguments, node.url)
        assert status == 0, err
        return [json.loads(text) for text in out.splitlines()], err

    eventually(lambda: len(ask("--archive")[0]) == 5, 20)
    first, told = ask("--archive", "--limit", "2")
    assert [event["id"] for event in first] == ["4", "3"] and "more: --before" in told and "--since" in told
    second, told = ask("--archive", "--before", first[-1]["aid"], "--limit", "500")
    assert [event["id"] for event in second] == ["2", "1", "0"] and "more" not in told
    inbox, told = ask("--inbox")
    assert [(thing["id"], thing["unread"]) for thing in inbox] == [(str(n), 1) for n in (4, 3, 2, 1, 0)]
    assert "things with something unread: 5" in told
    ask("--mark-read", first[0]["aid"], "--ent", "incident", "--id", "4")
    assert "things with something unread: 4" in ask("--inbox")[1]
    ask("--mark-read", second[0]["aid"])
    inbox, told = ask("--inbox")
    assert {thing["id"]: thing["unread"] for thing in inbox} == {"4": 0, "3": 1, "2": 0, "1": 0, "0": 0}
    assert "things with something unread: 1" in told
    # The server knows better than we do which ids are any.
    assert run_livecat("--token-file", token, "--archive", "--before", "zz", node.url)[0] == 1
