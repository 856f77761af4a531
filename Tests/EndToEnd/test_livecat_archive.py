# Tests: Cat+Archive.swift, CatSettings+Archive.swift
"""livecat with a Livegate's archive: pages of the past, the inbox, and read marks."""

import json

import pytest

from programs import eventually
from test_livecat_cursors import answers, target

MARKED = answers("204 No Content", "")
AID = "-OeGYzQ8" + "-" * 31 + "z"


def line(identity, aid, **more):
    event = {"ent": "incident", "id": identity, "type": "created", "ts": 1795240000000, "aid": aid, **more}
    return json.dumps(event, separators=(",", ":"))


def past(*events, more=False, at=None, gaps="[]"):
    place = f',"at":"{at}"' if at else ""
    return answers("200 OK", f'{{"events":[{",".join(events)}],"more":{str(more).lower()}{place},"gaps":{gaps}}}')


def things(*lines, unread=0, more=False, at="here"):
    return answers("200 OK", f'{{"things":[{",".join(lines)}],"unread_things":{unread},"more":{str(more).lower()},'
                             f'"at":"{at}"}}')


def test_a_page_is_an_event_a_line_and_the_rest_is_told(peer, run_livecat):
    lines = [line("b", "-b"), line("a\u00e9", "-a")]
    server = peer(past(*lines, more=True, at="here", gaps='[{"from":1795240000000,"to":1795240001000},{"from":1}]'))
    status, out, err = run_livecat("--archive", "--before", AID, "--limit", "2", "--ent", "incident", "--id", "a b",
                                   server.url + "/live/v1?ticket=t")
    assert (status, out.decode().splitlines()) == (0, lines)
    assert target(server) == f"/archive/v1?ticket=t&before={AID}&limit=2&ent=incident&id=a%20b"
    assert err.splitlines() == [
        "more: --before -a",
        "gap from 2026-11-21T05:46:40.000Z to 2026-11-21T05:46:41.000Z: the archive may lack what happened then",
        "gap from 1970-01-01T00:00:00.001Z on: the archive may lack what happened then",
        "live from here on: --since here"]


def test_an_inbox_is_a_thing_a_line(peer, run_livecat):
    lines = [line("b", "-b", unread=3), line("a", "-a", unread=0)]
    server = peer(things(*lines, unread=17, more=True))
    status, out, err = run_livecat("--inbox", "--limit", "2", server.url + "/live/v1")
    assert (status, out.decode().splitlines()) == (0, lines) and target(server) == "/inbox/v1?limit=2"
    assert err.splitlines() == ["more: --before -a", "things with something unread: 17",
                                "live from here on: --since here"]


def test_the_last_page_names_nothing_older(peer, run_livecat):
    for flag, script in (("--archive", past(line("a", "-a"))), ("--inbox", things())):
        assert "more" not in run_livecat(flag, peer(script).url)[2]


def test_with_json_a_line_says_when_it_came(peer, run_livecat):
    server = peer(past(line("a", "-a"), at="here"))
    shown = [json.loads(text) for text in run_livecat("--json", "--archive", server.url)[1].splitlines()]
    assert [(entry["type"], entry["text"]) for entry in shown] == [("message", line("a", "-a"))]


@pytest.mark.parametrize("options, expected", [
    ([], {"aid": AID}), (["--ent", "incident", "--id", 'a"\u00e9'], {"ent": "incident", "id": 'a"\u00e9', "aid": AID})])
def test_a_mark_is_posted(peer, run_livecat, options, expected):
    seen = []
    def script(connection):
        head = connection.head()
        length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
        while len(connection.buffer) < length:
            assert connection.more()
        seen.append(connection.buffer)
        connection.send("HTTP/1.1 204 No Content\r\n\r\n")
    server = peer(script)
    status, out, err = run_livecat("--mark-read", AID, *options, server.url + "/live/v1")
    assert (status, out, err) == (0, b"", "marked as read\n")
    assert server.heads[0].startswith("POST /inbox/v1/read HTTP/1.1\r\n")
    assert server.field("Content-Type") == ["application/json"]
    assert json.loads(seen[0]) == expected


@pytest.mark.parametrize("arguments, told", [
    (["--archive", "--inbox"], "--archive and --inbox exclude one another"),
    (["--sync", "--archive"], "--sync and --archive exclude one another"),
    (["--inbox", "--mark-read", AID], "--inbox and --mark-read exclude one another"),
    (["--before", AID], "'--before' has no meaning without --archive or --inbox"),
    (["--mark-read", AID, "--limit", "3"], "'--limit' has no meaning without --archive or --inbox"),
    (["--inbox", "--ent", "a", "--id", "b"], "'--id' has no meaning without --archive or --mark-read"),
    (["--archive", "--id", "b"], "--id needs --ent"),
    (["--archive", "--ent", "a,b", "--id", "b"], "--id needs one name in --ent"),
    (["--mark-read", AID, "--ent", "a"], "--ent needs --id"),
    (["--archive", "--before", "x" * 41], "is not an event's aid"),
    (["--archive", "--before", "a+b"], "is not an event's aid"),
    (["--mark-read", ""], "is not an event's aid"),
    (["--archive", "--limit", "0"], "is not a whole number"),
    *[(["--archive", *option], f"'{option[0]}' has no meaning with --archive") for option in (
        ["--since", "x"], ["--with", "at"], ["--count", "1"], ["--cursor-file", "f"], ["--wait", "1"], ["--verify"],
        ["--mode", "changed"], ["--beat", "5"], ["--execute", "x"], ["--ping", "1s"])],
])
def test_wrong_use_is_told_before_anything_is_asked(peer, run_livecat, arguments, told):
    server = peer(past())
    status, out, err = run_livecat(*arguments, server.url)
    assert status == 64 and out == b"" and told in err and len(err.splitlines()) == 1
    assert server.connections == 0


def test_a_refusal_is_told_with_its_reason(peer, run_livecat):
    for flag in (["--archive"], ["--inbox"], ["--mark-read", AID]):
        status, out, err = run_livecat(*flag, peer(answers("403 Forbidden", '{"code":"forbidden"}')).url)
        assert (status, out) == (1, b"") and "403" in err and '{"code":"forbidden"}' in err


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"events":[],"more":false}', '{"events":[{}],"more":false,"gaps":[]}',
                                  '{"events":[{"ent":"a","id":"b","type":"c"}],"more":false,"gaps":[]}',
                                  '{"events":1,"more":false,"gaps":[]}', '{"events":[],"more":1,"gaps":[]}'])
def test_what_is_no_page_is_refused(peer, run_livecat, text):
    status, out, _ = run_livecat("--archive", peer(answers("200 OK", text)).url)
    assert (status, out) == (1, b"")


def test_a_server_that_asks_to_wait_is_asked_again(peer, run_livecat):
    server = peer(answers("503 Service Unavailable", "{}", "Retry-After: 0"), past(line("a", "-a")))
    status, out, err = run_livecat("--archive", server.url)
    assert (status, out.decode()) == (0, line("a", "-a") + "\n") and "reconnecting in" in err
    assert server.connections == 2


def test_pages_inbox_and_marks_of_a_real_node(gateway, mock_broker, tell, tokens, run_livecat, tmp_path):
    node = gateway(mock_broker.bootstrap, archive__store=f"sqlite:{tmp_path}/archive.db")
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
