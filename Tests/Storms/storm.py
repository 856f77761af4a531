"""All clients come back at once with TLS to a node that was restarted, with and without the session tickets that they had before.

`livebench` brings them: its report compares both. Whoever is refused, or does not resume though it could, makes it fail. How long
anything takes is not judged here: figures of a busy machine say nothing.
"""

import json
import subprocess

from programs import PATIENCE, PROGRAMS, environment

SCENARIOS = ["returning", "returning resumed"]


def play(stage):
    connections = stage.option("clients", 600, 20_000)
    done = subprocess.run(
        [PROGRAMS / "livebench", "--connections", str(connections), "--only", "returning", "--json"], capture_output=True,
        text=True, env=environment(), timeout=600 * PATIENCE)
    stage.check("livebench came to its end and nothing was lost", done.stderr if done.returncode else None)
    rows = {row["scenario"]: row for row in json.loads(done.stdout)["scenarios"]}
    full, resumed = (rows[name] for name in SCENARIOS)
    for name in SCENARIOS:
        row = rows[name]
        stage.check(f"{name}: everybody is back, and those connected had every event", None if row["complete"] else f"{row}")
        stage.say(f"{name}: {row['connections']} connections, back in {row['back_ms']:.0f} ms, "
                  f"{row['cpu_us_per_handshake']:.0f} µs of CPU each; a ping waited {row['p99_ms_turn_calm']:.1f} ms before, "
                  f"{row['p99_ms_turn_storm']:.1f} ms meanwhile (p99)")
    stage.check("nobody resumes who has no ticket", f"{full['resumed']}" if full["resumed"] else None)
    # Those who are connected all the time came before.
    stage.check("everybody resumes who has a ticket of the node before its restart",
                None if resumed["resumed"] == resumed["connections"] - 50 else f"{resumed['resumed']} of them")
    for what, key in (("CPU", "cpu_us_per_handshake"), ("time until all are back", "back_ms")):
        stage.say(f"with tickets {resumed[key] / max(full[key], 1):.2f} times the {what} of without")
