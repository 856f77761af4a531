"""Prints the tables of the groups that are named, or of all."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "Harness/Python"))

from bad_inputs import table  # noqa: E402
from bad_inputs.groups import GROUPS  # noqa: E402

for group in GROUPS:
    if len(sys.argv) == 1 or group.title in sys.argv[1:]:
        print(f"### {group.title}\n\n{table(group.rows)}\n")
