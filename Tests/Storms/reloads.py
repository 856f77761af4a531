"""SIGHUP again and again, each time with another certificate, other static tokens and other limits, under clients and events.

Whoever comes gets the new certificate with the new token, whoever's token is gone is closed, and nobody else notices anything.
"""

import asyncio
import shutil
import ssl
import types

from brokers import MockBroker
from caller import Caller
from certificates import Certificates
from gateway import hang_up, launch, rewrite, static_tokens
from phones import Phones, check_records, told
from processes import descriptors, private_bytes
from programs import PROGRAMS, eventually
from rolling import first_record
from wire import CLOSE
from writer import PARTITIONS, Writer

# No polls: each is a TLS connection of its own, and of some 10,000 of them the allocator's pages grow.
FORMS = ["ws", "ws", "sse", "ws"]
ACCOUNTS, EVENTS_PER_SECOND = 20, 20
KINDS = ("ecdsa", "rsa")
# Before anything is compared: then logs and tables are as large as they get.
WARM = 20
# A certificate, its key and their context are some 40 KiB, which half of 100 reloads would show, and half of 1,000 ten times. The
# allocator's pages grow once or twice, what is kept of each reload grows in every half: where the second has grown, others follow.
SLACK_BYTES = 3 << 19
MOST_HALVES = 6


class Node:
    """A gateway and the files that it reads again."""

    def __init__(self, stage):
        self.folder = stage.folder
        broker = MockBroker(stage.start(PROGRAMS / "mockbroker", f"incidents:{PARTITIONS}"))
        self.bootstrap = broker.bootstrap
        first_record(self.bootstrap)
        self.certificates = Certificates(stage.folder)
        self.context = self.certificates.client()
        self.accounts = [f"A{number}" for number in range(ACCOUNTS)]
        self.write(0)
        self.door = launch(
            stage.start, stage.folder, types.SimpleNamespace(settings=[]), self.bootstrap,
            auth={"tokens": str(stage.folder / "tokens.yaml")}, log={"level": "notice"},
            tls={"certificate": str(stage.folder / "chain.pem"), "key": str(stage.folder / "key.pem"),
                 "ticket_secret_file": str(stage.folder / "tickets.key")},
            # Only the signal counts here. Few events a log, so that memory comes to rest.
            reload_interval="0s", history={"max_events_per_account": 200}, limits={"ping_interval": "5s", "pong_timeout": "1h"})

    def write(self, turn):
        """The files of this turn."""
        pair = self.certificates.settings[KINDS[turn % 2]]
        shutil.copy(pair["certificate"], self.folder / "chain.pem")
        shutil.copy(pair["key"], self.folder / "key.pem")
        (self.folder / "tickets.key").write_text(f"{turn}" * 64)
        static_tokens(self.folder, [*self.accounts, f"NEW{turn}"])

    def reload(self, turn):
        """Returns once the node says that it has read everything, and what is wrong, if it did not."""
        self.write(turn)
        rewrite(self.door, limits={**self.door.settings["limits"], "max_messages_per_second": 100 + turn % 7,
                                   "max_connections_per_account": 1000 + turn % 5})
        hang_up(self.door)
        eventually(lambda: len(self.door.log("settings reloaded")) + len(self.door.log("settings not reloaded")) >= turn, 20,
                   lambda: f"reload {turn}; {self.door.program.told()}")

    def newcomer(self, turn):
        """Whoever has the new token, and has been shown the new certificate: each loop takes both a moment later."""
        chain = (self.folder / "chain.pem").read_text()
        leaf = ssl.PEM_cert_to_DER_cert(chain.partition("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\n")
        return eventually(lambda: self._comes(f"token-NEW{turn}", leaf), 20, f"the token and the certificate of reload {turn}")

    def _comes(self, token, leaf):
        peer = None
        try:
            peer = Caller.join(self.door.host, token, context=self.context)
            if peer.socket.session.getpeercert(binary_form=True) == leaf:
                return peer
        except (OSError, AssertionError):
            # Too late, on a machine that has no time; or refused.
            pass
        if peer:
            peer.end()
        return None


def code_of(peer):
    """The code with which it is closed."""
    with peer:
        peer.read_until(CLOSE)
        return peer.received.close[0]


async def turns(stage, node, phones, numbers):
    """Reloads; the codes with which those were closed whose token was gone."""
    codes, newcomer = [], None
    for turn in numbers:
        await asyncio.to_thread(node.reload, turn)
        if newcomer:
            codes.append(await asyncio.to_thread(code_of, newcomer))
        newcomer = await asyncio.to_thread(node.newcomer, turn)
    newcomer.end()
    return codes


async def perform(stage):
    # Of these 20 are for warming.
    count = WARM + stage.option("reloads", 100, 1000)
    node = await asyncio.to_thread(Node, stage)
    pid, silent = node.door.program.pid, descriptors(node.door.program.pid)
    phones = Phones(node.door.host, node.context, node.accounts, FORMS, stage.option("clients", 200, 1000))
    writer = None
    try:
        await phones.start()
        stage.say(f"{len(phones.clients)} clients are live")
        began = {client: len(client.streams) for client in phones.clients}
        writer = Writer(types.SimpleNamespace(plaintext=node.bootstrap), node.accounts, EVENTS_PER_SECOND, stage.options.seed)
        codes = await turns(stage, node, phones, range(1, WARM + 1))
        done, half = WARM, (count - WARM) // 2
        for number in range(1, MOST_HALVES + 1):
            warm = private_bytes(pid)
            codes += await turns(stage, node, phones, range(done + 1, done + half + 1))
            done += half
            stage.say(f"{done} reloads; private memory {warm >> 10} KiB before the last {half}, {private_bytes(pid) >> 10} KiB now")
            if number >= 2 and private_bytes(pid) <= warm + SLACK_BYTES:
                break
        logs = await asyncio.to_thread(writer.finish)
        found = await phones.judge(logs)
        check_records(stage, found, sum(map(len, logs.values())))
        failed = node.door.log("settings not reloaded")
        stage.check("every reload was taken", told([f"{line}" for line in failed]))
        stage.check("nobody was dropped", told(
            [f"{client.account} {client.form}" for client, streams in began.items() if len(client.streams) != streams]
            + phones.untold + [f"closed with {code}" for code in phones.codes]))
        stage.check("whoever's token was gone was closed with 4403", None if set(codes) == {4403} else f"{set(codes)}")
        everybody = silent + len(phones.clients)
        await check_rest(stage, pid, everybody, warm)
    finally:
        await phones.end()
        if writer:
            await asyncio.to_thread(writer.end)


async def check_rest(stage, pid, most, warm):
    for name, limit, count in (("no descriptor is left", most, descriptors),
                               ("no memory is left", warm + SLACK_BYTES, private_bytes)):
        try:
            await asyncio.to_thread(eventually, lambda: count(pid) <= limit, 10)
            stage.check(name, None)
        except AssertionError:
            stage.check(name, f"{count(pid)}, over {limit}")


def play(stage):
    asyncio.run(perform(stage))
