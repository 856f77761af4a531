import LiveUpdates
import Logging
import Reactor

/// From records to the loops: decodes, maps, filters, and groups what one wake brought by account.
///
/// Ingest is one serial queue and the only one that decides what follows what. A subscription is a message to it;
/// from its answer on, everything that concerns the account goes the same way, through the same mailbox and in the
/// same order. That is the whole argument why a join has neither gap nor double.
final class Ingest {
    /// Where the events for one loop go.
    struct Outlet {
        let mailbox: Mailbox<FanOutMessage>
        let backlog: LoopBacklog
    }

    private let mapper: EventMapper
    private let outlets: [Outlet]
    private let skipped: SkipLog
    private var subscriptions: SubscriptionTable
    /// Entries that the current wake has events for.
    private var touched: [SubscriptionTable.Entry] = []

    private var records: UInt64 = 0
    private var events: UInt64 = 0

    init(mapper: EventMapper, outlets: [Outlet], skipped: SkipLog) {
        self.mapper = mapper
        self.outlets = outlets
        self.skipped = skipped
        subscriptions = SubscriptionTable(loops: outlets.count)
    }

    var counters: IngestCounters { IngestCounters(records: records, events: events, skipped: skipped.counts) }

    // MARK: - The records of a wake

    /// Takes one record of the current wake. A record that yields no event is counted and never stops the partition.
    ///
    /// `now` is monotonic, in milliseconds.
    func take<R: RecordReading & ~Copyable>(
        _ record: borrowing R, partition: Int32, offset: Int64, now: UInt64
    ) {
        records += 1
        switch mapper.map(record) {
        case .event(let account, let event):
            guard let entry = subscriptions[account] else { return }
            if entry.gathered.isEmpty { touched.append(entry) }
            entry.gathered.append(event)
            events += 1
        case .skip(let reason, let why):
            skipped.count(
                reason, why: why,
                place: RecordPlace(topic: record.topic, partition: partition, offset: offset), now: now)
        }
    }

    /// Ends the wake: one post for each loop that holds a subscriber of one of the accounts.
    func endWake() {
        guard !touched.isEmpty else { return }
        for (loop, outlet) in outlets.enumerated() {
            var batch: [AccountEvents] = []
            var count = 0
            for entry in touched where entry.hasSubscribers(onLoop: loop) {
                batch.append(AccountEvents(account: entry.account, events: entry.gathered))
                count += entry.gathered.count
            }
            guard !batch.isEmpty else { continue }
            outlet.backlog.add(count)
            outlet.mailbox.post(.events(batch))
        }
        for entry in touched { entry.gathered = [] }
        touched.removeAll(keepingCapacity: true)
    }

    /// Whether a loop owes so much that no more records should be read.
    func mustWait() -> Bool {
        var full = false
        for outlet in outlets where outlet.backlog.isFull() { full = true }
        return full
    }

    // MARK: - The messages of the loops

    /// Takes a message of a loop; never in the middle of a wake. Returns true when it allows reading on.
    func take(_ message: IngestMessage) -> Bool {
        precondition(touched.isEmpty, "a subscription would come into the middle of a wake")
        switch message {
        case .subscribe(let account, let loop, let connection):
            subscriptions.add(account, loop: loop)
            outlets[loop].mailbox.post(.subscribed(connection))
            return false
        case .unsubscribe(let account, let loop):
            subscriptions.remove(account, loop: loop)
            return false
        case .caughtUp:
            return true
        }
    }
}

@available(*, unavailable)
extension Ingest: Sendable {}

/// What ingest has done since the start.
struct IngestCounters: Sendable {
    var records: UInt64 = 0
    /// Events for accounts that somebody listened to.
    var events: UInt64 = 0
    /// Records that yielded no event, by reason.
    var skipped: [SkipReason: UInt64] = [:]
}
