"""Clients that come while records pour in: from its 101 on, each receives everything, once and in order."""

from kafka_admin import create_topic
from kafka_writer import ACCOUNTS, BATCH, Writer, log_of

PARTITIONS = 4


def test_a_client_that_joins_in_mid_stream_has_neither_gap_nor_double(kafka, gateway, live, topic_name):
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, topic_name, PARTITIONS)
    running = gateway(bootstrap, kafka__topics=[topic_name])
    writer = Writer(bootstrap, topic_name, PARTITIONS)
    joined = []
    try:
        for at in range(18):
            account = ACCOUNTS[at % len(ACCOUNTS)]
            client = live(running, account)
            # What is written from now on must come; what is just being written may.
            joined.append((account, client, writer.next))
            if at % 3 == 2:
                writer.wait_for_more(BATCH)
        writer.wait_for_more(PARTITIONS * BATCH)
    finally:
        writer.stop()
    for partition in range(PARTITIONS):
        log = log_of(bootstrap, topic_name, partition)
        for account, client, since in joined:
            own = [identity for owner, identity in log if owner == account]
            client.wait_for_id(own[-1])
            received = [identity for identity in client.ids if identity.startswith(f"{partition}/")]
            assert received == own[len(own) - len(received):]
            assert set(received) >= {identity for identity in own if int(identity.partition("/")[2]) >= since}
