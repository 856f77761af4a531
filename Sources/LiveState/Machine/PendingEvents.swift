/// Events that are not in the state yet: in batches, each with the cursor behind it, and what is known of their reloads.
///
/// A thing is asked for once at a time. A reload answers the batches that had come when it began; for later ones there is
/// another.
struct PendingEvents: Sendable {
    private struct Item: Sendable {
        let thing: Thing
        var types: [String]
        /// Of the oldest event.
        var ts: Milliseconds?
        var isDone = false

        mutating func note(_ event: ThingEvent) {
            ts = [ts, event.ts].compactMap { $0 }.min()
        }
    }

    private struct Batch: Sendable {
        let sequence: Int
        var came: Milliseconds
        var at: String
        var items: [Item] = []
    }

    private struct Reload: Sendable {
        /// The number of the one under way.
        var number: Int?
        /// The newest batch when it began.
        var covers = 0
        var retry: Retry
        var retryAt: Milliseconds?
        /// What the last one found.
        var outcome: Reloaded?
    }

    private var batches: [Batch] = []
    private var lastSequence = 0
    /// Where the things of the last batch stand in it.
    private var lastItems: [Thing: Int] = [:]
    /// The newest batch that a reload answers.
    private var covered = 0
    private var reloads: [Thing: Reload] = [:]
    private var asked: [Int: Thing] = [:]
    private var failing: Set<Thing> = []
    private var jitter: Jitter
    /// Something may begin.
    private var hasNews = false
    /// Things, counted for each type and each batch.
    private(set) var count = 0

    init(seed: UInt32) { jitter = Jitter(seed: seed) }

    /// The cursor behind all of it.
    var lastCursor: String? { batches.last?.at }
    var hasFailed: Bool { !failing.isEmpty }
    /// When the oldest event came.
    var unappliedSince: Milliseconds? { batches.first { !$0.items.isEmpty }?.came }
    /// When a failed reload is to be tried again.
    var retryAt: Milliseconds? { failing.compactMap { reloads[$0]?.retryAt }.min() }

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
                let known = types[item.thing] ?? []
                types[item.thing] = known.filter { !item.types.contains($0) } + item.types
            }
        }
        return order.compactMap { thing in
            var reload = reloads[thing] ?? Reload(retry: Retry(seed: jitter.next()))
            guard reload.number == nil else { return nil }
            if let retryAt = reload.retryAt, !mayRetry || retryAt > now { return nil }
            lastNumber += 1
            reload.number = lastNumber
            reload.covers = lastSequence
            covered = lastSequence
            reload.retryAt = nil
            reloads[thing] = reload
            asked[lastNumber] = thing
            return .reload(number: lastNumber, thing: thing, types: types[thing] ?? [])
        }
    }

    mutating func reloaded(_ number: Int, _ outcome: Reloaded) {
        guard let thing = asked.removeValue(forKey: number), var reload = reloads[thing] else { return }
        reload.number = nil
        reload.outcome = outcome
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

    /// Puts a reload off. False: nobody waits for it.
    mutating func failed(_ number: Int, _ failure: RequestFailure, at now: Milliseconds) -> Bool {
        guard let thing = asked.removeValue(forKey: number), reloads[thing] != nil else { return false }
        reloads[thing]?.number = nil
        let wait = reloads[thing]?.retry.wait(for: failure) ?? 0
        // What a new token may mend waits for nothing else.
        reloads[thing]?.retryAt = failure == .unauthorized ? now : now + wait
        failing.insert(thing)
        return true
    }

    /// Makes everything that was put off due.
    mutating func retryNow(at now: Milliseconds) {
        for thing in failing where reloads[thing]?.retryAt != nil { reloads[thing]?.retryAt = now }
    }

    /// How many batches, from the first on, have all that they name.
    var ready: Int { batches.prefix { $0.items.allSatisfy(\.isDone) }.count }

    /// What a commit of the first batches changes, and the cursor behind them with the time at which it came.
    func changes(of count: Int) -> (changes: [ThingChange], at: String, came: Milliseconds)? {
        guard count > 0, count <= batches.count else { return nil }
        var changes: [ThingChange] = []
        var seen: [Thing: Int] = [:]
        for item in batches.prefix(count).flatMap(\.items) {
            if let known = seen[item.thing] {
                changes[known].ts = [changes[known].ts, item.ts].compactMap { $0 }.min()
            } else if let outcome = reloads[item.thing]?.outcome {
                seen[item.thing] = changes.count
                changes.append(ThingChange(thing: item.thing, outcome: outcome, ts: item.ts))
            }
        }
        return (changes, batches[count - 1].at, batches[count - 1].came)
    }

    /// Lets go of the first batches: they are in the state.
    mutating func removeFirst(_ number: Int) {
        count -= batches.prefix(number).flatMap(\.items).reduce(0) { $0 + $1.types.count }
        batches.removeFirst(number)
        let named = Set(batches.flatMap(\.items).map(\.thing))
        reloads = reloads.filter { named.contains($0.key) }
    }

    /// Lets go of everything. True: reloads were under way, or had brought something.
    mutating func removeAll() -> Bool {
        let hadReloads = !reloads.isEmpty
        batches = []
        reloads = [:]
        asked = [:]
        failing = []
        count = 0
        hasNews = false
        return hadReloads
    }
}
