/// What a node keeps of the past, in the units in which it is used.
package struct HistoryLimits: Sendable {
    /// How far back logs reach, by the arrival of records.
    package var retentionMilliseconds: Int64
    package var maximumEventsPerAccount: Int
    /// Of all accounts together.
    package var maximumLogBytes: Int
    /// How far a record's time stamp may lag behind those of the records before it, and clocks behind each other.
    package var maximumTimestampDelayMilliseconds: Int64

    package init(
        retentionMilliseconds: Int64, maximumEventsPerAccount: Int, maximumLogBytes: Int,
        maximumTimestampDelayMilliseconds: Int64
    ) {
        self.retentionMilliseconds = retentionMilliseconds
        self.maximumEventsPerAccount = maximumEventsPerAccount
        self.maximumLogBytes = maximumLogBytes
        self.maximumTimestampDelayMilliseconds = maximumTimestampDelayMilliseconds
    }
}
