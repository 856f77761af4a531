import Tokens

/// Records of the control topic that were lost, until the latest time that they can have is known.
///
/// Nobody knows whom they revoked, so they count for all tokens, as of a moment that is not before any of them. The moment is the
/// time of the next record in their partition, plus the longest time that a `before` may be ahead of its record; else the
/// present. A node that starts later finds the same moment, so tokens that were fetched meanwhile stay good.
///
/// A value without a clock: times of clocks are given.
struct ControlLosses {
    /// A record that comes later than this is not waited for.
    static let patienceMilliseconds: UInt64 = 500

    /// When they were found, by the monotonic clock, in milliseconds.
    private var found: [Int32: UInt64] = [:]

    var isEmpty: Bool { found.isEmpty }

    /// Records of this partition were lost; its next record comes after them.
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

    /// Ends losses after which no record has come: all, or those that were waited for long enough. Returns as ``end``.
    mutating func endOverdue(_ now: UInt64, all: Bool, present: Int64) -> Int64? {
        let before = found.count
        found = found.filter { !all && now - min(now, $0.value) < Self.patienceMilliseconds }
        return found.count < before ? Self.second(present) : nil
    }

    /// Rounded up: a token that was issued before the moment has an earlier second.
    private static func second(_ milliseconds: Int64) -> Int64 {
        milliseconds / 1000 + (milliseconds % 1000 > 0 ? 1 : 0)
    }
}
