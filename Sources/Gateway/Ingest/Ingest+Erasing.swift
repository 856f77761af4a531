import LiveUpdates

/// An order that nothing of an account from before a moment is to be kept.
struct Erasure: Sendable {
    let account: Account
    /// The record's time, which identifies it; in ms since 1970, as all of these.
    let stamp: Int64
    /// Its time, or when it was read if that was before.
    let moment: Int64
    /// Until when the control topic may deliver the record again.
    let end: Int64
}

extension Erasure {
    /// A record that was read now erases what was there by then: a stamp from tomorrow does not erase tomorrow.
    ///
    /// A node that starts reads the record again, later, and does not know that it was ahead before. Nothing in the topic shows
    /// when it arrived: the stamps around it are of other writers, whose clocks may be behind. An erasure that covers too
    /// little is worse than one that covers too much. So the archive, where a deletion is final, keeps the first moment
    /// (``ArchiveStore/erasureEnd(_:stamped:readAt:)``). Kafka fills the account's live log again. After a restart that log may
    /// begin later, and clients with an earlier cursor are notified.
    init(_ account: Account, stamped stamp: Int64, now: Int64, retentionMilliseconds: Int64) {
        let (end, isForEver) = stamp.addingReportingOverflow(retentionMilliseconds)
        self.init(account: account, stamp: stamp, moment: min(stamp, now), end: isForEver ? .max : end)
    }
}

/// The result of an erasure.
struct ErasureOutcome: Sendable {
    /// Events of the account's log.
    let events: Int
    /// More accounts were erased than are remembered: what Kafka still holds of the earlier ones may be served after a restart.
    let isFull: Bool
}

extension Ingest {
    /// Deletes what is held of the account from before the moment, and notifies its followers to resync. Never in the middle of
    /// a wake. Nil where it was erased that far before, as after a restart of the topic's reader.
    func erase(_ erasure: Erasure, wallClock: Int64) -> ErasureOutcome? {
        self.wallClock = wallClock
        let account = erasure.account
        guard
            let events = history.erase(
                account, until: erasure.moment, rememberedUntil: erasure.end, now: wallClock)
        else { return nil }
        let remembered = history.erasedAccounts
        let outcome = ErasureOutcome(events: events, isFull: remembered.count >= remembered.maximum)
        // First a reset that the account was not notified of yet.
        notifyFirst(account)
        guard let number = history.number(of: account), let entry = subscriptions[number] else { return outcome }
        let sequence = history.lastSequence
        let fresh = history.cursor(at: StreamPosition(sequence: sequence), account: account, now: wallClock)
        for (loop, outlet) in outlets.enumerated() where entry.hasSubscribers(onLoop: loop) {
            outlet.mailbox.post(.reset(.expired, sequence: sequence, cursors: [account: fresh]))
        }
        return outcome
    }
}
