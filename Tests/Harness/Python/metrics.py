"""The metrics of a node, as numbers."""

from asker import Asker


def scrape(asker):
    """Each sample's value, by its name with its labels. Asks on a connection, or at an address on a new one."""
    if isinstance(asker, str):
        with_address = Asker(asker)
        try:
            return scrape(with_address)
        finally:
            with_address.close()
    status, fields, body = asker.ask("GET", "/metrics")
    assert status == 200 and fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = [line for line in body.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def total(metrics, name, **labels):
    """The sum of the samples of that name with those labels."""
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    return sum(value for key, value in metrics.items()
               if key.split("{")[0] == name and all(part in key for part in wanted))
