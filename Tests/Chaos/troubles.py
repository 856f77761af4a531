"""What happens while the clients listen: four tracks at once, each at random, all from one seed."""

import collections
import random
import signal
import threading
import time

from stage import BROKERS, NODES

# How much longer than asked for there is trouble, until every kind has happened.
LONGEST_DELAY = 300


class Troubles:
    """Each track shuffles its troubles and takes them in turn, so that a minute has seen every kind."""

    def __init__(self, stage, crowd, service, seed, say):
        self.stage, self.crowd, self.service, self.seed, self.say = stage, crowd, service, seed, say
        self.happened = collections.Counter()
        self.failures = []
        self.stopping = threading.Event()
        self.tracks = {
            "brokers": [self.broker_killed, self.all_brokers_killed, self.broker_paused, self.all_brokers_paused],
            "ways": [self.ways_stalled, self.ways_refused, self.ways_cut, self.ways_delayed, self.ways_slowed,
                     self.clients_cut, self.clients_cut],
            "nodes": [self.node_killed, self.both_nodes_killed, self.node_paused, self.balancer_reloaded],
            "api": [self.api_killed, self.api_paused, self.api_failing],
        }
        # Between two troubles of a track: the brokers need a while to find each other.
        self.pauses = {"brokers": (2, 6), "ways": (0.5, 3), "nodes": (1, 5), "api": (2, 6)}

    @property
    def kinds(self):
        return {trouble.__name__ for track in self.tracks.values() for trouble in track}

    def run(self, seconds):
        threads = [threading.Thread(target=self._play, args=(name,), daemon=True) for name in self.tracks]
        for thread in threads:
            thread.start()
        end = time.monotonic() + seconds
        # On a slow machine a broker takes its time to start; no kind is left out for that.
        while not self.stopping.wait(0.2):
            is_over = time.monotonic() > end and self.kinds <= set(self.happened)
            if is_over or time.monotonic() > end + LONGEST_DELAY:
                break
        self.stopping.set()
        for thread in threads:
            # Its brokers may take minutes to start, each.
            thread.join(900)
            assert not thread.is_alive(), "a trouble does not end"
        if self.failures:
            raise AssertionError(self.failures[0])

    def _play(self, name):
        chance = random.Random(f"{name} {self.seed}")
        row = []
        try:
            while not self.stopping.wait(chance.uniform(*self.pauses[name])):
                if not row:
                    row = chance.sample(self.tracks[name], len(self.tracks[name]))
                trouble = row.pop()
                self.say(f"{name}: {trouble.__name__.replace('_', ' ')}")
                trouble(chance)
                self.happened[trouble.__name__] += 1
        except Exception as failure:  # noqa: BLE001: told by the one who waits
            self.failures.append(f"{name}: {failure!r}")
            self.stopping.set()

    # Brokers

    def broker_killed(self, chance):
        broker = chance.choice(BROKERS)
        self.stage.brokers("kill", broker)
        time.sleep(chance.uniform(1, 5))
        self.stage.brokers("start-node", broker)

    def all_brokers_killed(self, chance):
        self.stage.brokers("kill", "all")
        time.sleep(chance.uniform(0.5, 3))
        # All together: one alone waits for a quorum. A start that took too long is repeated at the end.
        self.stage.brokers("start-node", "all")

    def broker_paused(self, chance):
        broker = chance.choice(BROKERS)
        self.stage.brokers("pause", broker)
        time.sleep(chance.uniform(1, 9))
        self.stage.brokers("resume", broker)

    def all_brokers_paused(self, chance):
        self.stage.brokers("pause", "all")
        time.sleep(chance.uniform(1, 5))
        self.stage.brokers("resume", "all")

    # The ways between nodes and brokers

    def _fault(self, chance, *mode, longest=5.0, end="pass"):
        which = chance.choice([*BROKERS, "all"])
        self.stage.brokers("fault", which, *mode)
        time.sleep(chance.uniform(0.3, longest))
        self.stage.brokers("fault", "all", end)

    def ways_stalled(self, chance):
        self._fault(chance, "stall", longest=8)

    def ways_refused(self, chance):
        self._fault(chance, "refuse")

    def ways_cut(self, chance):
        self._fault(chance, "cut", longest=2)

    def ways_delayed(self, chance):
        self._fault(chance, "delay", str(chance.randrange(20, 400)))

    def ways_slowed(self, chance):
        # A way that is set free in the middle of a piece leaves out the rest of it: bytes that nobody could trust. So it is cut.
        self._fault(chance, "drip", str(chance.randrange(500, 20_000)), end="cut")

    def clients_cut(self, chance):
        self.crowd.cut(chance.choice((0.02, 0.1, 0.5)))

    # Nodes, and what stands before them

    def node_killed(self, chance):
        node = self.stage.nodes[chance.choice(NODES)]
        node.kill()
        time.sleep(chance.uniform(0.2, 4))
        node.start()

    def both_nodes_killed(self, chance):
        for node in self.stage.nodes.values():
            node.kill()
        time.sleep(chance.uniform(0.2, 2))
        for node in self.stage.nodes.values():
            node.start()

    def node_paused(self, chance):
        node = self.stage.nodes[chance.choice(NODES)]
        node.program.signal(signal.SIGSTOP)
        time.sleep(chance.uniform(1, 8))
        node.program.signal(signal.SIGCONT)

    def balancer_reloaded(self, _):
        self.stage.reload_balancer()

    # The API of the apps

    def api_killed(self, chance):
        self.service.kill()
        time.sleep(chance.uniform(0.1, 3))
        self.service.start()

    def api_paused(self, chance):
        self.service.process.send_signal(signal.SIGSTOP)
        time.sleep(chance.uniform(1, 5))
        self.service.process.send_signal(signal.SIGCONT)

    def api_failing(self, chance):
        self.service.order(failing=True)
        time.sleep(chance.uniform(1, 5))
        self.service.order(failing=False)
