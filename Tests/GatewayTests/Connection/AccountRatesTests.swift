// Tests: AccountRates.swift

import LiveUpdates
import Testing

@testable import Gateway

struct AccountRatesTests {
    private func note(_ account: String, _ count: Int, isRefused: Bool = false, now: UInt64, _ load: inout AccountLoad)
    {
        for _ in 0..<count { load.note(Account(account), isRefused: isRefused, now: now) }
    }

    @Test func `a minute is the running one and what of the one before is less than a minute ago`() {
        var load = AccountLoad()
        note("a", 60, now: 6_000_000, &load)
        note("a", 10, isRefused: true, now: 6_059_999, &load)
        typealias Counts = AccountLoad.Counts
        #expect(load.aMinute(now: 6_059_999) == [Account("a"): Counts(requests: 60, refusals: 10)])
        note("b", 5, now: 6_060_000, &load)
        #expect(load.aMinute(now: 6_060_000)[Account("a")] == Counts(requests: 60, refusals: 10))
        #expect(load.aMinute(now: 6_090_000)[Account("a")] == Counts(requests: 30, refusals: 5))
        #expect(load.aMinute(now: 6_090_000)[Account("b")] == Counts(requests: 5))
        // Another loop's clock may lag.
        note("b", 1, now: 6_089_000, &load)
        #expect(load.aMinute(now: 6_119_999)[Account("b")] == Counts(requests: 6))
        #expect(load.aMinute(now: 6_119_999)[Account("a")] == Counts())
        #expect(load.aMinute(now: 6_180_000) == [Account("b"): Counts()] || load.aMinute(now: 6_180_000).isEmpty)
        #expect(load.aMinute(now: 6_300_000).isEmpty)
    }

    @Test func `whoever leads is found among any number of others, and memory is bounded`() {
        var load = AccountLoad()
        for number in 0..<20_000 {
            load.note(Account("other \(number)"), isRefused: false, now: 0)
            if number % 100 == 0 { note("busy", 3, now: 0, &load) }
        }
        let counts = load.aMinute(now: 0)
        #expect(counts.count < 2 * AccountLoad.maximumAccounts)
        #expect(counts[Account("busy")]?.requests == 600)
    }

    @Test func `accounts lead by connections, by requests or by refusals, each once`() {
        typealias Counts = AccountLoad.Counts
        let open = ["a": 9, "b": 5, "c": 1]
        let minute = [
            Account("b"): Counts(requests: 2), Account("d"): Counts(requests: 50, refusals: 1),
            Account("e"): Counts(requests: 40, refusals: 40), Account("f"): Counts(requests: 30),
            Account("g"): Counts(requests: 1, refusals: 1),
        ]
        func ranked(_ limit: Int) -> [String] {
            RankedAccount.ranked(busiest: [Account("a"), Account("b"), Account("c")], minute, limit: limit) {
                $0.map { open[$0.text] ?? 0 }
            }.map { "\($0.account.text) \($0.connections) \($0.minute.requests) \($0.minute.refusals)" }
        }
        #expect(ranked(1) == ["a 9 0 0", "d 0 50 1", "e 0 40 40"])
        #expect(ranked(2) == ["a 9 0 0", "b 5 2 0", "d 0 50 1", "e 0 40 40"])
        #expect(ranked(20) == ["a 9 0 0", "b 5 2 0", "c 1 0 0", "d 0 50 1", "e 0 40 40", "f 0 30 0", "g 0 1 1"])
    }
}
