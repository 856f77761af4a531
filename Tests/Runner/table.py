"""The table of parts, `Tests/parts`: what each proves, in which tier it is, and its budget."""

from dataclasses import dataclass
from pathlib import Path

PATH = Path(__file__).parent.parent / "parts"
TIERS = ("gate", "all")


@dataclass(frozen=True)
class Part:
    name: str
    tier: str
    # Seconds on a calm machine.
    budget: int
    proves: str


def read(text):
    """The parts and the budgets of whole runs, by tier. A row that is not one, or a name that is there twice, is an error."""
    parts, wholes = {}, {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 3)
        if len(words) != 4 or words[1] not in TIERS or not words[2].isdigit() or int(words[2]) == 0:
            raise ValueError(f"not a row of parts, which is `NAME gate|all SECONDS TEXT`: {line}")
        name, tier, budget, proves = words
        into, key = (wholes, name[1:]) if name.startswith("=") else (parts, name)
        if key in into:
            raise ValueError(f"'{name}' has two rows in the table of parts")
        into[key] = Part(key, tier, int(budget), proves)
    if set(wholes) != set(TIERS):
        raise ValueError(f"the table of parts has whole runs of {sorted(wholes)}, and should have those of {sorted(TIERS)}")
    return parts, wholes


PARTS, WHOLES = read(PATH.read_text())
