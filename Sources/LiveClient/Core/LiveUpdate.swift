import LiveState

/// Something of the account has changed: which thing, and what happened to it.
///
/// It is so thin that it can neither be stale nor arrive in a harmful order: fetch the thing from the ordinary API.
public struct LiveEvent: Sendable, Hashable, Codable {
    /// The kind of thing: `incident`.
    public let entity: String
    /// Which one of its kind.
    public let id: String
    /// What happened: `created`, `updated`, `deleted` or another word that the company's services use.
    public let type: String
    /// Where to go on behind this event; nil where the server gives none.
    public let cursor: LiveCursor?
    /// When it was written, in milliseconds of Unix time: for ``RefreshCounts``. Nil where the server does not say.
    public let ts: Milliseconds?
    /// Its id in the archive. Nil where it was not asked for (``LiveClientConfiguration/asksForEventIDs``).
    public let aid: EventID?

    /// Makes an event; the client does, and tests of applications may.
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

    /// Equal when entity, id and type are the same bytes: identifiers are no text to be normalised, and the same event
    /// may come again with another cursor.
    public static func == (left: LiveEvent, right: LiveEvent) -> Bool {
        left.entity.utf8.elementsEqual(right.entity.utf8) && left.id.utf8.elementsEqual(right.id.utf8)
            && left.type.utf8.elementsEqual(right.type.utf8)
    }

    /// Feeds the same bytes to the hasher that equality compares.
    public func hash(into hasher: inout Hasher) {
        for text in [entity, id, type] {
            for byte in text.utf8 { hasher.combine(byte) }
            hasher.combine(UInt8(0xFF))
        }
    }
}

/// Why an application has to fetch what it shows.
public enum LiveResync: Sendable, Hashable {
    /// There was no cursor to go on from: the first stream, or a server that gives none.
    case start
    /// Positions have lost their meaning, for example because a topic was recreated.
    case epoch
    /// What was missed is no longer in the server's log.
    case expired
    /// The cursor is beyond what the broker has.
    case ahead
    /// The cursor cannot be read, or is another account's.
    case invalid
    /// This reader was busy for so long that it held back others: what waited for it was dropped.
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

    /// The protocol's word.
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

/// Whether the server gets events itself. Times are in milliseconds since 1970.
public enum LiveSource: Sendable, Hashable {
    /// The broker cannot be reached: silence says nothing until ``live(since:)``.
    case stalled(since: Int64?)
    /// It is reached again; whatever was written meanwhile follows.
    case live(since: Int64?)
}

/// What a ``LiveClient`` delivers.
public enum LiveUpdate: Sendable, Equatable {
    /// A stream has begun.
    case connected
    /// Fetch now what is shown: what was missed is not delivered. Everything after this is.
    case resync(LiveResync, LiveCursor?)
    /// Something has changed.
    case event(LiveEvent)
    /// Everything that was missed has been delivered, or nothing was; what follows happens now.
    case live(LiveCursor)
    /// Nothing new, but a newer cursor, so that silence does not let the old one expire.
    case beat(LiveCursor)
    /// The server has lost its own source of events, or found it again.
    case source(LiveSource)
    /// This person has read up to there, perhaps on another device. One may be lost: fetch the inbox after each
    /// ``live(_:)``.
    case read(ReadMark)
    /// The stream has ended, or an attempt at one failed; after `retry` there is another attempt, which goes on where
    /// this one ended or tells to ``resync(_:_:)``.
    case disconnected(reason: String, retry: Duration)

    /// Where to go on behind this update. Keep it once the update is dealt with, and give it to
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

/// A position in an account's events: "read up to here". What it holds is the server's business; every node of a
/// Livegate understands it, and it carries no right to read anything.
public struct LiveCursor: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The server's text, to be kept and given back as it is.
    public let text: String

    /// Takes a text that was kept.
    public init(_ text: String) { self.text = text }

    /// The server's text.
    public var description: String { text }
}
