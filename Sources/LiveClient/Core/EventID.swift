import LiveState

/// An event's id in the archive (`aid`): the same on every node and on every way, so an event of a page and the same one of the
/// stream are found to be one by it.
///
/// Its bytes order events by time: a greater id stands later. What else it holds is the server's business.
public struct EventID: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// The server's text, to be kept and given back as it is: at most ``maximumBytes`` that a URL carries unchanged.
    public let text: String

    /// As many bytes as an id has at most.
    public static let maximumBytes = 40

    /// Takes a text that the server gave.
    public init(_ text: String) { self.text = text }

    /// Whether a server can have given it.
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

    /// By bytes, which is the order of what happened.
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
    /// The last event that was read; those before it were, too.
    public let upTo: EventID

    /// A mark of one thing, or of everything.
    public init(of thing: Thing?, upTo: EventID) {
        self.thing = thing
        self.upTo = upTo
    }

    /// Whether an event of a thing lies below it.
    public func covers(_ event: EventID, of thing: Thing) -> Bool {
        (self.thing == nil || self.thing == thing) && event <= upTo
    }
}
