// What a node's cursors may claim of partitions in which an account has nothing, and what contradicts a cursor.
extension PartitionTable {
    /// How many partitions a cursor names at most although its account has nothing there: each adds a dozen characters.
    static let maximumNamed = 4
    /// The same where there are few partitions: cursors that name all of them need no rule about those that they do not name.
    static let maximumNamedOfFew = 16
    /// A partition is quiet if nothing has come to it for this long, or for `max_timestamp_delay` if that is shorter: then it
    /// seldom makes cursors longer. This is as long as clocks may differ, or as a first record may seem younger elsewhere than
    /// what is known of it here. An operator who sets a shorter delay states that they do not.
    static let quietMilliseconds = History.maximumClockDifferenceMilliseconds

    /// What follows from facts, and from how far partitions are read, must be determined again.
    mutating func forgetClaims() {
        readUntilIfCurrent = nil
        namedIfCurrent = nil
    }

    /// The partition exists, and nothing else is known of it yet; or it does not, after all.
    mutating func find(_ partition: PartitionName, exists: Bool) {
        guard exists, slot(of: partition) == nil else { return forgetUnopened(partition) }
        unopenedSince = min(unopenedSince, readUntil())
        unopened.insert(partition)
        forgetClaims()
    }

    mutating func forgetUnopened(_ partition: PartitionName) {
        unopened.remove(partition)
        if unopened.isEmpty { unopenedSince = .max }
        forgetClaims()
    }

    /// Everything that came to any partition before this moment was read here, or is missing in a log that is not read from its
    /// offset 0; `.min` where nothing is known. Goes over all partitions after something of it changed.
    mutating func readUntil() -> Int64 {
        if let readUntilIfCurrent { return readUntilIfCurrent }
        var least = progress.isEmpty ? Int64.min : unopenedSince
        isBehind = false
        for slot in everySlot() {
            if progress[slot].next < facts[slot].end ?? 0 { isBehind = true }
            least = min(least, readUntil(slot))
        }
        readUntilIfCurrent = least
        return least
    }

    func readUntil(_ slot: Int) -> Int64 {
        guard let moment = facts[slot].endMoment, progress[slot].next >= facts[slot].end ?? 0 else {
            return progress[slot].readUntil
        }
        return moment
    }

    /// Slots of partitions that a cursor names even where its account has nothing: it has read up to here.
    ///
    /// First come those for which a cursor could not claim by its time that everything was read. Then come quiet ones, those that
    /// have been quiet for longest first. A log is quiet for long before retention empties it, and a node that finds it empty has
    /// nothing else to compare with.
    ///
    /// Naming a partition is safe at any time: what the account has had there was delivered, or is still held, and then it is not
    /// named. It causes hardly any refusal of a cursor that the time alone would have accepted. A record behind the position came
    /// after the cursor, and one of another account counts only where accounts are evicted for memory.
    mutating func named(issue: Int64) -> [Int] {
        if let namedIfCurrent { return namedIfCurrent }
        let readUntil = readUntil()
        let quietSince = issue - min(maximumTimestampDelay, Self.quietMilliseconds)
        let open = everySlot().filter { progress[$0].next > 0 && facts[$0].known != nil }
        let doubtful = open.filter { unreadUntil[$0] > readUntil }
        let quiet = open.filter { unreadUntil[$0] <= readUntil && progress[$0].lastArrival < quietSince }
            .sorted { (progress[$0].lastArrival, $0) < (progress[$1].lastArrival, $1) }
        let limit = progress.count <= Self.maximumNamedOfFew + 1 ? Self.maximumNamedOfFew : Self.maximumNamed
        var named = Array((doubtful + quiet).prefix(limit))
        if topics > 1, identity().inference.topicsKnown == nil {
            // No single moment shows for all topics that they were those that are read: what is known of one log of each does.
            var isNamed = Set(named.map { progress[$0].name.topic })
            let others = open.filter { isNamed.insert(progress[$0].name.topic).inserted }
            named += others.prefix(Self.maximumNamedOfFew)
        }
        namedIfCurrent = named
        return named
    }

    /// A topic that is as empty as a new one, as far as is known, although a cursor states that it had records.
    mutating func emptyTopic(contradicting cursor: Cursor) -> UInt16? {
        identity().inference.emptyTopics.first { topic in
            guard everySlot().allSatisfy({ progress[$0].name.topic != topic || progress[$0].next == 0 }) else {
                return false
            }
            if cursor.topicsKnown != nil { return true }
            return cursor.positions.contains { $0.partition.topic == topic && $0.offset > 0 }
        }
    }

    /// A partition of a topic whose end was not requested at a moment (monotonic, in ms) or later, with the end that shows a
    /// record in it; nil where all were.
    mutating func firstRecord(of topic: UInt16, notAskedSince moment: UInt64) -> PartitionFloor? {
        everySlot().first { progress[$0].name.topic == topic && facts[$0].endAsked < moment }
            .map { PartitionFloor(partition: progress[$0].name, offset: 1) }
    }
}
