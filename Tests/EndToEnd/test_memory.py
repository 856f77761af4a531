"""What an idle connection costs in resident memory, after it was served."""

import ssl
from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway import static_tokens
from programs import event, eventually, produce
from wire import connect, upgrade
from processes import private_bytes, raise_descriptor_limit

pytestmark = pytest.mark.unsanitized

# Tables and buffers that the gateway needs anyway have their size by then.
WARM_UP = 400
ACCOUNTS = [f"ACC{number}" for number in range(50)]


def visit(door, number, context=None):
    """An open connection that nobody listens to."""
    peer = connect(door.host, 60)
    if context:
        peer = context.wrap_socket(peer, server_hostname="localhost")
    peer.sendall(upgrade(f"token-{ACCOUNTS[number % len(ACCOUNTS)]}"))
    answer = peer.recv(4096)
    assert answer.startswith(b"HTTP/1.1 101 "), answer
    return peer


def serve(bootstrap, peers, name):
    """One message to everybody, who reads it."""
    produce(bootstrap, "incidents", [event(account, name) for account in ACCOUNTS])
    for peer in peers:
        got = b""
        # Some are pinged meanwhile, before it or behind it.
        while b"}" not in got.partition(f'"id":"{name}"'.encode())[2]:
            part = peer.recv(4096)
            assert part, "closed"
            got += part


def cost(door, broker, count, limit, context=None):
    """Bytes for each of `count` connections, beyond those of the warm-up; waits until they are within the limit."""
    raise_descriptor_limit()
    pid = door.program.pid
    with ThreadPoolExecutor(4) as pool:
        peers = list(pool.map(lambda number: visit(door, number, context), range(WARM_UP)))
        serve(broker.bootstrap, peers, "warm")
        before = private_bytes(pid)
        more = list(pool.map(lambda number: visit(door, number, context), range(count)))
    serve(broker.bootstrap, peers + more, "served")

    def each():
        return (private_bytes(pid) - before) / count
    try:
        eventually(lambda: each() <= limit, 5)
    except AssertionError:
        pytest.fail(f"{each():.0f} bytes for each connection, over {limit}")
    finally:
        for peer in peers + more:
            peer.close()


@pytest.mark.parametrize("version, count, limit", [
    (None, 2000, 2 * 1024), (ssl.TLSVersion.TLSv1_2, 1000, 18 * 1024), (ssl.TLSVersion.TLSv1_3, 1000, 18 * 1024)])
def test_an_idle_connection_costs_at_most_2_kib_and_over_tls_18(
        gateway, mock_broker, certificates, tmp_path, version, count, limit):
    context = certificates.client(minimum_version=version, maximum_version=version) if version else None
    door = gateway(mock_broker.bootstrap, auth={"tokens": str(static_tokens(tmp_path, ACCOUNTS))},
                   limits__ping_interval="1h", limits__pong_timeout="1h",
                   **({"tls": certificates.settings["ecdsa"]} if version else {}))
    cost(door, mock_broker, count, limit, context)
