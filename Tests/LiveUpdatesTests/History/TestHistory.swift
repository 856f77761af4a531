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

    init(epoch: UInt32 = 7, _ change: (inout HistoryLimits) -> Void = { _ in }) {
        var limits = HistoryLimits()
        change(&limits)
        history = History(epoch: Epoch(number: epoch), limits: limits)
    }

    /// Opens a partition that is read from its very beginning.
    func openWhole(_ partition: PartitionName = first, born: Int64? = nil) {
        history.open(partition, start: 0, began: nil, born: born, known: now)
    }

    static func event(_ id: String, entity: String = "incident") -> ThinEvent {
        ThinEvent(entity: entity, id: id, type: "created")
    }

    /// Takes an event whose id is its offset.
    @discardableResult
    func take(
        _ offset: Int64, in partition: PartitionName = first, account: Account = account, at timestamp: Int64? = nil,
        entity: String = "incident"
    ) -> UInt64 {
        history.append(
            Self.event("\(offset)", entity: entity), account: account, partition: partition, offset: offset,
            timestamp: timestamp ?? now, now: now)
    }

    func fresh(_ account: Account = account) -> [UInt8] { history.freshCursor(account: account, now: now).bytes }

    func resume(_ cursor: [UInt8], account: Account = account, ends: EndsSeen = .earlier) -> Resumption {
        history.resume(cursor, account: account, now: now, ends: ends)
    }

    func refusal(_ cursor: [UInt8], account: Account = account, ends: EndsSeen = .earlier) -> ResyncReason? {
        if case .refused(let reason) = resume(cursor, account: account, ends: ends) { reason } else { nil }
    }

    /// Everything after a cursor, read in pages; nil when it is refused or lost.
    func replay(
        _ cursor: [UInt8], account: Account = account, limit: Int = 500, entities: EntityFilter? = nil
    ) -> [LoggedEvent]? {
        guard case .accepted(var position, _) = resume(cursor, account: account) else { return nil }
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
