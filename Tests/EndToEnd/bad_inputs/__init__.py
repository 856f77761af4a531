"""Bad inputs, one row each: what is sent, what is answered, and which clause or advisory it comes from.

The same rows are the tables of Sources/Gateway/Gateway.docc/Security.md, into which Tests/documents writes them.
`python3 -m bad_inputs GROUP` in this folder's parent prints them as they stand there."""

from dataclasses import dataclass
from typing import Callable


@dataclass(frozen=True)
class Row:
    """One bad input, or its harmless neighbour on the other side of a limit."""
    name: str
    # As `Transcript.text` has it. Where plain connections and TLS differ, `plain` is the one of plain connections.
    answer: str
    source: str
    # Bytes, in which words such as @TOKEN@ stand for what the stage knows (its `values`), or a function of the stage.
    sent: bytes | Callable
    plain: str | None = None

    def expected(self, is_secure):
        return self.answer if is_secure or self.plain is None else self.plain

    @property
    def cells(self):
        answer = self.answer if self.plain is None else f"{self.answer}; plain {self.plain}"
        return self.name, answer, self.source


def table(rows):
    """The rows as the article has them."""
    lines = ["| what comes | what is answered | source |", "| --- | --- | --- |"]
    return "\n".join([*lines, *("| " + " | ".join(row.cells) + " |" for row in rows)])
