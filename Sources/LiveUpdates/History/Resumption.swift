/// Why a client cannot be given what it missed. If several reasons apply, the first in this order is given.
package enum ResyncReason: String, Sendable, CaseIterable {
    /// The cursor cannot be decoded, or is another account's.
    case invalid
    /// Positions have lost their meaning: a topic was recreated, or the operator requested it.
    case epoch
    /// What follows the cursor is no longer in the log.
    case expired
    /// The cursor is beyond what the broker has.
    case ahead
}

extension ResyncReason: Comparable {
    /// If several reasons apply, the lowest is given.
    package static func < (left: ResyncReason, right: ResyncReason) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .invalid: 0
        case .epoch: 1
        case .expired: 2
        case .ahead: 3
        }
    }
}

/// How far the broker's ends that a cursor is compared with can be relied on.
package enum EndsSeen: Sendable {
    /// From some earlier metadata refresh: a position beyond them leaves the cursor undecided.
    case earlier
    /// A refresh succeeded, partitions included, and began after the cursor came in. A position beyond an end that was requested
    /// at that moment or later (monotonic, in ms) is beyond what the broker has. A leader that did not answer leaves it
    /// undecided.
    case since(UInt64)
    /// No broker answered for too long: positions beyond the ends count as those of a node that is ahead of this one, and a last
    /// event that is absent proves nothing.
    case unknown
}

/// What becomes of a cursor.
package enum Resumption: Sendable {
    /// Everything after it can be delivered, from this position on. Its floors are also given separately: live events obey them
    /// too.
    case accepted(StreamPosition, floors: [PartitionFloor])
    case refused(ResyncReason)
    /// Something must be known first.
    case undecided(Doubt)
}

/// What must be known before a cursor can be decided on.
package enum Doubt: Equatable, Sendable {
    /// Which cluster is read.
    case epoch
    /// Whether another record is where the account's last event was: it must be read once more.
    case record(PartitionName, Int64)
    /// Whether the record at offset 0, which the cursor should name, is still there: it must be read once more too.
    case firstRecord(PartitionName)
    /// Whether the broker's log reaches so far: its end must be requested. Of several, the first that can be requested: when it
    /// is known, the next one may be in doubt.
    case ends(PartitionFloor)
}
