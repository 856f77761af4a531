// Which events go into commits. The state may be ahead of the cursor held: an event that comes again only costs a fetch.
extension PendingEvents {
    /// What a commit changes, and how far it moves the cursor held.
    struct Taken {
        var changes: [ThingChange] = []
        /// How many batches, from the first on, are complete.
        var batches = 0
        /// The cursor behind those batches, and when it came. Nil: the cursor held does not move.
        var at: String?
        var came: Milliseconds?
    }

    /// Collects all reloaded things that are in no commit yet. Nil: there are none, and the cursor held does not move.
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

    /// The commit failed, so the next commit contains the same changes again.
    mutating func giveBack() {
        eachTaken { $0.isTaken = false }
        for thing in taken { reloads[thing]?.isFresh = true }
        taken = []
    }

    /// The commit is stored: forgets the first batches.
    mutating func stored(_ number: Int) {
        eachTaken { $0.isStored = true }
        taken = []
        count -= batches.prefix(number).flatMap(\.items).reduce(0) { $0 + $1.types.count }
        batches.removeFirst(number)
        let named = Set(batches.flatMap(\.items).map(\.thing))
        reloads = reloads.filter { named.contains($0.key) || $0.value.isFresh || $0.value.number != nil }
    }

    /// Changes each item that the running commit contains.
    private mutating func eachTaken(_ change: (inout Item) -> Void) {
        for batch in batches.indices {
            for item in batches[batch].items.indices {
                let named = batches[batch].items[item]
                if named.isTaken && !named.isStored { change(&batches[batch].items[item]) }
            }
        }
    }
}
