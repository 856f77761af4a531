import LiveUpdates
import Logging
import Reactor

/// Passes records to the loops: decodes and maps them, keeps the accounts' logs, and groups the events of a wake by account.
///
/// Ingest is one serial queue, and it alone decides the order of things. It is the only writer and the only reader of the logs.
/// A subscription is a message to it, and so is a request to read on. From its answer on, everything that concerns the account
/// goes through the same mailbox and in the same order. That alone is why a join has neither a gap nor a duplicate.
final class Ingest {
    /// The mailbox of one loop, for its events.
    struct Outlet {
        let mailbox: Mailbox<FanOutMessage>
        let backlog: LoopBacklog
    }

    /// A subscription whose cursor cannot be decided on yet.
    struct Joiner: Hashable {
        let subscriber: Subscriber
        /// Nil where it only names the subscriber.
        var page: PageRequest? = nil

        /// A request of a connection has one join.
        static func == (left: Joiner, right: Joiner) -> Bool {
            left.subscriber.loop == right.subscriber.loop && left.subscriber.connection == right.subscriber.connection
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(subscriber.loop)
            hasher.combine(subscriber.connection)
        }
    }

    /// The past that is kept. It has no epoch until ``begin(_:)``.
    let history: History
    let outlets: [Outlet]
    private let mapper: EventMapper
    private let skipped: SkipLog
    var subscriptions: SubscriptionTable
    var undecided = UndecidedJoins<Joiner>()
    var behind = ReadsBehind<Joiner, ReadRequest>()
    var snapshots = SnapshotWaits()
    /// Nil: there is no archive.
    let tap: ArchiveTap?
    var resets: ResetProgress
    /// Entries that the current wake has events for.
    private var touched: [SubscriptionTable.Entry] = []
    /// The wall clock at the last wake or message, in milliseconds since 1970.
    var wallClock: Int64 = 0 {
        didSet { history.clockShows(wallClock) }
    }
    /// When the current wake began; monotonic.
    private var wakeMicroseconds: UInt64 = 0

    private var records: UInt64 = 0
    private var events: UInt64 = 0
    private var outcomes: RecordOutcomes
    /// Logs that lost their meaning since the start.
    var epochChanges: UInt64 = 0
    /// Partitions with a record that the history regards as an earlier one. Their reader leaves out what it has read before, so
    /// the two disagree how far that is. To be handled behind the batch.
    private var passedOver: Set<PartitionName> = []

    init(
        mapper: EventMapper, topics: Int = 1, limits: HistoryLimits, outlets: [Outlet], skipped: SkipLog,
        tap: ArchiveTap? = nil
    ) {
        self.mapper = mapper
        history = History(topics: topics, limits: limits)
        self.outlets = outlets
        self.skipped = skipped
        self.tap = tap
        subscriptions = SubscriptionTable(loops: outlets.count)
        resets = ResetProgress(loops: outlets.count)
        outcomes = RecordOutcomes(topics: topics)
    }

    var counters: IngestCounters {
        IngestCounters(records: records, events: events, skipped: skipped.counts, outcomes: outcomes)
    }

    /// The cluster is known, and with it the epoch. Earlier cursors are undecided until then.
    func begin(_ epoch: Epoch) { history.begin(epoch) }

    // MARK: - The records of a wake

    /// Begins a wake. For cursors, everything before it counts as delivered.
    ///
    /// `microseconds` is monotonic; nil where it goes on with one that has begun.
    func beginWake(wallClock: Int64, microseconds: UInt64? = nil) {
        self.wallClock = wallClock
        if let microseconds { wakeMicroseconds = microseconds }
        history.beginWake()
    }

    /// Handles one record of the current wake. A record that yields no event is counted and never stops the partition.
    ///
    /// `now` is monotonic, in milliseconds.
    func take<R: RecordReading & ~Copyable>(
        _ record: borrowing R, _ partition: PartitionName, offset: Int64, timestamp: Int64, now: UInt64
    ) {
        records += 1
        switch mapper.read(record) {
        case .event(let event):
            outcomes.count(nil, topic: partition.topic)
            let left = mapper.left
            if let tap { tap.add(event, and: left, partition, offset: offset, stamp: timestamp, now: wallClock) }
            // Its reset is posted before anything that is read from now on.
            if resets.nextSlot != nil { gatherReset(of: event.account) }
            let appended = history.append(
                event, partition: partition, offset: offset, timestamp: timestamp, now: wallClock)
            guard appended.sequence > 0 else {
                passedOver.insert(partition)
                return
            }
            gather(event, appended, partition, offset: offset, timestamp: timestamp)
            guard let left else { return }
            if resets.nextSlot != nil { gatherReset(of: left.account) }
            let second = history.append(
                second: left, partition: partition, offset: offset, timestamp: timestamp, now: wallClock)
            gather(left, second, partition, offset: offset, timestamp: timestamp)
        case .skip(let reason, let why):
            outcomes.count(reason, topic: partition.topic)
            if !history.skip(partition, offset: offset, timestamp: timestamp, now: wallClock) {
                passedOver.insert(partition)
            }
            if let tap { tap.skip(partition, offset: offset, stamp: timestamp) }
            skipped.count(
                reason, why: why,
                position: RecordPosition(topic: record.topic, partition: partition.number, offset: offset), now: now)
        }
    }

    /// Keeps an event for the followers of its account. Most have no follower, and then no String is made.
    private func gather(
        _ event: RecordedEvent, _ appended: History.Appended, _ partition: PartitionName, offset: Int64,
        timestamp: Int64
    ) {
        guard let number = appended.followed, let entry = subscriptions[number] else { return }
        if entry.gathered.isEmpty { touched.append(entry) }
        let cursor =
            entry.wantsCursors
            ? history.liveCursor(
                account: entry.account, partition: partition, offset: offset, timestamp: timestamp, now: wallClock
            ).bytes : []
        entry.gathered.append(
            LoggedEvent(
                event: event.event, partition: partition, offset: offset, timestamp: timestamp,
                sequence: appended.sequence, at: cursor))
        events += 1
    }

    /// Partitions of which records were left out since the last call; nil where there are none.
    func takePassedOver() -> Set<PartitionName>? { passedOver.isEmpty ? nil : exchange(&passedOver, with: []) }

    /// Ends the wake: one post for each loop that holds a subscriber of one of the accounts.
    ///
    /// `now` is monotonic, in milliseconds.
    func endWake(now: UInt64) {
        post()
        tap?.endWake()
        if !undecided.isEmpty || !behind.isEmpty { decide(now: now, wallClock: wallClock) }
        serveSnapshots(now: now)
    }

    private func post() {
        postResets()
        guard !touched.isEmpty else { return }
        let sequence = history.lastSequence
        let consumption = Consumption(microseconds: wakeMicroseconds, wallMilliseconds: wallClock)
        for (loop, outlet) in outlets.enumerated() {
            var batch: [AccountEvents] = []
            var count = 0
            for entry in touched where entry.hasSubscribers(onLoop: loop) {
                batch.append(AccountEvents(account: entry.account, events: entry.gathered, consumption: consumption))
                count += entry.gathered.count
            }
            guard !batch.isEmpty else { continue }
            outlet.backlog.add(count)
            outlet.mailbox.post(.events(batch, sequence: sequence))
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

    /// Handles a message of a loop; never in the middle of a wake. Returns the work that it was, in units of an event of
    /// a page (0.5 µs).
    ///
    /// `now` is monotonic, `wallClock` since 1970, both in milliseconds.
    func handle(_ message: IngestMessage, now: UInt64, wallClock: Int64) -> Int {
        precondition(touched.isEmpty, "a subscription would come into the middle of a wake")
        self.wallClock = wallClock
        switch message {
        case .subscribe(let subscriber, let request):
            return Self.joinWork + subscribe(subscriber, request, now: now)
        case .unsubscribe(let subscriber, let withCursors):
            unsubscribe(subscriber, withCursors: withCursors)
        case .read(let subscriber, let request):
            return Self.requestWork + read(subscriber, request)
        case .readNow(let subscriber): return Self.requestWork + readNow(subscriber)
        case .freshCursor(let subscriber):
            answer(subscriber, .fresh(subscriber.connection, freshCursor(subscriber.account)))
        case .snapshotCursor(let subscriber, let snapshot):
            snapshotCursor(subscriber, snapshot, now: now)
            return Self.joinWork + snapshot.positions.count / Self.positionsPerUnit
        case .caughtUp: break
        }
        return Self.requestWork
    }

    /// What a request costs besides its page, in units of an event.
    private static let requestWork = 4
    /// A cursor that is read and checked.
    private static let joinWork = 32
    /// Positions that are compared while an event of a page is read.
    private static let positionsPerUnit = 64

    func answer(_ subscriber: Subscriber, _ message: FanOutMessage) {
        notifyFirst(subscriber.account)
        outlets[subscriber.loop].mailbox.post(message)
    }

    func freshCursor(_ account: Account) -> CursorText {
        history.freshCursor(account: account, now: wallClock)
    }
}

@available(*, unavailable)
extension Ingest: Sendable {}

/// What ingest has done since the start.
struct IngestCounters: Sendable {
    var records: UInt64 = 0
    /// Events for accounts that had a follower.
    var events: UInt64 = 0
    /// Records that yielded no event, by reason.
    var skipped: [SkipReason: UInt64] = [:]
    var outcomes = RecordOutcomes(topics: 0)
}

/// The results of records, by topic.
struct RecordOutcomes: Sendable {
    /// One for events, and one for each reason to skip.
    private static let perTopic = 1 + SkipReason.allCases.count
    private var counts: [UInt64]

    init(topics: Int) { counts = Array(repeating: 0, count: topics * Self.perTopic) }

    /// `reason` is nil for an event.
    mutating func count(_ reason: SkipReason?, topic: UInt16) {
        let index = Int(topic) * Self.perTopic + (reason.map { $0.index + 1 } ?? 0)
        // A partition of an unknown topic is not counted.
        if index < counts.count { counts[index] += 1 }
    }

    subscript(reason: SkipReason?, topic topic: Int) -> UInt64 {
        counts[topic * Self.perTopic + (reason.map { $0.index + 1 } ?? 0)]
    }
}

extension SkipReason {
    /// In the order of its cases.
    fileprivate var index: Int {
        switch self {
        case .tombstone: 0
        case .notJSON: 1
        case .ambiguous: 2
        case .ignored: 3
        case .dropped: 4
        case .noEntity: 5
        case .noAccount: 6
        case .noIdentifier: 7
        case .noType: 8
        case .tooLong: 9
        }
    }
}
