// Erasing: what is held of an account from before a moment is let go. Kafka may deliver it again later, for example to a node
// that starts. It is then delivered to connected clients and never kept. An erased account keeps its log, empty or not, while it
// may be erased again: if it were forgotten, every quiet account would inherit what it let go.
extension History {
    /// Lets go of the account's events that are stamped or arrived before `moment`, and remembers it until `end`; all in ms
    /// since 1970.
    ///
    /// - Returns: how many events went; nil where it was erased so far before.
    package func erase(_ account: Account, until moment: Int64, rememberedUntil end: Int64, now: Int64) -> Int? {
        guard erasures.add(account, Erasures.Entry(moment: moment, end: end)) else { return nil }
        guard let log = log(of: account) else { return 0 }
        return letErasedGo(log, now: now)
    }

    /// Accounts of which something is erased, and the most that are remembered.
    package var erasedAccounts: (count: Int, maximum: Int) { (erasures.count, Erasures.maximum) }

    /// Returns how many events went.
    @discardableResult
    func letErasedGo(_ log: AccountLog, now: Int64) -> Int {
        guard let moment = erasures.moment(of: log.account) else { return 0 }
        let before = log.bytes
        let gone = log.letGo(before: moment, now: now, entities: vocabulary.entities)
        guard gone > 0 else { return 0 }
        size.events -= gone
        size.bytes += log.bytes - before
        if let oldest = log.oldestArrival {
            expiry.set(log.slot, oldest)
        } else {
            expiry.remove(log.slot)
            attended.remove(log.slot)
        }
        return gone
    }

    /// Whether the log stays although it holds nothing and its account has no followers.
    func isKeptEmpty(_ log: AccountLog) -> Bool { erasures.moment(of: log.account) != nil }

    /// Forgets what was erased so long ago that no source delivers it any more.
    func forgetErasures(now: Int64) {
        for account in erasures.removeEnded(now: now) {
            if let log = log(of: account), log.count == 0, log.subscribers == 0 { forget(log, now: now) }
        }
    }
}

/// For each erased account, the moment before which it is erased.
struct Erasures {
    struct Entry {
        var moment: Int64
        /// When it may be forgotten.
        var end: Int64
    }

    /// Some 20 MB with the longest names.
    static let maximum = 65_536

    private var entries: [Account: Entry] = [:]
    /// No entry ends before this.
    private var nextEnd = Int64.max

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    func moment(of account: Account) -> Int64? { entries[account]?.moment }

    /// False where the account is erased up to that moment already. Over ``maximum`` the entry that ends first is removed: O(n).
    mutating func add(_ account: Account, _ entry: Entry) -> Bool {
        if let known = entries[account] {
            guard entry.moment > known.moment else { return false }
        } else if entries.count >= Self.maximum, let first = entries.min(by: { $0.value.end < $1.value.end }) {
            entries[first.key] = nil
        }
        entries[account] = entry
        nextEnd = min(nextEnd, entry.end)
        return true
    }

    /// O(n) when one has ended.
    mutating func removeEnded(now: Int64) -> [Account] {
        guard now >= nextEnd else { return [] }
        let ended = entries.filter { $0.value.end <= now }.map(\.key)
        for account in ended { entries[account] = nil }
        nextEnd = entries.values.reduce(.max) { min($0, $1.end) }
        return ended
    }
}
