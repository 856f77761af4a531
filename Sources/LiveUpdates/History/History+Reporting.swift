import KafkaLogs

/// The size of a history.
package struct HistorySize: Equatable, Sendable {
    package var accounts = 0
    package var events = 0
    /// Allocated for logs, states and their tables.
    package var bytes = 0
}

/// Events that a history let go, by the limit that was exceeded.
package struct HistoryEvictions: Equatable, Sendable {
    /// Older than the retention.
    package var age: UInt64 = 0
    /// Of a full log of an account.
    package var count: UInt64 = 0
    /// Of accounts that were evicted because the bytes of all exceeded their limit.
    package var bytes: UInt64 = 0
}

/// What is kept of an account, for an operator: numbers and moments. It contains nothing of the events themselves, which are the
/// account's own business.
package struct AccountSummary: Sendable {
    package let events: Int
    /// Arrivals of the events that are held, in milliseconds since 1970; nil without any.
    package let oldest: Int64?
    package let newest: Int64?
    /// The partitions in which it has had events, each with how far it is read.
    package let partitions: [(partition: PartitionName, position: Int64)]
}

/// How far a partition is read.
package struct PartitionPosition: Equatable, Sendable {
    package let partition: PartitionName
    /// The next offset.
    package let next: Int64
    /// The log that the position counts in, where another program stored it; nil: that is not known.
    package let log: KnownLog?
    /// Of the last records before it, those that the other program knows.
    package let newest: [Record]

    /// A record, by its offset and its time stamp.
    package struct Record: Equatable, Sendable {
        package let offset: Int64
        package let stamp: Int64

        package init(offset: Int64, stamp: Int64) {
            self.offset = offset
            self.stamp = stamp
        }
    }

    package init(partition: PartitionName, next: Int64, log: KnownLog? = nil, newest: [Record] = []) {
        self.partition = partition
        self.next = next
        self.log = log
        self.newest = newest
    }
}

extension History {
    /// What is kept of the account; nil where nothing is.
    ///
    /// O(partitions of the account). What was dropped and is not freed yet is left out.
    package func summary(of account: Account) -> AccountSummary? {
        guard let log = log(of: account) else { return nil }
        let newest = log.parts.filter { $0.count > 0 }.map(\.last.arrival).max()
        return AccountSummary(
            events: log.count, oldest: log.oldestArrival, newest: newest,
            partitions: log.parts.map { ($0.partition, partitions[$0.slot].next) }.sorted { $0.0 < $1.0 })
    }
}
