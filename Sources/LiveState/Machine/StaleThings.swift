/// Things that could not be reloaded: the cursor held has passed them, and what is known of them is old. They are reloaded when a
/// screen shows them, at each start, and by backoff.
struct StaleThings: Sendable {
    struct Entry: Sendable {
        var stale: StaleThing
        /// In the order in which they came.
        let order: Int
        var failures = 0
        var retryAt: Milliseconds
    }

    /// The most things noted. Beyond it, a thing that fails keeps the cursor held from moving.
    private static let maximumThings = 1_000
    /// The upper bound of the first wait before a thing is asked for again, and of the longest wait.
    private static let (firstBound, longestBound): (Milliseconds, Milliseconds) = (5_000, 900_000)

    private(set) var things: [Thing: Entry] = [:]
    private var lastOrder = 0

    var hasRoom: Bool { things.count < Self.maximumThings }
    var inOrder: [Entry] { things.values.sorted { $0.order < $1.order } }
    var stored: [StaleThing]? { things.isEmpty ? nil : inOrder.map(\.stale) }

    mutating func restore(_ stored: [StaleThing], at now: Milliseconds) {
        for stale in stored { keep(stale, failures: 0, retryAt: now) }
    }

    mutating func note(_ stale: StaleThing, at now: Milliseconds, _ jitter: inout Jitter) {
        let failures = (things[stale.thing]?.failures ?? 0) + 1
        let bound = min(Self.firstBound << Milliseconds(min(failures - 1, 10)), Self.longestBound)
        var wait = jitter.milliseconds(bound / 2, bound)
        if case .retry(let after?) = stale.failure { wait = max(wait, after) }
        keep(stale, failures: failures, retryAt: now + wait)
    }

    private mutating func keep(_ stale: StaleThing, failures: Int, retryAt: Milliseconds) {
        if things[stale.thing] == nil { lastOrder += 1 }
        let order = things[stale.thing]?.order ?? lastOrder
        things[stale.thing] = Entry(stale: stale, order: order, failures: failures, retryAt: retryAt)
    }

    mutating func remove(_ thing: Thing) { things[thing] = nil }

    mutating func check(_ thing: Thing, at now: Milliseconds) { things[thing]?.retryAt = now }

    mutating func retryNow(at now: Milliseconds) { for thing in things.keys { things[thing]?.retryAt = now } }
}

extension [String] {
    /// Joins these types of events with later ones. Of equal types, only the last is kept.
    func joined(_ later: [String]) -> [String] { filter { !later.contains($0) } + later }
}
