/// What a node keeps of the past, in the units in which it is used.
package struct HistoryLimits: Sendable {
    /// How far back logs reach, by the records' time stamps.
    package var retentionMilliseconds: Int64 = 24 * 3_600_000
    package var maximumEventsPerAccount = 1_000
    /// Of all accounts together.
    package var maximumLogBytes = 256 * 1_048_576
    /// How far a record's time stamp may lag behind those that stand before it, and clocks behind each other.
    package var maximumTimestampDelayMilliseconds: Int64 = 3_600_000

    package init() {}
}
