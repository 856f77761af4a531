import LiveUpdates

/// Which loops hold a subscriber of which account, by the number that the history has given the account.
///
/// Confined to the ingest loop. The table is as large as the number of accounts that a node knows at a time; a connection
/// counts once in it.
struct SubscriptionTable {
    /// One account with its subscribers, and its events of the current wake.
    final class Entry {
        let account: Account
        fileprivate(set) var connectionsPerLoop: [Int32]
        fileprivate(set) var connections = 0
        /// How many of them want each event with its cursor.
        fileprivate(set) var cursorConnections = 0
        /// The number of the last reset that its subscribers were notified of, as ingest counts them.
        var resetsNotified: UInt32
        /// Events of the current wake; empty between wakes.
        var gathered: [LoggedEvent] = []

        fileprivate init(account: Account, loops: Int, resets: UInt32) {
            self.account = account
            resetsNotified = resets
            connectionsPerLoop = Array(repeating: 0, count: loops)
        }

        var wantsCursors: Bool { cursorConnections > 0 }

        func hasSubscribers(onLoop loop: Int) -> Bool { connectionsPerLoop[loop] > 0 }
    }

    private let loops: Int
    /// By number; nil where there is no follower.
    private var entries: [Entry?] = []
    /// Accounts that have a follower.
    private(set) var accounts = 0

    init(loops: Int) {
        self.loops = loops
    }

    /// Nil where the account with this number has no follower.
    subscript(number: Int) -> Entry? { number < entries.count ? entries[number] : nil }

    /// Numbers that were ever used.
    var slots: Int { entries.count }

    /// `resets` is the number of resets so far: an account with its first follower is notified of none of them.
    mutating func add(_ account: Account, _ number: Int, loop: Int, withCursors: Bool, resets: UInt32 = 0) {
        while entries.count <= number { entries.append(nil) }
        let entry = entries[number] ?? Entry(account: account, loops: loops, resets: resets)
        precondition(entry.account == account, "a number of the history stands for two accounts")
        if entries[number] == nil { accounts += 1 }
        entry.connectionsPerLoop[loop] += 1
        entry.connections += 1
        if withCursors { entry.cursorConnections += 1 }
        entries[number] = entry
    }

    mutating func remove(_ number: Int, loop: Int, withCursors: Bool) {
        guard let entry = self[number], entry.connectionsPerLoop[loop] > 0 else {
            preconditionFailure("a connection unsubscribed that had never subscribed")
        }
        entry.connectionsPerLoop[loop] -= 1
        entry.connections -= 1
        if withCursors { entry.cursorConnections -= 1 }
        guard entry.connections == 0 else { return }
        entries[number] = nil
        accounts -= 1
    }
}
