@testable import LiveUpdates

/// SplitMix64, with as few calls a number as a build without optimisation deserves.
struct SeededNumbers {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ state &>> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed &>> 27) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ mixed &>> 31) % UInt64(bound))
    }

    mutating func isOne(in chances: Int) -> Bool { below(chances) == 0 }
}

/// A topic as the broker has it: every record for ever, and what happens to topics.
struct SimulatedTopic {
    struct Record {
        /// Nil for one that yields no event.
        let account: Int?
        let timestamp: Int64
        /// Counts all events of a history.
        let event: Int
    }

    /// Counts how often it was deleted and made anew.
    private(set) var incarnation = 0
    /// Offsets are places: a record without an event does what a hole does.
    private(set) var logs: [[Record]]
    /// Below these offsets the broker has deleted records.
    private(set) var starts: [Int64]
    /// The account of each event that there ever was.
    private(set) var accountOfEvent: [Int] = []

    init(partitions: Int) {
        logs = Array(repeating: [], count: partitions)
        starts = Array(repeating: 0, count: partitions)
    }

    func end(of partition: Int) -> Int64 { Int64(logs[partition].count) }

    mutating func write(_ partition: Int, account: Int?, timestamp: Int64) {
        logs[partition].append(Record(account: account, timestamp: timestamp, event: accountOfEvent.count))
        if let account { accountOfEvent.append(account) }
    }

    mutating func addPartition() {
        logs.append([])
        starts.append(0)
    }

    mutating func makeAnew(partitions: Int) {
        incarnation += 1
        logs = Array(repeating: [], count: partitions)
        starts = Array(repeating: 0, count: partitions)
    }

    mutating func deleteRecords(of partition: Int, below offset: Int64) {
        starts[partition] = max(starts[partition], offset)
    }

    /// The first offset with a time stamp not before `time`, as brokers answer.
    func firstOffset(of partition: Int, notBefore time: Int64) -> Int64 {
        let log = logs[partition]
        var place = Int(starts[partition])
        while place < log.count && log[place].timestamp < time { place += 1 }
        return Int64(place)
    }

    /// What a probe finds at an offset.
    func record(_ partition: PartitionName, _ offset: Int64, _ accounts: [Account]) -> ProbedRecord {
        let number = Int(partition.number)
        guard number < logs.count, offset >= starts[number], offset < end(of: number) else { return .none }
        let record = logs[number][Int(offset)]
        return .record(timestamp: record.timestamp, account: record.account.map { accounts[$0] })
    }
}
