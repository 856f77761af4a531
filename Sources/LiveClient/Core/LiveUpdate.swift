import LiveState

/// Something in the account has changed: which thing, and what happened to it.
///
/// It contains so little that it cannot be stale or arrive in a harmful order: fetch the thing from the ordinary API.
public struct LiveEvent: Sendable, Hashable, Codable {
    /// The kind of thing: `incident`.
    public let entity: String
    /// Which one of its kind.
    public let id: String
    /// What happened: `created`, `updated`, `deleted` or another word that the company's services use.
    public let type: String
    /// The cursor to resume after this event; nil if the server sends none.
    public let cursor: LiveCursor?
    /// When it was written, in milliseconds of Unix time: for ``RefreshCounts``. Nil if the server does not send it.
    public let ts: Milliseconds?
    /// Its id in the archive. Nil if the client did not ask for it (``LiveClientConfiguration/asksForEventIDs``).
    public let aid: EventID?

    /// Makes an event. The client makes it, and tests of applications may.
    public init(
        entity: String, id: String, type: String, cursor: LiveCursor? = nil, ts: Milliseconds? = nil,
        aid: EventID? = nil
    ) {
        self.entity = entity
        self.id = id
        self.type = type
        self.cursor = cursor
        self.ts = ts
        self.aid = aid
    }

    /// Equal when entity, id and type are the same bytes. Identifiers are not normalised like text, and the same event may arrive
    /// again with another cursor.
    public static func == (left: LiveEvent, right: LiveEvent) -> Bool {
        left.entity.utf8.elementsEqual(right.entity.utf8) && left.id.utf8.elementsEqual(right.id.utf8)
            && left.type.utf8.elementsEqual(right.type.utf8)
    }

    /// Adds to the hasher the bytes that equality compares.
    public func hash(into hasher: inout Hasher) {
        for text in [entity, id, type] {
            for byte in text.utf8 { hasher.combine(byte) }
            hasher.combine(UInt8(0xFF))
        }
    }
}

/// Why an application has to fetch again what it shows.
public enum LiveResync: Sendable, Hashable {
    /// There was no cursor to resume from: the first stream, or a server that sends none.
    case start
    /// Positions have lost their meaning, for example because a topic was recreated.
    case epoch
    /// What was missed is no longer in the server's log.
    case expired
    /// The cursor is beyond what the broker has.
    case ahead
    /// The cursor is invalid, or belongs to another account.
    case invalid
    /// This reader was busy for so long that it held back others, and the updates that waited for it were dropped.
    case behind
    /// A reason that a later server may have.
    case other(String)

    init(why: String) {
        self =
            switch why {
            case "epoch": .epoch
            case "expired": .expired
            case "ahead": .ahead
            case "invalid": .invalid
            default: .other(why)
            }
    }

    /// The protocol's name of the reason.
    package var why: String {
        switch self {
        case .start: "start"
        case .epoch: "epoch"
        case .expired: "expired"
        case .ahead: "ahead"
        case .invalid: "invalid"
        case .behind: "behind"
        case .other(let why): why
        }
    }
}

/// Whether the server itself receives events. Times are in milliseconds since 1970.
public enum LiveSource: Sendable, Hashable {
    /// The server cannot reach the broker. Until ``live(since:)``, a silent stream does not mean that nothing happens.
    case stalled(since: Int64?)
    /// The server reaches the broker again. The events that were written meanwhile follow.
    case live(since: Int64?)
}

/// What a ``LiveClient`` delivers.
public enum LiveUpdate: Sendable, Equatable {
    /// A stream has begun.
    case connected
    /// Fetch now what the app shows: the missed events are not delivered. Everything after this is delivered.
    case resync(LiveResync, LiveCursor?)
    /// Something has changed.
    case event(LiveEvent)
    /// All missed events have been delivered, or there were none. What follows happens now.
    case live(LiveCursor)
    /// Nothing new, but a newer cursor, so that the old one does not expire while nothing happens.
    case beat(LiveCursor)
    /// The server has lost its own source of events, or has it again.
    case source(LiveSource)
    /// This person has read up to this mark, perhaps on another device. A mark may be lost: fetch the inbox after each
    /// ``live(_:)``.
    case read(ReadMark)
    /// The stream has ended, or an attempt failed. After `retry` the client makes another attempt. It resumes where this one
    /// ended, or delivers ``resync(_:_:)``.
    case disconnected(reason: String, retry: Duration)

    /// The cursor to resume after this update. Store it once the app has handled the update, and set it as
    /// ``LiveClientConfiguration/cursor`` after a restart.
    public var cursor: LiveCursor? {
        switch self {
        case .event(let event): event.cursor
        case .resync(_, let cursor): cursor
        case .live(let cursor), .beat(let cursor): cursor
        case .connected, .source, .read, .disconnected: nil
        }
    }
}

/// A position in an account's events: "read up to here". Its content is internal to the server. Every node of a Livegate
/// understands it, and it gives no right to read anything.
public struct LiveCursor: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The server's text. Store it and send it unchanged.
    public let text: String

    /// Makes a cursor from a text that the app stored.
    public init(_ text: String) { self.text = text }

    /// The server's text.
    public var description: String { text }
}
