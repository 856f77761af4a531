"""Two nodes behind HAProxy are restarted one after the other, under clients with cursors and events all the time.

Why no second may bring more than 1.3 times the mean of returns, and which mean that is. A drain of N clients closes them evenly
over W (drain_window), and asks each to stay away for a time in 0 to R (drain_retry). So they return within W + R: after the first
R and until the last R it is N / W a second, and less at both edges. The mean is therefore N / W: over W + R it would be lower, and
even a perfect schedule would exceed it by R / W. Were the times to stay away drawn one by one, the numbers would spread by a tenth
of the mean and more, and some second would hold over 1.3 times the mean in two of three drains of 2,000 clients over 30 s, and in
nearly every one of 1,000 (simulated). A node therefore gives them by a sequence that is as even as one can be: 1.05 times at most.
Unit tests hold DrainSchedule to that; what becomes of it on the way to the clients is seen here.
"""

import asyncio
import time
import types

from balancers import Site
from brokers import ApacheKafka
from certificates import Certificates
from gateway import launch, static_tokens
from kafka_admin import create_topic
from phones import Phones, check_records, told
from programs import eventually, produce
from seconds import fullest_second
from wire import content_length, get
from writer import PARTITIONS, TOPIC, Writer

FILE = "haproxy/x-forwarded-for.cfg"
# Of ten clients so many use each way.
FORMS = ["ws", "ws", "sse", "ws", "ws", "ws", "sse", "ws", "ws", "sync"]
ACCOUNTS, EVENTS_PER_SECOND = 200, 40
# What HAProxy's checks need to find out, in seconds, is less than each.
DELAYS, RETRIES = {"short": 4, "long": 5}, {"short": 3, "long": 5}
# How often the node is asked for a sign of life, in seconds.
ASKING = 0.05
# A machine on which the clients' process or the node stands still for longer has no time for them.
LONGEST_STALL = 0.3
# So often both nodes are restarted at most, until the machine had time for a restart of each. In turns: who left the one is at
# the other.
ROUNDS = 3


async def watch(node, stalls):
    """Asks the node for a sign of life until it ends, and notes when one has come late."""
    host, _, port = node.admin.rpartition(":")
    try:
        reader, writer = await asyncio.open_connection(host, int(port))
        while True:
            asked = time.monotonic()
            writer.write(get("/livez"))
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(content_length(head) or 0)
            if (late := time.monotonic() - asked) > ASKING:
                stalls.append((asked + late, late))
            await asyncio.sleep(ASKING)
    except (OSError, asyncio.IncompleteReadError):
        # It has ended, which is what it was told to.
        return


def first_record(bootstrap):
    """A topic without any record could be recreated without a trace, so cursors of that time do not outlive its first."""
    for partition in range(PARTITIONS):
        produce(bootstrap, TOPIC, [{"account_id": "nobody", "entity": "incidents::incident", "id": "0", "type": "created"}],
                partition=partition)


def lifecycle(stage, window):
    form = "long" if stage.options.long else "short"
    return {"drain_delay": DELAYS[form], "drain_window": window, "drain_retry": RETRIES[form]}


def build(stage, times):
    kafka = stage.keep(ApacheKafka(stage.folder, "--heap", "256m"))
    bootstrap = kafka.bootstrap["plaintext"]
    create_topic(bootstrap, TOPIC, partitions=PARTITIONS)
    first_record(bootstrap)
    stage.say("Apache Kafka is up")
    accounts = [f"A{number}" for number in range(ACCOUNTS)]
    certificates = Certificates(stage.folder)

    def gateway(bootstrap, **settings):
        return launch(stage.start, stage.folder, types.SimpleNamespace(settings=[]), bootstrap, **settings)
    site = stage.keep(Site(
        stage.start, gateway, bootstrap, certificates, stage.folder, FILE, stays=True,
        auth={"tokens": str(static_tokens(stage.folder, accounts))}, log={"level": "notice"}, kafka__settings={},
        # How long a client may be silent or behind is not what is tested, and they all are this one process.
        limits={"ping_interval": "25s", "pong_timeout": "1h", "max_lag": "1h"},
        lifecycle={name: f"{seconds}s" for name, seconds in times.items()}))
    stage.say("two nodes are ready behind HAProxy")
    return bootstrap, site, accounts, certificates.client()


def times_up(site, name):
    """How often HAProxy has found that it may send it clients again."""
    return sum(f"Server nodes/{name} is UP" in line for line in list(site.program.out + site.program.err))


async def restart(stage, site, number, phones, times):
    """Whether the machine had time for it, so that it shows when clients come back."""
    node, name, window, of_node = site.nodes[number], "ab"[number], times["drain_window"], []
    begun, stalled, ups = len(phones.returns), len(phones.stalls), times_up(site, name)
    watcher = asyncio.create_task(watch(node, of_node))
    node.program.signal()
    status = await asyncio.to_thread(node.program.wait, sum(times.values()) + 10)
    watcher.cancel()
    lines = [line for line in node.log() if line["level"] in ("error", "critical")]
    stage.check(f"node {name} ended well and had nothing for an operator to do",
                f"status {status}, {lines[:3]}" if status or lines else None)
    node.program = await asyncio.to_thread(stage.start, *node.program.command)
    await asyncio.to_thread(node.wait_until_ready, 60)
    await asyncio.to_thread(eventually, lambda: times_up(site, name) > ups, 30,
                            lambda: f"node {name} up again; {site.program.told()}")
    await phones.until(lambda: all(client.is_live for client in phones.clients), 60, lambda: "that all are back")
    returns = phones.returns[begun:]
    stalls = phones.stalls[stalled:]
    mean, (most, counted) = len(returns) / window, fullest_second(returns, stalls, of_node, times["drain_retry"])
    longest, longest_of_node = (max((late for _, late in found), default=0) for found in (stalls, of_node))
    stage.say(f"node {name}: {len(returns)} returns, {mean:.1f} a second of the window in the mean, {most} in the fullest second: "
              f"{most / max(mean, 1):.2f} times, {counted / max(mean, 1):.2f} times for each second that it counts as; "
              f"this process stood still for {longest:.2f} s at most, the node for {longest_of_node:.2f} s")
    stage.check(f"somebody came back from node {name}", None if returns else "nobody")
    if not stage.options.long and max(longest, longest_of_node) > LONGEST_STALL:
        return False
    stage.check(f"no second has more than 1.3 times the mean of returns from node {name}",
                None if counted <= 1.3 * mean else f"{counted:.1f} for each second, over {1.3 * mean:.1f}")
    return True


async def perform(stage):
    count, times = stage.option("clients", 2000, 2000), lifecycle(stage, stage.option("window", 12, 30))
    bootstrap, site, accounts, context = await asyncio.to_thread(build, stage, times)
    phones = Phones(site.host, context, accounts, FORMS, count)
    writer = None
    try:
        await phones.start()
        stage.say(f"{count} clients are live")
        writer = Writer(types.SimpleNamespace(plaintext=bootstrap), accounts, EVENTS_PER_SECOND, stage.options.seed)
        shown = set()
        for number in (0, 1) * ROUNDS:
            if await restart(stage, site, number, phones, times):
                shown.add(number)
            if len(shown) == 2:
                break
        for number in {0, 1} - shown:
            # No failure of the node: the times that it gives are judged by DrainScheduleTests, and when clients come back on a
            # machine that stood still shows that machine. It counts as skipped, so that nobody takes it for a proof.
            stage.skip(f"when clients came back from node {'ab'[number]}: this machine has no time for them")
        logs = await asyncio.to_thread(writer.finish)
        found = await phones.judge(logs)
        events = sum(map(len, logs.values()))
        refusals = {}
        for client in phones.clients:
            for status, number in client.refusals.items():
                refusals[status] = refusals.get(status, 0) + number
        stage.say(f"{events} events; close codes {phones.codes}, refusals {refusals}")
        check_records(stage, found, events)
        stage.check("whoever was closed or refused was told when to come back", told(phones.untold))
        stage.check("every WebSocket was closed with 1012", None if set(phones.codes) == {1012} else f"{phones.codes}")
    finally:
        await phones.end()
        if writer:
            await asyncio.to_thread(writer.end)


def play(stage):
    asyncio.run(perform(stage))
