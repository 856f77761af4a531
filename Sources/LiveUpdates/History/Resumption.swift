/// Why what a client missed cannot be given. Of several, the first of this order is given.
package enum ResyncReason: String, Sendable, CaseIterable {
    /// The cursor cannot be read, or is another account's.
    case invalid
    /// Positions have lost their meaning: a topic was recreated, or the operator wished it.
    case epoch
    /// It is no longer in the log.
    case expired
    /// It is beyond what the broker has.
    case ahead
}

extension ResyncReason: Comparable {
    /// Of several the first is given.
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
    /// From some earlier metadata refresh: a position beyond them leaves it undecided.
    case earlier
    /// A refresh succeeded, partitions included, and began after the cursor came in. Beyond an end that was asked for at
    /// that moment or later (monotonic, in ms) is beyond what the broker has; a leader that did not answer leaves it
    /// undecided.
    case since(UInt64)
    /// Nobody answered for too long: positions beyond them are taken for those of a node that is ahead of this one, and
    /// a last event that is absent proves nothing.
    case unknown
}

/// What becomes of a cursor.
package enum Resumption: Sendable {
    /// Everything after it can be given, from this position on. Its floors are also given apart: live events obey them
    /// too.
    case accepted(StreamPosition, floors: [PartitionFloor])
    case refused(ResyncReason)
    /// Something has to be known first.
    case undecided(Doubt)
}

/// What has to be known before a cursor can be decided on.
package enum Doubt: Equatable, Sendable {
    /// Which cluster is read.
    case epoch
    /// Whether another record stands where the account's last event was: it is to be read once more.
    case record(PartitionName, Int64)
    /// Whether the record at offset 0 is there still, which the cursor should say: the same.
    case firstRecord(PartitionName)
    /// Whether the broker's log reaches so far: its end is to be asked for. Of several the first that can be: when it is
    /// known, the next one may be in doubt.
    case ends(PartitionFloor)
}
