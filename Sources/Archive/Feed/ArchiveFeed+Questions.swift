import KafkaLogs

// What a feed asks for, and what it is answered.
extension ArchiveFeed {
    /// A partition of which it is not known where to go on.
    package struct Question: Equatable, Sendable {
        package let partition: PartitionName
        package let generation: UInt32
        /// What the store has; nil: nothing.
        package let next: Int64?
        /// In which log.
        package let log: StoredLog
        /// What this node knows of the one that it reads.
        package let facts: LogFacts
    }

    /// Where a partition goes on.
    package enum Resolution: Equatable, Sendable {
        /// In the log that is stored.
        case goOn(at: Int64)
        /// In one that has taken the name of the one that is stored.
        case otherLog(from: Int64)
        /// In the log that is stored, which has lost its end: what came behind a record of this stamp, if anything; what stands
        /// before `until` may be stored already.
        case cutBack(to: Int64, since: Int64?, until: Int64)
    }

    /// What is to be read once more.
    package struct Behind: Equatable, Sendable {
        package let partition: PartitionName
        package let generation: UInt32
        package let range: Range<Int64>
    }
}
