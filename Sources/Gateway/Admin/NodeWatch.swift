import Reactor

/// Asks every loop once a second whether it turns. Confined to the administration's loop.
final class NodeWatch {
    private let loop: EventLoop
    private let watched: [EventLoop]
    private let readiness: NodeReadiness
    private var heartbeat: LoopHeartbeat
    private var timer: Timer?

    /// - Parameter watched: the loops whose stop is the node's: those of the clients, and ingest's.
    init(loop: EventLoop, watched: [(name: String, loop: EventLoop)], readiness: NodeReadiness) {
        self.loop = loop
        self.watched = watched.map(\.loop)
        self.readiness = readiness
        heartbeat = LoopHeartbeat(watched.map(\.name))
    }

    func start() { beat() }

    private func beat() {
        let this = LoopBound(self, loop: loop)
        for index in heartbeat.beat(now: loop.now) {
            watched[index].execute { [loop] in loop.execute { this.value.answered(index) } }
        }
        readiness.report(.loops, heartbeat.stuck)
        timer = loop.schedule(afterMilliseconds: LoopHeartbeat.intervalMilliseconds) { self.beat() }
    }

    private func answered(_ index: Int) {
        heartbeat.answered(index)
        readiness.report(.loops, heartbeat.stuck)
    }

    /// Which loop does not turn, and since when; nil: all do.
    var stuck: String? { heartbeat.stuck }
}

@available(*, unavailable)
extension NodeWatch: Sendable {}
