import Kafka
import KafkaLogs
import LiveUpdates
import Logging
import Reactor

/// Applies changes of the logs to the history.
///
/// Confined to the ingest loop.
final class HistoryFacts {
    private let consumer: Consumer
    private let ingest: Ingest
    private let epochNumber: UInt32
    private let logger: Logger
    private let losses: LossLog
    private var hasBegun = false

    init(_ consumer: Consumer, ingest: Ingest, epochNumber: UInt32, logger: Logger) {
        self.consumer = consumer
        self.ingest = ingest
        self.epochNumber = epochNumber
        self.logger = logger
        losses = LossLog(logger: logger)
    }

    /// Applies what has changed: before the record that is handed over next, after a drain, after each answer of a refresh.
    ///
    /// The first answer of a broker names the cluster; no partition is read before. `now`: monotonic, ms.
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
                    "topic recreated; sending resync to all clients",
                    [
                        .topic: .text(consumer.tracker.topicName(Int(topic))),
                        .advice:
                            "clients fetch everything again by themselves; if this was not intended, check who may delete topics",
                    ])
            case .recordsLost(let partition, let loss):
                lost.append(.partition(partition))
                if loss == .passedOver { ingest.tap?.setBack(partition) } else { ingest.tap?.lose(partition) }
                let topic = consumer.tracker.topicName(Int(partition.topic))
                losses.log(loss, topic: topic, partition: partition.number, now: now)
            }
        }
        if !lost.isEmpty { reset(lost, now: now) }
        for (partition, exists) in unopened { ingest.history.find(partition, exists: exists) }
        for (partition, new) in facts {
            ingest.history.apply(partition, new)
            ingest.tap?.note(partition, new)
        }
        ingest.tap?.endWake()
        // Until the next refresh the tracker reports what it learned by a clock that was ahead.
        if !facts.isEmpty { ingest.history.clockShows(WallClock.milliseconds) }
    }

    private func begin() -> Bool {
        guard !hasBegun else { return true }
        guard let cluster = consumer.tracker.clusterID else { return false }
        hasBegun = true
        ingest.tap?.intake.begin(server: cluster)
        ingest.begin(Epoch(cluster: cluster, topics: consumer.topics, setting: Int(epochNumber)))
        return true
    }

    /// What the wake has brought so far is posted before; what follows belongs to the next one.
    private func reset(_ lost: [LostLogs], now: UInt64) {
        let wallClock = WallClock.milliseconds
        ingest.endWake(now: now)
        ingest.reset(lost, wallClock: wallClock)
        ingest.beginWake(wallClock: wallClock)
    }
}

@available(*, unavailable)
extension HistoryFacts: Sendable {}
