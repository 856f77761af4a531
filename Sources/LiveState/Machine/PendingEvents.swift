/// Events that are not in the state yet, in batches. Each batch has the cursor behind it. Also the state of their reloads.
///
/// Each thing has one reload at a time. A reload answers the batches that had come when it began. Later batches need another
/// reload.
struct PendingEvents: Sendable {
    /// After this many failed reloads, the thing is known stale, and the cursor held passes it.
    private static let maximumFailures = 3

    struct Item: Sendable {
        let thing: Thing
        var types: [String]
        /// The time of the oldest event.
        var ts: Milliseconds?
        /// A reload has answered it, or its thing is known stale.
        var isDone = false
        /// Whether a commit contains it, and whether that commit is stored.
        var isTaken = false
        var isStored = false

        mutating func note(_ event: ThingEvent) {
            ts = [ts, event.ts].compactMap { $0 }.min()
        }
    }

    struct Batch: Sendable {
        let sequence: Int
        var came: Milliseconds
        var at: String
        var items: [Item] = []
    }

    struct Reload: Sendable {
        /// The thing that it reloads.
        let thing: Thing
        var types: [String] = []
        /// In the order in which they began.
        var order = 0
        /// The number of the running reload.
        var number: Int?
        /// The newest batch when it began.
        var covers = 0
        var retry: Retry
        var retryAt: Milliseconds?
        /// The outcome of the last reload.
        var outcome: Reloaded?
        /// Whether no commit contains that outcome yet.
        var isFresh = false
    }

    var batches: [Batch] = []
    private var lastSequence = 0
    /// The index of each thing in the last batch.
    private var lastItems: [Thing: Int] = [:]
    /// The newest batch that a reload answers.
    private var covered = 0
    var reloads: [Thing: Reload] = [:]
    private var asked: [Int: Thing] = [:]
    private var failing: Set<Thing> = []
    private var lastOrder = 0
    /// Things that could not be reloaded.
    private var stale = StaleThings()
    /// The things whose outcomes the running commit contains.
    var taken: [Thing] = []
    private var jitter: Jitter
    /// A reload may begin.
    private var hasNews = false
    /// Number of things, counted again for each type and each batch.
    var count = 0

    init(seed: UInt32) { jitter = Jitter(seed: seed) }

    /// The cursor behind all batches.
    var lastCursor: String? { batches.last?.at }
    var hasFailed: Bool { !failing.isEmpty }
    /// When the oldest event came that is not in the state yet.
    var unappliedSince: Milliseconds? { batches.first { $0.items.contains { !$0.isStored } }?.came }
    /// When a failed reload is due again.
    var retryAt: Milliseconds? {
        let due = stale.things.filter { reloads[$0.key]?.number == nil }.map(\.value.retryAt)
        return (due + failing.compactMap { reloads[$0]?.retryAt }).min()
    }
    /// The things known to be stale, for the store; nil: none.
    var knownStale: [StaleThing]? { stale.stored }

    /// Reloads now what an earlier start could not reload.
    mutating func restore(_ things: [StaleThing], at now: Milliseconds) { stale.restore(things, at: now) }

    /// A screen shows the thing. If the thing is known to be stale, its reload is due now.
    mutating func check(_ thing: Thing, at now: Milliseconds) { stale.check(thing, at: now) }

    /// Adds events to the last batch, unless a commit contains that batch or a reload answers it. So a thing that changes
    /// repeatedly during its reload is counted once. Without events, only the cursor moves.
    mutating func add(_ events: [ThingEvent], _ at: String, now: Milliseconds, committing: Int) {
        if batches.count <= committing || (!events.isEmpty && lastSequence <= covered) {
            lastSequence += 1
            batches.append(Batch(sequence: lastSequence, came: now, at: at))
            lastItems = [:]
        }
        let last = batches.count - 1
        batches[last].at = at
        if batches[last].items.isEmpty { batches[last].came = now }
        for event in events {
            if let known = lastItems[event.thing] {
                batches[last].items[known].note(event)
                // Only the last event of each type counts: a thing that was created, deleted and created again exists.
                let isKnown = batches[last].items[known].types.contains(event.type)
                batches[last].items[known].types.removeAll { $0 == event.type }
                batches[last].items[known].types.append(event.type)
                if isKnown { continue }
            } else {
                lastItems[event.thing] = batches[last].items.count
                batches[last].items.append(Item(thing: event.thing, types: [event.type], ts: event.ts))
            }
            count += 1
        }
        hasNews = hasNews || !events.isEmpty
    }

    /// Begins the reloads that have not begun, and those that are due again. Complexity: O(``count``) if there is any.
    mutating func begin(at now: Milliseconds, mayRetry: Bool, lastNumber: inout Int) -> [UpdateMachine.Effect] {
        guard hasNews || (mayRetry && retryAt.map { $0 <= now } == true) else { return [] }
        hasNews = false
        var order: [Thing] = []
        var types: [Thing: [String]] = [:]
        for batch in batches {
            for item in batch.items where !item.isDone {
                if types[item.thing] == nil { order.append(item.thing) }
                types[item.thing] = (types[item.thing] ?? []).joined(item.types)
            }
        }
        for known in stale.inOrder {
            let thing = known.stale.thing
            if let later = types[thing] {
                types[thing] = known.stale.types.joined(later)
            } else if mayRetry && known.retryAt <= now {
                order.append(thing)
                types[thing] = known.stale.types
            }
        }
        return order.compactMap { thing in
            var reload = reloads[thing] ?? newReload(thing)
            guard reload.number == nil else { return nil }
            if let retryAt = reload.retryAt, !mayRetry || retryAt > now { return nil }
            lastNumber += 1
            reload.number = lastNumber
            reload.covers = lastSequence
            reload.types = types[thing] ?? []
            covered = lastSequence
            reload.retryAt = nil
            reloads[thing] = reload
            asked[lastNumber] = thing
            return .reload(number: lastNumber, thing: thing, types: reload.types)
        }
    }

    private mutating func newReload(_ thing: Thing) -> Reload {
        lastOrder += 1
        return Reload(thing: thing, order: lastOrder, retry: Retry(seed: jitter.next()))
    }

    mutating func reloaded(_ number: Int, _ outcome: Reloaded) {
        guard let thing = asked.removeValue(forKey: number), let reload = reloads[thing] else { return }
        stale.remove(thing)
        end(reload, outcome)
    }

    /// Records the outcome of a reload for the batches that it answers.
    private mutating func end(_ ended: Reload, _ outcome: Reloaded) {
        let thing = ended.thing
        var reload = ended
        reload.number = nil
        reload.outcome = outcome
        reload.isFresh = true
        reload.retry.reset()
        reloads[thing] = reload
        failing.remove(thing)
        for batch in batches.indices {
            guard let item = batches[batch].items.firstIndex(where: { $0.thing == thing && !$0.isDone }) else {
                continue
            }
            if batches[batch].sequence <= reload.covers {
                batches[batch].items[item].isDone = true
            } else {
                hasNews = true
            }
        }
    }

    /// Postpones a failed reload or gives it up; then its thing is known stale. Returns false if nothing waits for it.
    mutating func failed(_ number: Int, _ failure: RequestFailure, at now: Milliseconds) -> Bool {
        guard let thing = asked.removeValue(forKey: number), var reload = reloads[thing] else { return false }
        reload.number = nil
        // A reload that only needs a new token waits for nothing else.
        let wait = failure == .unauthorized ? 0 : reload.retry.wait(for: failure)
        let isKnown = stale.things[thing] != nil
        let isGivenUp = isKnown || (stale.hasRoom && (failure.isFinal || reload.retry.failures >= Self.maximumFailures))
        if failure != .unauthorized && isGivenUp {
            stale.note(StaleThing(thing: thing, types: reload.types, failure: failure), at: now, &jitter)
            end(reload, .knownStale)
        } else {
            reload.retryAt = now + wait
            reloads[thing] = reload
            failing.insert(thing)
        }
        return true
    }

    /// Makes every postponed reload due.
    mutating func retryNow(at now: Milliseconds) {
        for thing in failing where reloads[thing]?.retryAt != nil { reloads[thing]?.retryAt = now }
        stale.retryNow(at: now)
    }

    /// Forgets everything. Returns true if reloads were running or had brought an outcome.
    mutating func removeAll() -> Bool {
        let hadReloads = !reloads.isEmpty
        batches = []
        reloads = [:]
        stale = StaleThings()
        taken = []
        asked = [:]
        failing = []
        count = 0
        hasNews = false
        return hadReloads
    }
}
