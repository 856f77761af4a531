import LiveUpdates

/// Names one connection of one loop; a number is never used again while the process lives.
struct ConnectionID: Hashable, Sendable {
    let number: UInt64
    /// Counts the requests of a connection: the answer to an earlier one is dropped.
    var turn: UInt32 = 0
}

/// The receiver of an answer of ingest.
struct Subscriber: Sendable {
    let account: Account
    let loop: Int
    let connection: ConnectionID
}

/// A message of a loop to ingest.
enum IngestMessage: Sendable {
    /// A connection wants everything of its account, from the moment of the answer or from a cursor on.
    case subscribe(Subscriber, JoinRequest)
    /// A connection that had subscribed is gone.
    case unsubscribe(Subscriber, withCursors: Bool)
    /// A connection that is behind asks for what follows its position.
    case read(Subscriber, ReadRequest)
    /// A connection waits no longer for this node to read as far as the cursor that it brought.
    case readNow(Subscriber)
    /// A quiet stream asks for a cursor that means "read up to now".
    case freshCursor(Subscriber)
    /// A client asked the archive, and wants to go on behind that answer.
    case snapshotCursor(Subscriber, ArchiveSnapshot)
    /// A loop has caught up; records may be read again.
    case caughtUp
}

struct JoinRequest: Sendable {
    /// The cursor as the client sent it; nil: from now on.
    var since: [UInt8]?
    /// Whether the account's live events carry cursors as long as this subscriber stays.
    var withCursors = false
    /// The page that is part of the answer when the cursor is accepted.
    var page: PageRequest
}

/// The wanted contents of a page of an account's log.
struct PageRequest: Sendable {
    /// Events that pass the filter, at most.
    var limit: Int
    /// Nil: every entity passes.
    var entities: EntityFilter?
    /// Whether each event of the page carries its cursor.
    var withCursors: Bool
    /// Whether a cursor of now is wanted even when more follows: for a client that only needs to know that there is more.
    var alwaysFresh = false
    /// The cursor, as the client sent it, with which the end of the page compares how far this node has read.
    var upTo: [UInt8]?
}

struct ReadRequest: Sendable {
    let position: StreamPosition
    let page: PageRequest
    /// Whether to answer only when this node has read as far as the page's `upTo`, or when ``IngestMessage/readNow(_:)`` comes.
    var waits = false
}

/// How far a node has read, compared with a cursor that a client brought from another one.
enum NodeReach: Sendable {
    /// There is no such cursor, or it has no meaning here.
    case unasked
    case reached
    case behind
}

/// What ingest sends to a loop. The order is guaranteed: everything behind an answer in the mailbox is newer than the answer,
/// nothing before it is.
enum FanOutMessage: Sendable {
    case joined(ConnectionID, JoinAnswer)
    case page(ConnectionID, PageAnswer)
    case fresh(ConnectionID, CursorText)
    case snapshotCursor(ConnectionID, SnapshotAnswer)
    /// `sequence` is the last of the events.
    case events([AccountEvents], sequence: UInt64)
    /// Positions of these accounts have lost their meaning: their subscribers start over from the fresh cursors. Everything up
    /// to `sequence` came before. Other accounts follow in messages of their own.
    case reset(ResyncReason, sequence: UInt64, cursors: [Account: CursorText])
    case source(SourceState)
    /// From the archive. It has no order relative to the others.
    case archive(ConnectionID, ArchiveReply)
    /// A read mark has moved.
    case read(ReadNotice)
}

/// The answer to a subscription. Everything up to `sequence` is in it or was before it.
struct JoinAnswer: Sendable {
    enum Outcome: Sendable {
        /// From now on.
        case now
        /// The cursor holds. The first page of what follows it was read together with the join, so that its sequence is
        /// the answer's; live events below the floors are to be left out.
        case resumed(PageAnswer, floors: [PartitionFloor])
        case refused(ResyncReason)
    }

    let outcome: Outcome
    let sequence: UInt64
    /// The cursor from which everything is delivered; empty with a page, which has its own.
    let fresh: CursorText
}

/// A page of an account's log, or the report that it cannot be given.
struct PageAnswer: Sendable {
    let answer: ReadAnswer
    /// Everything up to it is in the page, was before it, or did not pass the filter.
    let sequence: UInt64
    /// The cursor from which all is delivered that follows the page; empty if more pages follow, unless it was asked for.
    let fresh: CursorText
    /// For the last page only.
    var reach = NodeReach.unasked
}

/// The events that one wake had for one account, in the order of their arrival.
struct AccountEvents: Sendable {
    let account: Account
    let events: [LoggedEvent]
    var consumption = Consumption()
}

/// When ingest read the records of a wake.
struct Consumption: Sendable {
    /// Monotonic.
    var microseconds: UInt64 = 0
    /// Since 1970.
    var wallMilliseconds: Int64 = 0
}
