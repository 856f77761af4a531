import KafkaLogs

/// A record as a scripted broker has it.
package struct ScriptedRecord: Equatable, Sendable {
    /// Milliseconds since 1970; −1: none.
    package var timestamp: Int64
    /// Whatever the test knows it by; two records with the same one and the same time stamp look alike.
    package var payload: Int
    /// Whether compaction removed it, or it was aborted: a hole.
    package var isRemoved = false
    package var isDamaged = false

    package init(timestamp: Int64, payload: Int) {
        self.timestamp = timestamp
        self.payload = payload
    }

    package func mark(at offset: Int64) -> RecordMark {
        RecordMark(offset: offset, timestamp: timestamp, check: UInt64(bitPattern: Int64(payload)))
    }
}

extension ScriptedBroker {
    /// The log of a partition, as its leader has it.
    package struct Log: Equatable, Sendable {
        /// Below it records were deleted.
        package internal(set) var start: Int64 = 0
        /// By offset.
        package internal(set) var records: [ScriptedRecord] = []
        package internal(set) var leader: Int32?

        package var end: Int64 { Int64(records.count) }

        /// The first record at the offset or behind it.
        package func first(from offset: Int64) -> (offset: Int64, record: ScriptedRecord)? {
            var offset = max(offset, start)
            while offset < end {
                let record = records[Int(offset)]
                if !record.isRemoved { return (offset, record) }
                offset += 1
            }
            return nil
        }
    }
}
