"""Kafka is killed, paused, stalled, refused and cut in mid-stream: what it acknowledged is not missing at the clients."""

import pytest

from kafka_admin import create_topic
from kafka_writer import ACCOUNTS, Writer, judge
from processes import comes_to_rest
from programs import eventually

pytestmark = [pytest.mark.slow, pytest.mark.unsanitized]

PARTITIONS = 4
# So that a broker that says nothing is noticed within the test.
QUICK = {"socket.timeout.ms": 3000}


@pytest.fixture
def kafka(own_kafka):
    """One that may be hurt."""
    return own_kafka


@pytest.fixture
def write():
    """Starts writers that end with the test."""
    writers = []

    def begin(bootstrap, topic, partitions=PARTITIONS):
        writers.append(Writer(bootstrap, topic, partitions))
        return writers[-1]

    yield begin
    for writer in writers:
        writer.stopping.set()


def rests(gateway):
    """A gateway does not spin while Kafka is away."""
    return comes_to_rest(gateway.program.pid)


def listeners(gateway, live):
    """Two clients for each account."""
    return [(account, live(gateway, account)) for account in ACCOUNTS * 2]


def test_a_broker_that_is_killed_and_started_again(kafka, hurt, gateway, live, write, topic_name):
    plain = kafka.bootstrap["plaintext"]
    create_topic(plain, topic_name, PARTITIONS)
    running = gateway(plain, kafka__topics=[topic_name], kafka__broker_grace="1s")
    # A balancer goes on accepting what it can give to nobody, and ends it.
    behind_balancer = gateway(kafka.bootstrap["faults"], kafka__topics=[topic_name])
    clients = listeners(running, live)
    writer = write(plain, topic_name)
    writer.wait_for_more()
    hurt("kill", "all")
    for node in (running, behind_balancer):
        node.wait_for_log("no Kafka broker can be reached")
    eventually(lambda: running.readyz()[0] == 503, what="unreadiness after the grace")
    eventually(lambda: rests(running), 30, "that the gateway rests")
    # Nobody is refused for it.
    clients.append((None, live(running, "PACC9")))
    hurt("start-node", "all")
    writer.wait_for_more()
    writer.stop()
    judge(writer, [pair for pair in clients if pair[0]])
    assert clients[-1][1].texts == [] and clients[-1][1].closed is None
    eventually(lambda: running.readyz()[0] == 200, what="readiness")
    assert len(running.log("Kafka answers again")) == 1
    # It has answered before: nobody suspects that the settings are wrong.
    assert not [line for line in behind_balancer.log() if line["level"] == "error" or "possibly" in line["message"]]


# What keeps a broker from answering, and what ends it.
SILENCES = {"paused": (("pause", "all"), ("resume", "all")), "stalled": (("fault", "all", "stall"), ("fault", "all", "pass")),
            "refused": (("fault", "all", "refuse"), ("fault", "all", "pass"))}


def test_whatever_keeps_a_broker_from_answering_nothing_is_missing_afterwards(kafka, hurt, gateway, live, write, topic_name):
    """One gateway meets all of it, from a start without a broker to a stop without one."""
    create_topic(kafka.bootstrap["plaintext"], topic_name, PARTITIONS)
    hurt("fault", "all", "refuse")
    running = gateway(kafka.bootstrap["faults"], ready=False, kafka__topics=[topic_name], kafka__settings=QUICK)
    running.wait_for_log("no Kafka broker can be reached")
    assert running.readyz()[0] == 503
    eventually(lambda: rests(running), 30, "that the gateway rests")
    hurt("fault", "all", "pass")
    running.wait_until_ready()
    clients = listeners(running, live)
    writer = write(kafka.bootstrap["plaintext"], topic_name)
    writer.wait_for_more()
    for name, (harm, heal) in SILENCES.items():
        away, back = len(running.log("no Kafka broker can be reached")), len(running.log("Kafka answers again"))
        hurt(*harm)
        running.wait_for_log("no Kafka broker can be reached", within=30, count=away + 1)
        eventually(lambda: rests(running), 30, f"{name}: that the gateway rests")
        hurt(*heal)
        writer.wait_for_more()
        running.wait_for_log("Kafka answers again", count=back + 1)
        eventually(lambda: running.readyz()[0] == 200, what=f"{name}: readiness")
    cut_again_and_again(running, hurt, writer)
    writer.stop()
    judge(writer, clients)
    stop_while_it_is_stalled(running, hurt, topic_name)
    for _, client in clients:
        assert client.wait_until_closed() == 1012


def cut_again_and_again(running, hurt, writer):
    told = len(running.log("no Kafka broker can be reached"))
    for _ in range(4):
        writer.wait_for_more(2 * 60)
        hurt("fault", "all", "cut")
        hurt("fault", "all", "pass")
    writer.wait_for_more()
    # It was back before anybody had to be told that Kafka is away.
    assert len(running.log("no Kafka broker can be reached")) == told


def stop_while_it_is_stalled(running, hurt, topic):
    lines = "does not answer or does not advance"
    told = len(running.log(lines))
    hurt("fault", "all", "stall")
    # From then on a refresh waits for its answer most of the time.
    stalled = running.wait_for_log(lines, within=30, count=told + 1)
    assert stalled["topic"] == topic and 0 <= stalled["partition"] < PARTITIONS >= stalled["partitions"] > 0
    running.program.signal()
    assert running.program.wait() == 0


def test_one_of_three_nodes_is_killed(start_kafka, gateway, live, write):
    cluster = start_kafka("--nodes", "3", "--heap", "256m")
    plain = cluster.bootstrap["plaintext"]
    create_topic(plain, "three", 6, replication=3, min_insync_replicas=2)
    running = gateway(plain, kafka__topics=["three"])
    clients = listeners(running, live)
    writer = write(plain, "three", 6)
    writer.wait_for_more(6 * 60)
    cluster.tool("kill", "2")
    # Every partition has its turn, those that node 2 led too.
    writer.wait_for_more(2 * 6 * 60)
    cluster.tool("start-node", "2")
    writer.wait_for_more(2 * 6 * 60)
    writer.stop()
    judge(writer, clients)
    assert running.readyz()[0] == 200
    assert not running.log("no Kafka broker can be reached")
