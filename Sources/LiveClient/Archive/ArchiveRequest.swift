import LiveState

/// Which past events a request asks for. The default is all, the newest first.
public struct ArchiveRequest: Sendable, Equatable {
    /// The order of a page.
    public enum Order: String, Sendable {
        /// The newest first.
        case newestFirst = "desc"
        /// The oldest first.
        case oldestFirst = "asc"
    }

    /// Only events that are older than this one, which need not exist any more.
    public var before: EventID?
    /// Only events that are newer than this one, which need not exist any more.
    public var after: EventID?
    /// Only events with this timestamp or a later one, in milliseconds of Unix time.
    public var from: Milliseconds?
    /// Only events with an earlier timestamp than this, in milliseconds of Unix time.
    public var to: Milliseconds?
    /// Only events of these entities; empty means those of the client (``LiveClientConfiguration/entities``).
    public var entities: [String]
    /// Only events of this thing. ``entities`` are then ignored.
    public var thing: Thing?
    /// Whether the newest or the oldest comes first.
    public var order: Order
    /// The maximum number of events in a page; nil means 50. A server sends at most 500 at once.
    public var limit: Int?

    /// Makes a request for events.
    public init(
        before: EventID? = nil, after: EventID? = nil, from: Milliseconds? = nil, to: Milliseconds? = nil,
        entities: [String] = [], thing: Thing? = nil, order: Order = .newestFirst, limit: Int? = nil
    ) {
        (self.before, self.after, self.from, self.to) = (before, after, from, to)
        (self.entities, self.thing, self.order, self.limit) = (entities, thing, order, limit)
    }

    /// The request for the page that follows in the same direction; nil after the last one.
    func following(_ page: ArchivePage) -> ArchiveRequest? {
        guard page.more, let last = page.events.last?.aid else { return nil }
        var next = self
        switch order {
        case .newestFirst: next.before = last
        case .oldestFirst: next.after = last
        }
        return next
    }

    /// Whether an id is within the limits of the request.
    func isBetween(_ aid: EventID) -> Bool { before.map { aid < $0 } ?? true && after.map { aid > $0 } ?? true }

    /// Whether the request asks for this event of the stream.
    func covers(_ event: LiveEvent) -> Bool {
        guard let aid = event.aid, isBetween(aid) else { return false }
        if let from, (event.ts ?? from) < from { return false }
        if let to, let ts = event.ts, ts >= to { return false }
        if let thing {
            return Exact(thing.entity) == Exact(event.entity) && Exact(thing.id) == Exact(event.id)
        }
        return entities.isEmpty || entities.contains { Exact($0) == Exact(event.entity) }
    }

    var parameters: [(name: String, value: String)] {
        let entities = thing.map { [$0.entity] } ?? entities
        let words: [(String, String?)] = [
            ("before", before?.text), ("after", after?.text), ("from", from.map { "\(max($0, 0))" }),
            ("to", to.map { "\(max($0, 0))" }), ("ent", entities.isEmpty ? nil : entities.joined(separator: ",")),
            ("id", thing?.id), ("order", order == .newestFirst ? nil : order.rawValue),
            ("limit", limit.map { "\($0)" }),
        ]
        return words.compactMap { name, value in value.map { (name, $0) } }
    }
}

/// Which lines of a person's inbox a request asks for. The default is all, the most recent first.
public struct InboxRequest: Sendable, Equatable {
    /// Only things whose last event is older than this one.
    public var before: EventID?
    /// Only things of these entities; empty means those of the client.
    public var entities: [String]
    /// Only things with something unread.
    public var isUnreadOnly: Bool
    /// The maximum number of things in a page; nil means 50. A server sends at most 500 at once.
    public var limit: Int?

    /// Makes a request for things.
    public init(before: EventID? = nil, entities: [String] = [], isUnreadOnly: Bool = false, limit: Int? = nil) {
        (self.before, self.entities, self.isUnreadOnly, self.limit) = (before, entities, isUnreadOnly, limit)
    }

    /// The request for the page that follows; nil after the last one.
    func following(_ page: InboxPage) -> InboxRequest? {
        guard page.more, let last = page.things.last?.last.aid else { return nil }
        var next = self
        next.before = last
        return next
    }

    var parameters: [(name: String, value: String)] {
        let words: [(String, String?)] = [
            ("before", before?.text), ("ent", entities.isEmpty ? nil : entities.joined(separator: ",")),
            ("unread", isUnreadOnly ? "1" : nil), ("limit", limit.map { "\($0)" }),
        ]
        return words.compactMap { name, value in value.map { (name, $0) } }
    }
}
