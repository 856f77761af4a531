import LiveState
import Locks

/// Returns the pages of a partly loaded list, as ``ScreensAPI/page(of:_:)`` asks for them.
public protocol PageSource: Sendable {
    /// The app's type of an item.
    associatedtype Value: Sendable

    /// The items from an end on, in one direction.
    func page(_ request: PageRequest) async throws -> ListPage<Value>
}

extension ListKey {
    /// The position of an event in a list of the past. The oldest is the first.
    public init(_ id: EventID) { self.init(text: id.text) }
}

/// The archive as a list. Each event is an item whose id is its ``LiveEvent/aid``. The first item is the oldest event, and the
/// end is now. A screen that begins with the newest event shows the list backward from ``ListEnd/end``.
///
/// It is all that ``LiveScreens`` need for a list of the past. See <doc:Archive>.
public final class ArchivePageSource: PageSource, ScreensAPI {
    /// How many events of the stream are kept: as many as may be reloaded after a page that was being fetched.
    private static let maximumKept = 1_000

    private struct Kept {
        var events: [EventID: LiveEvent] = [:]
        /// In the order of their arrival.
        var ids: [EventID] = []
    }

    private let archive: LiveArchive
    private let wanted: ArchiveRequest
    private let onGaps: @Sendable ([ArchiveGap]) async throws -> Void
    /// The newest events of the stream, because the archive may be a moment behind it.
    private let kept = Lock(Kept())

    /// - Parameters:
    ///   - wanted: the entities or the thing to ask for. Each page sets its own limits and order.
    ///   - onGaps: receives the times for which the archive may lack events, for each page that covers such times. A list cannot
    ///     show them itself. The page counts when this returns. If it throws, the page counts as failed and is asked for again.
    public init(
        _ archive: LiveArchive, _ wanted: ArchiveRequest = ArchiveRequest(),
        onGaps: @escaping @Sendable ([ArchiveGap]) async throws -> Void = { _ in }
    ) {
        (self.archive, self.wanted, self.onGaps) = (archive, wanted, onGaps)
    }

    /// Keeps a live event. ``reload(_:)`` then returns it without a request, and pages contain it even before the archive does.
    ///
    /// - Returns: whether the event belongs to the list. Other events are not kept.
    @discardableResult public func keep(_ event: LiveEvent) -> Bool {
        guard let aid = event.aid, wanted.covers(event) else { return false }
        kept.withLock { kept in
            if kept.events.updateValue(event, forKey: aid) == nil { kept.ids.append(aid) }
            if kept.ids.count > Self.maximumKept { kept.events[kept.ids.removeFirst()] = nil }
        }
        return true
    }

    /// Drops the kept events. Call it for ``LiveUpdate/resync(_:_:)``, which the server also sends after events were erased.
    public func forget() { kept.withLock { $0 = Kept() } }

    /// The event of an item, which never changes. It throws a ``RequestError``, as screens require.
    public func reload(_ thing: Thing) async throws -> FoundThing<LiveEvent> {
        let aid = EventID(thing.id)
        if let event = kept.withLock({ $0.events[aid] }) { return .value(event) }
        // The limits of the request are set to the ids directly before and after this one.
        guard wanted.isBetween(aid) else { return .gone }
        var asked = wanted
        (asked.after, asked.before, asked.limit) = (aid.previous, aid.next, 1)
        return try await ask(asked).events.first.map { .value($0) } ?? .gone
    }

    /// The events from an end on. It throws a ``RequestError``, as screens require.
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

    /// The events of a page, and the live events between its ends. An event may arrive late, with an old timestamp. It is
    /// reported live at once, when a list may not have its position yet. Older pages lack it until the archive's writer has it.
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

    /// The same for any list name: this source has one list.
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

    /// The smallest greater text of the same length. It is the id of no event, only a position in their order.
    var next: EventID { stepped(by: 1, from: Self.characters.count - 1) }

    /// The greatest smaller text of the same length.
    var previous: EventID { stepped(by: -1, from: 0) }

    /// - Parameter last: the character without a neighbour on this side. It wraps, and the character before it is stepped too.
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
