import LiveState

/// A page of an account's past.
public struct ArchivePage: Sendable, Equatable {
    /// In the order that was asked for, each with its ``LiveEvent/aid`` and ``LiveEvent/ts``.
    public var events: [LiveEvent]
    /// Whether something follows in this direction.
    public var more: Bool
    /// Where to go live: from it on nothing is missing behind the page, and what is in both comes twice. Nil where the page
    /// cannot hold the newest event.
    public var at: LiveCursor?
    /// Where the archive does not have what happened.
    public var gaps: [ArchiveGap]

    /// A page; the client makes it, and tests of applications may.
    public init(events: [LiveEvent], more: Bool, at: LiveCursor? = nil, gaps: [ArchiveGap] = []) {
        (self.events, self.more, self.at, self.gaps) = (events, more, at, gaps)
    }
}

/// A time of which the archive may lack events: Kafka did not have them any more when they were to be written.
public struct ArchiveGap: Sendable, Hashable {
    /// The last time stamp before it, in milliseconds of Unix time.
    public var from: Milliseconds
    /// The first time stamp behind it; nil: nothing has come since.
    public var to: Milliseconds?

    /// A gap between two time stamps.
    public init(from: Milliseconds, to: Milliseconds?) { (self.from, self.to) = (from, to) }
}

/// A line of an inbox: a thing, what happened to it last, and how much of it this person has not read.
public struct InboxThing: Sendable, Equatable, Codable {
    /// The last event, with its ``LiveEvent/aid``: what a mark of the whole thing leads to.
    public var last: LiveEvent
    /// Events that this person has not read; 999 stands for more, too.
    public var unread: Int

    /// A line of an inbox.
    public init(last: LiveEvent, unread: Int) { (self.last, self.unread) = (last, unread) }

    /// Which thing it is.
    public var thing: Thing { Thing(entity: last.entity, id: last.id) }
}

/// A page of a person's inbox, the most recent thing first.
public struct InboxPage: Sendable, Equatable, Codable {
    /// A thing a line.
    public var things: [InboxThing]
    /// How many things of the account have something unread, whatever was asked for: the badge.
    public var unreadThings: Int
    /// Whether older things follow.
    public var more: Bool
    /// Where to go live: with the events after it the page stays true.
    public var at: LiveCursor

    /// A page; the client makes it, and tests of applications may.
    public init(things: [InboxThing], unreadThings: Int, more: Bool, at: LiveCursor) {
        (self.things, self.unreadThings, self.more, self.at) = (things, unreadThings, more, at)
    }
}

// MARK: - Reading

/// Nothing that a page holds is larger than this: 500 events with names as long as they may be are less than half of a MiB.
private let maximumPageBytes = SyncAnswer.maximumBytes

extension ArchivePage {
    /// Reads what `/archive/v1` has answered; nil for anything else.
    ///
    /// - Returns: the page, and its events as they stand in the answer.
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
            // One that begins before 1970 begins with everything.
            let (from, to) = (gap.number("from") ?? 0, gap.number("to"))
            page.gaps.append(ArchiveGap(from: Milliseconds(from), to: to.map(Milliseconds.init)))
        }
        return (page, elements.map { Array($0.source) })
    }
}

extension InboxPage {
    /// Reads what `/inbox/v1` has answered; nil for anything else.
    ///
    /// - Returns: the page, and its things as they stand in the answer.
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
    /// The document, and what its list of this name holds.
    fileprivate func page(_ list: String) -> (root: JSONNode, elements: [JSONNode])? {
        guard !isTruncated, let root = JSONNode(body, maximumBytes: maximumPageBytes),
            let elements = root.member(list)?.elements
        else { return nil }
        return (root, elements)
    }
}
