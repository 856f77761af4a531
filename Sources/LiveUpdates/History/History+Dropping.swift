// Dropping what positions have lost their meaning for. It is said at once and done account by account: each log counts the
// drops that it has followed, follows the others before anything is read of it or added to it, and a sweep frees the memory
// of those that nobody asks for. So a topic that was recreated keeps the node from nothing, however many accounts it has.
extension History {
    /// Accounts that one call frees the memory of: some 200 µs.
    package static let accountsPerSlice = 256

    /// Forgets the topic's partitions and what is held of them: another topic has the name. Whoever follows an account
    /// still does; every stream has lost its position, cursors of other topics have not.
    ///
    /// `now` is when that was noticed: from then on cursors of this node speak of the new one.
    package func reset(topic: UInt16, now: Int64? = nil) { reset(topics: [topic], now: now) }

    /// The same for several at once, which costs as much as for one.
    package func reset(topics: Set<UInt16>, now: Int64? = nil) {
        let idsBefore = topics.map { ($0, partitions.id(of: $0)) }
        drop { topics.contains($0.topic) }
        guard let now else { return }
        for (topic, id) in idsBefore { partitions.noticeRecreation(of: topic, idBefore: id, now: now) }
    }

    /// Forgets partitions: records of them were lost before they were read.
    package func lose(_ partitions: Set<PartitionName>) { drop { partitions.contains($0) } }

    private func drop(_ isGone: (PartitionName) -> Bool) {
        if drops.isFull { freeDropped(limit: .max) }
        let kept = partitions.remove(where: isGone)
        // One that no event has: a position at the last event is lost too, even when nothing follows it yet.
        lastSequence += 1
        forgottenSequence = lastSequence
        drops.add(kept: kept, sequence: lastSequence)
        freeDropped()
    }

    /// Whether memory of what was dropped is still to be freed.
    package var owesFreeing: Bool { drops.isPending }

    /// Frees the memory of what was dropped, of so many accounts.
    package func freeDropped(limit: Int = accountsPerSlice) {
        guard drops.isPending else { return }
        var left = limit
        while left > 0, drops.nextSlot < logs.slots {
            if let log = logs[slot: drops.nextSlot] { _ = holdsNothingDropped(log) }
            drops.nextSlot += 1
            left -= 1
        }
        if drops.nextSlot >= logs.slots { drops.allHaveFollowed() }
    }

    /// The log of an account as it is without what was dropped; nil where nothing is held of it.
    func log(of account: Account) -> AccountLog? {
        guard let log = logs[account], holdsNothingDropped(log) else { return nil }
        return log
    }

    /// Has the log follow all drops. Returns whether it still stands: one that holds nothing is forgotten if nobody follows
    /// its account.
    @inline(__always)
    func holdsNothingDropped(_ log: AccountLog) -> Bool { log.drops == drops.count || keepUp(log) }

    private func keepUp(_ log: AccountLog) -> Bool {
        let before = log.bytes
        var kept: [Int: Int] = [:]
        for part in log.parts { kept[part.slot] = drops.slot(part.slot, since: log.drops) }
        size.events -= log.keep(slots: kept, letGoSequence: drops.sequence, drops: drops.count)
        size.bytes += log.bytes - before
        if let oldest = log.oldestArrival {
            expiry.set(log.slot, oldest)
        } else {
            attended.remove(log.slot)
            expiry.remove(log.slot)
            if log.subscribers == 0 {
                forget(log, now: .min)
                return false
            }
        }
        return true
    }
}

/// Drops that some logs have not followed yet.
struct PendingDrops {
    /// Drops come with metadata refreshes and with batches that cannot be read, and the sweep takes milliseconds: more than a
    /// few stand only where a hundred topics go at once.
    private static let maximum = 64

    /// All drops since the start.
    private(set) var count: UInt32 = 0
    /// Of the last drop.
    private(set) var sequence: UInt64 = 0
    /// Of each drop: new slots of the partitions that were kept, by the slots that they had before.
    private var pending: [[Int: Int]] = []
    /// Accounts in slots before it have followed all of them.
    var nextSlot = 0

    var isPending: Bool { !pending.isEmpty }
    var isFull: Bool { pending.count >= Self.maximum }

    /// Takes no time for the drops that are pending.
    mutating func add(kept: [Int: Int], sequence: UInt64) {
        pending.append(kept)
        self.sequence = sequence
        count += 1
        nextSlot = 0
    }

    /// Where a partition is that had this slot after the first `followed` drops; nil where it was dropped. Takes a look-up for
    /// each drop since.
    func slot(_ slot: Int, since followed: UInt32) -> Int? {
        var slot = slot
        for kept in pending[(pending.count - Int(count - followed))...] {
            guard let moved = kept[slot] else { return nil }
            slot = moved
        }
        return slot
    }

    mutating func allHaveFollowed() {
        pending = []
        nextSlot = 0
    }
}
