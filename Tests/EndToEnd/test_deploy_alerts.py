"""The alerts and the dashboard: Prometheus's own tools take them, and each alert has its place in the runbook."""

import json
import re
import subprocess
import urllib.request

import yaml

from programs import ROOT

DEPLOY = ROOT / "deploy"
RUNBOOK = (ROOT / "Sources/Gateway/Gateway.docc/Runbook.md").read_text()
RULES = yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())
CASES = yaml.safe_load((DEPLOY / "prometheus/alerts_test.yaml").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]


def promtool(*arguments):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_is_sound_and_fires_when_it_should_and_only_then():
    promtool("check", "rules", DEPLOY / "prometheus/alerts.yaml")
    promtool("test", "rules", DEPLOY / "prometheus/alerts_test.yaml")
    cases = [case for test in CASES["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == {rule["alert"] for rule in ALERTS}


def test_each_alert_says_what_to_do_and_the_runbook_has_no_other():
    for rule in ALERTS:
        name = rule["alert"]
        assert rule["labels"]["severity"] in ("page", "ticket"), name
        assert set(rule["annotations"]) == {"summary", "description", "runbook"}, name
        assert rule["annotations"]["runbook"] == f"Runbook#{name}"
    assert set(re.findall(r"^### (\w+)$", RUNBOOK, re.M)) == {rule["alert"] for rule in ALERTS}


def test_the_scrape_and_the_runbook_carry_the_token(tmp_path):
    scrape = (DEPLOY / "prometheus/scrape.yaml").read_text()
    token = yaml.safe_load(scrape)["scrape_configs"][0]["authorization"]["credentials_file"]
    (tmp_path / "token").write_text("secret")
    (tmp_path / "alerts.yaml").write_text((DEPLOY / "prometheus/alerts.yaml").read_text())
    (tmp_path / "prometheus.yml").write_text(scrape.replace(f"credentials_file: {token}", f"credentials_file: {tmp_path}/token"))
    promtool("check", "config", tmp_path / "prometheus.yml")
    asked = re.findall(r"^    curl .*$", RUNBOOK, re.M)
    assert len(asked) > 3 and all("-H @admin-header" in line for line in asked if "/readyz" not in line)


def test_the_dashboard_opens_with_the_four_questions_of_the_night(tmp_path):
    dashboard = json.loads((DEPLOY / "grafana/livegate.json").read_text())
    panels = dashboard["panels"]
    rows = [panel["title"] for panel in panels if panel["type"] == "row"]
    assert rows[:4] == ["Are clients connected?", "Do events arrive?", "How late?", "Who is refused, and why?"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for one in panels:
        for other in panels:
            assert one is other or apart(one["gridPos"], other["gridPos"]), f"{one['title']} covers {other['title']}"
    # Prometheus reads each expression, the dashboard's own variables filled in.
    expressions = [target["expr"] for target in dashboard_targets()]
    filled = [each.replace("$node", ".*").replace("$__rate_interval", "5m") for each in expressions]
    rules = [{"record": f"panel:{number}", "expr": each} for number, each in enumerate(filled)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", tmp_path / "rules.yaml")
    # Whoever is woken finds there what has woken them.
    named, shown = (set(re.findall(r"\blivegate_\w+", text)) for text in (str(RULES), json.dumps(dashboard)))
    assert named <= shown, named - shown


def apart(one, other):
    return (one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"])


def test_every_metric_that_is_named_stands_in_a_scrape(tls_door, mock_broker, tmp_path):
    """But `up`, which is Prometheus's own."""
    mock_broker.topic("control")
    door = tls_door(
        control__topic="control", control__retention="90d", archive__store=f"sqlite:{tmp_path}/archive.db")
    with urllib.request.urlopen(f"http://{door.admin}/metrics") as answer:
        known = set(re.findall(r"^# TYPE (\w+) ", answer.read().decode(), re.M))
    expressions = [rule["expr"] for rule in ALERTS] + [target["expr"] for target in dashboard_targets()]
    named = set(re.findall(r"\b(?:livegate|process)_\w+", " ".join(expressions)))
    assert len(named) > 20 and {name.removesuffix("_bucket") for name in named} <= known


def dashboard_targets():
    dashboard = json.loads((DEPLOY / "grafana/livegate.json").read_text())
    return [target for panel in dashboard["panels"] for target in panel.get("targets", [])]
