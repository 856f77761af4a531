// Tests: Connection+Age.swift

import TestHarness
import Testing

@testable import Gateway

/// When a connection is old, for many draws of chance.
struct ConnectionAgeTests {
    @Test(arguments: [1_000, 3_600_000, 31_536_000_000] as [UInt64])
    func `a connection ends at 0.9 to 1.1 of its age, and at any time between`(_ maximum: UInt64) {
        var random = SeededGenerator(seed: maximum)
        var tenths = [Int](repeating: 0, count: 10)
        for _ in 0..<10_000 {
            let due = ConnectionAge.due(acceptedAt: 77, now: 77, maximumMilliseconds: maximum, using: &random) - 77
            #expect(due >= maximum * 9 / 10 && due <= maximum * 11 / 10)
            tenths[min(9, Int((due - maximum * 9 / 10) * 50 / maximum))] += 1
        }
        // A thousand each: more than ten standard deviations.
        #expect(tenths.allSatisfy { abs($0 - 1_000) < 350 }, "\(tenths)")
    }

    @Test func `who is older than an age that is set ends within a tenth of it`() {
        var random = SeededGenerator(seed: 5)
        let dues = (0..<1_000).map { _ in
            ConnectionAge.due(acceptedAt: 0, now: 1_000_000, maximumMilliseconds: 10_000, using: &random)
        }
        #expect(dues.min()! >= 1_000_000 && dues.min()! < 1_000_100)
        #expect(dues.max()! <= 1_001_000 && dues.max()! > 1_000_900)
    }

    @Test func `who is not as old as a new age yet has its time`() {
        var random = SeededGenerator(seed: 6)
        for _ in 0..<1_000 {
            let due = ConnectionAge.due(acceptedAt: 0, now: 8_000, maximumMilliseconds: 10_000, using: &random)
            #expect((9_000...11_000).contains(due))
        }
    }
}
