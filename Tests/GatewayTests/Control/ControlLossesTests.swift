import Testing

@testable import Gateway

/// Times are milliseconds since 1970, the present is the second 1,000,000.
@Suite struct ControlLossesTests {
    private static let present: Int64 = 1_000_000_000

    /// Each row: the time of the record that came next, and the second before which something may have been revoked.
    static let rows: [(timestamp: Int64?, before: Int64)] = [
        (nil, 1_000_000), (-1, 1_000_000), (present, 1_000_000), (present + 5_000, 1_000_000), (.max, 1_000_000),
        (present - 1, 1_000_000), (present - 60_000, 1_000_000), (present - 60_999, 1_000_000),
        (present - 61_000, 999_999),
        (present - 61_001, 999_999), (present - 500_000, 999_560), (0, 60),
    ]

    @Test(arguments: rows) func `what was lost is no later than what comes next, and how far it may be ahead`(
        row: (timestamp: Int64?, before: Int64)
    ) {
        var losses = ControlLosses()
        losses.add(2, now: 0)
        #expect(losses.end(1, timestamp: row.timestamp, present: Self.present) == nil && !losses.isEmpty)
        #expect(losses.end(2, timestamp: row.timestamp, present: Self.present) == row.before)
        #expect(losses.isEmpty && losses.end(2, timestamp: row.timestamp, present: Self.present) == nil)
    }

    @Test func `where nothing comes next it is the present, rounded up, after a while or when all was read`() {
        var losses = ControlLosses()
        #expect(losses.endOverdue(0, all: true, present: Self.present) == nil)
        losses.add(0, now: 1_000)
        losses.add(1, now: 1_200)
        // Found again: it is not waited for any longer.
        losses.add(0, now: 1_499)
        #expect(losses.endOverdue(1_499, all: false, present: Self.present) == nil)
        #expect(losses.endOverdue(1_500, all: false, present: Self.present + 1) == 1_000_001)
        #expect(losses.endOverdue(1_699, all: false, present: Self.present) == nil && !losses.isEmpty)
        #expect(losses.endOverdue(1_699, all: true, present: Self.present) == 1_000_000)
        #expect(losses.isEmpty)
    }
}
