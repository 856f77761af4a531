// Tests: Connection+Tokens.swift

import Testing

@testable import Gateway

@Suite struct TokenWatchTests {
    typealias Step = TokenWatch.Step

    @Test(
        arguments: [
            (0, 61_000, Step.notify(milliseconds: 0)), (59_999, 61_000, .notify(milliseconds: 59_999)),
            (61_000, 61_000, .notify(milliseconds: 60_000)), (61_001, 61_000, .wait(milliseconds: 1)),
            (90_000, 90_000, .notify(milliseconds: 60_000)), (150_000, 90_000, .wait(milliseconds: 60_000)),
            (3_600_000, 75_000, .wait(milliseconds: 60_000)), (.max, 61_000, .wait(milliseconds: 60_000)),
        ] as [(UInt64, UInt64, Step)])
    func `the end is told at once where less is left than the lead`(_ left: UInt64, _ lead: UInt64, _ step: Step) {
        var watch = TokenWatch(expiresAt: 7)
        #expect(watch.begin(left: left, lead: lead) == step)
    }

    @Test func `it is told once, and then it comes`() {
        var early = TokenWatch(expiresAt: 7)
        #expect(early.begin(left: 100_000, lead: 61_000) == .wait(milliseconds: 39_000))
        #expect(early.alarm(left: 61_000) == .notify(milliseconds: 60_000))
        #expect(early.alarm(left: 1_000) == .wait(milliseconds: 1_000))
        #expect(early.alarm(left: 0) == .end)
        var late = TokenWatch(expiresAt: 7)
        #expect(late.begin(left: 5_000, lead: 61_000) == .notify(milliseconds: 5_000))
        #expect(late.alarm(left: 0) == .end)
    }

    @Test(arguments: [(61_000, 60_000), (30_000, 30_000), (0, 0)] as [(UInt64, UInt64)])
    func `a clock that is set forward brings the end nearer`(_ left: UInt64, _ wait: UInt64) {
        var watch = TokenWatch(expiresAt: 7)
        #expect(watch.begin(left: 3_600_000, lead: 61_000) == .wait(milliseconds: 60_000))
        #expect(watch.alarm(left: left) == .notify(milliseconds: wait))
        #expect(watch.alarm(left: 0) == .end)
    }

    @Test func `a clock that is set back makes no token last longer`() {
        var watch = TokenWatch(expiresAt: 7)
        #expect(watch.begin(left: 180_000, lead: 61_000) == .wait(milliseconds: 60_000))
        #expect(watch.alarm(left: 3_600_000) == .wait(milliseconds: 59_000))
        #expect(watch.alarm(left: 3_600_000) == .notify(milliseconds: 60_000))
        #expect(watch.alarm(left: 3_600_000) == .wait(milliseconds: 1_000))
        #expect(watch.alarm(left: 3_600_000) == .end)
    }

    @Test func `a client has 60 s at least and 90 at most, though what is left is known in whole seconds`() {
        // Rounded up, what is left is up to a second more than it seems.
        #expect(TokenWatch.leadMilliseconds.lowerBound - 1_000 == 60_000)
        #expect(TokenWatch.leadMilliseconds.upperBound == 90_000)
    }

    @Test func `ten tokens within a second are judged, and one more is too many`() {
        // The half of the time that is kept runs over in the middle.
        for begin in [0, 7, UInt64(UInt32.max) - 500] {
            var rate = TokenRate()
            let admitted = ((0..<10).map { $0 * 99 } + [999, 1_000]).map { rate.admits(now: begin + $0) }
            #expect(admitted == Array(repeating: true, count: 10) + [false, true])
        }
    }
}
