import LiveUpdates

/// Names one connection of one loop; a number is never used again while the process lives.
struct ConnectionID: Hashable, Sendable {
    let number: UInt64
    /// Counts the requests of a connection: what is answered to an earlier one is nobody's any more.
    var turn: UInt32 = 0
}

/// Whom an answer of ingest is for.
struct Subscriber: Sendable {
    let account: Account
    let loop: Int
    let connection: ConnectionID
}

/// What a loop tells ingest.
enum IngestMessage: Sendable {
    /// A connection wants everything of its account, from the moment of the answer or from a cursor on.
    case subscribe(Subscriber, JoinRequest)
    /// A connection that had subscribed is gone.
    case unsubscribe(Subscriber, withCursors: Bool)
    /// A connection that is behind asks for what follows its position.
    case read(Subscriber, ReadRequest)
    /// A quiet stream asks for a cursor that says "read up to now".
    case freshCursor(Subscriber)
    /// A loop has worked off what it owed; records may be read again.
    case caughtUp
}

struct JoinRequest: Sendable {
    /// The cursor as the client sent it; nil: from now on.
    var since: [UInt8]?
    /// Whether the account's events shall carry cursors as long as this subscriber stays.
    var withCursors = false
}

struct ReadRequest: Sendable {
    let position: StreamPosition
    /// Events that pass the filter, at most.
    let limit: Int
    let entities: EntityFilter?
    let withCursors: Bool
    /// Whether a cursor of now is wanted though more may follow: for who needs to know that there is something, not what.
    var alwaysFresh = false
}

/// What ingest tells a loop. Order is the promise: whatever follows an answer in the mailbox is newer than the answer,
/// nothing before it is.
enum FanOutMessage: Sendable {
    case joined(ConnectionID, JoinAnswer)
    case page(ConnectionID, PageAnswer)
    case fresh(ConnectionID, CursorText)
    /// `sequence` is the last of the events.
    case events([AccountEvents], sequence: UInt64)
    /// Positions have lost their meaning: everybody begins anew, from the fresh cursors on.
    case reset(ResyncReason, sequence: UInt64, cursors: [Account: CursorText])
    case source(SourceState)
}

/// The answer to a subscription. Everything up to `sequence` is in it or was before it.
struct JoinAnswer: Sendable {
    enum Outcome: Sendable {
        /// From now on.
        case now
        /// The cursor holds: what follows it is to be read from here, what lies below the floors left out.
        case resumed(StreamPosition, floors: [PartitionFloor])
        case refused(ResyncReason)
    }

    let outcome: Outcome
    let sequence: UInt64
    /// From which everything is delivered; empty unless cursors are wanted.
    let fresh: CursorText
}

/// The answer to a request to read.
struct PageAnswer: Sendable {
    let answer: ReadAnswer
    let sequence: UInt64
    /// As in ``JoinAnswer``; of use when the page is the last one, or there is none.
    let fresh: CursorText
}

/// The events that one wake brought for one account, in the order in which they came.
struct AccountEvents: Sendable {
    let account: Account
    let events: [LoggedEvent]
}
