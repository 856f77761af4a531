import LiveUpdates

/// Names one connection of one loop; a number is never used again while the process lives.
struct ConnectionID: Hashable, Sendable {
    let number: UInt64
}

/// What a loop tells ingest.
enum IngestMessage: Sendable {
    /// A connection of `loop` wants everything of `account` from the moment of the answer.
    case subscribe(Account, loop: Int, connection: ConnectionID)
    /// A connection of `loop` that had subscribed to `account` is gone.
    case unsubscribe(Account, loop: Int)
    /// A loop has worked off what it owed; records may be read again.
    case caughtUp
}

/// What ingest tells a loop. Order is the promise: everything that follows `subscribed` in the mailbox is for that
/// connection, nothing before it is.
enum FanOutMessage: Sendable {
    case subscribed(ConnectionID)
    case events([AccountEvents])
}

/// The events that one wake brought for one account, in the order of their partitions.
struct AccountEvents: Sendable {
    let account: Account
    let events: [ThinEvent]
}
