"""The groups of rows, in the article's order."""

from dataclasses import dataclass

from bad_inputs import (admin_requests, archive_requests, browsers, control_records, forwarded, frames, hellos,
                        http_requests, late, proxy_headers, servers, table, tokens_of_clients, upgrades)


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
    Group("Requests that do not end", late.ROWS, "late"),
    Group("PROXY headers", proxy_headers.ROWS, "behind_balancer"),
    Group("Names of clients", forwarded.ROWS, "forwarded"),
    Group("Beginnings of TLS", hellos.ROWS, "raw"),
    Group("Upgrades", upgrades.ROWS),
    Group("Headers of frames", frames.HEADERS),
    Group("Control frames", frames.CONTROL),
    Group("Messages", frames.MESSAGES),
    Group("Compression", frames.COMPRESSION),
    Group("Tokens on an open stream", frames.RENEWAL),
    Group("How a token is brought", tokens_of_clients.WAYS),
    Group("Signatures and keys", tokens_of_clients.SIGNATURES),
    Group("Headers and parts of tokens", tokens_of_clients.HEADERS),
    Group("Times, issuers and audiences", tokens_of_clients.TIMES),
    Group("Accounts in tokens", tokens_of_clients.ACCOUNTS),
    Group("Key sets", servers.KEY_SETS, "keys"),
    Group("Answers of introspection", servers.ANSWERS, "introspect"),
    Group("Tickets", browsers.TICKETS),
    Group("Cookies", browsers.COOKIES),
    Group("Tokens in subprotocols", browsers.SUBPROTOCOLS),
    Group("Origins", browsers.ORIGINS),
    Group("Control records", control_records.ROWS, "control"),
    Group("Administration", admin_requests.ROWS, "admin"),
    Group("Pages of the archive", archive_requests.PAGES, "archive"),
    Group("Read marks", archive_requests.MARKS, "archive"),
]


def section(groups=GROUPS):
    """The groups as the article has them, between its marks."""
    tables = [f"### {group.title}\n\n{table(group.rows)}" for group in groups]
    return "\n\n".join([f"There are {sum(len(group.rows) for group in groups)} rows.", *tables])
