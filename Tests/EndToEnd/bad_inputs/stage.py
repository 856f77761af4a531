"""The nodes that all rows are played against, over plain connections or over TLS, and what is known of them before and after."""

import asyncio
import functools
import http.client
import json
import secrets
import urllib.parse
from collections import Counter
from dataclasses import dataclass, field

from asker import Asker
from bad_inputs import servers
from bad_inputs.proxy_headers import version2
from bad_inputs.tokens_of_clients import bearer
from bad_inputs.upgrades import upgrade
from clients import LiveClient
from gateway import launch, static_tokens
from https_server import Server
from jose import EC, RSA, Secret
from processes import private_bytes
from programs import PATIENCE, eventually, produce
from wires import QUESTION, Transcript, Wire, pieces, ping

# So many connections at once: below each limit of the nodes.
AT_ONCE = 32
# The topic that revokes.
CONTROL = "control"
# Of one user and of one address, for the proof that every place was given back.
PLACES = 64
LIMITS = {"handshake_timeout": "60s", "max_connections_per_subject": PLACES, "max_connections_per_address": PLACES,
          "max_fragments": 64}
TRUSTED = {"trusted": ["127.0.0.1", "10.0.0.0/8"], "proxy_protocol": True, "client_address": "forwarded"}


@dataclass
class Outcome:
    """What became of a row that was sent in one way: the answer as the article has it, the codes of its refusals, and all
    that came."""
    answer: str
    codes: list = field(default_factory=list)
    received: bytes = b""

    @staticmethod
    def of(received):
        transcript = Transcript(received)
        return Outcome(transcript.text, [code for _, code in transcript.answers if code], received)

    def then(self, other):
        return Outcome(f"{self.answer}, {other.answer}", self.codes + other.codes, self.received + other.received)


class EvilServer:
    """Keys of issuers, and answers about tokens: good ones where nothing else is set for a path or a token."""

    def __init__(self, stage, *certificate):
        self.stage, self.set = stage, {}
        self.server = Server(self.answer, *certificate)
        self.url = self.server.url.replace("127.0.0.1", "localhost") if certificate else self.server.url

    def answer(self, request):
        token = dict(urllib.parse.parse_qsl(request.body)).get("token")
        raw, is_bytewise = self.set.get(token or request.path, (None, False))
        if raw is None:
            return request.reply({"active": False} if token else {"keys": [self.stage.rsa.jwk()]})
        if not raw:
            # Nothing, until the one who asks has left.
            request.rfile.read(1)
        try:
            for piece in pieces(raw, is_bytewise):
                request.raw(piece)
        except OSError:
            pass
        request.close_connection = True

    def paths(self):
        return [path for _, path, _, _ in self.server.requests]

    def end(self):
        self.server.end()


@functools.cache
def keys():
    """Those of all stages, so that what is signed for one need not be signed again for the other. `weak` is too short for
    anybody; `stranger` is nobody's, `evil` the one that the key server would have us take."""
    return {"rsa": RSA(), "other": RSA(), "stranger": RSA(), "evil": RSA(name="evil"), "weak": RSA(1024), "curve": EC(),
            "secret": Secret()}


class Stage:
    """Starts the nodes; `play` sends every row to them."""

    def __init__(self, start, keep, folder, tokens, certificates, bootstrap, issuers, is_secure):
        self.folder, self.tokens, self.is_secure, self.certificates = folder, tokens, is_secure, certificates
        self.bootstrap, self.writing = bootstrap, asyncio.Lock()
        self.context = certificates.client() if is_secure else None
        for name, key in keys().items():
            setattr(self, name, key)
        self.secrets = {"ticket": secrets.token_hex(32), "strange": secrets.token_hex(32),
                        "admin": secrets.token_urlsafe(24), "client": secrets.token_hex(16)}
        for name, text in self.secrets.items():
            (folder / name).write_text(text + "\n")
        self.own = self.token("PACC1")
        self.server = keep(EvilServer(self, *(certificates.settings["ecdsa"].values() if is_secure else ())))
        self.trap = self.server.url + "/trap"
        self.silent = f"opaque-{secrets.token_hex(8)}"
        self.server.set[self.silent] = b"", False
        self.accounts = iter([f"PFORWARDED{number}" for number in range(200)])
        tokens_file = static_tokens(folder, ["PACC3", *(f"PFORWARDED{number}" for number in range(200))])

        def begin(ticket="ticket", jwt=(), patience="50s", **changes):
            auth = {"jwt": [*tokens.settings, *jwt], "tokens": str(tokens_file), "cookie": "session",
                    "origins": ["https://app.example.com", "https://*.example.org"],
                    "tickets": {"secret_file": str(folder / ticket), "lifetime": "10m"},
                    "introspection": self._introspection(patience)}
            security = {"tls": certificates.settings["ecdsa"]} if is_secure else {}
            return launch(start, folder, tokens, bootstrap, auth=auth, websocket={"deflate": True}, loops=2,
                          admin_token_file=str(folder / "admin"), admin_hosts=["gate.internal"], **security, **changes)
        self.door = begin(jwt=self._issuers(issuers), limits=LIMITS, control={"topic": CONTROL})
        self.behind = begin(balancer=TRUSTED, limits={"handshake_timeout": "60s"})
        self.impatient = begin(ticket="strange", patience="2s", limits={"handshake_timeout": "10s"})
        self.nodes = [self.door, self.behind, self.impatient]
        # What it holds is not measured: it closes its second client of Kafka when it wants to.
        self.past = begin(ticket="strange", archive={"store": f"sqlite:{folder / 'archive.db'}"},
                          limits={"handshake_timeout": "60s"})
        eventually(lambda: "[+]archive" in self.asked(self.past, "/readyz?verbose"), 20, "the archive")
        # Told now and then that there is nothing new, so that its socket does not give up while the others have their turn.
        self.victim = keep(LiveClient(self.door, self.token("PVICTIM"), self.context, beat=20))
        self.values = {b"@TOKEN@": self.own, b"@VICTIM@": self.token("PVICTIM"), b"@NOBODY@": self.tokens.token("PACC1"),
                       b"@STATIC@": "token-PACC3",
                       b"@ADMIN@": self.secrets["admin"], b"@STRANGE@": self.ticket(self.impatient)}

    # What the nodes are told

    def _introspection(self, patience):
        return {"url": self.server.url + "/introspect", "client_id": "livegate", "timeout": patience,
                "client_secret_file": str(self.folder / "client"),
                **({"ca": str(self.certificates.authority)} if self.is_secure else {})}

    def _issuers(self, names):
        """Issuers with keys in a file, and one for each question to the key server."""
        files = {"rsa": [self.rsa.jwk(), self.curve.jwk()], "other": [self.other.jwk()],
                 "mixed": [self.rsa.jwk(), self.secret.jwk()]}
        algorithms = {"rsa": ["RS256", "ES256"], "other": ["RS256"], "mixed": ["RS256", "HS256"]}
        found = []
        for name, keys in files.items():
            (self.folder / name).write_text(json.dumps({"keys": keys}))
            found.append({"issuer": name, "audience": "livegate", "algorithms": algorithms[name],
                          "keys": str(self.folder / name), "account_claim": "account_id"})
        return found + [{
            "issuer": name, "audience": "livegate", "algorithms": ["RS256", "ES256"], "account_claim": "account_id",
            "keys_url": f"{self.server.url}/{name}", "keys_refresh": "1h", "keys_cooldown": "1h",
            **({"keys_ca": str(self.certificates.authority)} if self.is_secure else {})} for name in names]

    def token(self, account):
        return self.tokens.token(account, "--subject", "u1")

    def ticket(self, node=None):
        kind = http.client.HTTPSConnection if self.is_secure else http.client.HTTPConnection
        secure = {"context": self.context} if self.is_secure else {}
        door = kind((node or self.door).host.replace("127.0.0.1", "localhost"), timeout=20 * PATIENCE, **secure)
        door.request("POST", "/ticket/v1", headers={"Authorization": f"Bearer {self.own}"})
        found = json.loads(door.getresponse().read())["ticket"]
        door.close()
        return found

    def fill(self, sent):
        """What is sent, with its places filled in. Signing takes its time, so that it is done before anything is played."""
        sent = sent(self) if callable(sent) else sent
        for place, value in self.values.items():
            sent = sent.replace(place, value.encode())
        return sent

    # How a row is played; each returns an outcome. `is_bytewise` says how the hostile side sends, client or server.

    async def _talk(self, node, sent, is_bytewise, prefix=b""):
        """A WebSocket is asked twice whether it still answers: what follows from a message comes before the second pong."""
        wire = await Wire(node.host, self.context, is_bytewise).open(prefix)
        is_upgrade = b"Upgrade: websocket" in sent
        try:
            await wire.talk(sent + (ping() if is_upgrade else b""), lambda wire: QUESTION in wire.received)
            if is_upgrade:
                await wire.talk(ping(), lambda wire: wire.received.count(QUESTION) > 1)
            return Outcome.of(wire.received)
        finally:
            await wire.end()

    async def ask(self, row, name, is_bytewise, sent):
        """At the address of clients."""
        return await self._talk(self.door, sent, is_bytewise)

    async def archive(self, row, name, is_bytewise, sent):
        """Once more where the node wants it to wait, as every client does: on a busy machine its store may be behind."""
        while (outcome := await self._talk(self.past, sent, is_bytewise)).answer == "503 `not_ready`":
            await asyncio.sleep(1)
        return outcome

    async def late(self, row, name, is_bytewise, sent):
        return await self._talk(self.impatient, sent, is_bytewise)

    async def behind_balancer(self, row, name, is_bytewise, sent):
        """A good upgrade stands behind the header."""
        return await self._talk(self.behind, self.fill(upgrade()), is_bytewise, sent)

    async def forwarded(self, row, name, is_bytewise, sent):
        """The name that the node has for a client whose balancer sends this."""
        account = next(self.accounts)
        sent = sent.replace(self.own.encode(), f"token-{account}".encode())
        wire = await Wire(self.behind.host, self.context, is_bytewise).open(version2(command=0x20, block=b""))
        try:
            await wire.talk(sent + ping(), lambda wire: QUESTION in wire.received)
            outcome = Outcome.of(wire.received)
            line = await asyncio.to_thread(self.asked, self.behind, f"/admin/connections?account={account}")
            outcome.answer += f" as {json.loads(line)['peer']}"
            return outcome
        finally:
            await wire.end()

    async def raw(self, row, name, is_bytewise, sent):
        """To the address of clients, without TLS of ours: an alert is a close."""
        wire = await Wire(self.door.host, None, is_bytewise).open()
        try:
            await wire.talk(sent, lambda wire: wire.received[:1] == b"\x16")
        finally:
            await wire.end()
        if wire.received[:1] in (b"\x15", b"\x16"):
            return Outcome("handshake" if wire.received[:1] == b"\x16" else "closed", [], wire.received)
        return Outcome.of(wire.received)

    async def admin(self, row, name, is_bytewise, sent):
        wire = await Wire(self.door.admin, None, is_bytewise).open()
        try:
            await wire.talk(sent)
        finally:
            await wire.end()
        return Outcome(Transcript(wire.received).text, [], wire.received)

    async def keys(self, row, name, is_bytewise, sent):
        """A token whose key has to be fetched, and then one whose key was known before."""
        answer, attack, honest = sent
        self.server.set[f"/{name}"] = answer, is_bytewise
        first = await self._talk(self.door, attack, False)
        return first.then(await self._talk(self.door, honest, False))

    async def introspect(self, row, name, is_bytewise, sent):
        self.server.set[name] = sent, is_bytewise
        return await self._talk(self.door, bearer(name), False)

    def _write(self, record):
        def read():
            counted = self.counted(self.door)
            return {"rejected": counted["livegate_control_records_rejected_total"],
                    "revoked": sum(value for name, value in counted.items() if name.startswith("livegate_revocations_total{"))}
        before = read()
        produce(self.bootstrap, CONTROL, [record])

        def more():
            now = read()
            return [answer for answer in now if now[answer] > before[answer]]
        return Outcome(" and ".join(eventually(more, 20, lambda: f"a count of {record[:100]}")))

    async def control(self, row, name, is_bytewise, sent):
        """A record is whole or not there: it is written twice. One after the other, since all are counted together."""
        async with self.writing:
            return await asyncio.to_thread(self._write, sent)

    def _ready(self, group, number, row, is_bytewise):
        """A name that only this run of the row has, and what is sent."""
        if group.way == "keys":
            name = f"keys-{number}-{int(is_bytewise)}"
            answer, key = row.sent(self)
            return name, (answer, bearer(servers.attack(self, name, key)), bearer(servers.honest(self, name)))
        if group.way == "introspect":
            return f"opaque-{number}-{int(is_bytewise)}-{secrets.token_hex(8)}", row.sent(self)
        return row.name, self.fill(row.sent)

    def ask_once(self):
        """So that what is made for the first question to a server is there before anything is measured."""
        for node in (self.door, self.impatient):
            assert asyncio.run(self._talk(node, bearer("opaque"), False)).answer == servers.NO

    async def _play(self, rows):
        room, outcomes = asyncio.Semaphore(AT_ONCE), {}

        async def one(group, row, is_bytewise, name, sent):
            async with room:
                try:
                    async with asyncio.timeout(90 * PATIENCE):
                        outcome = await getattr(self, group.way)(row, name, is_bytewise, sent)
                except TimeoutError:
                    outcome = Outcome("no end")
                outcomes[group.title, row.name, is_bytewise] = outcome
        await asyncio.gather(*(one(*each) for each in rows))
        return outcomes

    def play(self, groups):
        """The outcome of every row, by its group's title, its name, and whether it was sent byte by byte."""
        spent = self.ticket()
        self.values[b"@SPENT@"] = spent
        path = f"GET /sync/v1?ticket={spent} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        assert asyncio.run(self._talk(self.door, path, False)).answer == "200"
        # Those begin first whose answer takes a time-out to come.
        slow = ("late", "keys")
        return asyncio.run(self._play([
            (group, row, is_bytewise, *self._ready(group, number, row, is_bytewise))
            for group in sorted(groups, key=lambda group: group.way not in slow)
            for is_bytewise in (False, True) for number, row in enumerate(group.rows)]))

    # What is left behind

    def asked(self, node, path):
        asker = Asker(node.admin)
        status, _, body = asker.ask("GET", path, Authorization=f"Bearer {self.secrets['admin']}")
        asker.close()
        assert status == 200, (path, body)
        return body.decode()

    def counted(self, node):
        """Each sample of a node's metrics by its name with its labels."""
        lines = [line for line in self.asked(node, "/metrics").splitlines() if not line.startswith("#")]
        return Counter({name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)})

    def cost(self, node):
        """Descriptors, without those of connections to our server, some of which are kept for a next question, and to the
        broker; and private memory."""
        return node.descriptors(f"127.0.0.1:{self.server.server.port}"), private_bytes(node.program.pid)

    async def _opened(self, wanted):
        wires, answer = [], "101"
        while answer == "101" and len(wires) <= wanted:
            wires.append(await Wire(self.door.host, self.context).open())
            await wires[-1].talk(self.fill(upgrade() + ping()), lambda wire: QUESTION in wire.received)
            answer = Outcome.of(wires[-1].received).answer
        await asyncio.gather(*(wire.end() for wire in wires))
        return len(wires) - 1, answer

    def opened(self, wanted):
        """How many WebSockets of one user are let in, one after the other, until one is not; and what that one is answered."""
        return asyncio.run(self._opened(wanted))
