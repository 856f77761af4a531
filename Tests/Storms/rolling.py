"""Two nodes behind HAProxy are restarted one after the other, under clients with cursors and events all the time.

Why no second may bring more than 1.3 times the mean of returns, and which mean that is. A drain of N clients closes them evenly
over W (drain_window), and asks each to stay away for a time in 0 to R (drain_retry). So they return within W + R: after the first
R and until the last R it is N / W a second, and less at both edges. The mean is therefore N / W: over W + R it would be lower, and
even a perfect schedule would exceed it by R / W. Were the times to stay away drawn one by one, the number in a second would spread
like a Poisson distribution: of 2,000 clients and 30 s, 67 a second, by 11 %, and in one of six restarts some second would hold
1.3 times as many. A node therefore gives them by a sequence that is as even as one can be (DrainSchedule; its unit tests hold the
returns of any second below 1.3 times the mean), and what is left to see here is what becomes of it on the way.

Seconds may begin at any moment. A return is the moment at which a client connects again. Where this process itself, which is the
clients' clock, stood still for L seconds, those that were due meanwhile come together: such a second counts as 1 + L seconds.
"""

import asyncio
import types

from balancers import Site
from brokers import ApacheKafka
from certificates import Certificates
from gateway import launch, static_tokens
from kafka_admin import create_topic
from phones import Phones, check_records, told
from programs import eventually, produce
from writer import PARTITIONS, TOPIC, Writer

FILE = "haproxy/x-forwarded-for.cfg"
# Of ten clients so many use each way.
FORMS = ["ws", "ws", "sse", "ws", "ws", "ws", "sse", "ws", "ws", "sync"]
ACCOUNTS, EVENTS_PER_SECOND = 200, 40
# The delay lets HAProxy's checks find out; both are the defaults.
DELAY, RETRY = 5, 5


def fullest_second(times):
    """The most in any second, wherever it begins."""
    times = sorted(times)
    first = most = 0
    for index, moment in enumerate(times):
        while times[first] + 1 <= moment:
            first += 1
        most = max(most, index - first + 1)
    return most


def first_record(bootstrap):
    """A topic without any record could be recreated without a trace, so cursors of that time do not outlive its first."""
    for partition in range(PARTITIONS):
        produce(bootstrap, TOPIC, [{"account_id": "nobody", "entity": "incidents::incident", "id": "0", "type": "created"}],
                partition=partition)


def build(stage, window):
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
        stage.start, gateway, bootstrap, certificates, stage.folder, FILE,
        auth={"tokens": str(static_tokens(stage.folder, accounts))}, log={"level": "notice"}, kafka__settings={},
        lifecycle={"drain_delay": f"{DELAY}s", "drain_window": f"{window}s", "drain_retry": f"{RETRY}s"}))
    stage.say("two nodes are ready behind HAProxy")
    return bootstrap, site, accounts, certificates.client()


def comes_up(site, name, before):
    """HAProxy sends it clients again."""
    def lines():
        return sum(f"Server nodes/{name} is UP" in line for line in list(site.program.out + site.program.err))
    eventually(lambda: lines() > before, 30, f"node {name} up again; {site.program.told()}")


async def restart(stage, site, number, phones, window):
    node, name = site.nodes[number], "ab"[number]
    begun, phones.lateness = len(phones.returns), 0.0
    node.program.signal()
    status = await asyncio.to_thread(node.program.wait, DELAY + window + RETRY + 10)
    lines = [line for line in node.log() if line["level"] in ("error", "critical")]
    stage.check(f"node {name} ended well and had nothing for an operator to do",
                f"status {status}, {lines[:3]}" if status or lines else None)
    node.program = await asyncio.to_thread(stage.start, *node.program.command)
    await asyncio.to_thread(node.wait_until_ready, 60)
    await asyncio.to_thread(comes_up, site, name, 0)
    await phones.until(lambda: all(client.is_live for client in phones.clients), 60, lambda: "that all are back")
    returns = phones.returns[begun:]
    mean, most = len(returns) / window, fullest_second(returns)
    allowed = 1.3 * mean * (1 + phones.lateness)
    stage.say(f"node {name}: {len(returns)} returns, {mean:.1f} a second of the window in the mean, {most} in the fullest second: "
              f"{most / max(mean, 1):.2f} times; this process was {1000 * phones.lateness:.0f} ms late at most")
    stage.check(f"no second has more than 1.3 times the mean of returns from node {name}",
                None if 0 < most <= allowed else f"{most}, over {allowed:.1f}")


async def perform(stage):
    window, count = stage.option("window", 15, 30), stage.option("clients", 2000, 2000)
    bootstrap, site, accounts, context = await asyncio.to_thread(build, stage, window)
    phones = Phones(site.host, context, accounts, FORMS, count)
    writer = None
    try:
        await phones.start()
        stage.say(f"{count} clients are live")
        writer = Writer(types.SimpleNamespace(plaintext=bootstrap), accounts, EVENTS_PER_SECOND, stage.options.seed)
        for number in (0, 1):
            await restart(stage, site, number, phones, window)
        logs = await asyncio.to_thread(writer.finish)
        found = await phones.judge(logs)
        events = sum(map(len, logs.values()))
        refusals = {}
        for client in phones.clients:
            for status, times in client.refusals.items():
                refusals[status] = refusals.get(status, 0) + times
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
