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
        /// How many of them want each event with its cursor.
        fileprivate(set) var cursorConnections = 0
        /// Events of the current wake; empty between wakes.
        var gathered: [LoggedEvent] = []

        fileprivate init(account: Account, loops: Int) {
            self.account = account
            connectionsPerLoop = Array(repeating: 0, count: loops)
        }

        var wantsCursors: Bool { cursorConnections > 0 }

        func hasSubscribers(onLoop loop: Int) -> Bool { connectionsPerLoop[loop] > 0 }
    }

    private let loops: Int
    private var entries: [Account: Entry] = [:]

    init(loops: Int) {
        self.loops = loops
    }

    var accounts: Int { entries.count }

    subscript(account: Account) -> Entry? { entries[account] }

    /// Every account that somebody listens to.
    var all: some Collection<Entry> { entries.values }

    /// Returns whether the account had no subscriber before.
    mutating func add(_ account: Account, loop: Int, withCursors: Bool) -> Bool {
        let known = entries[account]
        let entry = known ?? Entry(account: account, loops: loops)
        entry.connectionsPerLoop[loop] += 1
        entry.connections += 1
        if withCursors { entry.cursorConnections += 1 }
        entries[account] = entry
        return known == nil
    }

    /// Returns whether the account has no subscriber any more.
    mutating func remove(_ account: Account, loop: Int, withCursors: Bool) -> Bool {
        guard let entry = entries[account], entry.connectionsPerLoop[loop] > 0 else {
            preconditionFailure("a connection unsubscribed that had never subscribed")
        }
        entry.connectionsPerLoop[loop] -= 1
        entry.connections -= 1
        if withCursors { entry.cursorConnections -= 1 }
        guard entry.connections == 0 else { return false }
        entries[account] = nil
        return true
    }
}
