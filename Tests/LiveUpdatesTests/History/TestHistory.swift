import Testing

@testable import LiveUpdates

/// A node's history with short words for what tests do with it.
final class TestHistory {
    static let account = Account("A1")
    static let first = PartitionName(topic: 0, number: 0)
    static let second = PartitionName(topic: 0, number: 1)
    static let day: Int64 = 24 * 3_600_000
    static let hour: Int64 = 3_600_000

    let history: History
    var now: Int64 = 1_795_240_000_000

    /// What is known of each log, as its watcher would say.
    private(set) var facts: [PartitionName: LogFacts] = [:]

    init(epoch: UInt32 = 7, topics: Int = 1, _ change: (inout HistoryLimits) -> Void = { _ in }) {
        var limits = HistoryLimits()
        change(&limits)
        history = History(epoch: Epoch(number: epoch), topics: topics, limits: limits)
    }

    /// Opens a partition, or says what has changed.
    func open(_ facts: LogFacts) { open(Self.first, facts) }

    func open(_ partition: PartitionName, _ facts: LogFacts) {
        self.facts[partition] = facts
        history.apply(partition, facts)
    }

    func change(_ partition: PartitionName = first, _ body: (inout LogFacts) -> Void) {
        var facts = facts[partition] ?? LogFacts()
        body(&facts)
        open(partition, facts)
    }

    /// Opens a partition that is read from its very beginning.
    func openWhole(_ partition: PartitionName = first, born: Int64? = nil) {
        open(partition, LogFacts(born: born, known: born == nil ? nil : now))
    }

    static func event(_ id: String, entity: String = "incident") -> ThinEvent {
        ThinEvent(entity: entity, id: id, type: "created")
    }

    /// Reads an event whose id is its offset.
    @discardableResult
    func take(
        _ offset: Int64, in partition: PartitionName = first, account: Account = account, at timestamp: Int64? = nil,
        entity: String = "incident"
    ) -> UInt64 {
        if facts[partition]?.known == nil {
            let stamp = timestamp ?? now
            change(partition) {
                $0.known = now
                if offset == 0, stamp >= 0, stamp <= now { $0.born = stamp }
            }
        }
        return history.append(
            Self.event("\(offset)", entity: entity), account: account, partition: partition, offset: offset,
            timestamp: timestamp ?? now, now: now)
    }

    /// The ends of all partitions are asked for: what is read reaches to them, where nothing else is said.
    func refresh() {
        for (partition, facts) in facts {
            var facts = facts
            facts.endMoment = now
            open(partition, facts)
        }
    }

    /// Of a node that has just refreshed.
    func fresh(_ account: Account = account) -> [UInt8] {
        refresh()
        return history.freshCursor(account: account, now: now).bytes
    }

    func resume(
        _ cursor: [UInt8], account: Account = account, entities: EntityFilter? = nil,
        ends: EndsSeen = .earlier, record: ProbedRecord? = nil, firsts: [PartitionName: ProbedRecord] = [:]
    ) -> Resumption {
        history.resume(
            cursor, account: account, entities: entities, now: now, ends: ends, record: record, firsts: firsts)
    }

    func refusal(
        _ cursor: [UInt8], account: Account = account, entities: EntityFilter? = nil,
        ends: EndsSeen = .earlier, record: ProbedRecord? = nil
    ) -> ResyncReason? {
        if case .refused(let reason) = resume(cursor, account: account, entities: entities, ends: ends, record: record)
        {
            reason
        } else {
            nil
        }
    }

    func doubt(
        _ cursor: [UInt8], account: Account = account, ends: EndsSeen = .earlier, record: ProbedRecord? = nil
    ) -> Doubt? {
        if case .undecided(let doubt) = resume(cursor, account: account, ends: ends, record: record) {
            doubt
        } else {
            nil
        }
    }

    /// Everything after a cursor, read in pages; nil when it is refused or lost.
    func replay(
        _ cursor: [UInt8], account: Account = account, limit: Int = 500, entities: EntityFilter? = nil
    ) -> [LoggedEvent]? {
        guard case .accepted(var position, _) = resume(cursor, account: account, entities: entities) else {
            return nil
        }
        var events: [LoggedEvent] = []
        while true {
            guard
                case .page(let page, let next, let isComplete) = history.read(
                    account: account, from: position, limit: limit, entities: entities, now: now, withCursors: true)
            else { return nil }
            events += page
            if isComplete { return events }
            guard page.count == limit else {
                Issue.record("a page is short of its limit although more follows")
                return nil
            }
            position = next
        }
    }

    func offsets(
        _ cursor: [UInt8], account: Account = account, limit: Int = 500, entities: EntityFilter? = nil
    ) -> [Int64]? {
        replay(cursor, account: account, limit: limit, entities: entities)?.map(\.offset)
    }
}

extension LogFacts {
    /// Of a log that is read from its beginning, unless something else is said.
    init(
        start: Int64 = 0, unread: Unread? = nil, liveFrom: Int64? = nil, born: Int64? = nil, notBefore: Int64? = nil,
        known: Int64? = nil, topicID: UInt32? = nil, end: Int64? = nil, endAsked: UInt64 = 0,
        endMoment: Int64? = nil
    ) {
        self.init(
            start: start, unread: unread, liveFrom: liveFrom ?? start, born: born, notBefore: notBefore, known: known,
            topicID: topicID, next: start, end: end, endAsked: endAsked, endMoment: endMoment)
    }
}

extension LogFacts.Unread {
    init(arrivedBefore: Int64) { self.init(stampedBefore: nil, arrivedBefore: arrivedBefore) }
}

extension HistoryLimits {
    /// Room for whatever a test does; where a limit matters the test sets it.
    init() {
        self.init(
            retentionMilliseconds: 24 * 3_600_000, maximumEventsPerAccount: 1_000, maximumLogBytes: 256 << 20,
            maximumTimestampDelayMilliseconds: 3_600_000)
    }
}
