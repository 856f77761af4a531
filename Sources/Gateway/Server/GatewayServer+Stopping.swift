import Logging
import Reactor

/// The end of a gateway: listeners, connections, ingest and loops, in this order.
extension GatewayServer {
    /// From the stop to the end, whatever clients do: closes get the time of a close handshake, and what is left then
    /// is cut.
    static let stopLimitMilliseconds: UInt64 = 4_000

    /// Closes listeners, then connections with 1001, and ends within ``stopLimitMilliseconds``. Once.
    package func stop() async {
        guard !isStopping else { return }
        isStopping = true
        readiness.drain()
        for listener in listeners { await listener.loop.perform { listener.value.close() } }
        for connections in connectionLoops { await connections.loop.perform { connections.value.closeAll(.goingAway) } }
        await waitForConnections()
        var counters = LoopCounters()
        for connections in connectionLoops {
            counters = counters + (await connections.loop.perform { connections.value.totals })
        }
        let read = await desk?.loop.perform { [desk] in desk?.value.close() }
        report(counters, (read ?? nil) ?? IngestCounters())
        await stopLoops()
    }

    /// A stop that is under way waits for no client any more.
    package func hurry() async {
        for connections in connectionLoops { await connections.loop.perform { connections.value.cutAll() } }
    }

    /// Until nothing runs on any loop: the process may end then.
    private func stopLoops() async {
        await withTaskGroup(of: Void.self) { group in
            for loop in loops { group.addTask { await loop.stopped() } }
        }
    }

    /// Until every connection has ended, or the time is up; on all loops at once.
    private func waitForConnections() async {
        await withTaskGroup(of: Void.self) { group in
            for connections in connectionLoops {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        connections.loop.execute {
                            connections.value.whenEmpty(within: Self.stopLimitMilliseconds) { continuation.resume() }
                        }
                    }
                }
            }
        }
    }

    private func report(_ counters: LoopCounters, _ read: IngestCounters) {
        logger.notice(
            "stopped",
            [
                .records: .number(Int(read.records)), .events: .number(Int(read.events)),
                .deliveries: .number(Int(counters.deliveries)), .connections: .number(Int(counters.opened)),
                .skipped: Self.text(read.skipped.map { ($0.key.rawValue, $0.value) }),
                .refused: Self.text(counters.refusals.map { ($0.key, $0.value) }),
                .resyncs: Self.text(counters.resyncs.map { ($0.key, $0.value) }),
                .closed: Self.text(counters.closes.map { ("\($0.key)", $0.value) }),
                .ended: Self.text(counters.ends.map { ($0.key, $0.value) }),
            ])
    }

    private static func text(_ counts: [(name: String, count: UInt64)]) -> LogValue {
        guard !counts.isEmpty else { return .absent }
        return .text(counts.sorted { $0.name < $1.name }.map { "\($0.name)=\($0.count)" }.joined(separator: " "))
    }
}
