import Tokens

/// Records of the control topic that were lost, until it is known from when they were at the latest.
///
/// Whom they revoked nobody can say, so they count for everybody, as of a moment that none of them lies behind: the time of the
/// record that comes next in their partition, and as much more as a `before` may be ahead of its record, or else the present.
/// By a node that starts later the same moment is found, so that tokens which were fetched meanwhile stay good.
///
/// A value without a clock: times of clocks are given.
struct ControlLosses {
    /// A record that comes later than this is not waited for.
    static let patienceMilliseconds: UInt64 = 500

    /// When they were found, by the monotonic clock, in milliseconds.
    private var found: [Int32: UInt64] = [:]

    var isEmpty: Bool { found.isEmpty }

    /// Records of this partition were lost; what comes next of it comes behind them.
    mutating func add(_ partition: Int32, now: UInt64) { found[partition] = found[partition] ?? now }

    /// A record has come. Returns the second since 1970 before which something may have been revoked, where records of its
    /// partition had been lost.
    ///
    /// - Parameters:
    ///   - timestamp: of the record, in milliseconds since 1970; nil where it has none.
    ///   - present: in milliseconds since 1970, as ``NodeRevocations/present`` has it.
    mutating func end(_ partition: Int32, timestamp: Int64?, present: Int64) -> Int64? {
        guard found.removeValue(forKey: partition) != nil else { return nil }
        let second = Self.second(present)
        guard let timestamp, timestamp >= 0, timestamp < present else { return second }
        return min(second, Self.second(timestamp) + ControlRecord.maximumLeadSeconds)
    }

    /// Ends those behind which no record has come: all, or those of which it might have by now. Returns as ``end``.
    mutating func endOverdue(_ now: UInt64, all: Bool, present: Int64) -> Int64? {
        let before = found.count
        found = found.filter { !all && now - min(now, $0.value) < Self.patienceMilliseconds }
        return found.count < before ? Self.second(present) : nil
    }

    /// Rounded up: whatever was issued earlier than the moment has an earlier second.
    private static func second(_ milliseconds: Int64) -> Int64 {
        milliseconds / 1000 + (milliseconds % 1000 > 0 ? 1 : 0)
    }
}
