import Logging

/// The log lines of a node that goes out of service, and of its end.
extension GatewayServer {
    /// `before`: the state before the input, which has been obeyed.
    func report(_ input: NodeLifecycle.Input, from before: NodeLifecycle.State) {
        guard lifecycle.state != before else { return }
        switch (input, lifecycle.state) {
        case (.terminate, .hurried): logger.notice("the drain is cut short: all connections are closed now")
        case (.terminate, _):
            logger.notice(
                "draining: the node stops once no client is connected",
                [
                    .delayMilliseconds: .number(lifecycle.times.delay),
                    .windowMilliseconds: .number(lifecycle.times.window),
                ])
        case (.interrupt, _): logger.notice("stopping")
        case (.drain, _): logger.notice("draining: new clients are refused until the drain is cancelled")
        case (.undrain, _): logger.notice("the drain is cancelled: new clients are accepted")
        case (.timePassed, .stopped) where before == .lingering || before == .hurried:
            logger.notice("connections are cut: they did not close in time")
        case (.timePassed, _), (.empty, _): break
        }
    }

    func report(_ counters: LoopCounters, _ read: IngestCounters) {
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
