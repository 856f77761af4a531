import Archive
import LiveUpdates

/// A cursor, and how far ingest had read when it was made.
struct ArchivePlace: Sendable {
    let cursor: CursorText
    /// By partition, the next offset: nothing before it is given from the cursor on.
    let positions: [PartitionPosition]
}

/// What a connection wants of the archive.
struct ArchiveQuestion: Sendable {
    enum Wish: Sendable {
        /// With a place, an answer that holds all that was read until then.
        case page(PageQuery, ArchivePlace?)
        case inbox(InboxQuery, ArchivePlace)
        case mark(ReadMark)
    }

    let wish: Wish
    let account: Account
    let loop: Int
    let connection: ConnectionID

    /// What has to be stored before it may be answered.
    var place: ArchivePlace? {
        switch wish {
        case .page(_, let place): place
        case .inbox(_, let place): place
        case .mark: nil
        }
    }
}

/// What it is told.
enum ArchiveReply: Sendable {
    /// The body of a 200.
    case body([UInt8])
    /// The mark is taken.
    case marked
    /// The account has too many marks of things without an event.
    case tooManyMarks
    /// The mark is stamped ahead, and no event of the account is it.
    case unknownEvent
    /// The store is away, slow, or behind.
    case notReady
    /// Too many wait already.
    case overloaded
}

/// Somebody has read up to there, on one of their devices.
struct ReadNotice: Sendable {
    let account: Account
    let person: String
    /// Nil: everything.
    let thing: ReadMark.Thing?
    let upTo: ArchiveID
}
