"""Who gets what: everything of one's own account, in the order of its partition, and nothing of anybody else's."""

import asyncio
import json
import subprocess

import pytest

from gateway import static_tokens
from programs import KCAT, event, produce
from rawclient import RawClient, play, until
from processes import raise_descriptor_limit

PARTITIONS = 4


def numbered(account, number):
    return event(account, f"{account}-{number}")


def ids(client):
    """Of events, among what those with cursors are told besides."""
    return [message["id"] for message in client.messages if "id" in message]


async def produce_aside(bootstrap, records, partition=0):
    await asyncio.to_thread(produce, bootstrap, "incidents", records, partition=partition)


@pytest.mark.unsanitized
def test_2000_connections_of_200_accounts_each_receive_exactly_their_own_sequence(gateway, mock_broker, tmp_path):
    raise_descriptor_limit()
    accounts, each, count = [f"ACC{number:03}" for number in range(200)], 10, 25
    door = gateway(mock_broker.bootstrap, auth={"tokens": str(static_tokens(tmp_path, accounts))})

    async def scenario():
        clients = {account: [] for account in accounts}
        for _ in range(each):
            opened = await asyncio.gather(*(RawClient.open(door.host, f"token-{account}") for account in accounts))
            for account, client in zip(accounts, opened):
                clients[account].append(client)
        # Account after account within a number: sequences of all accounts are mixed in each partition. The last event
        # of a partition shows that nothing more is to come.
        await asyncio.gather(*(
            produce_aside(mock_broker.bootstrap, [
                numbered(account, number) for number in range(count) for account in accounts[partition::PARTITIONS]
            ], partition) for partition in range(PARTITIONS)))
        everybody = [client for group in clients.values() for client in group]
        await until(lambda: all(len(client.messages) >= count or client.close for client in everybody), 60,
                    "the whole sequence at every client")
        for account, group in clients.items():
            expected = [{"ent": "incident", "id": f"{account}-{number}", "type": "updated"} for number in range(count)]
            assert all(client.messages == expected for client in group), account

    play(scenario())


def test_an_account_over_several_partitions_keeps_the_order_of_each(gateway, mock_broker, tokens):
    door = gateway(mock_broker.bootstrap)

    async def scenario():
        clients = [await RawClient.open(door.host, tokens.token("PACC1")) for _ in range(3)]
        await asyncio.gather(*(
            produce_aside(mock_broker.bootstrap, [event("PACC1", f"{partition}-{number}") for number in range(300)],
                          partition) for partition in range(PARTITIONS)))
        await until(lambda: all(len(client.ids) >= 300 * PARTITIONS for client in clients), what="all events")
        for client in clients:
            for partition in range(PARTITIONS):
                own = [identity for identity in client.ids if identity.startswith(f"{partition}-")]
                assert own == [f"{partition}-{number}" for number in range(300)]

    play(scenario())


def test_who_joins_in_the_middle_of_a_burst_gets_a_suffix_without_gap_or_double(gateway, mock_broker, tokens):
    """What is produced after the 101 was read must come, or what comes after a cursor; what came must be one unbroken run up to
    the end."""
    # So many clients in one process answer late on a busy machine, and read late.
    door = gateway(mock_broker.bootstrap, limits__pong_timeout="1h", limits__max_lag="1h",
                   history__max_events_per_account=100_000)
    token = tokens.token("PACC1")
    each = 40

    async def scenario():
        steady = await RawClient.open(door.host, token, path="/live/v1?with=at")
        kcat = await asyncio.create_subprocess_exec(
            *KCAT, "-P", "-b", mock_broker.bootstrap, "-t", "incidents", "-p", "2", "-X", "linger.ms=1",
            stdin=subprocess.PIPE)
        written = 0
        joined = []

        def newest(client, at):
            return next((int(message["id"]) for message in reversed(client.messages) if "id" in message), at)

        async def write():
            nonlocal written
            # The burst goes on for as long as clients join, and a little longer. Nobody falls far behind, and more
            # is under way than kcat reads at once.
            while len(joined) < 3 * each or written < joined[-1][2] + 1000:
                await until(lambda: written - min(
                    [newest(steady, 0)] + [newest(client, at) for client, _, at in joined]) <= 4000, 60, "that nobody is far behind")
                for _ in range(20):
                    kcat.stdin.write(json.dumps(event("PACC1", written)).encode() + b"\n")
                    written += 1
                await kcat.stdin.drain()
                await asyncio.sleep(0.001)
            kcat.stdin.close()

        async def join():
            for number in range(each):
                # Every second one from where the steady one was: not from the very last, so that something is left to be given.
                known = steady.messages[-2:] if number % 2 else []
                path = f"/live/v1?since={known[0]['at']}" if known and "id" in known[0] else "/live/v1"
                client = await RawClient.open(door.host, token, path=path)
                joined.append((client, int(known[0]["id"]) + 1 if "since" in path else None, written))

        await asyncio.gather(write(), join(), join(), join())
        assert await kcat.wait() == 0
        last = str(written - 1)
        everybody = [steady] + [client for client, _, _ in joined]
        await until(lambda: all(ids(client)[-1:] == [last] for client in everybody), 30, "the last event at every client")
        assert ids(steady) == [str(number) for number in range(written)]
        assert any(since is not None for _, since, _ in joined)
        for client, since, written_at_join in joined:
            first = int(ids(client)[0])
            assert first <= written_at_join if since is None else first == since
            assert ids(client) == [str(number) for number in range(first, written)]
            assert not any("resync" in message for message in client.messages)

    play(scenario())


# Accounts of tokens, and what records of theirs may look like; the last event of each shows that nothing more is to come.
def test_an_account_is_its_bytes_and_a_whole_number_its_text(gateway, mock_broker, tokens):
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    door = gateway(mock_broker.bootstrap)
    records = [json.dumps(event(account, f"{name}-{form}"), ensure_ascii=form)
               for form in (True, False) for name, account in (("composed", composed), ("decomposed", decomposed))]
    records += [event(42, "number"), event("42", "text"), event("042", "other"), event(42.0, "float"), event("4", "other"),
                event(42, "last")]
    wanted = {composed: ["composed-True", "composed-False"], decomposed: ["decomposed-True", "decomposed-False"],
              "42": ["number", "text", "last"]}

    async def scenario():
        clients = {account: await RawClient.open(door.host, tokens.token(account)) for account in wanted}
        await produce_aside(mock_broker.bootstrap, records)
        await until(lambda: all(len(clients[account].ids) >= len(ids) for account, ids in wanted.items()), what="every event")
        assert {account: client.ids for account, client in clients.items()} == wanted

    play(scenario())
