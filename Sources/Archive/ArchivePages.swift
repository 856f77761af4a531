import LiveUpdates

/// A stored event with its id.
package struct PagedEvent: Equatable, Sendable {
    package let id: ArchiveID
    package let event: ThinEvent
}

/// A time of which the archive may lack events: Kafka no longer had them.
package struct ArchiveGap: Equatable, Sendable {
    /// The last stamp that was read before, in ms.
    package let from: Int64
    /// The first one after; nil as long as there is none.
    package let to: Int64?

    package init(from: Int64, to: Int64?) {
        self.from = from
        self.to = to
    }

    /// The same times as few gaps as possible, in order.
    static func merged(_ gaps: [ArchiveGap]) -> [ArchiveGap] {
        var merged: [ArchiveGap] = []
        for gap in gaps.sorted(by: { $0.from < $1.from }) {
            if let last = merged.last, last.to ?? .max >= gap.from {
                let end = max(last.to ?? .max, gap.to ?? .max)
                merged[merged.count - 1] = ArchiveGap(from: last.from, to: end == .max ? nil : end)
            } else {
                merged.append(gap)
            }
        }
        return merged
    }
}

/// Which events of an account are wanted.
package struct PageQuery: Sendable {
    package static let defaultLimit = 50
    package static let maximumLimit = 500

    package let account: Account
    /// Only events before and after these ids, which need not exist.
    package var before: ArchiveID?
    package var after: ArchiveID?
    /// Stamps: from `from` up to `to`, without `to`.
    package var from: Int64?
    package var to: Int64?
    /// Only of these entities.
    package var entities: EntityFilter?
    /// Only events of the thing with this id. The query then names one entity.
    package var thing: String?
    package var isOldestFirst = false
    package var limit = Self.defaultLimit
    /// Whether ``EventPage/positions`` are wanted.
    package var wantsPositions = false

    package init(account: Account) { self.account = account }

    /// The limits of the page, both exclusive.
    func bounds(keptFrom horizon: Int64) -> (lower: EventKey, upper: EventKey) {
        var lower = EventKey(keptFrom: horizon)
        var upper = EventKey.end
        if let from { lower = max(lower, EventKey(before: from)) }
        if let after { lower = max(lower, EventKey(after)) }
        if let to { upper = min(upper, EventKey(before: to)) }
        if let before { upper = min(upper, EventKey(before)) }
        return (lower, upper)
    }
}

package struct EventPage: Equatable, Sendable {
    package var events: [PagedEvent] = []
    /// Whether there are more events in this direction.
    package var more = false
    package var gaps: [ArchiveGap] = []
    /// How far the partitions were stored at the moment of the page.
    package var positions: [StoredPosition] = []

    package init() {}
}

/// Which things of an account are wanted, and for which person.
package struct InboxQuery: Sendable {
    package let account: Account
    package let person: String
    package var entities: EntityFilter?
    /// Only things whose last event is older.
    package var before: ArchiveID?
    package var unreadOnly = false
    package var limit = PageQuery.defaultLimit
    package var wantsPositions = false

    package init(account: Account, person: String) {
        self.account = account
        self.person = person
    }
}

/// A thing, with its last event.
package struct InboxThing: Equatable, Sendable {
    /// Higher counts are reported as this one.
    package static let maximumUnread = 999

    package let last: PagedEvent
    package let unread: Int
}

package struct InboxPage: Equatable, Sendable {
    /// The one that changed last is first.
    package var things: [InboxThing] = []
    /// For the whole account, without the filters of the query.
    package var unreadThings = 0
    package var more = false
    package var positions: [StoredPosition] = []

    package init() {}
}

/// A person's statement: everything up to there is read.
package struct ReadMark: Sendable {
    package struct Thing: Hashable, Sendable {
        package let entity: String
        package let id: String

        package init(entity: String, id: String) {
            self.entity = entity
            self.id = id
        }
    }

    package let account: Account
    package let person: String
    /// Nil: everything.
    package let thing: Thing?
    package let upTo: ArchiveID
    /// The node's clock, in ms.
    package let now: Int64
    /// Whether it has to be an event of the account: a client must not mark a day in the future as read.
    package let mustBeStored: Bool

    package init(
        account: Account, person: String, thing: Thing?, upTo: ArchiveID, now: Int64, mustBeStored: Bool = false
    ) {
        self.account = account
        self.person = person
        self.thing = thing
        self.upTo = upTo
        self.now = now
        self.mustBeStored = mustBeStored
    }
}

package enum MarkOutcome: Equatable, Sendable {
    /// The person's other devices are to be notified.
    case moved
    /// As much was read already, or all of it is no longer kept.
    case unchanged
    /// The account has too many marks of things without an event.
    case tooMany
    /// It had to be an event of the account, and the account has no such event.
    case unknown
    /// It had to be an event of the account, and the store is not as far as that yet.
    case behind
}
