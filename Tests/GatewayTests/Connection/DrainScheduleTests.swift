import TestHarness
import Testing

@testable import Gateway

/// When the connections of a node end that goes out of service: what holds of every schedule, with a printed seed.
struct DrainScheduleTests {
    /// A window, what has passed of it before its connections were known, and what is left for them.
    static let rests: [(window: UInt64, passed: UInt64, rest: UInt64)] = [
        (30_000, 0, 30_000), (30_000, 1, 29_999), (30_000, 6_000, 24_000), (30_000, 6_001, 24_000),
        (30_000, 90_000, 24_000), (10_000, 1_500, 8_500), (0, 0, 0), (0, 700, 0), (4, 4, 0),
    ]

    @Test(arguments: rests.indices) func `time that passes before a drain's first close is taken off its window`(
        row: Int
    ) {
        let (window, passed, rest) = Self.rests[row]
        #expect(DrainSchedule.rest(ofWindow: window, after: passed) == rest)
        // Of N connections in the rest, no second has more than 1.3 times the mean of the whole window.
        #expect(window < 5_000 || Double(window) / Double(rest) <= 1.3)
    }

    /// How many connections the loops have.
    struct Case: CustomStringConvertible, Sendable {
        let seed: UInt64
        let connections: [Int]
        let windowMilliseconds: UInt64
        var count: Int { connections.reduce(0, +) }
        var description: String { "seed \(seed): \(connections) within \(windowMilliseconds) ms" }

        /// From 1 to 20,000 connections, on 1 to 8 loops, each with its share of them, or none.
        init(seed: UInt64) {
            self.seed = seed
            var random = SeededGenerator(seed: seed)
            let most = [1, 2, 10, 99, 100, 101, 1_000, 20_000][random.below(8)]
            let loops = 1 + random.below(8)
            var connections = [Int](repeating: 0, count: loops)
            for _ in 0..<(1 + random.below(most)) { connections[random.below(1 + random.below(loops))] += 1 }
            self.connections = connections
            windowMilliseconds = [0, 1, 500, 10_000, 30_000, 3_600_000][random.below(6)]
        }

        func schedule(retryMilliseconds: UInt64 = 5_000) -> (DrainSchedule, slots: [[UInt32]]) {
            var random = SeededGenerator(seed: ~seed)
            let schedule = DrainSchedule(
                begin: 1_000_000, windowMilliseconds: windowMilliseconds, count: count,
                retryMilliseconds: retryMilliseconds, using: &random)
            return (schedule, DrainSchedule.deal(connections, using: &random))
        }
    }

    static let cases = (1...60).map { Case(seed: $0) }

    @Test(arguments: cases) func `each connection has one slot, and each slot one connection`(_ drawn: Case) {
        let (_, slots) = drawn.schedule()
        #expect(slots.map(\.count) == drawn.connections)
        #expect(slots.allSatisfy { $0 == $0.sorted() })
        #expect(slots.flatMap { $0 }.sorted() == (0..<UInt32(drawn.count)).map { $0 })
    }

    @Test(arguments: cases) func `after a part of the window that part of all is closed`(_ drawn: Case) {
        let (schedule, slots) = drawn.schedule()
        let moments = slots.flatMap { $0.map(schedule.moment(ofSlot:)) }.sorted()
        #expect(moments.first! >= schedule.begin)
        #expect(moments.last! <= schedule.begin + drawn.windowMilliseconds)
        let tolerance = max(1, Double(drawn.count) / 100)
        var closed = 0
        for part in 0...100 {
            let time = schedule.begin + drawn.windowMilliseconds * UInt64(part) / 100
            while closed < moments.count, moments[closed] <= time { closed += 1 }
            // Where a window is shorter than what a clock tells apart, all of it is one moment.
            guard drawn.windowMilliseconds >= 100 else { continue }
            let due = Double(drawn.count) * Double(time - schedule.begin) / Double(drawn.windowMilliseconds)
            // A moment is a whole millisecond: as many as fall into one may be on its other side.
            let grain = Double(drawn.count) / Double(drawn.windowMilliseconds)
            #expect(abs(Double(closed) - due) <= tolerance + grain, "after \(part) %: \(closed)")
        }
        #expect(closed == drawn.count)
    }

    @Test(arguments: [(100, 1), (101, 3), (1_999, 2), (20_000, 8)], [10_000, 30_000] as [UInt64])
    func `no second of the window holds more than 1.3 times the mean`(
        _ size: (connections: Int, loops: Int), _ windowMilliseconds: UInt64
    ) {
        let mean = Double(size.connections) / Double(windowMilliseconds / 1_000)
        // Below ten a second one more is more than 1.3 times.
        guard mean >= 10 else { return }
        var random = SeededGenerator(seed: 13)
        let schedule = DrainSchedule(
            begin: 0, windowMilliseconds: windowMilliseconds, count: size.connections, retryMilliseconds: 5_000,
            using: &random)
        let slots = (0..<UInt32(size.connections))
        let closes = slots.map { Int(schedule.moment(ofSlot: $0)) }
        #expect(Double(Self.most(closes)) <= 1.3 * mean)
        // Those who come back as they were asked do so as evenly, at times that nobody chose.
        let returns = slots.map { Int(schedule.moment(ofSlot: $0)) + schedule.retryMilliseconds(ofSlot: $0) }
        #expect(Double(Self.most(returns)) <= 1.3 * mean)
    }

    /// The most in any second, wherever it begins.
    private static func most(_ times: [Int]) -> Int {
        let sorted = times.sorted()
        var (first, most) = (0, 0)
        for (index, time) in sorted.enumerated() {
            while sorted[first] + 1_000 <= time { first += 1 }
            most = max(most, index - first + 1)
        }
        return most
    }

    @Test func `any slot is as likely for one loop as its part of the connections`() {
        var random = SeededGenerator(seed: 7)
        var early = [0, 0]
        for _ in 0..<2_000 {
            let slots = DrainSchedule.deal([30, 10], using: &random)
            for loop in 0..<2 { early[loop] += slots[loop].filter { $0 < 4 }.count }
        }
        // Of 8,000 early slots three quarters: ten standard deviations around 6,000.
        #expect(abs(early[0] - 6_000) < 400 && early[0] + early[1] == 8_000)
    }

    @Test func `clients are asked to stay away for all times from 0 to the longest, each alike`() {
        var random = SeededGenerator(seed: 1012)
        var seen = [0, 0, 0, 0, 0]
        for _ in 0..<10_000 {
            let schedule = DrainSchedule(
                begin: 0, windowMilliseconds: 0, count: 8, retryMilliseconds: 4, using: &random)
            seen[schedule.retryMilliseconds(ofSlot: 7)] += 1
        }
        #expect(seen.allSatisfy { abs($0 - 2_000) < 400 }, "\(seen)")
        let none = DrainSchedule(begin: 0, windowMilliseconds: 0, count: 8, retryMilliseconds: 0, using: &random)
        #expect((0..<8).allSatisfy { none.retryMilliseconds(ofSlot: $0) == 0 })
    }

    @Test func `nobody is there`() {
        var random = SeededGenerator(seed: 0)
        #expect(DrainSchedule.deal([0, 0], using: &random) == [[], []])
        #expect(DrainSchedule.deal([], using: &random) == [])
    }
}
