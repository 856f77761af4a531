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
            stamp: random.isOne(in: 10) ? -1 : Int64(number(47)), topic: UInt32(number(32)),
            partition: Int32(number(31)),
            offset: Int64(number(63)), check: random.next())
    }

    static let texts: [(id: ArchiveID, text: String)] = [
        (ArchiveID(stamp: -1, topic: 0, partition: 0, offset: 0, check: 0), String(repeating: "-", count: 40)),
        (
            ArchiveID(stamp: ArchiveID.latestStamp, topic: .max, partition: .max, offset: .max, check: .max),
            "zzzzzzzzzzzzzrzzzzxzzzzzzzzzzzzzzzzzzzzz"
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
        ("-------0----------1---------------------", "an offset below zero"),
    ]

    @Test(arguments: refused)
    func `what no node can have made is refused`(text: String, why: String) {
        #expect(ArchiveID(text) == nil, "\(why)")
    }

    @Test func `stamps outside the range become its ends`() {
        #expect(ArchiveID(stamp: .min, topic: 0, partition: 0, offset: 0, check: 0).stamp == -1)
        #expect(ArchiveID(stamp: .max, topic: 0, partition: 0, offset: 0, check: 0).stamp == ArchiveID.latestStamp)
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
        [], [0], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 255, 255, 255, 255, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 255],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 255, 255, 255, 255, 255, 255, 255, 255],
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
