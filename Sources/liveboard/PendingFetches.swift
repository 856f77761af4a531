import LiveState

/// What news asks to be fetched: each thing once, however often it was named, in the order of the first time. A value without
/// I/O and clock.
///
/// One fetch runs at a time. What is named while it is fetched is fetched once more; what has failed waits for ``retry()`` while
/// the rest goes on.
struct PendingFetches: Sendable {
    enum Fetch: Hashable, Sendable {
        /// All of the list: it covers whatever was named before it begins.
        case list
        case incident(String)
    }

    struct Entry: Equatable, Sendable {
        let fetch: Fetch
        /// Whether news said that it was created, and whether it said anything else.
        var isCreated = false
        var isChanged = false
        /// When the oldest of the news came.
        var since: Milliseconds

        mutating func merge(_ other: Entry) {
            isCreated = isCreated || other.isCreated
            isChanged = isChanged || other.isChanged
            since = min(since, other.since)
        }
    }

    /// When more incidents wait, the list is fetched instead: that is as many as it shows.
    static let maximumIncidents = Board.maximumIncidents

    private(set) var waiting: [Entry] = []
    private(set) var running: Entry?
    /// Not tried before ``retry()``.
    private(set) var failed: [Entry] = []

    private var all: [Entry] { waiting + failed + (running.map { [$0] } ?? []) }

    /// When the oldest news came that is not on the screen; nil: all is.
    var since: Milliseconds? { all.map(\.since).min() }

    var hasFailed: Bool { !failed.isEmpty }

    /// What is shown may lack anything until the list has come.
    var needsList: Bool { all.contains { $0.fetch == .list } }

    /// Something was missed: the list takes the place of all that waits.
    mutating func addList(at now: Milliseconds) {
        let since = (waiting + failed).map(\.since).min() ?? now
        waiting = [Entry(fetch: .list, since: min(since, now))]
        failed = []
    }

    /// Something happened to an incident.
    mutating func add(_ id: String, isCreated: Bool, at now: Milliseconds) {
        // A list that is fetched later has it.
        guard !(waiting + failed).contains(where: { $0.fetch == .list }) else { return }
        let entry = Entry(fetch: .incident(id), isCreated: isCreated, isChanged: !isCreated, since: now)
        if let index = failed.firstIndex(where: { $0.fetch == entry.fetch }) {
            failed[index].merge(entry)
        } else if let index = waiting.firstIndex(where: { $0.fetch == entry.fetch }) {
            waiting[index].merge(entry)
        } else if waiting.count + failed.count < Self.maximumIncidents {
            waiting.append(entry)
        } else {
            addList(at: now)
        }
    }

    /// The next, unless one runs. What nobody wants any more is passed over.
    mutating func begin(_ wants: (Entry) -> Bool) -> Fetch? {
        guard running == nil else { return nil }
        while !waiting.isEmpty {
            let next = waiting.removeFirst()
            guard next.fetch == .list || wants(next) else { continue }
            running = next
            return next.fetch
        }
        return nil
    }

    /// The one that runs was answered.
    mutating func succeed() { running = nil }

    /// The one that runs was not answered: it waits, with what was said of it since.
    mutating func fail() {
        guard var entry = running.take() else { return }
        // A list that is fetched later has it.
        guard waiting.first?.fetch != .list else { return }
        if let index = waiting.firstIndex(where: { $0.fetch == entry.fetch }) { entry.merge(waiting.remove(at: index)) }
        if entry.fetch == .list {
            addList(at: entry.since)
            swap(&waiting, &failed)
        } else {
            failed.append(entry)
        }
    }

    /// The time to wait has passed.
    mutating func retry() {
        waiting = failed + waiting
        failed = []
    }
}
