# Tests: LiveActions.swift, SQLiteActionStore.swift
"""A process that is killed at its n-th write, sync or statement, for n = 1, 2, 3 …, while its user does things and a server that
honours idempotency keys does them: whatever was said to be kept is done, nothing is done twice, and the device shows what the
server has."""

import os
import signal
import sqlite3
import subprocess

import pytest

from programs import PROGRAMS

# A sanitizer's runtime wants to be the first library.
pytestmark = pytest.mark.unsanitized


class Server:
    """Does each key once."""

    def __init__(self):
        self.keys, self.done, self.kept = {}, [], {}

    def serve(self, store, word, **env):
        """Runs the program against this server. Returns how it ended."""
        with subprocess.Popen([PROGRAMS / "storekill", "actions", store, word], env={**os.environ, **env}, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
            for line in program.stdout:
                verb, _, rest = line.strip().partition(" ")
                if verb == "kept":
                    thing, value = rest.split()
                    self.kept[thing] = value
                elif verb == "send":
                    self.work(rest)
                    try:
                        program.stdin.write("done\n")
                        program.stdin.flush()
                    except BrokenPipeError:
                        pass  # It was killed behind the batch, which is one of the cases.
                else:
                    assert line == "closed\n", line
            ended = program.wait(60)
            assert ended in (0, -signal.SIGKILL), program.stderr.read()
            return ended

    def work(self, batch):
        for action in batch.split("; "):
            key, kind, thing, value = action.split()
            assert self.keys.setdefault(key, (thing, value)) == (thing, value), f"{key} is of two values"
            if (key, thing, value) not in self.done:
                self.done.append((key, thing, value))

    @property
    def statuses(self):
        return {thing: value for _, thing, value in self.done}


def test_wherever_it_is_killed_each_action_is_done_once(killer, tmp_path):
    nth, ended, kept = 0, None, set()
    while ended != 0:
        nth += 1
        server, store = Server(), tmp_path / f"store-{nth}"
        ended = server.serve(store, "act", LD_PRELOAD=str(killer), TEST_KILL_AT=str(nth))
        assert server.serve(store, "drain") == 0
        values = [(thing, value) for _, thing, value in server.done]
        assert len(set(values)) == len(values), f"killed at call {nth}, done twice: {server.done}"
        for thing, value in server.kept.items():
            # A later value may have been kept without anybody having been told.
            assert server.statuses.get(thing) in (value, "resolved"), f"killed at call {nth}: {thing} {value}"
        with sqlite3.connect(store) as file:
            assert file.execute("SELECT * FROM live_actions").fetchall() == []
            assert dict(file.execute("SELECT id, status FROM app")) == server.statuses, f"killed at call {nth}"
        kept.add(tuple(sorted(server.statuses.items())))
    print(f"{nth - 1} kills")
    # It was hit in every state on the way.
    assert nth > 40 and kept >= {(), (("1", "true"),), (("1", "true"), ("2", "resolved"))}
