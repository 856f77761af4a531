import LiveUpdates

/// Events that are handed to a client together: how many, and since when they wait for delivery.
struct DeliveryFacts: Sendable {
    /// Events with one time stamp, as a rule all of them.
    struct Age: Sendable {
        /// When they were consumed; below 0 for a stamp in the future. In milliseconds.
        let milliseconds: Int64
        var count: UInt32
    }

    let count: UInt32
    /// Monotonic, in microseconds.
    let consumed: UInt64
    /// Nil for replayed events: their age is no measure of the node.
    private(set) var first: Age?
    private(set) var others: [Age] = []

    /// What is replayed: it counts from when it was read again.
    init(replayed count: Int, at microseconds: UInt64) {
        self.count = UInt32(clamping: count)
        consumed = microseconds
    }

    /// Events as they came.
    init(_ events: some Collection<LoggedEvent>, _ consumption: Consumption) {
        count = UInt32(clamping: events.count)
        consumed = consumption.microseconds
        for event in events where event.timestamp >= 0 { add(consumption.wallMilliseconds &- event.timestamp) }
    }

    private mutating func add(_ age: Int64) {
        guard let known = first else {
            first = Age(milliseconds: age, count: 1)
            return
        }
        if known.milliseconds == age {
            first = Age(milliseconds: age, count: known.count + 1)
            return
        }
        if let last = others.indices.last, others[last].milliseconds == age {
            others[last].count += 1
        } else {
            others.append(Age(milliseconds: age, count: 1))
        }
    }

    /// One message that stands for all of them, as of the newest.
    var asOne: DeliveryFacts {
        var one = DeliveryFacts(replayed: 1, at: consumed)
        one.first = (others.last ?? first).map { Age(milliseconds: $0.milliseconds, count: 1) }
        return one
    }
}

/// What was handed to the kernel on one loop.
struct DeliveryCounts: Sendable, Equatable {
    enum Kind: Int, CaseIterable, Sendable {
        case webSocket, eventStream, sync

        /// As a label's value.
        var name: String {
            switch self {
            case .webSocket: "websocket"
            case .eventStream: "event_stream"
            case .sync: "sync"
            }
        }
    }

    /// By kind.
    var events = [UInt64](repeating: 0, count: Kind.allCases.count)
    /// From consumption to the kernel.
    var delivery = Histogram()
    /// From the record's time stamp to the kernel.
    var age = Histogram()

    var total: UInt64 { events.reduce(0, +) }

    mutating func observe(_ facts: DeliveryFacts, _ kind: Kind, at now: UInt64) {
        let delay = now > facts.consumed ? now - facts.consumed : 0
        observe(facts, kind, delay, Histogram.bucket(of: delay))
    }

    fileprivate mutating func observe(_ facts: DeliveryFacts, _ kind: Kind, _ delay: UInt64, _ bucket: Int) {
        events[kind.rawValue] += UInt64(facts.count)
        delivery.add(UInt64(facts.count), to: bucket, delay)
        guard let first = facts.first else { return }
        observe(first, delay)
        for age in facts.others { observe(age, delay) }
    }

    private mutating func observe(_ age: DeliveryFacts.Age, _ delay: UInt64) {
        let (milliseconds, overflow) = max(0, age.milliseconds).multipliedReportingOverflow(by: 1000)
        let total = overflow ? UInt64.max >> 1 : UInt64(milliseconds) + delay
        self.age.observe(min(total, Self.longestAgeMicroseconds), times: UInt64(age.count))
    }

    /// A year: a stamp of 1970 shall not make the sum of all others worthless.
    private static let longestAgeMicroseconds: UInt64 = 31_536_000_000_000

    static func + (a: DeliveryCounts, b: DeliveryCounts) -> DeliveryCounts {
        var sum = a
        for index in sum.events.indices { sum.events[index] += b.events[index] }
        sum.delivery = a.delivery + b.delivery
        sum.age = a.age + b.age
        return sum
    }
}

/// Slices that were written for streams and have not left yet. Each stream counts them when its socket has accepted them. For the
/// streams of one group the slice's facts are stored once, and a stream remembers two numbers.
///
/// An entry is linked to the one before it in its group. A stream that was a member all the while is owed the entries from the
/// last back to the first; for a stream from another group a copy is linked to what it is owed already. The ledger is bounded by
/// the queues of sockets that accept what they are given; the entries of any other leave it (``detach(_:)``). Confined to its
/// loop.
struct DeliveryLedger {
    /// What a stream is owed; empty mostly.
    struct Owed {
        fileprivate var first = none
        fileprivate var last = none

        var isEmpty: Bool { last == none }
    }

    /// No entry.
    static let none = UInt32.max

    private struct Entry {
        let facts: DeliveryFacts
        /// The entry before it in its group, or of its stream.
        let previous: UInt32
        /// Streams that wait for it to leave.
        var waiting: UInt32 = 0
        /// The bucket of its delay, as long as that is not over the bound: computed once for all of a group.
        var bucket = 0
    }

    private(set) var counts = DeliveryCounts()
    private var entries: [Entry] = []
    /// The number of the first entry; numbers begin again after 2³² of them.
    private var base: UInt32 = 0
    /// Entries before it are done with.
    private var head = 0

    /// Entries that some stream waits for, and those between them.
    var pending: Int { entries.count - head }

    /// Makes an entry behind `previous`, which the caller remembers. No stream waits for it yet.
    mutating func add(_ facts: DeliveryFacts, after previous: UInt32 = none) -> UInt32 {
        trim()
        var number = base &+ UInt32(entries.count)
        if number == Self.none {
            // That number stands for no entry: no stream is owed this one.
            entries.append(Entry(facts: facts, previous: Self.none))
            number = 0
        }
        entries.append(Entry(facts: facts, previous: previous))
        return number
    }

    /// The stream was given what the entry stands for.
    mutating func owe(_ number: UInt32, to owed: inout Owed) {
        var number = number
        if owed.isEmpty {
            owed.first = number
        } else if entries[index(number)].previous != owed.last {
            number = add(entries[index(number)].facts, after: owed.last)
        }
        owed.last = number
        entries[index(number)].waiting += 1
    }

    /// The kernel has accepted all that the stream was given. Returns how many events that was. `now`: monotonic, microseconds.
    mutating func observe(_ owed: inout Owed, _ kind: DeliveryCounts.Kind, at now: UInt64) -> UInt64 {
        var events: UInt64 = 0
        take(&owed) { entry, counts in
            let delay = now > entry.facts.consumed ? now - entry.facts.consumed : 0
            while entry.bucket < Histogram.bounds.count, delay > Histogram.bounds[entry.bucket] { entry.bucket += 1 }
            counts.observe(entry.facts, kind, delay, entry.bucket)
            events += UInt64(entry.facts.count)
        }
        return events
    }

    /// Counts facts that a stream keeps after a detach, or that were never entered here.
    mutating func observe(_ facts: DeliveryFacts, _ kind: DeliveryCounts.Kind, at now: UInt64) {
        counts.observe(facts, kind, at: now)
    }

    /// The stream's socket does not accept what it was given, or the stream has ended. The caller keeps the facts, to count them.
    mutating func detach(_ owed: inout Owed) -> [DeliveryFacts] {
        var facts: [DeliveryFacts] = []
        take(&owed) { entry, _ in facts.append(entry.facts) }
        return facts
    }

    private mutating func take(_ owed: inout Owed, _ body: (inout Entry, inout DeliveryCounts) -> Void) {
        var number = owed.last
        guard number != Self.none else { return }
        while true {
            let index = index(number)
            body(&entries[index], &counts)
            entries[index].waiting -= 1
            if number == owed.first { break }
            number = entries[index].previous
        }
        owed = Owed()
    }

    private func index(_ number: UInt32) -> Int { Int(number &- base) }

    private mutating func trim() {
        while head < entries.count, entries[head].waiting == 0 { head += 1 }
        guard head > 0, head == entries.count || head > entries.count / 2 else { return }
        base = base &+ UInt32(head)
        entries.removeFirst(head)
        head = 0
    }
}
