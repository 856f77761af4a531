import Reactor

/// How hostile peers connect to a node that serves other clients.
struct HostilePlan: Sendable {
    /// The well-behaved clients; their latencies are measured.
    static let readers = 50
    /// The time before the others come, for comparison.
    static let calmSeconds = 10
    /// Longer than any time that the gateway gives a peer by default: for a request, for a pong, or for a stream that is behind.
    static let hostileSeconds = 60

    /// A twelfth for each manner and approach (see ``HostilePeer``).
    let peers: Int
}

/// What the well-behaved clients noticed of the others.
struct HostileOutcome: Sendable {
    var calm = Notice()
    var hostile = Notice()
    /// The gateway's largest private memory, minus that before, in bytes.
    var growthBytes: Int64 = 0
    let peers: Int
    /// How many times the gateway has ended one; each connects again.
    var ends = 0
}

extension Scenario {
    /// A paced stream to the well-behaved clients. Then others connect that write for ever, trickle, or do nothing, and that get
    /// as many events.
    func face(_ plan: HostilePlan, on bench: Bench) async throws -> Measurement {
        var measurement = Measurement(self)
        var outcome = HostileOutcome(peers: plan.peers)
        let readers = try await bench.crowd(HostilePlan.readers, account: 0)
        let empty = try bench.server.usage()
        let openedAt = BenchEvent.now()
        await readers.open()
        let full = try bench.server.usage()
        measurement.handshakes(connections, from: empty, to: full, microseconds: BenchEvent.now() - openedAt)
        await readers.keepPinging()
        // The first second does not count: gateway and broker connect to each other.
        for seconds in [1, HostilePlan.calmSeconds] {
            outcome.calm = await bench.pace(seconds, accounts: [bench.accounts[0]], to: readers, &measurement)
        }

        let before = try bench.server.usage().residentBytes
        let others = try await bench.hostileCrowd(plan.peers, account: 1)
        await others.loop.run { others.value.open() }
        let interval = Notice.everyMilliseconds / 2
        let each = 1000 / Int(Notice.everyMilliseconds)
        for _ in 0..<HostilePlan.hostileSeconds {
            // In turn to the well-behaved clients and to the others.
            await bench.broker.writePaced(2 * each, everyMilliseconds: interval, accounts: bench.accounts)
            outcome.growthBytes = max(outcome.growthBytes, try bench.server.usage().residentBytes - before)
        }
        outcome.hostile = await bench.noticed(HostilePlan.hostileSeconds * each, by: readers, &measurement)
        outcome.ends = await others.loop.run {
            defer { others.value.close() }
            return others.value.ends
        }
        measurement.hostile = outcome
        measurement.take(await readers.close())
        return measurement
    }
}
