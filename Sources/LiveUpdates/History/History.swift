/// The events that a node holds, by account, and what it knows of the partitions they came from.
///
/// It numbers what it reads (the *sequence*, from 1), lets go what exceeds its limits, creates cursors and decides on those that
/// clients return. No clock, no I/O: `now` is the node's wall clock in ms since 1970. Confined to the ingest loop.
package final class History {
    /// Nil as long as it is not known which cluster is read: no cursor can be decided on then.
    package private(set) var epoch: Epoch?
    package let limits: HistoryLimits

    // MARK: What it holds

    /// To be read through ``log(of:)``, since a log may hold what was dropped.
    var logs = AccountTable()
    /// What was dropped but is still held by some logs.
    var drops = PendingDrops()
    /// Accounts without followers, and accounts with followers that hold events: the former are evicted first.
    private var unattended = IdleOrder()
    var attended = IdleOrder()
    /// Accounts that hold events, by a moment that is no later than the arrival of the first of them.
    var expiry = ExpiryQueue()
    var vocabulary = Vocabulary()
    var erasures = Erasures()

    // MARK: What it knows

    var partitions: PartitionTable
    /// The sequence of the last event that was read, of any account: later events have a higher one.
    package internal(set) var lastSequence: UInt64 = 0

    /// The latest time that the clock has shown, which arrivals and the retention use. With a clock that was set back, an event
    /// would be older than earlier cursors, and those would be served without it once it is let go.
    private var latest = Int64.min

    // MARK: What it let go of accounts that it has forgotten

    var forgottenSequence: UInt64 = 0
    private var forgottenNewest = Int64.min

    /// What was dropped counts until its memory is freed.
    package internal(set) var size = HistorySize()
    /// Events that were let go since the start, by reason.
    package private(set) var evictions = HistoryEvictions()
    /// Events that the last ``read(account:from:limit:entities:now:withCursors:)`` passed, including those that the filter left
    /// out: what it cost.
    package internal(set) var lastReadEvents = 0

    /// `topics` is the number of topics in the settings: their ids count when all are known.
    package init(epoch: Epoch? = nil, topics: Int = 1, limits: HistoryLimits) {
        precondition(limits.maximumEventsPerAccount > 0, "an account's log holds an event at least")
        self.epoch = epoch
        self.limits = limits
        partitions = PartitionTable(
            topics: topics, maximumTimestampDelay: limits.maximumTimestampDelayMilliseconds,
            retention: limits.retentionMilliseconds)
    }

    /// To be called once the cluster is known, and with it the epoch.
    package func begin(_ epoch: Epoch) { self.epoch = epoch }

    // MARK: - Reading records

    /// The result of reading an event.
    package struct Appended {
        /// 0: the record was read before, and changes nothing.
        package let sequence: UInt64
        /// What ``retain(_:)`` has returned for the account; nil if it has no followers.
        package let followed: Int?
    }

    /// Reads an event. One look-up by the account's name, and no String.
    ///
    /// A time stamp of −1 means none. An event's age counts from its *arrival*: the wall clock where the record was read as it
    /// came, else the highest time stamp of its partition so far.
    @discardableResult
    package func append(
        _ event: RecordedEvent, partition: PartitionName, offset: Int64, timestamp: Int64, now: Int64
    ) -> Appended {
        let now = passes(now)
        let slot = partitions.slot(reading: partition, offset, now: now)
        guard offset >= partitions[slot].next else { return Appended(sequence: 0, followed: nil) }
        let arrival = partitions.read(slot, offset: offset, timestamp: timestamp, now: now)
        return append(event, slot, offset: offset, timestamp: timestamp, arrival: arrival, now: now)
    }

    /// Reads another account's event of the record whose event was appended last.
    @discardableResult
    package func append(
        second event: RecordedEvent, partition: PartitionName, offset: Int64, timestamp: Int64, now: Int64
    ) -> Appended {
        let now = passes(now)
        let slot = partitions.slot(reading: partition, offset, now: now)
        precondition(offset < partitions[slot].next, "a second event whose record was not read")
        let arrival = partitions[slot].lastArrival
        return append(event, slot, offset: offset, timestamp: timestamp, arrival: arrival, now: now)
    }

    private func append(
        _ event: RecordedEvent, _ slot: Int, offset: Int64, timestamp: Int64, arrival: Int64, now: Int64
    ) -> Appended {
        lastSequence += 1
        let log = log(of: event)
        let before = log.bytes
        let index = log.index(ofSlot: slot, orBegin: part(of: log, slot: slot, now: now))
        // The earliest arrival of the events that have become the first of their partition.
        var earliest = log.parts[index].count == 0 ? arrival : nil
        log.append(
            event, to: index,
            at: PartitionLog.Mark(offset: offset, arrival: arrival, sequence: lastSequence), timestamp: timestamp,
            word: vocabulary.number(of: event.kind))
        size.events += 1
        if log.count > limits.maximumEventsPerAccount {
            let next = log.letOldestGo(now: now, entities: vocabulary.entities)
            if let next { earliest = min(earliest ?? .max, next) }
            size.events -= 1
            evictions.count += 1
        }
        size.bytes += log.bytes - before
        if log.subscribers > 0 { attended.use(log.slot) } else { unattended.use(log.slot) }
        if let earliest, earliest < expiry.moment(of: log.slot) ?? .max { expiry.set(log.slot, earliest) }
        if !erasures.isEmpty, let moment = erasures.moment(of: log.account),
            arrival < moment || timestamp != -1 && timestamp < moment
        {
            letErasedGo(log, now: now)
        }
        letExpiredGo(now: now, limit: Self.maximumExpiredPerRecord)
        if size.bytes > limits.maximumLogBytes { makeRoom(now: now) }
        return Appended(sequence: lastSequence, followed: log.subscribers > 0 ? log.slot : nil)
    }

    /// Reads a record that yields no event. False: it was read before, and changes nothing.
    @discardableResult
    package func skip(_ partition: PartitionName, offset: Int64, timestamp: Int64, now: Int64) -> Bool {
        let now = passes(now)
        let slot = partitions.slot(reading: partition, offset, now: now)
        guard offset >= partitions[slot].next else { return false }
        _ = partitions.read(slot, offset: offset, timestamp: timestamp, now: now)
        return true
    }

    private func passes(_ now: Int64) -> Int64 {
        if now > latest { latest = now }
        return latest
    }

    /// Begins a wake: everything read before has been handed out.
    package func beginWake() { partitions.beginWake() }

    private func log(of event: RecordedEvent) -> AccountLog {
        let name = event.bytes.span.extracting(event.accountRange)
        let log = logs.log(name) { begin(event.account, $0) }
        return holdsNothingDropped(log) ? log : logs.log(name) { begin(event.account, $0) }
    }

    private func log(orBegin account: Account) -> AccountLog {
        log(of: account) ?? logs.log(account.text.utf8Span.span) { begin(account, $0) }
    }

    private func begin(_ account: Account, _ slot: Int) -> AccountLog {
        let log = AccountLog(
            account: account, slot: slot, letGoSequence: forgottenSequence, newestLetGo: forgottenNewest,
            drops: drops.count)
        size.accounts += 1
        size.bytes += log.bytes
        return log
    }

    /// The highest offset of a partition at which an event of the account may have been let go before it has anything there: none
    /// where its log existed before any account was evicted.
    func letGoBeforePart(_ slot: Int, _ log: AccountLog?) -> Int64 {
        log?.inheritedNewestLetGo == .min ? partitions.facts[slot].start - 1 : partitions[slot].letGo
    }

    private func part(of log: AccountLog, slot: Int, now: Int64) -> PartitionLog {
        let progress = partitions[slot]
        return PartitionLog(
            partition: progress.name, slot: slot, letGo: letGoBeforePart(slot, log),
            newestLetGo: min(log.inheritedNewestLetGo, progress.newestLetGo), now: now)
    }

    // MARK: - Followers

    /// A connection or a wait follows the account from now on: its state stays, whatever is evicted. Returns a small number,
    /// which belongs to the account as long as it has followers.
    @discardableResult
    package func retain(_ account: Account) -> Int {
        let log = log(orBegin: account)
        log.subscribers += 1
        unattended.remove(log.slot)
        if log.count > 0 { attended.use(log.slot) }
        return log.slot
    }

    /// What ``retain(_:)`` has returned for the account; nil if it has no followers.
    package func number(of account: Account) -> Int? {
        log(of: account).flatMap { $0.subscribers > 0 ? $0.slot : nil }
    }

    /// Ends what one ``retain(_:)`` began; returns what that returned.
    @discardableResult
    package func release(_ account: Account) -> Int {
        guard let log = log(of: account), log.subscribers > 0 else {
            preconditionFailure("an account is released that nobody retained")
        }
        log.subscribers -= 1
        guard log.subscribers == 0 else { return log.slot }
        attended.remove(log.slot)
        if log.count == 0, !isKeptEmpty(log) { forget(log, now: .min) } else { unattended.use(log.slot) }
        return log.slot
    }

    // MARK: - Letting go

    /// Two for each event that comes, so that letting go keeps up with any rate.
    private static let maximumExpiredPerRecord = 2
    /// Accounts whose dropped events are freed where the limit of bytes is reached.
    private static let maximumFreedPerRecord = 16
    /// Events that one sweep lets go: some 100 µs.
    package static let maximumSwept = 1_024

    /// Lets go what is older than the retention while nothing comes, at most ``maximumSwept`` events a call.
    package func sweep(now: Int64) {
        letExpiredGo(now: passes(now), limit: Self.maximumSwept)
        if !erasures.isEmpty { forgetErasures(now: now) }
    }

    private func letExpiredGo(now: Int64, limit: Int) {
        let horizon = now - limits.retentionMilliseconds
        var work = limit
        while work > 0, expiry.earliest < horizon, let slot = expiry.first {
            guard let log = logs[slot: slot] else { preconditionFailure("an account is forgotten as a whole") }
            if log.drops != drops.count {
                work -= 1
                _ = holdsNothingDropped(log)
                continue
            }
            let before = log.bytes
            let gone = log.letGo(
                arrivedBefore: horizon, limit: work, now: now, entities: vocabulary.entities)
            size.events -= gone
            evictions.age += UInt64(gone)
            size.bytes += log.bytes - before
            work -= max(1, gone)
            if let oldest = log.oldestArrival {
                expiry.set(slot, oldest)
            } else {
                expiry.remove(slot)
                attended.remove(slot)
                if log.subscribers == 0, !isKeptEmpty(log) { forget(log, now: now) }
            }
        }
    }

    /// Evicts the account that has been idle for longest: one without followers as a whole, and when none of these is left, the
    /// events of one with followers.
    private func makeRoom(now: Int64) {
        // What was dropped is freed before anything that may still be requested.
        if drops.isPending { freeDropped(limit: Self.maximumFreedPerRecord) }
        while size.bytes > limits.maximumLogBytes {
            if let slot = unattended.longestIdle, let log = logs[slot: slot] {
                if holdsNothingDropped(log) {
                    evictions.bytes += UInt64(log.count)
                    forget(log, now: now)
                }
            } else if let slot = attended.longestIdle, let log = logs[slot: slot] {
                _ = holdsNothingDropped(log)
                let before = log.bytes
                size.events -= log.count
                evictions.bytes += UInt64(log.count)
                log.letAllGo(now: now)
                size.bytes += log.bytes - before
                attended.remove(slot)
                expiry.remove(slot)
            } else {
                // Only states of accounts with followers are left: the limit on connections bounds them.
                return
            }
        }
    }

    /// Logs that are created later inherit what it let go.
    func forget(_ log: AccountLog, now: Int64) {
        size.accounts -= 1
        size.events -= log.count
        size.bytes -= log.bytes
        log.letAllGo(now: now)
        for part in log.parts {
            partitions.letGo(part.slot, offset: part.base.offset, newest: part.newestLetGo)
            forgottenNewest = max(forgottenNewest, part.newestLetGo)
        }
        forgottenSequence = max(forgottenSequence, log.letGoSequence)
        unattended.remove(log.slot)
        attended.remove(log.slot)
        expiry.remove(log.slot)
        logs.remove(log)
    }
}

@available(*, unavailable)
extension History: Sendable {}
