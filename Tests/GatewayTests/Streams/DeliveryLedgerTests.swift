// Tests: DeliveryLedger.swift, Histogram.swift, LiveStream+Group.swift

import LiveUpdates
import Testing

@testable import Gateway

struct DeliveryLedgerTests {
    static let buckets: [(microseconds: UInt64, bucket: Int)] = [
        (0, 0), (500, 0), (501, 1), (1_000, 1), (1_001, 2), (60_000_000, 15), (60_000_001, 16), (.max, 16),
    ]

    @Test(arguments: buckets.indices) func `a bucket holds its upper bound`(row: Int) {
        let (microseconds, bucket) = Self.buckets[row]
        #expect(Histogram.bucket(of: microseconds) == bucket)
        var histogram = Histogram()
        histogram.observe(microseconds, times: 3)
        #expect(histogram.counts[bucket] == 3 && histogram.total == 3)
        #expect(Histogram.bounds == Histogram.bounds.sorted())
        #expect(Histogram.bounds.first == 500 && Histogram.bounds.last == 60_000_000)
    }

    @Test func `a quantile lies within the bucket that holds it`() {
        var histogram = Histogram()
        #expect(histogram.quantile(0.5) == nil)
        histogram.observe(700, times: 98)
        histogram.observe(4_000, times: 1)
        histogram.observe(.max >> 1, times: 1)
        #expect((500.0...1_000).contains(histogram.quantile(0.5) ?? 0))
        #expect((2_000.0...5_000).contains(histogram.quantile(0.985) ?? 0))
        #expect(histogram.quantile(0.999) == 60_000_000)
        #expect(histogram.since(histogram).quantile(0.5) == nil)
        #expect((histogram + histogram).total == 200)
    }

    private static func facts(_ count: Int, consumed: UInt64 = 0, age: Int64 = 0) -> DeliveryFacts {
        let events = (0..<count).map { number in
            LoggedEvent(
                event: ThinEvent(entity: "e", id: "\(number)", type: "t"),
                partition: PartitionName(topic: 0, number: 0), offset: Int64(number), timestamp: 1_000_000 - age,
                sequence: UInt64(number), at: [])
        }
        return DeliveryFacts(events, Consumption(microseconds: consumed, wallMilliseconds: 1_000_000))
    }

    @Test func `a slice that two streams were given is counted for each when it has left`() {
        var ledger = DeliveryLedger()
        var (first, second) = (DeliveryLedger.Owed(), DeliveryLedger.Owed())
        let entry = ledger.add(Self.facts(3, consumed: 1_000))
        ledger.owe(entry, to: &first)
        ledger.owe(entry, to: &second)
        #expect(ledger.counts.total == 0)
        #expect(ledger.observe(&first, .webSocket, at: 1_400) == 3)
        #expect(ledger.observe(&second, .eventStream, at: 4_000) == 3)
        #expect(ledger.observe(&second, .eventStream, at: 5_000) == 0)
        #expect(ledger.counts.events == [3, 3, 0])
        #expect(ledger.counts.delivery.counts[0] == 3 && ledger.counts.delivery.counts[3] == 3)
        #expect(ledger.counts.delivery.sum == 3 * 400 + 3 * 3_000)
    }

    @Test func `an age counts from the stamp, one in the future as none, and a replay has none`() {
        var counts = DeliveryCounts()
        counts.observe(Self.facts(1, consumed: 10, age: 30_000), .webSocket, at: 10)
        counts.observe(Self.facts(1, consumed: 10, age: -30_000), .webSocket, at: 10)
        counts.observe(Self.facts(2, consumed: 0, age: 1), .webSocket, at: 500)
        counts.observe(DeliveryFacts(replayed: 5, at: 0), .sync, at: 100)
        #expect(counts.age.total == 4 && counts.delivery.total == 9 && counts.events == [4, 0, 5])
        // 30 s, then 0 s, and twice 1.5 ms.
        #expect(counts.age.counts[14] == 1 && counts.age.counts[0] == 1 && counts.age.counts[2] == 2)
    }

    @Test func `events of one slice with different stamps are in different buckets`() {
        let consumption = Consumption(microseconds: 0, wallMilliseconds: 100_000)
        let events = [99_000, 100_000, 99_000, -1, 160_000].map { (stamp: Int64) in
            LoggedEvent(
                event: ThinEvent(entity: "e", id: "1", type: "t"), partition: PartitionName(topic: 0, number: 0),
                offset: 0, timestamp: stamp, sequence: 1, at: [])
        }
        var counts = DeliveryCounts()
        counts.observe(DeliveryFacts(events, consumption), .webSocket, at: 0)
        // One has no stamp, and so no age.
        #expect(counts.total == 5 && counts.age.total == 4)
        #expect(counts.age.counts[10] == 2 && counts.age.counts[0] == 2)
        counts.observe(DeliveryFacts(events, consumption).asOne, .webSocket, at: 0)
        #expect(counts.total == 6 && counts.age.total == 5)
    }

    /// Streams join and leave groups, are given slices, drain, fall behind and end, at random; each must be counted what it
    /// was given when it drains, no more and no less.
    @Test(arguments: 1...40) func `whatever streams do, each is counted what it was given`(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var ledger = DeliveryLedger()
        var last = [DeliveryLedger.none, DeliveryLedger.none, DeliveryLedger.none]
        var owed = [DeliveryLedger.Owed](repeating: .init(), count: 12)
        var expected = [UInt64](repeating: 0, count: owed.count)
        var group = owed.indices.map { $0 % last.count }
        var total: UInt64 = 0
        for step in 0..<3_000 {
            let stream = Int.random(in: owed.indices, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                let here = Int.random(in: last.indices, using: &random)
                let count = Int.random(in: 1...3, using: &random)
                last[here] = ledger.add(Self.facts(count), after: last[here])
                for member in owed.indices where group[member] == here {
                    ledger.owe(last[here], to: &owed[member])
                    expected[member] += UInt64(count)
                }
            case 4: group[stream] = Int.random(in: last.indices, using: &random)
            case 5:
                ledger.owe(ledger.add(DeliveryFacts(replayed: 2, at: 0)), to: &owed[stream])
                expected[stream] += 2
            case 6...7:
                #expect(ledger.detach(&owed[stream]).reduce(0) { $0 + UInt64($1.count) } == expected[stream])
                expected[stream] = 0
            default:
                #expect(ledger.observe(&owed[stream], .webSocket, at: UInt64(step)) == expected[stream])
                total += expected[stream]
                expected[stream] = 0
            }
        }
        for stream in owed.indices {
            total += ledger.observe(&owed[stream], .webSocket, at: 0)
        }
        #expect(ledger.counts.total == total && ledger.counts.delivery.total == total)
        _ = ledger.add(Self.facts(1))
        #expect(ledger.pending == 1, "entries that nobody waits for are let go")
    }

    /// What a stream writes is counted when it has left: rows of what happens, and deliveries, ages and catch-ups afterwards.
    static let rows: [(inputs: [StreamInput], deliveries: UInt64, ages: UInt64, caughtUp: UInt64, departing: Int)] = [
        ([.now("c0"), .events([1, 2])], 0, 0, 0, 0),
        ([.now("c0"), .events([1, 2]), .drained], 2, 2, 0, 0),
        ([.now("c0"), .events([1]), .events([2]), .drained, .events([3]), .drained], 3, 3, 0, 0),
        // It did not leave at once: counted when it has.
        ([.now("c0"), .events([1]), .blocked, .events([2])], 0, 0, 0, 0),
        ([.now("c0"), .events([1]), .blocked, .drained], 1, 1, 1, 0),
        // What came meanwhile is caught up: a delivery without an age.
        ([.now("c0"), .events([1]), .blocked, .events([2]), .drained, .drained], 2, 1, 1, 0),
        // A replay.
        ([.resumed([4, 5], fresh: "c5"), .drained], 2, 0, 1, 0),
        // It ended before the socket took it: whoever closes counts it if it leaves.
        ([.now("c0"), .events([1, 2]), .end], 0, 0, 0, 2),
        ([.now("c0"), .events([1]), .drained, .events([2, 3]), .end, .end], 1, 1, 0, 2),
        ([.now("c0"), .events([1]), .blocked, .end, .drained], 0, 0, 0, 1),
    ]

    @Test(arguments: rows.indices) func `a stream's deliveries are what its socket took`(row: Int) throws {
        let (inputs, deliveries, ages, caughtUp, departing) = Self.rows[row]
        let rig = try StreamRig("/live/v1?with=at")
        _ = rig.play(inputs)
        #expect(rig.fanOut.ledger.counts.total == deliveries)
        #expect(rig.fanOut.ledger.counts.delivery.total == deliveries && rig.fanOut.ledger.counts.age.total == ages)
        #expect(rig.fanOut.catchUps[.caughtUp, default: 0] == caughtUp)
        #expect(rig.departing == departing)
        _ = rig.play([.end])
        #expect(rig.fanOut.behind == 0)
        // Nobody who has gone holds what others are owed.
        _ = rig.fanOut.ledger.add(Self.facts(1))
        #expect(rig.fanOut.ledger.pending == 1)
    }
}

/// SplitMix64.
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var number = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ number >> 27) &* 0x94D0_49BB_1331_11EB
        return number ^ number >> 31
    }
}
