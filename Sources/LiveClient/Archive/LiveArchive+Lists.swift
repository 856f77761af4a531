import LiveState
import Locks

/// Gives the pages of a list that is known in part: what ``ScreensAPI/page(of:_:)`` asks.
public protocol PageSource: Sendable {
    /// What an item is to the app.
    associatedtype Value: Sendable

    /// The items from an end on, in a direction.
    func page(_ request: PageRequest) async throws -> ListPage<Value>
}

extension ListKey {
    /// Where an event stands in a list of the past: the oldest is the first.
    public init(_ id: EventID) { self.init(text: id.text) }
}

/// The archive as a list: each event an item, whose id is its ``LiveEvent/aid``. The very beginning is the oldest event, the very
/// end is now: a screen that begins with the newest shows it from ``ListEnd/end`` backward.
///
/// It is all that ``LiveScreens`` need of a list of the past. See <doc:Archive>.
public final class ArchivePageSource: PageSource, ScreensAPI {
    /// Events of the stream that are kept: as many as may be reloaded behind a page that was on its way.
    private static let maximumKept = 1_000

    private struct Kept {
        var events: [EventID: LiveEvent] = [:]
        /// In the order in which they came.
        var ids: [EventID] = []
    }

    private let archive: LiveArchive
    private let wanted: ArchiveRequest
    private let onGaps: @Sendable ([ArchiveGap]) async throws -> Void
    /// The newest of the stream: the archive may be a moment behind it.
    private let kept = Lock(Kept())

    /// - Parameters:
    ///   - wanted: of which entities, or which thing; its limits and order are those of each page.
    ///   - onGaps: times of which the archive may lack events, of a page that reaches over some. A list cannot say so itself. The page
    ///     counts when it has returned; where it throws, as one that failed, which is asked for again.
    public init(
        _ archive: LiveArchive, _ wanted: ArchiveRequest = ArchiveRequest(),
        onGaps: @escaping @Sendable ([ArchiveGap]) async throws -> Void = { _ in }
    ) {
        (self.archive, self.wanted, self.onGaps) = (archive, wanted, onGaps)
    }

    /// An event that came live: ``reload(_:)`` gives it without asking, and a page has it that the archive gave before it had it.
    ///
    /// - Returns: whether it is one of those that are asked for; others are not kept, and are none of the list's.
    @discardableResult public func keep(_ event: LiveEvent) -> Bool {
        guard let aid = event.aid, wanted.covers(event) else { return false }
        kept.withLock { kept in
            if kept.events.updateValue(event, forKey: aid) == nil { kept.ids.append(aid) }
            if kept.ids.count > Self.maximumKept { kept.events[kept.ids.removeFirst()] = nil }
        }
        return true
    }

    /// What was kept is not sure to be the account's any more: for ``LiveUpdate/resync(_:_:)``, which tells of an erasing too.
    public func forget() { kept.withLock { $0 = Kept() } }

    /// The event that an item is, which never changes. It throws a ``RequestError``, as screens want it.
    public func reload(_ thing: Thing) async throws -> FoundThing<LiveEvent> {
        let aid = EventID(thing.id)
        if let event = kept.withLock({ $0.events[aid] }) { return .value(event) }
        // Its place takes that of these limits in the question.
        guard wanted.isBetween(aid) else { return .gone }
        var asked = wanted
        (asked.after, asked.before, asked.limit) = (aid.previous, aid.next, 1)
        return try await ask(asked).events.first.map { .value($0) } ?? .gone
    }

    /// The events from an end on. It throws a ``RequestError``, as screens want it.
    public func page(_ request: PageRequest) async throws -> ListPage<LiveEvent> {
        let asked = asking(request)
        let page = try await ask(asked)
        if !page.gaps.isEmpty { try await onGaps(page.gaps) }
        let events = withKept(page, asked)
        let items = events.prefix(request.limit).compactMap { event in
            event.aid.map { ListPage<LiveEvent>.Item(id: $0.text, key: ListKey($0), value: event) }
        }
        return ListPage(items: items, isLast: !page.more && events.count <= request.limit, isWhole: true)
    }

    /// The events of a page, and those between its ends that came live. One that came late, stamped long ago, is told live at once, where
    /// no list may have a place for it yet; the archive gives older pages without it while its writer is behind.
    private func withKept(_ page: ArchivePage, _ asked: ArchiveRequest) -> [LiveEvent] {
        let (isForward, last) = (asked.order == .oldestFirst, page.more ? page.events.last?.aid : nil)
        let known = Set(page.events.compactMap(\.aid))
        let missing = kept.withLock { Array($0.events) }.filter { aid, event in
            guard !known.contains(aid), asked.covers(event) else { return false }
            return last.map { isForward ? aid < $0 : aid > $0 } ?? true
        }
        guard !missing.isEmpty else { return page.events }
        return (page.events + missing.map(\.value)).sorted { left, right in
            guard let left = left.aid, let right = right.aid else { return false }
            return isForward ? left < right : left > right
        }
    }

    /// The same for any list: all of them are this one.
    public func page(of list: String, _ request: PageRequest) async throws -> ListPage<LiveEvent> {
        try await page(request)
    }

    private func ask(_ request: ArchiveRequest) async throws -> ArchivePage {
        do throws(ArchiveError) {
            return try await archive.page(request)
        } catch .cancelled {
            throw CancellationError()
        } catch {
            throw error.requestError
        }
    }

    func asking(_ request: PageRequest) -> ArchiveRequest {
        var asked = wanted
        asked.limit = request.limit
        asked.order = request.direction == .backward ? .newestFirst : .oldestFirst
        guard case .at(let key) = request.from else { return asked }
        let place = EventID(key.text)
        switch request.direction {
        case .backward: asked.before = request.isInclusive ? place.next : place
        case .forward: asked.after = request.isInclusive ? place.previous : place
        }
        return asked
    }
}

extension EventID {
    /// The characters of an id, in the order of their bytes.
    private static let characters = Array("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)

    /// The least text of as many characters that is greater: of no event, but a place in their order.
    var next: EventID { stepped(by: 1, from: Self.characters.count - 1) }

    /// The greatest that is less.
    var previous: EventID { stepped(by: -1, from: 0) }

    /// - Parameter last: the character that has no neighbour on this side; it wraps, and the one before it is stepped too.
    private func stepped(by step: Int, from last: Int) -> EventID {
        var bytes = Array(text.utf8)
        for index in bytes.indices.reversed() {
            guard let character = Self.characters.firstIndex(of: bytes[index]) else { return self }
            guard character == last else {
                bytes[index] = Self.characters[character + step]
                return EventID(String(decoding: bytes, as: UTF8.self))
            }
            bytes[index] = Self.characters[Self.characters.count - 1 - last]
        }
        return self
    }
}
