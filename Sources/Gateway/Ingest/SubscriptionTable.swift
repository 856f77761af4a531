import LiveUpdates

/// Which loops hold a subscriber of which account.
///
/// Confined to the ingest loop. The table is as large as the number of accounts that somebody listens to; a
/// connection counts once in it, so the limit on connections is its limit.
struct SubscriptionTable {
    /// One account with its subscribers, and what the current wake has brought for it.
    final class Entry {
        let account: Account
        fileprivate(set) var connectionsPerLoop: [Int32]
        fileprivate(set) var connections = 0
        /// Events of the current wake; empty between wakes.
        var gathered: [ThinEvent] = []

        fileprivate init(account: Account, loops: Int) {
            self.account = account
            connectionsPerLoop = Array(repeating: 0, count: loops)
        }

        func hasSubscribers(onLoop loop: Int) -> Bool { connectionsPerLoop[loop] > 0 }
    }

    private let loops: Int
    private var entries: [Account: Entry] = [:]

    init(loops: Int) {
        self.loops = loops
    }

    var accounts: Int { entries.count }

    subscript(account: Account) -> Entry? { entries[account] }

    mutating func add(_ account: Account, loop: Int) {
        let entry = entries[account] ?? Entry(account: account, loops: loops)
        entry.connectionsPerLoop[loop] += 1
        entry.connections += 1
        entries[account] = entry
    }

    mutating func remove(_ account: Account, loop: Int) {
        guard let entry = entries[account], entry.connectionsPerLoop[loop] > 0 else {
            preconditionFailure("a connection unsubscribed that had never subscribed")
        }
        entry.connectionsPerLoop[loop] -= 1
        entry.connections -= 1
        if entry.connections == 0 { entries[account] = nil }
    }
}
