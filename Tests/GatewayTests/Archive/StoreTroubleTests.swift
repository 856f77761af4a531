// Tests: StoreTrouble.swift, BehindTurns.swift

import Archive
import LiveUpdates
import Testing

@testable import Gateway

struct StoreTroubleTests {
    @Test func `that it is written again is told once a batch was stored`() {
        var trouble = StoreTrouble()
        func pass(hasStored: Bool, waits: Bool) -> [Bool] {
            let (isWell, isNews) = trouble.pass(hasStored: hasStored, waits: waits)
            return [isWell, isNews]
        }
        #expect(pass(hasStored: false, waits: true) == [true, false])
        #expect(pass(hasStored: true, waits: true) == [true, false])
        _ = trouble.fail()
        // A full disk lets everything through that writes nothing.
        #expect(pass(hasStored: false, waits: true) == [false, false])
        #expect(pass(hasStored: false, waits: false) == [true, false])
        #expect(trouble.isTroubled)
        #expect(pass(hasStored: true, waits: true) == [true, true])
        #expect(!trouble.isTroubled && pass(hasStored: true, waits: false) == [true, false])
    }

    @Test func `pauses grow until a batch was stored`() {
        var trouble = StoreTrouble()
        var pauses: [UInt64] = []
        for _ in 0..<6 {
            pauses.append(trouble.fail())
            _ = trouble.pass(hasStored: false, waits: true)
        }
        #expect(pauses == [250, 500, 1_000, 2_000, 4_000, 5_000])
        for _ in 0..<100 { pauses.append(trouble.fail()) }
        #expect(pauses.suffix(100).allSatisfy { $0 == StoreTrouble.longestPause })
        _ = trouble.pass(hasStored: true, waits: false)
        let first = trouble.fail()
        #expect(first == 250)
    }

    @Test func `a store of no use is told once`() {
        var trouble = StoreTrouble()
        let newer = ArchiveError.otherSchema(found: 9, wanted: 3)
        let news = [newer, newer, .pooled, newer, newer].map { trouble.refuse($0) }
        #expect(news == [true, false, true, true, false])
        _ = trouble.pass(hasStored: true, waits: false)
        let isNews = trouble.refuse(newer)
        #expect(isNews)
    }

    @Test(arguments: [(nil, false), (0, false), (4_999, false), (5_000, true), (60_000, true)] as [(UInt64?, Bool)])
    func `what waits for long is told, whoever should write it`(milliseconds: UInt64?, isReported: Bool) {
        #expect((StoreTrouble.why(waitingMilliseconds: milliseconds) != nil) == isReported)
    }
}

struct BehindTurnsTests {
    private static let names = (0..<4).map { PartitionName(topic: 0, number: $0) }

    @Test func `who does not answer is asked behind the others, and after a pause`() {
        var turns = BehindTurns()
        let names = Self.names
        #expect(turns.order(names.reversed(), now: 0) == names)
        turns.wasSilent(names[0], now: 0)
        #expect(turns.isSilent(names[0]) && turns.order(names, now: 499) == Array(names[1...]))
        #expect(turns.order(names, now: 500) == Array(names[1...]) + [names[0]])
        // Longer each time, up to a limit, at which it is reported.
        turns.wasSilent(names[0], now: 500)
        #expect(!turns.isSilentForLong(names[0]) && !turns.isSilentForLong(names[1]))
        #expect(turns.order([names[0]], now: 1_499).isEmpty && turns.order([names[0]], now: 1_500) == [names[0]])
        for _ in 0..<70 { turns.wasSilent(names[0], now: 1_500) }
        #expect(turns.isSilentForLong(names[0]))
        #expect(turns.order([names[0]], now: 5_499).isEmpty && turns.order([names[0]], now: 5_500) == [names[0]])
        // Who has been silent for longest comes first.
        turns.wasSilent(names[1], now: 1_600)
        #expect(turns.order(names, now: 9_000) == [names[2], names[3], names[1], names[0]])
        turns.answered(names[0])
        #expect(!turns.isSilent(names[0]) && turns.order([names[0]], now: 0) == [names[0]])
    }

    @Test func `a log is lost when its leader says so twice, a second apart`() {
        var turns = BehindTurns()
        func isLost(_ now: UInt64, of number: Int = 0) -> Bool { turns.isLost(Self.names[number], now: now) }
        let first = [isLost(10), isLost(10), isLost(1_009), isLost(1_010, of: 1), isLost(1_010)]
        #expect(first == [false, false, false, false, true])
        let again = [isLost(2_000), isLost(2_999)]
        turns.isThere(Self.names[0])
        let later = [isLost(9_000), isLost(9_999), isLost(10_000)]
        #expect(again == [false, false] && later == [false, false, true])
        // What was said once does not count for ever.
        let old = [isLost(20_000), isLost(80_001), isLost(81_001)]
        #expect(old == [false, false, true])
        let atTheLimit = [isLost(100_000), isLost(160_000)]
        #expect(atTheLimit == [false, true])
    }
}
