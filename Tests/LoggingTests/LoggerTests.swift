// Tests: LogLevel.swift, RateLimiter.swift

import Logging
import Testing

@Suite struct LoggerTests {
    @Test func `levels are those of swift-log, in their order`() {
        let names = ["trace", "debug", "info", "notice", "warning", "error", "critical"]
        #expect(LogLevel.allCases.map(\.name) == names)
        #expect(LogLevel.allCases.sorted() == LogLevel.allCases)
        #expect(LogLevel(name: "notice") == .notice && LogLevel(name: "Notice") == nil && LogLevel(name: "") == nil)
    }

    @Test func `a level that is not told computes no facts`() {
        let memory = LogMemory(level: .notice)
        let logger = Logger("test", to: memory)
        logger.info("not told", [.count: { () -> LogValue in fatalError("computed") }()])
        logger.notice("told", [.count: 1])
        #expect(memory.records.map(\.message) == ["told"])
        #expect(!logger.isEnabled(.info) && logger.isEnabled(.notice))
    }

    @Test func `a logger keeps the facts that it was made with before those of a line`() {
        let memory = LogMemory()
        let logger = Logger("test", to: memory).with([.connection: 7]).named("other")
        logger.debug("a line", [.code: 1000])
        let record = memory.records[0]
        #expect(record.part == "other" && record.level == .debug)
        #expect(record.facts.map(\.key) == [.connection, .code])
        #expect(record[.connection] == 7 && record[.code] == 1000 && record[.bytes] == nil)
    }

    @Test func `one line passes for each cause in ten seconds, and the next one tells how many did not`() {
        let limiter = RateLimiter()
        #expect(limiter.pass("a", now: 0) == .init(count: 0))
        #expect(limiter.pass("a", now: 1) == nil)
        #expect(limiter.pass("b", now: 2) == .init(count: 0))
        #expect(limiter.pass("a", now: 9_999) == nil)
        #expect(limiter.pass("a", now: 10_000) == .init(count: 2))
        #expect(limiter.pass("a", now: 19_999) == nil)
        #expect(limiter.pass("b", now: 19_999)?.suppressed == .absent)
        #expect(limiter.pass("a", now: 40_000)?.suppressed == 1)
    }

    @Test func `causes beyond the limit push out the one that passed longest ago`() {
        let limiter = RateLimiter()
        for number in 0..<RateLimiter.maximumCauses { _ = limiter.pass("cause \(number)", now: UInt64(number)) }
        #expect(limiter.pass("cause 0", now: 2_000) == nil)
        #expect(limiter.pass("one more", now: 2_000) != nil)
        #expect(limiter.pass("cause 1", now: 2_000) == nil)
        #expect(limiter.pass("cause 0", now: 2_000) == .init(count: 0))
    }
}
