"""The nodes that all rows are played against, over plain connections or over TLS, and what is known of them before and after."""

import asyncio
import json
import secrets
from collections import Counter
from dataclasses import dataclass

from asker import Asker
from bad_inputs.upgrades import upgrade
from clients import LiveClient
from gateway import launch, static_tokens
from jose import RSA
from processes import descriptors, private_bytes
from programs import PATIENCE, eventually
from wires import QUESTION, Transcript, Wire, ping

# So many connections at once: below each limit of the nodes.
AT_ONCE = 32
# Of one user and of one address, for the proof that every place was given back.
PLACES = 64
LIMITS = {"handshake_timeout": "60s", "max_connections_per_subject": PLACES, "max_connections_per_address": PLACES,
          "max_fragments": 64}
ORIGIN = "https://app.example.com"


@dataclass
class Outcome:
    """What became of a row that was sent in one way: the answer as the article has it, the codes of its refusals, and all
    that came."""
    answer: str
    codes: list
    received: bytes

    @staticmethod
    def of(received):
        transcript = Transcript(received)
        return Outcome(transcript.text, [code for _, code in transcript.answers if code], received)


class Stage:
    """Starts the nodes; `play` sends every row to them."""

    def __init__(self, start, folder, tokens, certificates, bootstrap, is_secure):
        self.folder, self.tokens, self.is_secure, self.certificates = folder, tokens, is_secure, certificates
        self.context = certificates.client() if is_secure else None
        self.bootstrap = bootstrap
        self.rsa = RSA()
        self.spare = []
        self.secrets = {"ticket": secrets.token_hex(32), "admin": secrets.token_urlsafe(24)}
        for name, text in self.secrets.items():
            (folder / name).write_text(text + "\n")
        self.begin = lambda **changes: launch(start, folder, tokens, bootstrap, **self._common(changes))
        self.door = self.begin(admin_token_file=str(folder / "admin"), admin_hosts=["gate.internal"], limits=LIMITS)
        self.victim = LiveClient(self.door, self.token("PVICTIM"), self.context)
        self.values = {b"@TOKEN@": self.token("PACC1"), b"@VICTIM@": self.token("PVICTIM"), b"@STATIC@": "token-PACC3",
                       b"@ADMIN@": self.secrets["admin"]}

    def _common(self, changes):
        settings = {"auth": {
            "jwt": self.tokens.settings, "tokens": str(static_tokens(self.folder, ["PACC3"])),
            "origins": [ORIGIN, "https://*.example.org"], "cookie": "session",
            "tickets": {"secret_file": str(self.folder / "ticket")}}, "websocket": {"deflate": True}, "loops": 2}
        if self.is_secure:
            settings["tls"] = self.certificates.settings["ecdsa"]
        return {**settings, **changes}

    def token(self, account, *arguments):
        return self.tokens.token(account, "--subject", "u1", *arguments)

    def fill(self, sent):
        """What is sent, with its places filled in."""
        if callable(sent):
            sent = sent(self)
        for place, value in self.values.items():
            sent = sent.replace(place, value.encode())
        return sent

    # How a row is played; each returns an outcome

    async def ask(self, sent, is_bytewise):
        """At the address of clients. A WebSocket is asked afterwards whether it still answers."""
        wire = await Wire(self.door.host, self.context, is_bytewise).open()
        return await self._finish(wire, sent + (ping() if b"Upgrade: websocket" in sent else b""))

    async def _finish(self, wire, sent):
        try:
            await wire.talk(sent, lambda wire: QUESTION in wire.received)
            return Outcome.of(wire.received)
        finally:
            await wire.end()

    async def _play(self, rows):
        """The outcomes of all rows: pairs of row and whether it was sent byte by byte, with an outcome each."""
        room, outcomes = asyncio.Semaphore(AT_ONCE), {}

        async def one(group, row, is_bytewise, sent):
            async with room:
                try:
                    async with asyncio.timeout(60 * PATIENCE):
                        outcomes[group.title, row.name, is_bytewise] = await getattr(self, group.way)(sent, is_bytewise)
                except TimeoutError:
                    outcomes[group.title, row.name, is_bytewise] = Outcome("no end", [], b"")
        await asyncio.gather(*(one(*each) for each in rows))
        return outcomes

    def play(self, groups):
        ready = [(group, row, is_bytewise, self.fill(row.sent)) for is_bytewise in (False, True)
                 for group in groups for row in group.rows]
        return asyncio.run(self._play(ready))

    # What is left behind

    def counted(self, node=None):
        """Each sample of the metrics by its name with its labels."""
        asker = Asker((node or self.door).admin)
        status, _, body = asker.ask("GET", "/metrics", Authorization=f"Bearer {self.secrets['admin']}")
        assert status == 200, body
        asker.file.close()
        asker.socket.close()
        lines = [line for line in body.decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    def handshakes(self):
        """Requests to the clients' address so far, by outcome."""
        prefix = 'livegate_handshakes_total{outcome="'
        return Counter({name[len(prefix):-2]: int(value) for name, value in self.counted().items()
                        if name.startswith(prefix)})

    async def _opened(self, wanted):
        """How many WebSockets of one user are let in, one after the other, until one is not."""
        wires, answer = [], "101"
        while answer == "101" and len(wires) <= wanted:
            wires.append(await Wire(self.door.host, self.context).open())
            await wires[-1].talk(self.fill(upgrade() + ping()), lambda wire: QUESTION in wire.received)
            answer = Outcome.of(wires[-1].received).answer
        await asyncio.gather(*(wire.end() for wire in wires))
        return len(wires) - 1, answer

    def opened(self, wanted):
        return asyncio.run(self._opened(wanted))

    def cost(self):
        """Descriptors and private memory."""
        return descriptors(self.door.program.pid), private_bytes(self.door.program.pid)
