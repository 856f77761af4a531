// Tests: ArchiveID.swift, EventKey.swift

import AllocationCounter
import LiveUpdates
import TestHarness
import Testing

@testable import Archive

struct ArchiveIDTests {
    static func random(_ random: inout SeededGenerator) -> ArchiveID {
        func number(_ bits: UInt64) -> UInt64 { (random.next() >> (64 - bits)) >> UInt64(random.below(Int(bits))) }
        return ArchiveID(
            stamp: random.isOne(in: 10) ? Int64(bitPattern: random.next()) : Int64(number(47)),
            topic: UInt32(number(32)), partition: Int32(number(31)),
            offset: Int64(number(63)), check: random.next())
    }

    static let texts: [(id: ArchiveID, text: String)] = [
        (ArchiveID(stamp: .min, topic: 0, partition: 0, offset: 0, check: 0), String(repeating: "-", count: 40)),
        (
            ArchiveID(stamp: .max, topic: .max, partition: .max, offset: .max, check: .max),
            "zzzzzzzzzzzzzzzzyzzzzzjzzzzzzzzzzzzzzzzz"
        ),
        // Those of the usual form stand in lists that clients hold: they may never change.
        (
            ArchiveID(stamp: 0, topic: 0, partition: 0, offset: 0, check: 0),
            "-------0--------------------------------"
        ),
        (
            ArchiveID(
                stamp: ArchiveID.firstLateStamp - 1, topic: .max, partition: .max, offset: .max, check: .max),
            "yzzzzzzzzzzzzrzzzzxzzzzzzzzzzzzzzzzzzzzz"
        ),
        (
            ArchiveID(stamp: 1_795_240_000_000, topic: 1, partition: 2, offset: 3, check: 4),
            "-P6wd6c0-----F----7----------k---------3"
        ),
    ]

    @Test(arguments: texts)
    func `an id has one text of 40 characters that a URL carries`(id: ArchiveID, text: String) throws {
        #expect(id.text.utf8.count == ArchiveID.length)
        #expect(id.text == text && ArchiveID(text) == id)
        let isURLSafe = id.text.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "-"), UInt8(ascii: "_"), 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: false
            }
        }
        #expect(isURLSafe)
    }

    @Test func `the order of texts and of keys is the order of ids`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20_000 {
            let left = Self.random(&random)
            // Ids that differ late are the ones that an error would confuse.
            var right = Self.random(&random)
            let same = random.below(5)
            right = ArchiveID(
                stamp: same > 0 ? left.stamp : right.stamp, topic: same > 1 ? left.topic : right.topic,
                partition: same > 2 ? left.partition : right.partition, offset: same > 3 ? left.offset : right.offset,
                check: right.check)
            #expect(ArchiveID(left.text) == left, "seed \(seed)")
            #expect((left < right) == left.text.utf8.lexicographicallyPrecedes(right.text.utf8), "seed \(seed)")
            let (leftKey, rightKey) = (EventKey(left), EventKey(right))
            if leftKey != rightKey { #expect((left < right) == (leftKey < rightKey), "seed \(seed)") }
            #expect((try? leftKey.id(check: left.check)) == left, "seed \(seed)")
            #expect(leftKey > EventKey(before: left.stamp) && leftKey < EventKey(before: left.stamp + 1))
        }
    }

    static let good = ArchiveID(stamp: 1_795_240_000_000, topic: 7, partition: 3, offset: 4711, check: 99).text

    static let refused: [(text: String, why: String)] = [
        ("", "nothing"),
        (String(good.dropLast()), "cut"),
        (good + "-", "longer"),
        ("=" + String(good.dropFirst()), "another character"),
        (String(good.dropLast()) + "+", "another alphabet"),
        (String(good.dropLast(2)) + "ü", "two bytes that are no characters"),
        (String(good.dropLast()) + " ", "a blank"),
        ("-------0-----7--------------------------", "a partition below zero"),
        (String(repeating: "z", count: 40), "both of a late stamp"),
        ("-------0----------1---------------------", "an offset below zero"),
    ]

    @Test(arguments: refused)
    func `what no node can have made is refused`(text: String, why: String) {
        #expect(ArchiveID(text) == nil, "\(why)")
    }

    /// On both sides of each width that ids and keys have, in their order.
    static let stamps: [Int64] = [
        .min, .min + 1, -1 << 48 - 1, -1 << 48, -1 << 47, -256, -2, -1, 0, 1, 255, 256, 1 << 42 - 2, 1 << 42 - 1,
        ArchiveID.firstLateStamp - 1, ArchiveID.firstLateStamp, 280_375_465_082_878, 280_375_465_082_879,
        280_375_465_082_880, EventKey.lastShortStamp - 1, EventKey.lastShortStamp, EventKey.lastShortStamp + 1, 1 << 48,
        1_795_240_000_000_000, 1 << 56 - 1, 1 << 56, .max - 1, .max,
    ]

    @Test(arguments: zip(stamps, stamps.dropFirst()))
    func `ids and keys sort by stamp over its whole range`(earlier: Int64, later: Int64) throws {
        #expect(earlier < later)
        // Whatever comes behind the stamp.
        let last = ArchiveID(stamp: earlier, topic: .max, partition: .max, offset: .max, check: .max)
        let first = ArchiveID(stamp: later, topic: 1, partition: 0, offset: 0, check: 0)
        for id in [last, first] {
            #expect(id.text.utf8.count == ArchiveID.length && ArchiveID(id.text) == id)
            let key = EventKey(id)
            #expect(try key.id(check: id.check) == id && key.stamp == id.stamp && key.newestStampBelow == id.stamp)
            #expect(EventKey.start < key && key < EventKey.end)
            let before = EventKey(before: id.stamp)
            #expect(before < key && before.stamp == id.stamp)
            #expect(before.newestStampBelow == (id.stamp == .min ? .min : id.stamp - 1))
        }
        #expect(last < first && last.text.utf8.lexicographicallyPrecedes(first.text.utf8))
        #expect(EventKey(last) < EventKey(before: later) && EventKey(last) < EventKey(first))
        #expect(EventKey(before: earlier) < EventKey(before: later))
    }

    @Test func `what was written when late stamps were cut stays where it was`() throws {
        let event = EventKey(stored: Array(repeating: 0xFF, count: 10) + [1, 3, 2, 0x12, 0x34])
        #expect(event.stamp == EventKey.lastShortStamp)
        let id = try event.id(check: 7)
        #expect((id.topic, id.partition, id.offset) == (.max, 3, 0x1234) && EventKey(id) == event)
        #expect(event < EventKey(before: EventKey.lastShortStamp + 1) && event < .end)
        // An id of such an event, from a client that kept it: everything that has an id lies before it.
        let late = try #require(ArchiveID("zzzzzzzz" + String(repeating: "-", count: 31) + "7"))
        #expect(late > ArchiveID(stamp: 1 << 62, topic: .max, partition: .max, offset: .max, check: .max))
        // One without a stamp lies before all that have one.
        for topic in ["-", "X", "z"] {
            let old = try #require(ArchiveID("--------" + topic + String(repeating: "7", count: 31)))
            #expect(old.stamp < 0)
        }
    }

    @Test func `only the longest stamps cut the check`() {
        for (stamp, bits) in [(Int64.min, 2), (-2, 2), (-1, 64), (0, 64), (.max, 43)] as [(Int64, UInt64)] {
            let id = ArchiveID(stamp: stamp, topic: 0, partition: 0, offset: 0, check: .max)
            #expect(id.check == .max >> (64 - bits))
        }
    }

    @Test func `another event has another check, also where the bytes run on`() {
        let account = Account("A")
        let events = [
            ThinEvent(entity: "a", id: "bc", type: "d"), ThinEvent(entity: "ab", id: "c", type: "d"),
            ThinEvent(entity: "a", id: "b", type: "cd"), ThinEvent(entity: "", id: "abc", type: "d"),
        ]
        let checks = events.flatMap {
            [ArchiveID.hash(of: $0, account: account), ArchiveID.hash(of: $0, account: Account("B"))]
        }
        #expect(Set(checks).count == checks.count)
        // It stands in ids that clients hold: it may never change.
        #expect(ArchiveID.hash(of: events[0], account: account) == 0x94C_1A21_DBE7_C122)
        #expect(ArchiveID.hash(ofTopic: "incidents") == 0x8834_A4EB)
    }

    static let damaged: [[UInt8]] = [
        [], [0], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 9, 0],
        [0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 4, 255, 255, 255, 255, 0],
        [0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 8, 255],
        [0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 8, 255, 255, 255, 255, 255, 255, 255, 255],
        Array(repeating: 0, count: 6), Array(repeating: 0, count: 20), [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 9, 0],
        Array(repeating: 0xFF, count: 12), Array(repeating: 0xFF, count: 24),
    ]

    @Test(arguments: damaged)
    func `bytes of a damaged file are no key`(bytes: [UInt8]) {
        #expect(throws: ArchiveError.self) { try EventKey(stored: bytes).id(check: 0) }
    }
}

/// What an id costs, in allocations.
@Suite(.enabled(if: allocations_are_counted())) struct ArchiveCostTests {
    @Test func `writing and reading an id allocates nothing`() throws {
        let id = ArchiveID(stamp: 1_795_240_000_000, topic: 7, partition: 3, offset: 4711, check: 99)
        let event = ThinEvent(entity: "incident", id: "0c2e6a4e-5d4c-4f0e-9a3b-3c1d6b7a8e9f", type: "acknowledged")
        let account = Account("ACCOUNT-0123456789-0123456789")
        var text: [UInt8] = []
        text.reserveCapacity(100)
        var read = 0
        let before = allocations_of_thread()
        for _ in 0..<100 {
            text.removeAll(keepingCapacity: true)
            id.append(to: &text)
            if ArchiveID(text.span) == id, ArchiveID.hash(of: event, account: account) != 0 { read += 1 }
        }
        let after = allocations_of_thread()
        #expect(read == 100 && after - before == 0)
    }
}
