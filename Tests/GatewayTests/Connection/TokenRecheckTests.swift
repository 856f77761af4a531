// Tests: Connection+Rechecks.swift

import Testing

@testable import Gateway

@Suite struct TokenRecheckTests {
    @Test(
        arguments: [
            (0, 60_000), (60_000, 60_000), (60_001, 60_001), (3_600_000, 3_600_000),
        ] as [(UInt64, UInt64)])
    func `a stream goes on without an answer for as long as one is believed, a minute at least`(
        cache: UInt64, patience: UInt64
    ) {
        var recheck = TokenRecheck(number: 1, left: 0)
        // Whatever the clock says then, it stays due.
        recheck.waitIsOver(left: 500)
        #expect(recheck.wait() == nil)
        for passed in [0, 1, patience - 1] {
            #expect(
                recheck.noAnswer(now: 7 + passed, cacheMilliseconds: cache, pause: 1_234)
                    == .askLater(milliseconds: 1_234))
        }
        #expect(recheck.noAnswer(now: 7 + patience, cacheMilliseconds: cache, pause: 1_234) == .giveUp)
    }

    /// What is left by the wall clock at each alarm, from the beginning on, and the waits that follow; nil: it is asked.
    @Test(
        arguments: [
            ([0], [nil]), ([5_000, 0, 0, 9_000], [5_000, nil, nil, nil]),
            ([150_000, 90_000, 30_000, 0], [60_000, 60_000, 30_000, nil]),
            // Set forward, or a machine that has slept: at most a minute late.
            ([3_600_000, 0], [60_000, nil]), ([3_600_000, 3_540_000, 1_000, 0], [60_000, 60_000, 1_000, nil]),
            // Set back: as long as was left before.
            ([90_000, 3_600_000, 3_600_000], [60_000, 30_000, nil]),
        ] as [([UInt64], [UInt64?])])
    func `the server is asked by the clock by which it is time first`(left: [UInt64], waits: [UInt64?]) {
        var recheck = TokenRecheck(number: 1, left: left[0])
        var found = [recheck.wait()]
        for left in left.dropFirst() {
            recheck.waitIsOver(left: left)
            found.append(recheck.wait())
        }
        #expect(found == waits)
    }
}
