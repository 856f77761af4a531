import LiveState

/// Which events of the past are asked for. Without anything: all, the newest first.
public struct ArchiveRequest: Sendable, Equatable {
    /// The order of a page.
    public enum Order: String, Sendable {
        /// The newest first.
        case newestFirst = "desc"
        /// The oldest first.
        case oldestFirst = "asc"
    }

    /// Only what is older than this event, which need not be there any more.
    public var before: EventID?
    /// Only what is newer than this event, which need not be there any more.
    public var after: EventID?
    /// Only what is stamped then or later, in milliseconds of Unix time.
    public var from: Milliseconds?
    /// Only what is stamped earlier than that, in milliseconds of Unix time.
    public var to: Milliseconds?
    /// Only events of these entities; empty: of those that the client has (``LiveClientConfiguration/entities``).
    public var entities: [String]
    /// Only events of this thing; ``entities`` do not count then.
    public var thing: Thing?
    /// Which end comes first.
    public var order: Order
    /// The most events of a page; nil: 50. A server gives no more than 500 at once.
    public var limit: Int?

    /// Asks for events.
    public init(
        before: EventID? = nil, after: EventID? = nil, from: Milliseconds? = nil, to: Milliseconds? = nil,
        entities: [String] = [], thing: Thing? = nil, order: Order = .newestFirst, limit: Int? = nil
    ) {
        (self.before, self.after, self.from, self.to) = (before, after, from, to)
        (self.entities, self.thing, self.order, self.limit) = (entities, thing, order, limit)
    }

    /// The request for what follows a page in its direction; nil behind the last one.
    func following(_ page: ArchivePage) -> ArchiveRequest? {
        guard page.more, let last = page.events.last?.aid else { return nil }
        var next = self
        switch order {
        case .newestFirst: next.before = last
        case .oldestFirst: next.after = last
        }
        return next
    }

    /// Whether an id lies between those that are asked for.
    func isBetween(_ aid: EventID) -> Bool { before.map { aid < $0 } ?? true && after.map { aid > $0 } ?? true }

    /// Whether an event of the stream is one of those that are asked for.
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

/// Which lines of a person's inbox are asked for. Without anything: all, the most recent first.
public struct InboxRequest: Sendable, Equatable {
    /// Only things whose last event is older than this one.
    public var before: EventID?
    /// Only things of these entities; empty: of those that the client has.
    public var entities: [String]
    /// Only things with something unread.
    public var isUnreadOnly: Bool
    /// The most things of a page; nil: 50. A server gives no more than 500 at once.
    public var limit: Int?

    /// Asks for things.
    public init(before: EventID? = nil, entities: [String] = [], isUnreadOnly: Bool = false, limit: Int? = nil) {
        (self.before, self.entities, self.isUnreadOnly, self.limit) = (before, entities, isUnreadOnly, limit)
    }

    /// The request for what follows a page; nil behind the last one.
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
