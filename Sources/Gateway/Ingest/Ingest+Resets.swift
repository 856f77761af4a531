import LiveUpdates
import Reactor

/// Resets: logs have lost records or their meaning. All followers of an account are notified, with a fresh cursor.
///
/// A cursor costs some microseconds, and a node has tens of thousands of accounts. So they are notified in slices, between
/// which records are read and requests are served. Anything that concerns an account notifies it first. So for each account its
/// reset comes before all that follows, as if all had been notified at once.
extension Ingest {
    /// Accounts that are notified in one slice: about 1 ms.
    static let accountsPerSlice = 256
    /// Slots of the table that one slice visits at most, used or free.
    static let slotsPerSlice = 8_192

    /// What is held of these logs is dropped, and all clients have to resync. The first slice of accounts is notified at once;
    /// ``continueReset(wallClock:)`` goes on as long as ``owesReset``.
    func reset(_ lost: [LostLogs], wallClock: Int64) {
        guard let why = lost.lazy.map(\.why).min() else { return }
        self.wallClock = wallClock
        var topics: Set<UInt16> = []
        var partitions: Set<PartitionName> = []
        for logs in lost {
            switch logs {
            case .topic(let topic): topics.insert(topic)
            case .partition(let partition): partitions.insert(partition)
            }
        }
        if !topics.isEmpty { history.reset(topics: topics, now: wallClock) }
        if !partitions.isEmpty { history.lose(partitions) }
        resets.begin(why, sequence: history.lastSequence)
        continueReset(wallClock: wallClock)
    }

    /// Whether accounts are still to be notified, or memory of what was lost to be freed.
    var owesReset: Bool { resets.nextSlot != nil || history.owesFreeing }

    /// Does one more slice of a reset.
    func continueReset(wallClock: Int64) {
        self.wallClock = wallClock
        history.freeDropped()
        guard let first = resets.nextSlot else { return }
        let end = min(first + Self.slotsPerSlice, subscriptions.slots)
        var (slot, notified) = (first, 0)
        while slot < end, notified < Self.accountsPerSlice {
            if let entry = subscriptions[slot], !wasNotified(entry) {
                gatherReset(of: entry)
                notified += 1
            }
            slot += 1
        }
        resets.nextSlot = slot < subscriptions.slots ? slot : nil
        postResets()
    }

    /// To be called before anything of the account is posted: its reset comes first.
    func notifyFirst(_ account: Account) {
        guard resets.nextSlot != nil else { return }
        gatherReset(of: account)
        postResets()
    }

    /// The same for what a wake has brought; ``postResets()`` follows before the wake's events are posted.
    func gatherReset(of account: Account) {
        guard let number = history.number(of: account), let entry = subscriptions[number] else { return }
        if !wasNotified(entry) { gatherReset(of: entry) }
    }

    private func wasNotified(_ entry: SubscriptionTable.Entry) -> Bool { entry.resetsNotified == resets.count }

    /// Makes the account's cursor, at the position of the reset: the account got nothing behind that yet.
    private func gatherReset(of entry: SubscriptionTable.Entry) {
        entry.resetsNotified = resets.count
        let fresh = history.cursor(
            at: StreamPosition(sequence: resets.sequence), account: entry.account, now: wallClock)
        for loop in outlets.indices where entry.hasSubscribers(onLoop: loop) {
            resets.gathered[loop][entry.account] = fresh
        }
    }

    func postResets() {
        for (loop, outlet) in outlets.enumerated() where !resets.gathered[loop].isEmpty {
            outlet.mailbox.post(.reset(resets.why, sequence: resets.sequence, cursors: resets.gathered[loop]))
            resets.gathered[loop] = [:]
        }
    }
}

/// How far the accounts were notified of the last reset.
struct ResetProgress {
    /// Resets since the start.
    private(set) var count: UInt32 = 0
    private(set) var why = ResyncReason.epoch
    /// Everything up to it came before the reset.
    private(set) var sequence: UInt64 = 0
    /// The next slot of the subscriptions whose account may have to be notified; nil: all were.
    var nextSlot: Int?
    /// By loop: cursors that were made and not posted yet.
    var gathered: [[Account: CursorText]]

    init(loops: Int) { gathered = Array(repeating: [:], count: loops) }

    mutating func begin(_ why: ResyncReason, sequence: UInt64) {
        count &+= 1
        // Some were not notified of the one before.
        self.why = nextSlot == nil ? why : min(why, self.why)
        self.sequence = sequence
        nextSlot = 0
    }
}

/// Logs whose records cannot be delivered any more.
enum LostLogs {
    /// The topic was recreated: positions have lost their meaning.
    case topic(UInt16)
    /// Records of the partition were lost before they were read. Its positions keep their meaning, but what follows some of
    /// them is no longer in the log.
    case partition(PartitionName)

    var why: ResyncReason {
        switch self {
        case .topic: .epoch
        case .partition: .expired
        }
    }
}
