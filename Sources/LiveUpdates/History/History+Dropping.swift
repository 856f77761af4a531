// Dropping what positions have lost their meaning for. A drop takes effect at once and is carried out account by account: each
// log counts the drops that it has followed, and follows the others before it is read or extended. A sweep frees the memory of
// logs that are not requested. So a recreated topic does not block the node, however many accounts it has.
extension History {
    /// How many accounts' memory one call frees: some 200 µs.
    package static let accountsPerSlice = 256

    /// Forgets the topic's partitions and what is held of them: another topic has the name. Accounts keep their followers. Every
    /// stream has lost its position; cursors of other topics have not.
    ///
    /// `now` is when that was noticed: from then on cursors of this node refer to the new topic.
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
        // A sequence that no event has: a position at the last event is lost too, even if nothing follows it yet.
        lastSequence += 1
        forgottenSequence = lastSequence
        drops.add(kept: kept, sequence: lastSequence)
        freeDropped()
    }

    /// Whether memory of what was dropped is still to be freed.
    package var owesFreeing: Bool { drops.isPending }

    /// Frees the memory of what was dropped, for at most this many accounts.
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

    /// Lets the log follow all drops. Returns whether it still exists: a log that holds nothing is forgotten if its account has
    /// no followers.
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
    /// Drops come with metadata refreshes and with batches that cannot be read, and the sweep needs milliseconds. More than a few
    /// are pending only if a hundred topics are dropped at once.
    private static let maximum = 64

    /// All drops since the start.
    private(set) var count: UInt32 = 0
    /// Of the last drop.
    private(set) var sequence: UInt64 = 0
    /// Of each drop: new slots of the partitions that were kept, by the slots that they had before.
    private var pending: [[Int: Int]] = []
    /// Accounts in slots before this one have followed all of them.
    var nextSlot = 0

    var isPending: Bool { !pending.isEmpty }
    var isFull: Bool { pending.count >= Self.maximum }

    /// Its cost does not depend on the drops that are pending.
    mutating func add(kept: [Int: Int], sequence: UInt64) {
        pending.append(kept)
        self.sequence = sequence
        count += 1
        nextSlot = 0
    }

    /// Where a partition is that had this slot after the first `followed` drops; nil where it was dropped. Needs a look-up for
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
