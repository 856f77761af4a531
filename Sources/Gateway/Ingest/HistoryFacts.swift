import Kafka
import LiveUpdates
import Logging

/// What the consumer knows of the logs, on its way into the history: where they begin, how far they are read, and that
/// one is another log now.
///
/// Confined to the ingest loop.
final class HistoryFacts {
    private let consumer: Consumer
    private let ingest: Ingest
    private let names: PartitionNames
    private let epochNumber: UInt32
    private let logger: Logger
    private var hasBegun = false
    /// Of the facts that were taken last; -1 before, and after a reset.
    private var version = -1

    init(_ consumer: Consumer, ingest: Ingest, names: PartitionNames, epochNumber: UInt32, logger: Logger) {
        self.consumer = consumer
        self.ingest = ingest
        self.names = names
        self.epochNumber = epochNumber
        self.logger = logger
    }

    /// The first answer of a broker says which cluster it is; no partition is read before.
    func begin() {
        guard !hasBegun, let cluster = consumer.clusterID else { return }
        hasBegun = true
        ingest.begin(Epoch(cluster: cluster, topics: names.topics, setting: Int(epochNumber)))
    }

    /// To be called before the next record is drained: it may be of another log.
    func takeEvents() {
        let events = consumer.takeEvents()
        guard !events.isEmpty, hasBegun else { return }
        for event in events {
            switch event {
            case .madeAnew(let topic):
                logger.warning("everybody begins anew: another log has the name", [.topic: .text(topic)])
            case .positionsLost(let topic, let partition):
                logger.warning(
                    "everybody begins anew: records were lost before they were read",
                    [.topic: .text(topic), .partition: .number(Int(partition))])
            }
        }
        ingest.reset(.epoch, wallClock: WallClock.milliseconds)
        openAnew(events)
    }

    /// After a reset logs hold nothing: what was read before counts as not read, save of the logs that begin now.
    private func openAnew(_ events: [SourceEvent]) {
        let now = WallClock.milliseconds
        for fact in consumer.partitionFacts {
            let isNew = events.contains { $0.concerns(fact) }
            let next = fact.next ?? fact.start
            ingest.history.open(
                names.name(fact.topic, fact.number), start: isNew ? fact.start : next, began: isNew ? fact.began : now,
                born: fact.born, notBefore: fact.notBefore, known: fact.known)
        }
        version = -1
    }

    /// A first record tells what cursors of its wake have to say.
    func takeIfChanged() {
        if version != consumer.factsVersion { take() }
    }

    /// Takes all that is known now.
    func take() {
        guard hasBegun else { return }
        let hasChanged = version != consumer.factsVersion
        version = consumer.factsVersion
        for fact in consumer.partitionFacts {
            let name = names.name(fact.topic, fact.number)
            ingest.history.open(
                name, start: fact.start, began: fact.began, born: fact.born, notBefore: fact.notBefore,
                known: fact.known)
            if hasChanged {
                ingest.history.setBorn(name, fact.born)
                ingest.history.setKnown(name, at: fact.known)
            }
            if let next = fact.next { ingest.history.setNext(name, next) }
        }
    }

    /// Of the look that was just adopted, which began at `asked`, monotonic, in milliseconds. A leader that was silent in it
    /// leaves the end as it was.
    func takeEnds(asked: UInt64) {
        guard hasBegun else { return }
        for fact in consumer.partitionFacts where fact.isEndNew {
            guard let end = fact.end else { continue }
            ingest.history.setEnd(names.name(fact.topic, fact.number), end, asked: asked)
        }
    }
}

extension SourceEvent {
    /// Whether it is about the log that the fact is of.
    fileprivate func concerns(_ fact: PartitionFacts) -> Bool {
        switch self {
        case .madeAnew(let topic): topic == fact.topic
        case .positionsLost(let topic, let partition): topic == fact.topic && partition == fact.number
        }
    }
}

@available(*, unavailable)
extension HistoryFacts: Sendable {}
