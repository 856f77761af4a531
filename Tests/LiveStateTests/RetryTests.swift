// Tests: Retry.swift, StateMachine.swift
import LiveState
import Testing

struct RetryTests {
    /// The same words as in JavaScript: Tests/JavaScript/retry.test.js has this row too.
    @Test func `jitter gives the same words in each language`() {
        var jitter = Jitter(seed: 1)
        #expect((0..<3).map { _ in jitter.next() } == [2_693_262_067, 11_749_833, 2_265_367_787])
    }

    @Test func `waits double their bound up to the longest and stay above the shortest`() {
        var retry = Retry(seed: 7)
        for bound: Milliseconds in [1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000] {
            let wait = retry.wait()
            #expect((Retry.minimum..<bound).contains(wait), "\(wait)")
        }
        #expect(retry.failures == 7)
        retry.reset()
        #expect(retry.wait() < 1_000)
    }

    @Test func `clients that lost their server together come back all over the time, not in its second half`() {
        let bound: Milliseconds = 16_000
        let waits = (0..<2_000).map { seed in
            var retry = Retry(seed: UInt32(seed))
            for _ in 0..<4 { _ = retry.wait() }
            return retry.wait()
        }
        // Eight parts of the time with as many clients, give or take a third.
        var parts = [Int](repeating: 0, count: 8)
        for wait in waits { parts[Int((wait - Retry.minimum) * 8 / (bound - Retry.minimum))] += 1 }
        #expect(parts.allSatisfy { (167...333).contains($0) }, "\(parts)")
        // What all were told alike is spread as well, and never cut short.
        let told = (0..<2_000).map { seed in
            var retry = Retry(seed: UInt32(seed))
            return retry.wait(retryAfter: 4_000)
        }
        #expect(Set(told).count > 1_000 && told.allSatisfy { (4_000..<6_000).contains($0) })
    }

    @Test func `the server's word is taken, within a day`() {
        var retry = Retry(seed: 7)
        #expect(retry.wait(asked: 8_123) == 8_123)
        #expect(retry.wait(asked: -1) == 0)
        #expect(retry.wait(asked: .max) == 86_400_000)
        #expect((10_000..<15_000).contains(retry.wait(retryAfter: 10_000)))
        #expect((0..<1_000).contains(retry.wait(retryAfter: 0)))
        #expect(retry.failures == 5)
    }
}
