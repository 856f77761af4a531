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
        var recheck = TokenRecheck(number: 1)
        for passed in [0, 1, patience - 1] {
            #expect(
                recheck.noAnswer(now: 7 + passed, cacheMilliseconds: cache, pause: 1_234)
                    == .askLater(milliseconds: 1_234))
        }
        #expect(recheck.noAnswer(now: 7 + patience, cacheMilliseconds: cache, pause: 1_234) == .giveUp)
    }
}
