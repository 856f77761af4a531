// Tests: ConnectFailure.swift, ConnectionEnding.swift

import HTTP
import Testing
import WebSocket

@testable import LiveClient
@testable import LiveClientReactor

@Suite struct `When a client comes back` {
    static func refused(_ status: Int, _ fields: (String, String)...) -> ConnectionEnding {
        var headers = HeaderFields()
        for (name, value) in fields { headers.append(name, value) }
        return .refused(ServerAnswer(status: status, reason: [], headers: headers, body: [], isTruncated: false))
    }

    static func closed(_ code: UInt16, _ reason: String = "") -> ConnectionEnding {
        .closed(CloseCode(rawValue: code), reason: reason)
    }

    static func verdict(_ ending: ConnectionEnding) -> ReconnectPolicy.Verdict {
        var policy = ReconnectPolicy(seed: 7)
        return policy.verdict(on: ending, openMilliseconds: 0)
    }

    /// Whether the wait lies there.
    static func waits(_ verdict: ReconnectPolicy.Verdict, _ range: Range<UInt64>) -> Bool {
        if case .wait(let milliseconds) = verdict { range.contains(milliseconds) } else { false }
    }

    @Test func `it stops where coming back changes nothing`() {
        for status in [400, 401, 403, 404, 426] { #expect(Self.verdict(Self.refused(status)) == .stop) }
        #expect(Self.verdict(Self.closed(1000)) == .stop)
        #expect(Self.verdict(Self.closed(4403)) == .stop)
        #expect(Self.verdict(.aborted) == .stop)
    }

    @Test func `it backs off after everything else`() {
        let endings: [ConnectionEnding] = [
            .notConnected(.network("x")), .notConnected(.deadline(milliseconds: 1)), .notConnected(.cut("x")),
            .cut("x"),
            .noPong, .broken(.maskedFrame), Self.refused(500), Self.refused(503), Self.refused(429), Self.refused(408),
            Self.refused(301),
        ]
        for ending in endings { #expect(Self.waits(Self.verdict(ending), 500..<1000)) }
        for code: UInt16 in [1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 4408, 4409, 3000, 4000, 4999] {
            #expect(Self.waits(Self.verdict(Self.closed(code)), 500..<1000))
        }
    }

    @Test func `retry_ms comes first`() {
        #expect(Self.verdict(Self.closed(1012, "restart retry_ms=8123")) == .wait(milliseconds: 8123))
        #expect(Self.verdict(Self.closed(4429, "too much retry_ms=0")) == .wait(milliseconds: 0))
        #expect(Self.verdict(Self.closed(1011, "x retry_ms=70000")) == .wait(milliseconds: 70000))
        #expect(Self.waits(Self.verdict(Self.closed(1012, "restart")), 500..<1000))
        #expect(Self.waits(Self.verdict(Self.closed(1012, "retry_ms=-5")), 500..<1000))
    }

    @Test func `an overloaded server is left alone for 5 s`() {
        #expect(Self.verdict(Self.closed(1013)) == .wait(milliseconds: 5000))
        #expect(Self.verdict(Self.closed(1013, "overload retry_ms=100")) == .wait(milliseconds: 5000))
        #expect(Self.verdict(Self.closed(1013, "overload retry_ms=6000")) == .wait(milliseconds: 6000))
    }

    @Test func `Retry-After is obeyed, with jitter upwards`() {
        #expect(Self.waits(Self.verdict(Self.refused(503, ("Retry-After", "10"))), 10_000..<15_000))
        #expect(Self.waits(Self.verdict(Self.refused(503, ("Retry-After", "Sun, 06 Nov 1994"))), 500..<1000))
        #expect(Self.waits(Self.verdict(Self.refused(429, ("Retry-After", "0"))), 0..<1000))
    }

    @Test func `an expired token is fetched at once, but not in a loop`() {
        var policy = ReconnectPolicy(seed: 7)
        #expect(policy.verdict(on: Self.closed(4401), openMilliseconds: 5) == .wait(milliseconds: 0))
        #expect(Self.waits(policy.verdict(on: Self.closed(4401), openMilliseconds: 29_999), 500..<1000))
        #expect(policy.verdict(on: Self.closed(4401), openMilliseconds: 30_000) == .wait(milliseconds: 0))
    }

    @Test func `whoever has one token and no other does not come back when it has expired`() {
        var policy = ReconnectPolicy(hasFixedToken: true)
        #expect(
            policy.verdict(on: Self.closed(1012, "restart retry_ms=7"), openMilliseconds: 5) == .wait(milliseconds: 7))
        #expect(policy.verdict(on: Self.closed(4401, "token expired"), openMilliseconds: 5) == .stop)
    }

    @Test func `a connection that stood long ends the row of failures`() {
        var policy = ReconnectPolicy(seed: 7)
        var longest: UInt64 = 0
        for _ in 0..<60 {
            guard case .wait(let wait) = policy.verdict(on: .noPong, openMilliseconds: 29_999) else { continue }
            longest = max(longest, wait)
        }
        #expect((10_000..<20_000).contains(longest))
        #expect(Self.waits(policy.verdict(on: .noPong, openMilliseconds: 30_000), 500..<1000))
    }
}
