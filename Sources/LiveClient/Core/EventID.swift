import LiveState

/// An event's id in the archive (`aid`). It is the same on every node and over every transport, so a client recognises the same
/// event in a page and in the stream.
///
/// Its bytes order events by time: a later event has a greater id. Its other content is internal to the server.
public struct EventID: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The server's text. Store it and send it unchanged. It has at most ``maximumBytes`` bytes, which a URL carries unchanged.
    public let text: String

    /// The maximum number of bytes of an id.
    public static let maximumBytes = 40

    /// Makes an id from a text that the server sent.
    public init(_ text: String) { self.text = text }

    /// Whether a server can have sent it.
    package var isWellFormed: Bool {
        (1...Self.maximumBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// Compares bytes, which is the order of the events.
    public static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// The server's text.
    public var description: String { text }
}

/// How far a person has read: up to an event, of one thing or of everything. It never goes back.
public struct ReadMark: Sendable, Hashable, Codable {
    /// Which thing; nil: everything of the account.
    public let thing: Thing?
    /// The last event that was read. Those before it were read too.
    public let upTo: EventID

    /// A mark of one thing, or of everything.
    public init(of thing: Thing?, upTo: EventID) {
        self.thing = thing
        self.upTo = upTo
    }

    /// Whether this mark covers an event of a thing.
    public func covers(_ event: EventID, of thing: Thing) -> Bool {
        (self.thing == nil || self.thing == thing) && event <= upTo
    }
}
