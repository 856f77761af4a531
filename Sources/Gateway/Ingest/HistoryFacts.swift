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
    private var asked: UInt64 = 0

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
        ingest.reset(.epoch, events.map(lost), wallClock: WallClock.milliseconds)
        version = -1
        takeIfChanged()
    }

    private func lost(_ event: SourceEvent) -> LostLogs {
        switch event {
        case .madeAnew(let topic): .topic(names.name(topic, 0).topic)
        case .positionsLost(let topic, let partition): .partition(names.name(topic, partition))
        }
    }

    /// A first record tells what cursors of its wake have to say: to be called before it is handed over.
    func takeIfChanged() {
        guard version != consumer.factsVersion, hasBegun else { return }
        version = consumer.factsVersion
        for fact in consumer.partitionFacts {
            ingest.history.apply(names.name(fact.topic, fact.number), LogFacts(fact, asked: asked))
        }
    }

    /// Takes all that is known now, of a refresh that began at `asked`, monotonic, in milliseconds.
    func take(asked: UInt64) {
        self.asked = asked
        guard hasBegun else { return }
        version = consumer.factsVersion
        for fact in consumer.partitionFacts {
            var facts = LogFacts(fact, asked: asked)
            facts.next = fact.next ?? fact.start
            ingest.history.apply(names.name(fact.topic, fact.number), facts)
        }
    }
}

extension LogFacts {
    /// Without `next`, which counts a record before it is handed over.
    fileprivate init(_ fact: PartitionFacts, asked: UInt64) {
        let isNew = (fact.end ?? 0) == 0 && (fact.next ?? 0) == 0
        self.init(
            start: fact.start, unread: fact.began.map { Unread(stampedBefore: $0 + 1, arrivedBefore: fact.found) },
            liveFrom: fact.loadUntil, born: fact.began == nil && !isNew ? fact.born : nil, notBefore: fact.notBefore,
            known: isNew ? nil : fact.known, next: fact.start, end: fact.end,
            endAsked: fact.isEndNew ? asked : 0)
    }
}

@available(*, unavailable)
extension HistoryFacts: Sendable {}
