import LiveUpdates
import Testing

@testable import Tokens

/// Times are milliseconds from the node's start, which is at the second 1,000,000.
@Suite struct RevocationsTests {
    static let start: Int64 = 1_000_000_000
    static let retention: Int64 = 60_000

    private static func kept(_ maximumEntries: Int = 100) -> Revocations {
        Revocations(retentionMilliseconds: retention, now: 0, wall: start, maximumEntries: maximumEntries)
    }

    private static func target(
        _ account: String?, _ subject: String? = nil, _ token: String? = nil
    ) -> Revocation.Target {
        if let token { return .token(.init(text: token)) }
        let owner = Account(account ?? "")
        return subject.map { .subject(owner, .init(text: $0)) } ?? .account(owner)
    }

    private static func who(
        _ account: String, _ subject: String? = nil, _ token: String? = nil, issuedAt: Int64? = 999_999
    ) -> Identity {
        Identity(account: Account(account), subject: subject, expiresAt: nil, issuedAt: issuedAt, tokenID: token)
    }

    static let matches: [(Revocation.Target, Identity, Bool)] = [
        (target("A"), who("A"), true), (target("A"), who("A", "S", "T"), true), (target("A"), who("B"), false),
        (target("A"), who("A", issuedAt: nil), true), (target("A"), who("A", issuedAt: 1_000_000), false),
        (target("A"), who("A", issuedAt: 1_000_001), false), (target("A"), who("a"), false),
        (target("A", "S"), who("A", "S"), true), (target("A", "S"), who("A"), false),
        (target("A", "S"), who("A", "T"), false), (target("A", "S"), who("B", "S"), false),
        (target("A", "S"), who("A", "S", issuedAt: nil), true),
        (target("A", "S"), who("A", "S", issuedAt: 1_000_000), false),
        (target(nil, nil, "T"), who("A", nil, "T"), true), (target(nil, nil, "T"), who("B", "S", "T"), true),
        (target(nil, nil, "T"), who("A", "T", "U"), false), (target(nil, nil, "T"), who("T"), false),
        (target(nil, nil, "T"), who("A", nil, "T", issuedAt: nil), true),
        (target(nil, nil, "T"), who("A", nil, "T", issuedAt: 1_000_000), false),
        // Names are bytes: these look alike.
        (target("\u{E9}"), who("e\u{301}"), false), (target("A", "\u{E9}"), who("A", "e\u{301}"), false),
        (target(nil, nil, "\u{E9}"), who("A", nil, "e\u{301}"), false),
    ]

    @Test(arguments: matches.indices) func `who is meant is revoked, and nobody else`(_ row: Int) {
        let (target, identity, isRevoked) = Self.matches[row]
        var kept = Self.kept()
        #expect(kept.isEmpty && !kept.revokes(identity, now: 0))
        kept.add(Revocation(target, before: 1_000_000, recordedAt: Self.start), now: 0, wall: Self.start)
        #expect(kept.revokes(identity, now: 0) == isRevoked)
    }

    /// Each row: the record's time and its `before` against the start, when it was read, and until when it is kept.
    static let times: [(recorded: Int64, before: Int64, readAt: UInt64, keptUntil: UInt64)] = [
        (0, 0, 0, 60_000), (5_000, 5_000, 5_000, 65_000), (-59_999, -60_000, 0, 1), (-60_000, -60_000, 0, 0),
        (-90_000, -90_000, 0, 0), (0, -500_000, 0, 60_000), (0, 60_000, 0, 120_000), (10_000, 10_000, 0, 70_000),
    ]

    @Test(arguments: times.indices) func `a revocation is kept for the retention, and a static token refused so long`(
        _ row: Int
    ) {
        let (recorded, before, readAt, end) = Self.times[row]
        var kept = Self.kept()
        kept.add(
            Revocation(Self.target("A"), before: (Self.start + before) / 1000, recordedAt: Self.start + recorded),
            now: readAt, wall: Self.start + Int64(readAt))
        let fixed = Self.who("A", issuedAt: nil)
        #expect(kept.isEmpty == (end <= readAt))
        #expect(!kept.revokes(fixed, now: max(end, readAt)))
        guard end > readAt else { return }
        #expect(kept.revokes(fixed, now: end - 1))
        kept.forget(now: end - 1)
        #expect(kept.count == 1)
        kept.forget(now: end)
        #expect(kept.isEmpty)
    }

    /// Each row: the wall clock against the start, the time that has passed, and what a loss takes for the present.
    static let presents: [(wall: Int64, now: UInt64, present: Int64)] = [
        (0, 0, 0), (5_000, 5_000, 5_000), (3_605_000, 5_000, 3_605_000), (-3_595_000, 5_000, 5_000),
        (4_999, 5_000, 5_000),
        (5_001, 5_000, 5_001), (.min / 2, 0, 0),
    ]

    @Test(arguments: presents) func `a clock that was set back makes no loss look earlier than it is`(
        row: (wall: Int64, now: UInt64, present: Int64)
    ) {
        #expect(Self.kept().present(now: row.now, wall: Self.start + row.wall) == Self.start + row.present)
    }

    @Test func `of several the latest before counts, in whatever order they come`() {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            var kept = Self.kept()
            let all = [(before: 999_990, at: 0), (before: 999_998, at: 1_000), (before: 999_994, at: 2_000)]
            for index in order {
                let recorded = Self.start + Int64(all[index].at)
                kept.add(
                    Revocation(Self.target("A"), before: Int64(all[index].before), recordedAt: recorded), now: 0,
                    wall: Self.start)
            }
            #expect(kept.count == 1)
            #expect(kept.revokes(Self.who("A", issuedAt: 999_997), now: 61_999), "\(order)")
            #expect(!kept.revokes(Self.who("A", issuedAt: 999_998), now: 0))
            #expect(!kept.revokes(Self.who("A", issuedAt: 999_997), now: 62_000))
        }
    }

    @Test func `where there is no room the oldest count for all tokens, and no client that was shut out comes in`() {
        var kept = Self.kept(3)
        for (number, name) in ["A", "B", "C", "D"].enumerated() {
            #expect(kept.room != .none && kept.allTokens(for: .noRoom, now: 0) == nil)
            kept.add(
                Revocation(Self.target(name), before: 1_000_000 + Int64(number) * 10, recordedAt: Self.start), now: 0,
                wall: Self.start)
        }
        // A was the oldest: before its moment everybody is shut out, and nobody for the sake of D.
        #expect(kept.room == .none && kept.count == 3 && kept.allTokens(for: .noRoom, now: 0) == 1_000_000)
        #expect(kept.allTokens(for: .lost, now: 0) == nil)
        for name in ["A", "B", "C", "D", "E"] {
            #expect(kept.revokes(Self.who(name, issuedAt: 999_999), now: 0))
            #expect(kept.revokes(Self.who(name, issuedAt: nil), now: 0))
        }
        #expect(!kept.revokes(Self.who("A", issuedAt: 1_000_000), now: 0))
        #expect(!kept.revokes(Self.who("E", issuedAt: 1_000_000), now: 0))
        // Who was meant is told so, to the last moment, and the others that they need a new token.
        for (name, before) in [("B", 1_000_010), ("C", 1_000_020), ("D", 1_000_030)] as [(String, Int64)] {
            #expect(kept.ground(against: Self.who(name, issuedAt: before - 1), now: 0) == .meant)
            #expect(kept.ground(against: Self.who(name, issuedAt: before), now: 0) == nil)
        }
        #expect(kept.ground(against: Self.who("A"), now: 0) == .allTokens(before: 1_000_000))
        #expect(kept.ground(against: Self.who("E"), now: 0) == .allTokens(before: 1_000_000))
        // What has an entry already goes on having its own, and needs no room.
        kept.add(Revocation(Self.target("B"), before: 1_000_050, recordedAt: Self.start), now: 0, wall: Self.start)
        #expect(kept.allTokens(for: .noRoom, now: 0) == 1_000_000)
        kept.add(Revocation(Self.target("F"), before: 1_000_060, recordedAt: Self.start), now: 0, wall: Self.start)
        // Now C was the oldest.
        #expect(kept.ground(against: Self.who("E", issuedAt: 1_000_019), now: 0) == .allTokens(before: 1_000_020))
        #expect(!kept.revokes(Self.who("E", issuedAt: 1_000_020), now: 0))
        // Kept from the latest `before` on, of all that gave way.
        kept.forget(now: 79_999)
        #expect(kept.room == .none && kept.revokes(Self.who("E", issuedAt: nil), now: 79_999))
        kept.forget(now: 80_000)
        #expect(kept.room != .none && !kept.revokes(Self.who("E", issuedAt: nil), now: 80_000))
    }

    @Test func `a quarter gives way at once, the oldest of it, and all of one second together`() {
        var kept = Self.kept(8)
        for number in 1...8 {
            kept.add(
                Revocation(Self.target("\(number)"), before: 1_000_000 + Int64(9 - number), recordedAt: Self.start),
                now: 0, wall: Self.start)
        }
        kept.add(Revocation(Self.target("9"), before: 1_000_020, recordedAt: Self.start), now: 0, wall: Self.start)
        #expect(kept.count == 7 && kept.allTokens(for: .noRoom, now: 0) == 1_000_002)
        #expect(kept.ground(against: Self.who("6", issuedAt: 1_000_002), now: 0) == .meant)
        var same = Self.kept(8)
        for number in 1...9 {
            same.add(
                Revocation(Self.target("\(number)"), before: 1_000_000, recordedAt: Self.start), now: 0,
                wall: Self.start)
        }
        #expect(same.count == 1 && same.allTokens(for: .noRoom, now: 0) == 1_000_000)
        #expect(same.ground(against: Self.who("9"), now: 0) == .meant)
    }

    /// Each row: `before` of what was lost against the start, and until when it counts.
    @Test(arguments: [(0, 60_000), (-59, 1_000), (-60, 0), (-3_600, 0), (10, 70_000)] as [(Int64, UInt64)])
    func `what was lost counts for all tokens until it would have ended`(before: Int64, end: UInt64) {
        var kept = Self.kept()
        let second = 1_000_000 + before
        #expect(kept.lose(before: second, now: 0, wall: Self.start) == (end > 0))
        #expect(kept.isEmpty == (end == 0))
        guard end > 0 else { return }
        #expect(kept.allTokens(for: .lost, now: end - 1) == second && kept.allTokens(for: .lost, now: end) == nil)
        for identity in [Self.who("A", issuedAt: second - 1), Self.who("B", "S", "T", issuedAt: nil)] {
            #expect(kept.ground(against: identity, now: end - 1) == .allTokens(before: second))
            #expect(kept.ground(against: identity, now: end) == nil)
        }
        #expect(kept.ground(against: Self.who("A", issuedAt: second), now: 0) == nil)
        // No loss makes a room smaller, and of several the latest counts.
        #expect(kept.room == .enough && kept.count == 0)
        kept.lose(before: second - 1, now: 0, wall: Self.start)
        #expect(kept.allTokens(for: .lost, now: 0) == second)
        // Who was meant goes on being told so.
        kept.add(Revocation(Self.target("A"), before: second, recordedAt: Self.start), now: 0, wall: Self.start)
        #expect(kept.ground(against: Self.who("A", issuedAt: second - 1), now: 0) == .meant)
        kept.forget(now: end)
        #expect(kept.allTokens(for: .lost, now: end) == nil)
    }

    @Test func `from three quarters of the room on there is nearly none, until some has ended`() {
        var kept = Self.kept(8)
        for number in 1...9 {
            kept.add(
                Revocation(Self.target("\(number)"), before: 1_000_000, recordedAt: Self.start + Int64(number)), now: 0,
                wall: Self.start)
            #expect(kept.room == (number < 6 ? .enough : number < 9 ? .nearlyNone : .none), "\(number)")
        }
        // All of one second have given way together, and count for as long as the last of them.
        kept.forget(now: 60_007)
        #expect(kept.room == .none && kept.count == 1)
        kept.forget(now: 60_008)
        #expect(kept.room == .enough && kept.count == 1)
        kept.forget(now: 60_009)
        #expect(kept.isEmpty)
    }

    @Test func `what has ended makes room for what comes`() {
        var kept = Self.kept(2)
        for name in ["A", "B"] {
            kept.add(Revocation(Self.target(name), before: 1_000_000, recordedAt: Self.start), now: 0, wall: Self.start)
        }
        let later = Self.start + 60_000
        kept.add(Revocation(Self.target("C"), before: 1_000_060, recordedAt: later), now: 60_000, wall: later)
        #expect(kept.count == 1 && kept.room != .none)
    }

    /// Each row: by how much the wall clock is off when the record of that moment is read, and how long it is kept.
    @Test(arguments: [(0, 60_000), (3_600_000, 60_000), (-3_600_000, 3_660_000)] as [(Int64, UInt64)])
    func `a wall clock that jumps makes no revocation end early`(jump: Int64, milliseconds: UInt64) {
        var kept = Self.kept()
        let now: UInt64 = 10_000
        let written = Self.start + Int64(now)
        kept.add(
            Revocation(Self.target("A"), before: written / 1000, recordedAt: written), now: now, wall: written + jump)
        #expect(kept.revokes(Self.who("A"), now: now + milliseconds - 1))
        #expect(!kept.revokes(Self.who("A"), now: now + milliseconds))
    }

    @Test func `a record from the far future is kept, and nothing overflows`() {
        var kept = Self.kept()
        for time: Int64 in [Int64.max, Int64.max - 1, Int64.max / 2] {
            kept.add(Revocation(Self.target("A"), before: time / 1000 + 1, recordedAt: time), now: 5, wall: Self.start)
            kept.add(Revocation(Self.target("B"), before: .max, recordedAt: 0), now: 5, wall: .max)
        }
        #expect(kept.count == 2 && kept.revokes(Self.who("A"), now: UInt64(Int64.max / 8)))
    }
}
