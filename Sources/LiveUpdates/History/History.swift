/// The events that a node holds, by account, and what it knows of the partitions they came from.
///
/// It numbers what it takes (the *sequence*, from 1), lets go what is beyond its limits, makes cursors and judges those
/// that come back. No clock, no I/O: `now` is the node's wall clock in ms since 1970. Confined to the ingest loop.
package final class History {
    package let epoch: Epoch
    package let limits: HistoryLimits

    // MARK: What it holds

    var logs: [Account: AccountLog] = [:]
    /// The same by slot; free ones are nil.
    private var slots: [AccountLog?] = []
    private var freeSlots: [Int] = []
    /// Accounts that nobody follows, and those that are followed and hold events: the former give way first.
    private var unattended = IdleOrder()
    private var attended = IdleOrder()
    private var nextSwept = 0
    var vocabulary = Vocabulary()

    // MARK: What it knows

    var partitions = PartitionTable()
    /// The last event that was taken, of any account: whatever comes later has a higher sequence.
    package private(set) var lastSequence: UInt64 = 0

    // MARK: What it let go of accounts that it has forgotten

    private(set) var forgottenSequence: UInt64 = 0
    private var forgottenNewest = Int64.min

    package private(set) var size = HistorySize()

    package init(epoch: Epoch, limits: HistoryLimits) {
        precondition(limits.maximumEventsPerAccount > 0, "an account's log holds an event at least")
        self.epoch = epoch
        self.limits = limits
    }

    // MARK: - Taking

    /// Takes an event; returns its sequence, or 0 for a record that was taken before, which changes nothing.
    ///
    /// A time stamp below 0 is none: the event counts as of `now`. One in the future is kept, and counts as of the
    /// time when the event is let go. One that is older than the retention goes with the next sweep, unless older
    /// events stand before it.
    @discardableResult
    package func append(
        _ event: ThinEvent, account: Account, partition: PartitionName, offset: Int64, timestamp: Int64, now: Int64
    ) -> UInt64 {
        let place = partitions.openPlace(of: partition)
        let state = partitions[place]
        guard offset >= state.next else { return 0 }
        if state.next == state.start && state.began == nil {
            partitions.readFirst(place, timestamp: timestamp, now: now)
        }
        partitions.setNext(place, offset + 1)
        lastSequence += 1
        let log = logs[account] ?? begin(account)
        let before = log.bytes
        let index = log.index(ofPlace: place, orBegin: part(of: log, place: place, now: now))
        log.append(
            event, to: index,
            at: PartitionLog.Mark(offset: offset, stamp: timestamp < 0 ? now : timestamp, sequence: lastSequence),
            isUnstamped: timestamp < 0, word: vocabulary.number(of: event))
        size.events += 1
        if log.count > limits.maximumEventsPerAccount {
            log.letOldestGo(now: now)
            size.events -= 1
        }
        size.bytes += log.bytes - before
        if log.subscribers > 0 { attended.use(log.slot) } else { unattended.use(log.slot) }
        if size.bytes > limits.maximumLogBytes { makeRoom(now: now) }
        return lastSequence
    }

    private func begin(_ account: Account) -> AccountLog {
        let slot = freeSlots.popLast() ?? slots.count
        let log = AccountLog(
            account: account, slot: slot, letGoSequence: forgottenSequence, newestLetGo: forgottenNewest)
        if slot == slots.count { slots.append(log) } else { slots[slot] = log }
        logs[account] = log
        size.accounts += 1
        size.bytes += log.bytes
        return log
    }

    private func part(of log: AccountLog, place: Int, now: Int64) -> PartitionLog {
        let state = partitions[place]
        return PartitionLog(
            partition: state.name, place: place, letGo: state.letGo,
            newestLetGo: min(log.inheritedNewestLetGo, state.newestLetGo), now: now)
    }

    // MARK: - Followers

    /// Says that a connection or a wait follows the account from now on: its state stays, whatever gives way.
    package func retain(_ account: Account) {
        let log = logs[account] ?? begin(account)
        log.subscribers += 1
        unattended.remove(log.slot)
        if log.count > 0 { attended.use(log.slot) }
    }

    /// Ends what one ``retain(_:)`` began.
    package func release(_ account: Account) {
        guard let log = logs[account], log.subscribers > 0 else {
            preconditionFailure("an account is released that nobody retained")
        }
        log.subscribers -= 1
        guard log.subscribers == 0 else { return }
        attended.remove(log.slot)
        if log.parts.isEmpty { forget(log, now: .min) } else { unattended.use(log.slot) }
    }

    // MARK: - Letting go

    /// Slots and events that one sweep looks at: some 100 µs.
    package static let maximumSwept = 1_024

    /// Lets go what is older than the retention, going round all accounts, at most ``maximumSwept`` of them a call.
    package func sweep(now: Int64) {
        let horizon = now - limits.retentionMilliseconds
        var work = min(Self.maximumSwept, slots.count)
        while work > 0 {
            work -= 1
            if nextSwept >= slots.count { nextSwept = 0 }
            guard nextSwept < slots.count else { return }
            guard let log = slots[nextSwept] else {
                nextSwept += 1
                continue
            }
            let before = log.bytes
            let gone = log.letGo(olderThan: horizon, limit: max(1, work), now: now)
            size.events -= gone
            size.bytes += log.bytes - before
            work -= gone
            if work < 0 { return }
            nextSwept += 1
            guard log.count == 0 else { continue }
            attended.remove(log.slot)
            if log.subscribers == 0 { forget(log, now: now) }
        }
    }

    /// The account that has been idle for longest gives way: one that nobody follows as a whole, and when there is
    /// none left, the events of one that somebody does.
    private func makeRoom(now: Int64) {
        while size.bytes > limits.maximumLogBytes {
            if let slot = unattended.longestIdle, let log = slots[slot] {
                forget(log, now: now)
            } else if let slot = attended.longestIdle, let log = slots[slot] {
                let before = log.bytes
                size.events -= log.count
                log.letAllGo(now: now)
                size.bytes += log.bytes - before
                attended.remove(slot)
            } else {
                // What is left are states of accounts that somebody follows: the limit on connections bounds them.
                return
            }
        }
    }

    /// Whoever asks for it later inherits what it let go.
    private func forget(_ log: AccountLog, now: Int64) {
        size.accounts -= 1
        size.events -= log.count
        size.bytes -= log.bytes
        log.letAllGo(now: now)
        for part in log.parts {
            partitions[part.place].letGo = max(partitions[part.place].letGo, part.base.offset)
            partitions[part.place].newestLetGo = max(partitions[part.place].newestLetGo, part.newestLetGo)
            forgottenNewest = max(forgottenNewest, part.newestLetGo)
        }
        forgottenSequence = max(forgottenSequence, log.letGoSequence)
        unattended.remove(log.slot)
        attended.remove(log.slot)
        slots[log.slot] = nil
        freeSlots.append(log.slot)
        logs[log.account] = nil
    }

    /// Drops all logs and forgets all partitions: positions have lost their meaning. Whoever follows an account still
    /// does, and every position from before is lost.
    package func reset() {
        let followed = logs.values.filter { $0.subscribers > 0 }
        logs = [:]
        slots = []
        freeSlots = []
        unattended = IdleOrder()
        attended = IdleOrder()
        nextSwept = 0
        vocabulary = Vocabulary()
        partitions = PartitionTable()
        // One that no event has: a position at the last event is lost too, even when nothing follows it yet.
        lastSequence += 1
        forgottenSequence = lastSequence
        forgottenNewest = .min
        size = HistorySize()
        for old in followed { begin(old.account).subscribers = old.subscribers }
    }
}

@available(*, unavailable)
extension History: Sendable {}

/// What a history comes to.
package struct HistorySize: Equatable, Sendable {
    package var accounts = 0
    package var events = 0
    /// Allocated for logs, states and their tables.
    package var bytes = 0
}
