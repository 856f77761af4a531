"""What the tests with clients that others wrote share: a gateway over plain connections and over TLS."""

import pytest

from programs import PATIENCE, produce
from rawclient import event

WITHIN = 10 * PATIENCE
IDS = ["PAM4FGS", "PQ\"\\\n\0\u2028é", "last"]


@pytest.fixture(params=["ws", "wss"])
def scheme(request):
    return request.param


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


@pytest.fixture
def open_door(gateway, mock_broker, tokens, certificates, scheme):
    def begin(deflate=False):
        changes = {"tls": certificates.settings["ecdsa"]} if scheme == "wss" else {}
        running = gateway(mock_broker.bootstrap, websocket={"deflate": deflate}, **changes)
        return Door(scheme, running, tokens, certificates)
    return begin


def produce_events(broker):
    produce(broker.bootstrap, "incidents", [event("PACC1", identity) for identity in IDS])


def expected():
    return [{"ent": "incident", "id": identity, "type": "updated"} for identity in IDS]
