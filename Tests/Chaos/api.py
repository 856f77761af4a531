"""The API of the apps' accounts: `api.py SOCKET FILE RATE`, killed and started again whenever there is trouble.

SOCKET is the number of a descriptor that listens already, and is its parent's: nobody else can take its port meanwhile. All
that it knows stands in FILE, with what is to be written to Kafka: a change and its event are one transaction, so that an event
follows its change however the process ends. Its story changes so many incidents a second by itself.
"""

import asyncio
import random
import socket
import sqlite3
import sys
from pathlib import Path

from aiohttp import web

ROOT = Path(__file__).resolve().parents[2]
# An account's incidents: some have fewer than a list shows, some more.
FEWEST, MOST = 12, 40

TABLES = """
CREATE TABLE IF NOT EXISTS accounts (account TEXT PRIMARY KEY, numbers INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS incidents (
    account TEXT NOT NULL, number INTEGER NOT NULL, mark TEXT NOT NULL DEFAULT '', marked_at INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 1, is_closed INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (account, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS results (
    key TEXT PRIMARY KEY, account TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, status INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS outbox (
    place INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL);
"""


def database(file):
    """The file; what is written to it survives the end of the process, though not that of the machine."""
    opened = sqlite3.connect(file, timeout=60, isolation_level=None, check_same_thread=False)
    opened.execute("PRAGMA journal_mode = WAL")
    opened.execute("PRAGMA synchronous = OFF")
    return opened


def prepare(file, accounts, chance):
    """Makes the tables, and the incidents that there are at the beginning."""
    made = database(file)
    made.executescript(TABLES)
    for account in accounts:
        count = chance.randint(FEWEST, MOST)
        made.execute("INSERT INTO accounts VALUES (?, ?)", (account, count))
        made.executemany("INSERT INTO incidents (account, number, is_closed) VALUES (?, ?, ?)",
                         [(account, number, chance.random() < 0.2) for number in range(1, count + 1)])
    made.close()


class Incidents:
    """What is known, and how it changes: each change in one transaction with its event."""

    def __init__(self, file, chance):
        self.file, self.chance = database(file), chance
        self.accounts = [account for account, in self.file.execute("SELECT account FROM accounts")]

    def page(self, account, limit, direction="forward", start=None, inclusive=False):
        """The incidents behind a number, the newest first; `backward` those before it, nearest first. And whether that is all."""
        sign, order = ("<", "DESC") if direction == "forward" else (">", "ASC")
        where, values = "account = ?", [account]
        if start is not None:
            where += f" AND number {sign}{'=' if inclusive else ''} ?"
            values.append(start)
        rows = self.file.execute(f"SELECT number, mark, version FROM incidents WHERE {where} ORDER BY number {order} LIMIT ?",
                                 (*values, limit + 1)).fetchall()
        return {"incidents": [self._incident(account, row) for row in rows[:limit]], "more": len(rows) > limit}

    def details(self, account, identity):
        rows = self.file.execute("SELECT number, mark, version FROM incidents WHERE account = ? AND number = ?",
                                 (account, self._number(account, identity))).fetchall()
        return self._incident(account, rows[0]) if rows else None

    def act(self, account, action):
        """Does it once for each key; the status. What was done later by its user's clock stays as it is."""
        self.file.execute("BEGIN IMMEDIATE")
        known = self.file.execute("SELECT status FROM results WHERE key = ?", (action["key"],)).fetchone()
        status = known[0] if known else self._act(account, action)
        self.file.execute("COMMIT")
        return status

    def _act(self, account, action):
        number = self._number(account, action["id"])
        found = self.file.execute("SELECT is_closed, marked_at FROM incidents WHERE account = ? AND number = ?",
                                  (account, number)).fetchone()
        status = 404 if not found else 409 if found[0] else 200
        if status == 200:
            change = ", mark = ?, marked_at = ?" if action["at"] >= found[1] else ""
            values = (action["value"], action["at"]) if change else ()
            self._change(account, number, change, values)
        self.file.execute("INSERT INTO results VALUES (?, ?, ?, ?, ?)",
                          (action["key"], account, action["id"], action["value"], status))
        return status

    def _change(self, account, number, change, values=(), kind="updated"):
        self.file.execute(f"UPDATE incidents SET version = version + 1{change} WHERE account = ? AND number = ?",
                          (*values, account, number))
        self._tell(account, number, kind)

    def _tell(self, account, number, kind):
        self.file.execute("INSERT INTO outbox (account, id, type) VALUES (?, ?, ?)", (account, f"{account}-{number}", kind))

    def happen(self):
        """Something that nobody of the apps has done."""
        account = self.chance.choice(self.accounts)
        self.file.execute("BEGIN IMMEDIATE")
        numbers = [number for number, in self.file.execute("SELECT number FROM incidents WHERE account = ?", (account,))]
        number, deed = self.chance.choice(numbers), self.chance.random()
        if deed < 0.15 and len(numbers) < MOST:
            number = self.file.execute("UPDATE accounts SET numbers = numbers + 1 WHERE account = ? RETURNING numbers",
                                       (account,)).fetchone()[0]
            self.file.execute("INSERT INTO incidents (account, number) VALUES (?, ?)", (account, number))
            self._tell(account, number, "created")
        elif deed < 0.30 and len(numbers) > FEWEST:
            self.file.execute("DELETE FROM incidents WHERE account = ? AND number = ?", (account, number))
            self._tell(account, number, "deleted")
        elif deed < 0.45:
            self._change(account, number, ", is_closed = 1 - is_closed")
        else:
            self._change(account, number, "")
        self.file.execute("COMMIT")

    @staticmethod
    def _number(account, identity):
        owner, _, number = identity.rpartition("-")
        return int(number) if owner == account else None

    @staticmethod
    def _incident(account, row):
        return {"id": f"{account}-{row[0]}", "number": row[0], "mark": row[1], "version": row[2]}


class Service:
    """Incidents by HTTP, and the ways in which that fails."""

    def __init__(self, incidents, rate, chance):
        self.incidents, self.rate, self.chance = incidents, rate, chance
        self.is_failing, self.has_story = False, True

    def application(self):
        made = web.Application(middlewares=[self.fail])
        made.router.add_put("/order", self.order)
        made.router.add_get("/incidents", self.page)
        made.router.add_get("/incidents/{id}", self.details)
        made.router.add_post("/actions", self.act)
        # The page of Tests/Chaos/pages.py, and the module that it imports.
        for folder in ("Tests/Chaos/page", "Sources/LiveClientJS"):
            made.router.add_static(f"/{folder}", ROOT / folder)
        made.cleanup_ctx.append(self.story)
        return made

    @web.middleware
    async def fail(self, request, handler):
        is_asked = request.match_info.handler in (self.page, self.details, self.act)
        way = self.chance.randrange(4) if self.is_failing and is_asked else None
        if way == 0:
            return web.Response(status=503)
        answer = await handler(request)
        if way == 1:
            return web.Response(status=502)
        if way == 2:
            # It was done, and nobody is told.
            request.transport.abort()
        return answer

    async def story(self, _):
        async def tell():
            while True:
                await asyncio.sleep(self.chance.expovariate(self.rate))
                if self.has_story:
                    self.incidents.happen()
        task = asyncio.create_task(tell())
        yield
        task.cancel()

    async def order(self, request):
        """`failing` and `story`, true or false: until another order, or the process is started anew."""
        words = await request.json()
        self.is_failing = words.get("failing", self.is_failing)
        self.has_story = words.get("story", self.has_story)
        return web.json_response(True)

    @staticmethod
    def account(request):
        kind, _, token = request.headers.get("Authorization", "").partition(" token-")
        if kind != "Bearer" or not token:
            raise web.HTTPUnauthorized
        return token

    async def page(self, request):
        words = request.query
        start = int(words["from"]) if "from" in words else None
        return web.json_response(self.incidents.page(
            self.account(request), int(words["limit"]), words.get("direction", "forward"), start, words.get("inclusive") == "1"))

    async def details(self, request):
        found = self.incidents.details(self.account(request), request.match_info["id"])
        if found is None:
            raise web.HTTPNotFound
        return web.json_response(found)

    async def act(self, request):
        account, words = self.account(request), await request.json()
        results = [{"key": action["key"], "status": self.incidents.act(account, action)} for action in words["actions"]]
        return web.json_response({"results": results})


async def serve(descriptor, file, rate):
    chance = random.Random()
    service = Service(Incidents(file, chance), rate, chance)
    runner = web.AppRunner(service.application(), access_log=None, handle_signals=True)
    await runner.setup()
    await web.SockSite(runner, socket.socket(fileno=descriptor), backlog=1024).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
