"""What the tests with clients that others wrote share: a gateway over plain connections and over TLS."""

from programs import PATIENCE, event, produce

WITHIN = 10 * PATIENCE
# What `websockets` is told where it shall not leave a server that stands still with its machine.
UNHURRIED = {"ping_interval": None, "open_timeout": WITHIN}
IDS = ["PAM4FGS", "PQ\"\\\n\0\u2028é", "last"]


class Door:
    """A gateway as a client of either scheme sees it."""

    def __init__(self, scheme, running, tokens, certificates):
        self.running, self.certificates = running, certificates
        port = running.host.rpartition(":")[2]
        self.url = f"{scheme}://localhost:{port}/live/v1"
        self.web = self.url.replace("ws", "http", 1)
        self.ssl = certificates.client() if scheme == "wss" else None
        self.authorization = f"Bearer {tokens.token('PACC1')}"
        self.headers = {"Authorization": self.authorization}


def produce_events(broker):
    produce(broker.bootstrap, "incidents", [event("PACC1", identity) for identity in IDS])


def expected():
    return [{"ent": "incident", "id": identity, "type": "updated"} for identity in IDS]
