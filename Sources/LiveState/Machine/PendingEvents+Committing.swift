// What of the events goes into commits. State may be ahead of the finger: an event that comes again costs a fetch.
extension PendingEvents {
    /// What a commit changes, and how far the finger moves with it.
    struct Taken {
        var changes: [ThingChange] = []
        /// So many batches, from the first on, have all that they name.
        var batches = 0
        /// The cursor behind those, and when it came; nil: the finger stays.
        var at: String?
        var came: Milliseconds?
    }

    /// All that was reloaded and is in no commit yet. Nil: nothing, and the finger does not move.
    mutating func take() -> Taken? {
        var result = Taken(batches: batches.prefix { $0.items.allSatisfy(\.isDone) }.count)
        var seen: [Thing: Int] = [:]
        for batch in batches.indices {
            for item in batches[batch].items.indices {
                let named = batches[batch].items[item]
                guard named.isDone, !named.isTaken, let reload = reloads[named.thing], reload.isFresh else { continue }
                batches[batch].items[item].isTaken = true
                if let known = seen[named.thing] {
                    result.changes[known].ts = [result.changes[known].ts, named.ts].compactMap { $0 }.min()
                } else if let outcome = reload.outcome {
                    seen[named.thing] = result.changes.count
                    result.changes.append(ThingChange(thing: named.thing, outcome: outcome, ts: named.ts))
                }
            }
        }
        let others = reloads.values.filter { $0.isFresh && seen[$0.thing] == nil }
        for reload in others.sorted(by: { $0.order < $1.order }) {
            if let outcome = reload.outcome {
                result.changes.append(ThingChange(thing: reload.thing, outcome: outcome))
            }
        }
        guard result.batches > 0 || !result.changes.isEmpty else { return nil }
        taken = result.changes.map(\.thing)
        for thing in taken { reloads[thing]?.isFresh = false }
        if result.batches > 0 {
            result.at = batches[result.batches - 1].at
            result.came = batches[result.batches - 1].came
        }
        return result
    }

    /// What was taken is not stored: the next commit takes it.
    mutating func giveBack() {
        eachTaken { $0.isTaken = false }
        for thing in taken { reloads[thing]?.isFresh = true }
        taken = []
    }

    /// What was taken is in the state: lets go of the first batches.
    mutating func stored(_ number: Int) {
        eachTaken { $0.isStored = true }
        taken = []
        count -= batches.prefix(number).flatMap(\.items).reduce(0) { $0 + $1.types.count }
        batches.removeFirst(number)
        let named = Set(batches.flatMap(\.items).map(\.thing))
        reloads = reloads.filter { named.contains($0.key) || $0.value.isFresh || $0.value.number != nil }
    }

    /// Changes each item that the commit under way has taken.
    private mutating func eachTaken(_ change: (inout Item) -> Void) {
        for batch in batches.indices {
            for item in batches[batch].items.indices {
                let named = batches[batch].items[item]
                if named.isTaken && !named.isStored { change(&batches[batch].items[item]) }
            }
        }
    }
}
