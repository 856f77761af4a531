"""The groups of rows, in the article's order."""

from dataclasses import dataclass

from bad_inputs import http_requests, upgrades


@dataclass(frozen=True)
class Group:
    # The heading in the article.
    title: str
    rows: list
    # The method of the stage that plays a row of it.
    way: str = "ask"


GROUPS = [
    Group("Lines and fields", http_requests.LINES),
    Group("Where a request ends", http_requests.FRAMING),
    Group("Hosts and targets", http_requests.HOSTS),
    Group("Limits and parameters", http_requests.LIMITS),
    Group("Upgrades", upgrades.ROWS),
]
