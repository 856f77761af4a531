import Archive
import LiveUpdates

/// A connection's question to the archive.
struct ArchiveQuestion: Sendable {
    /// The limit for all accounts together.
    static let maximumWaiting = 1_000

    enum Wish: Sendable {
        case page(PageQuery)
        case inbox(InboxQuery)
        case mark(ReadMark)
    }

    let wish: Wish
    let account: Account
    let loop: Int
    let connection: ConnectionID
}

/// The body of an answer, without the cursor that may be in it.
struct ArchiveBody: Sendable {
    var start: [UInt8] = []
    /// What follows the cursor.
    var end: [UInt8] = []
    /// How far each partition was stored at the moment of the answer; nil where no cursor belongs to it.
    var positions: [PartitionPosition]?
}

/// The snapshot of a page, for the cursor that belongs to it.
struct ArchiveSnapshot: Sendable {
    /// How far each partition was stored.
    let positions: [PartitionPosition]
    /// ``SnapshotAnswer/seen`` of the page before, where it is asked for once more.
    var seen: UInt64?
}

struct SnapshotAnswer: Sendable {
    /// Empty where it would be refused, which counts as behind, or where this node has not read so far.
    let cursor: CursorText
    /// Whether another page, read a moment later, may hold more: the store lacks what this node had read already.
    let isBehind: Bool
    /// The sequence up to which this node had read when the page was asked for first.
    let seen: UInt64
}

/// The answer to a question.
enum ArchiveReply: Sendable {
    /// The body of a 200.
    case body(ArchiveBody)
    /// The mark is stored.
    case marked
    /// The account has too many marks of things without an event.
    case tooManyMarks
    /// The mark is stamped ahead, and no event of the account is it.
    case unknownEvent
    /// The store is away, or slow, or is behind what is to be marked.
    case notReady
    /// Too many wait already.
    case overloaded
}

/// A person has read up to there, on one of their devices.
struct ReadNotice: Sendable {
    let account: Account
    let person: String
    /// Nil: everything.
    let thing: ReadMark.Thing?
    let upTo: ArchiveID
}
