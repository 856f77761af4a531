import LiveState

/// A page of an account's past events.
public struct ArchivePage: Sendable, Equatable {
    /// In the order that was asked for, each with its ``LiveEvent/aid`` and ``LiveEvent/ts``.
    public var events: [LiveEvent]
    /// Whether something follows in this direction.
    public var more: Bool
    /// The cursor to go live from: nothing is missing between it and the page, and events that are in both arrive twice. Nil if
    /// the page cannot contain the newest event.
    public var at: LiveCursor?
    /// The times for which the archive does not have all events.
    public var gaps: [ArchiveGap]

    /// Makes a page. The client makes it, and tests of applications may.
    public init(events: [LiveEvent], more: Bool, at: LiveCursor? = nil, gaps: [ArchiveGap] = []) {
        (self.events, self.more, self.at, self.gaps) = (events, more, at, gaps)
    }
}

/// A time for which the archive may lack events: Kafka no longer had them when they were to be written.
public struct ArchiveGap: Sendable, Hashable {
    /// The last timestamp before it, in milliseconds of Unix time.
    public var from: Milliseconds
    /// The first timestamp after it; nil if nothing has arrived since.
    public var to: Milliseconds?

    /// Makes a gap between two timestamps.
    public init(from: Milliseconds, to: Milliseconds?) { (self.from, self.to) = (from, to) }
}

/// A line of an inbox: a thing, its last event, and how many of its events this person has not read.
public struct InboxThing: Sendable, Equatable, Codable {
    /// The last event, with its ``LiveEvent/aid``. A read mark of the whole thing goes up to it.
    public var last: LiveEvent
    /// How many events this person has not read; 999 also means more.
    public var unread: Int

    /// Makes a line of an inbox.
    public init(last: LiveEvent, unread: Int) { (self.last, self.unread) = (last, unread) }

    /// Which thing it is.
    public var thing: Thing { Thing(entity: last.entity, id: last.id) }
}

/// A page of a person's inbox, the most recent thing first.
public struct InboxPage: Sendable, Equatable, Codable {
    /// The things, one a line.
    public var things: [InboxThing]
    /// How many things of the account have something unread, independent of the request: the number for the badge.
    public var unreadThings: Int
    /// Whether older things follow.
    public var more: Bool
    /// The cursor to go live from. With the events after it the page stays correct.
    public var at: LiveCursor

    /// Makes a page. The client makes it, and tests of applications may.
    public init(things: [InboxThing], unreadThings: Int, more: Bool, at: LiveCursor) {
        (self.things, self.unreadThings, self.more, self.at) = (things, unreadThings, more, at)
    }
}

// MARK: - Reading

/// No page is larger than this: 500 events with the longest allowed names are less than half of a MiB.
private let maximumPageBytes = SyncAnswer.maximumBytes

extension ArchivePage {
    /// Reads an answer of `/archive/v1`; nil for anything else.
    ///
    /// - Returns: the page, and its events exactly as in the answer.
    package static func read(_ answer: ServerAnswer) -> (page: ArchivePage, lines: [[UInt8]])? {
        guard answer.status == 200, let (root, elements) = answer.page("events"),
            let more = root.member("more")?.bool, let gaps = root.member("gaps")?.elements
        else { return nil }
        var page = ArchivePage(events: [], more: more, at: root.cursor)
        for element in elements {
            guard let event = StreamMessage.event(element), event.aid != nil else { return nil }
            page.events.append(event)
        }
        for gap in gaps {
            // One that begins before 1970 begins at 0.
            let (from, to) = (gap.number("from") ?? 0, gap.number("to"))
            page.gaps.append(ArchiveGap(from: Milliseconds(from), to: to.map(Milliseconds.init)))
        }
        return (page, elements.map { Array($0.source) })
    }
}

extension InboxPage {
    /// Reads an answer of `/inbox/v1`; nil for anything else.
    ///
    /// - Returns: the page, and its things exactly as in the answer.
    package static func read(_ answer: ServerAnswer) -> (page: InboxPage, lines: [[UInt8]])? {
        guard answer.status == 200, let (root, elements) = answer.page("things"),
            let more = root.member("more")?.bool, let at = root.cursor,
            let unreadThings = root.number("unread_things")
        else { return nil }
        var page = InboxPage(things: [], unreadThings: unreadThings, more: more, at: at)
        for element in elements {
            guard let event = StreamMessage.event(element), event.aid != nil, let unread = element.number("unread")
            else {
                return nil
            }
            page.things.append(InboxThing(last: event, unread: unread))
        }
        return (page, elements.map { Array($0.source) })
    }
}

extension ReadMark {
    /// The body of `POST /inbox/v1/read`.
    package var body: [UInt8] {
        var bytes: [UInt8] = []
        func add(_ name: String, _ value: String) {
            bytes.append(UInt8(ascii: bytes.isEmpty ? "{" : ","))
            JSONWriting.append(name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            JSONWriting.append(value, to: &bytes)
        }
        if let thing {
            add("ent", thing.entity)
            add("id", thing.id)
        }
        add("aid", upTo.text)
        return bytes + [UInt8(ascii: "}")]
    }
}

extension ServerAnswer {
    /// The document, and the elements of its list of this name.
    fileprivate func page(_ list: String) -> (root: JSONNode, elements: [JSONNode])? {
        guard !isTruncated, let root = JSONNode(body, maximumBytes: maximumPageBytes),
            let elements = root.member(list)?.elements
        else { return nil }
        return (root, elements)
    }
}
