/// The position of an item in a list: ordered by rank first, then by text.
///
/// The app supplies it for each item, in the order in which its server sorts the list. For the newest first, use the negated time
/// as the rank and the id as the text. For a list by name, use rank 0, and the name followed by the id. No two items of a list
/// have the same key.
public struct ListKey: Codable, Hashable, Comparable, Sendable {
    /// The smaller rank comes first. Within ±(2^53 - 1), which JavaScript holds exactly.
    public var rank: Int64
    /// Orders items of the same rank. It is compared by code points, which is the order of UTF-8 bytes.
    public var text: String

    /// A key. No two items of a list may have the same one, so end the text with the id.
    public init(rank: Int64 = 0, text: String) {
        self.rank = rank
        self.text = text
    }

    /// Compares bytes throughout: two strings that a person reads alike may be two ids.
    public static func == (a: Self, b: Self) -> Bool { a.rank == b.rank && Exact(a.text) == Exact(b.text) }

    /// By the number, then by the bytes of the text in UTF-8, as in JavaScript.
    public static func < (a: Self, b: Self) -> Bool {
        a.rank != b.rank ? a.rank < b.rank : a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
    }

    /// By bytes, as ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(rank)
        hasher.combine(Exact(text))
    }
}

/// An end of a stretch of a list: a key, or the very beginning or end, beyond which there can be no item.
public enum ListEnd: Codable, Hashable, Comparable, Sendable {
    /// Before every item, also before items added later.
    case beginning
    /// At an item, or at a key where one could be.
    case at(key: ListKey)
    /// Behind every item, also behind items added later.
    case end

    /// The beginning is before every key, and the end behind.
    public static func < (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.at(let a), .at(let b)): a < b
        case (_, .beginning), (.end, _): false
        case (.beginning, _), (_, .end): true
        }
    }
}

/// The direction in which a list is read.
public enum ListDirection: String, Codable, Sendable {
    /// Towards larger keys, to the end.
    case forward
    /// Towards smaller keys, to the beginning.
    case backward
}

/// A stretch of a list, with both of its ends.
public struct ListInterval: Codable, Hashable, Sendable {
    /// Where it begins.
    public var lower: ListEnd
    /// Where it ends.
    public var upper: ListEnd

    /// From one end to the other.
    public init(lower: ListEnd, upper: ListEnd) {
        self.lower = lower
        self.upper = upper
    }

    func contains(_ end: ListEnd) -> Bool { lower <= end && end <= upper }
    func contains(_ other: Self) -> Bool { lower <= other.lower && other.upper <= upper }
    func touches(_ other: Self) -> Bool { lower <= other.upper && other.lower <= upper }

    /// False if the ends are in the wrong order, and if it is only an open end.
    var hasExtent: Bool { lower < upper || (lower == upper && lower != .beginning && lower != .end) }

    /// What lies outside of the other: no piece, one or two. A piece keeps the end that it shares.
    func subtracting(_ other: Self) -> [Self] {
        guard touches(other) else { return [self] }
        var pieces: [Self] = []
        if lower < other.lower { pieces.append(Self(lower: lower, upper: other.lower)) }
        if other.upper < upper { pieces.append(Self(lower: other.upper, upper: upper)) }
        return pieces
    }
}

/// The part of a list that can be drawn without a gap: from the end where a screen begins, to where nothing is known.
public struct ListStretch: Codable, Equatable, Sendable {
    /// The ids of its things, beginning at that end. Backward, they are in the reverse of the list's order.
    public var ids: [String]
    /// It reaches the other end of the list: nothing is behind it.
    public var isComplete: Bool
    /// A part of it is as the server had it earlier: items may be missing, or be there too much.
    public var isStale: Bool

    /// A stretch.
    public init(ids: [String], isComplete: Bool, isStale: Bool) {
        self.ids = ids
        self.isComplete = isComplete
        self.isStale = isStale
    }
}

/// An item of a list: the id of the thing and its position.
public struct ListItem: Codable, Hashable, Sendable {
    /// The thing's id.
    public var id: String
    /// Its position in the list.
    public var key: ListKey

    /// An item at its key.
    public init(id: String, key: ListKey) {
        self.id = id
        self.key = key
    }

    /// Compares bytes, as things are compared.
    public static func == (a: Self, b: Self) -> Bool { Exact(a.id) == Exact(b.id) && a.key == b.key }

    /// By bytes, as ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(Exact(id))
        hasher.combine(key)
    }
}

/// What to ask the app's API for: the next items of a list.
public struct PageRequest: Codable, Hashable, Sendable {
    /// Where the page begins; never the end that its direction leads to.
    public var from: ListEnd
    /// Its direction.
    public var direction: ListDirection
    /// The most items that are useful.
    public var limit: Int
    /// Whether an item exactly at `from` belongs to the page.
    public var isInclusive: Bool

    /// Asks for the items from an end on.
    public init(from: ListEnd, direction: ListDirection, limit: Int, isInclusive: Bool) {
        self.from = from
        self.direction = direction
        self.limit = limit
        self.isInclusive = isInclusive
    }
}
