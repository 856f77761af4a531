import Reactor

/// Asks every loop once a second whether it turns, and keeps what the node did in the last ten minutes. Confined to the
/// administration's loop.
final class NodeWatch {
    private let loop: EventLoop
    private var watched: [EventLoop]
    private let readiness: NodeReadiness
    private var heartbeat: LoopHeartbeat
    private(set) var history = LoadHistory()
    /// A sample is being gathered: a loop may not answer.
    private var isSampling = false

    /// - Parameter watched: the loops whose stop is the node's: those of the clients, and ingest's, to begin with.
    init(loop: EventLoop, watched: [(name: String, loop: EventLoop)], readiness: NodeReadiness) {
        self.loop = loop
        self.watched = watched.map(\.loop)
        self.readiness = readiness
        heartbeat = LoopHeartbeat(watched.map(\.name))
    }

    /// Another loop whose stop is the node's.
    func add(_ name: String, _ added: EventLoop) {
        watched.append(added)
        heartbeat.add(name)
    }

    /// - Parameter administration: gathers the samples; nil in tests of the heartbeat alone.
    func start(_ administration: Administration? = nil) {
        beat()
        if let administration { sample(administration) }
        loop.schedule(afterMilliseconds: LoopHeartbeat.intervalMilliseconds) { self.start(administration) }
    }

    private func beat() {
        let this = LoopBound(self, loop: loop)
        for index in heartbeat.beat(now: loop.now) {
            watched[index].execute { [loop] in loop.execute { this.value.answered(index) } }
        }
        readiness.report(.loops, heartbeat.stuck)
    }

    private func answered(_ index: Int) {
        heartbeat.answered(index)
        readiness.report(.loops, heartbeat.stuck)
    }

    private func sample(_ administration: Administration) {
        guard !isSampling else { return }
        isSampling = true
        let (this, loop) = (LoopBound(self, loop: loop), loop)
        Task {
            let sample = await administration.report(whole: false).sample(at: EventLoop.microseconds / 1000)
            loop.execute {
                this.value.isSampling = false
                this.value.history.note(sample)
            }
        }
    }

    /// Which loop does not turn, and since when; nil: all do.
    var stuck: String? { heartbeat.stuck }
}

@available(*, unavailable)
extension NodeWatch: Sendable {}
