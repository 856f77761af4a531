import Kafka
import LiveUpdates
import Logging

/// What is to be thought of the source, by what looks and records have told: whether the node is ready, whether answers
/// flow, whether librdkafka has given up. Whoever is concerned is told when that changes.
///
/// Confined to the ingest loop.
final class SourceJudge {
    private static let unreachable = "no Kafka broker can be reached"

    private let consumer: Consumer
    private let ingest: Ingest
    private let readiness: NodeReadiness
    private let logger: Logger
    /// Called once, when every partition has answered and the window is loaded.
    private let ready: () -> Void
    /// Called once, when librdkafka has given up for good.
    private let failed: (String) -> Void
    private(set) var hasFailed = false
    private var loading: LoadingReport
    private var toldState: LiveUpdates.SourceState?

    init(
        _ consumer: Consumer, ingest: Ingest, readiness: NodeReadiness, logger: Logger, ready: @escaping () -> Void,
        failed: @escaping (String) -> Void
    ) {
        self.consumer = consumer
        self.ingest = ingest
        self.readiness = readiness
        self.logger = logger
        self.ready = ready
        self.failed = failed
        loading = LoadingReport(logger: logger)
    }

    /// To be called every half a second or so. `now` is monotonic, in milliseconds.
    func glance(now: UInt64) {
        if readiness.hasBeenReady { tellState() } else { judge(now: now) }
    }

    /// Records may be what the node waited for.
    func recordsCame(now: UInt64) {
        if !readiness.hasBeenReady { judge(now: now) }
    }

    /// A look at the cluster has been taken in, whatever it told.
    func lookCame(now: UInt64) {
        judge(now: now)
    }

    private func judge(now: UInt64) {
        if let reason = consumer.fatalError {
            guard !hasFailed else { return }
            hasFailed = true
            return failed(reason)
        }
        let state = consumer.readiness
        guard let missing = state.missing else {
            if consumer.unreachableSince != nil {
                readiness.lose(Self.unreachable, now: now)
            } else if !isLoaded(now: now) {
                readiness.wait(for: loading.text)
            } else if readiness.becomeReady() {
                logger.notice("ready", [.partitions: .number(consumer.positions.count)])
                ready()
            }
            return
        }
        // What is not known yet is not missing, as long as nobody answers.
        let why = consumer.unreachableSince == nil ? missing : Self.unreachable
        if readiness.hasBeenReady { readiness.lose(why, now: now) } else { readiness.wait(for: why) }
    }

    private func isLoaded(now: UInt64) -> Bool {
        if readiness.hasBeenReady { return true }
        return loading.take(consumer.loading, now: now)
    }

    private func tellState() {
        let state: LiveUpdates.SourceState =
            switch consumer.sourceState() {
            case .live(let since): .live(since: since)
            case .stalled(let since): .stalled(since: since)
            }
        // Nobody is told that all is well who has not heard otherwise.
        guard state != toldState, toldState != nil || state.isStalled else { return }
        toldState = state
        if state.isStalled {
            logger.warning("no answer from the leader of a partition: clients are told that the source is stalled")
        } else {
            logger.notice("answers flow again: clients are told that the source is live")
        }
        ingest.tell(state)
    }
}

@available(*, unavailable)
extension SourceJudge: Sendable {}
