import Kafka
import KafkaLogs
import LiveUpdates
import Logging
import Reactor

/// What has changed of the logs, on its way into the history.
///
/// Confined to the ingest loop.
final class HistoryFacts {
    private let consumer: Consumer
    private let ingest: Ingest
    private let epochNumber: UInt32
    private let logger: Logger
    private let limiter = RateLimiter()
    private var hasBegun = false

    init(_ consumer: Consumer, ingest: Ingest, epochNumber: UInt32, logger: Logger) {
        self.consumer = consumer
        self.ingest = ingest
        self.epochNumber = epochNumber
        self.logger = logger
    }

    /// Applies what has changed: before the record that is handed over next, after a drain, after each answer of a refresh.
    ///
    /// The first answer of a broker says which cluster it is; no partition is read before. `now`: monotonic, ms.
    func apply(now: UInt64) {
        guard consumer.hasChanges, begin() else { return }
        var lost: [LostLogs] = []
        var unopened: [(PartitionName, exists: Bool)] = []
        var facts: [(PartitionName, LogFacts)] = []
        for change in consumer.tracker.takeChanges() {
            switch change {
            case .facts(let partition, let new): facts.append((partition, new))
            case .identified(let topic, let id): ingest.history.identify(topic: topic, id)
            case .found(let partition): unopened.append((partition, true))
            case .vanished(let partition): unopened.append((partition, false))
            case .recreated(let topic):
                ingest.epochChanges += 1
                ingest.tap?.recreate(topic: topic)
                lost.append(.topic(topic))
                logger.warning(
                    "everybody is told to resync: the topic was recreated",
                    [
                        .topic: .text(consumer.tracker.topicName(Int(topic))),
                        .advice: "clients fetch anew by themselves; if nobody meant it, ask who may delete topics",
                    ])
            case .recordsLost(let partition, let loss):
                lost.append(.partition(partition))
                if loss == .passedOver { ingest.tap?.setBack(partition) } else { ingest.tap?.lose(partition) }
                log(loss, partition, now: now)
            }
        }
        if !lost.isEmpty { reset(lost, now: now) }
        for (partition, exists) in unopened { ingest.history.find(partition, exists: exists) }
        for (partition, new) in facts {
            ingest.history.apply(partition, new)
            ingest.tap?.note(partition, new)
        }
        ingest.tap?.endWake()
        // The tracker tells what it learned by a clock that was ahead until the next refresh.
        if !facts.isEmpty { ingest.history.clockShows(WallClock.milliseconds) }
    }

    /// One line for each kind of loss and topic at a time: a leader that changes concerns all of its partitions.
    private func log(_ loss: LogChange.Loss, _ partition: PartitionName, now: UInt64) {
        let topic = consumer.tracker.topicName(Int(partition.topic))
        guard let passed = limiter.pass("\(loss) \(topic)", now: now) else { return }
        let (sentence, advice) = Self.words(loss)
        logger.warning(
            sentence,
            [
                .topic: .text(topic), .partition: .number(Int(partition.number)), .advice: .text("\(advice)"),
                .suppressed: passed.suppressed,
            ])
    }

    private static func words(_ loss: LogChange.Loss) -> (sentence: StaticString, advice: StaticString) {
        switch loss {
        case .retention:
            (
                "everybody is told to resync: retention removed records before they were read",
                "let the topic keep records for longer, or find out why this node was so far behind"
            )
        case .unreadable:
            (
                "everybody is told to resync: records could not be read",
                "look for damage in the brokers' log of this partition; clients fetch anew by themselves"
            )
        case .passedOver:
            (
                "everybody is told to resync: records were passed over",
                "clients fetch anew by themselves; see whether a leader has changed, and report it with the lines before this one"
            )
        }
    }

    private func begin() -> Bool {
        guard !hasBegun else { return true }
        guard let cluster = consumer.tracker.clusterID else { return false }
        hasBegun = true
        ingest.tap?.intake.begin(server: cluster)
        ingest.begin(Epoch(cluster: cluster, topics: consumer.topics, setting: Int(epochNumber)))
        return true
    }

    /// What the wake has brought until now is handed out before, and what follows belongs to the next.
    private func reset(_ lost: [LostLogs], now: UInt64) {
        let wallClock = WallClock.milliseconds
        ingest.endWake(now: now)
        ingest.reset(lost, wallClock: wallClock)
        ingest.beginWake(wallClock: wallClock)
    }
}

@available(*, unavailable)
extension HistoryFacts: Sendable {}
