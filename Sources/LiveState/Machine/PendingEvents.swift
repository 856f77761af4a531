/// Events that are not in the state yet: in batches, each with the cursor behind it, and what is known of their reloads.
///
/// A thing is asked for once at a time. A reload answers the batches that had come when it began; for later ones there is
/// another.
struct PendingEvents: Sendable {
    /// So often a reload fails before its thing is known stale, and the finger passes it.
    private static let maximumFailures = 3

    struct Item: Sendable {
        let thing: Thing
        var types: [String]
        /// Of the oldest event.
        var ts: Milliseconds?
        /// A reload answers it, or its thing is known stale.
        var isDone = false
        /// A commit has taken it; and has stored it.
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
        /// What it was begun for.
        let thing: Thing
        var types: [String] = []
        /// In the order in which they began.
        var order = 0
        /// The number of the one under way.
        var number: Int?
        /// The newest batch when it began.
        var covers = 0
        var retry: Retry
        var retryAt: Milliseconds?
        /// What the last one found.
        var outcome: Reloaded?
        /// No commit has taken that.
        var isFresh = false
    }

    var batches: [Batch] = []
    private var lastSequence = 0
    /// Where the things of the last batch stand in it.
    private var lastItems: [Thing: Int] = [:]
    /// The newest batch that a reload answers.
    private var covered = 0
    var reloads: [Thing: Reload] = [:]
    private var asked: [Int: Thing] = [:]
    private var failing: Set<Thing> = []
    private var lastOrder = 0
    /// What could not be reloaded.
    private var stale = StaleThings()
    /// What the commit under way has taken: things whose outcome it has.
    var taken: [Thing] = []
    private var jitter: Jitter
    /// Something may begin.
    private var hasNews = false
    /// Things, counted for each type and each batch.
    var count = 0

    init(seed: UInt32) { jitter = Jitter(seed: seed) }

    /// The cursor behind all of it.
    var lastCursor: String? { batches.last?.at }
    var hasFailed: Bool { !failing.isEmpty }
    /// When the oldest event came that is not in the state.
    var unappliedSince: Milliseconds? { batches.first { $0.items.contains { !$0.isStored } }?.came }
    /// When a failed reload is to be tried again.
    var retryAt: Milliseconds? {
        let due = stale.things.filter { reloads[$0.key]?.number == nil }.map(\.value.retryAt)
        return (due + failing.compactMap { reloads[$0]?.retryAt }).min()
    }
    /// What is known to be stale, for the store; nil: nothing.
    var knownStale: [StaleThing]? { stale.stored }

    /// What an earlier start could not reload is asked for now.
    mutating func restore(_ things: [StaleThing], at now: Milliseconds) { stale.restore(things, at: now) }

    /// Somebody looks at the thing: where it is known to be stale, it is asked for now.
    mutating func check(_ thing: Thing, at now: Milliseconds) { stale.check(thing, at: now) }

    /// Adds events, to the last batch where no commit has taken it and no reload answers it: what changes again and again while
    /// its reload is under way is counted once. Without events only the cursor moves.
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
                // The last of each counts: what was created, deleted and created again is there.
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

    /// Begins what has not begun, and what is due again; complexity: O(``count``) where there is something.
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

    /// Notes what a reload came to, for the batches that it answers.
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

    /// Puts a reload off, or gives it up: then its thing is known stale. False: nobody waits for it.
    mutating func failed(_ number: Int, _ failure: RequestFailure, at now: Milliseconds) -> Bool {
        guard let thing = asked.removeValue(forKey: number), var reload = reloads[thing] else { return false }
        reload.number = nil
        // What a new token may mend waits for nothing else.
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

    /// Makes everything that was put off due.
    mutating func retryNow(at now: Milliseconds) {
        for thing in failing where reloads[thing]?.retryAt != nil { reloads[thing]?.retryAt = now }
        stale.retryNow(at: now)
    }

    /// Lets go of everything. True: reloads were under way, or had brought something.
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
