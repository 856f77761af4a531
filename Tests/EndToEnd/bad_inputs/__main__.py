"""Prints the tables of the groups that are named; without a name, what the article has between its marks."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "Harness/Python"))

from bad_inputs.groups import GROUPS, section  # noqa: E402

print(section([group for group in GROUPS if group.title in sys.argv[1:]] if sys.argv[1:] else GROUPS))
