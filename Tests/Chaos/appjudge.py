"""What the apps show and did against what the API says. Pure functions: rows in Tests/EndToEnd/test_chaos_judge.py."""

import collections

# As many as a list shows where there are so many.
LISTED = 20


def screen_faults(report, incidents):
    """What is wrong with an app's screens: kind and a sentence. `incidents` are its account's, the newest first."""
    name = f"{report['name']} of {report['account']}"
    truth = {incident["id"]: {key: incident[key] for key in ("id", "mark", "version")} for incident in incidents}
    yield from _list_faults(name, report["list"], list(truth.values()), report["state"])
    details = report["details"]
    if details:
        if not details["isKnown"]:
            yield "old", f"{name}: the details of {details['id']} may be old; {report['state']}"
        elif details.get("row") != truth.get(details["id"]):
            yield "details", (f"{name}: the details of {details['id']} show {details.get('row')}, the API says "
                              f"{truth.get(details['id'])}; {report['state']}")
    for row in report["stored"]:
        if row != truth.get(row["id"]):
            yield "stored", f"{name}: {row} is stored, the API says {truth.get(row['id'])}; {report['state']}"
    shown = [*((report["list"] or {}).get("rows", ())), *report["stored"], (details or {}).get("row")]
    for row in filter(None, shown):
        if row["id"].rpartition("-")[0] != report["account"]:
            yield "foreign", f"{name} has {row['id']}"


def _list_faults(name, shown, truth, state):
    if not shown or not shown["isKnown"]:
        yield "old", f"{name}: the list may be old, or was never known; {state}"
        return
    rows = shown["rows"]
    wrong = [pair for pair in zip(rows, truth) if pair[0] != pair[1]]
    if wrong:
        yield "list", f"{name}: the list shows {wrong[0][0]}, the API says {wrong[0][1]}; {state}"
    elif len(rows) > len(truth) or len(rows) < min(LISTED, len(truth)):
        yield "list", f"{name}: the list shows {len(rows)} incidents of {len(truth)}; {state}"


def action_faults(reports, results):
    """What became of actions otherwise than was promised: kind and a sentence. `results` has a row for each key that arrived."""
    arrived = collections.defaultdict(list)
    for result in results:
        arrived[result["value"]].append(result)
    for report in reports:
        name = f"{report['name']} of {report['account']}"
        told = {news["value"]: news["status"] for news in report["told"]}
        last = {taken["id"]: taken["value"] for taken in report["taken"]}
        if not report["isCalm"]:
            yield "stuck", f"{name}: something that it did has never come to its end; {report['state']}"
        for value in report["pending"]:
            yield "kept", f"{name}: {value} is not sent; {report['state']}"
        for taken in report["taken"]:
            rows = arrived.pop(taken["value"], [])
            fault = _fault(taken, rows, told.pop(taken["value"], None), last[taken["id"]] != taken["value"], report)
            if fault:
                yield fault[0], f"{name}: {taken['value']} on {taken['id']} {fault[1]}"
        for value, status in told.items():
            yield "invented", f"{name} was told of {value or 'its token'} ({status}), which it never took"
    for value, rows in arrived.items():
        yield "invented", f"{rows[0]['account']}: {value} has arrived, which nobody took"


def _fault(taken, rows, told, is_replaced, report):
    """`told`: the status with which the app was told that it is undone."""
    if len(rows) > 1:
        return "twice", f"has arrived with the keys {[row['key'] for row in rows]}"
    if rows and (rows[0]["account"], rows[0]["id"]) != (report["account"], taken["id"]):
        return "foreign", f"has arrived for {rows[0]['id']} of {rows[0]['account']}"
    is_done = bool(rows) and rows[0]["status"] == 200
    if told is not None:
        is_true = rows and not is_done and rows[0]["status"] == told
        return None if is_true else ("told", f"was told as undone ({told}); the API: {rows}")
    if is_done or taken.get("isTrying"):
        return None
    if rows:
        # Of what was replaced while it was on its way the app may never learn the answer: nothing is to be undone.
        is_told_elsewhere = taken["isUntold"] or is_replaced
        return None if is_told_elsewhere else ("untold", f"was refused ({rows[0]['status']}), and nobody was told")
    # Another mark took its place before it was sent.
    return None if is_replaced or taken["value"] in report["pending"] else ("lost", "has never arrived")


def judge_apps(reports, truth, results, say):
    found = collections.defaultdict(list)
    for report in reports:
        for kind, sentence in screen_faults(report, truth[report["account"]]):
            found[kind].append(sentence)
    for kind, sentence in action_faults(reports, results):
        found[kind].append(sentence)
    counted = collections.Counter(result["status"] for result in results)
    taken = [entry for report in reports for entry in report["taken"]]
    say(f"{len(reports)} apps show {sum(len((report['list'] or {}).get('rows', ())) for report in reports)} rows and "
        f"{sum(bool(report['details']) for report in reports)} details; {len(taken)} actions were taken, of which arrived "
        + ", ".join(f"{count} with {status}" for status, count in sorted(counted.items())))

    def verdict(*kinds):
        sentences = [sentence for kind in kinds for sentence in found[kind]]
        return f"{len(sentences)} times: " + "; ".join(sentences[:3]) if sentences else None
    if not reports:
        return []
    rows = sum(len((report["list"] or {}).get("rows", ())) for report in reports)
    has_worked = counted[200] and counted[409] and rows and any(report["details"] for report in reports)
    return [
        ("apps have shown something, and done and refused something",
         None if has_worked else f"{rows} rows are shown, answers by status: {dict(counted)}"),
        ("every screen shows what the API says, and knows it", verdict("list", "details", "old")),
        ("what is stored is what the API says", verdict("stored")),
        ("no app has what is another account's", verdict("foreign")),
        ("every action was done once, or told as refused", verdict("lost", "twice", "kept", "stuck", "told", "untold", "invented")),
    ]
