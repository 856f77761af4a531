/// What is remembered of a record, to know it again.
package struct RecordMark: Sendable, Equatable {
    var offset: Int64
    /// As Kafka has it; −1 if it has none.
    var timestamp: Int64
    /// Of key and value.
    var check: UInt64
}

/// What a reader has of the log that it reads, at one moment: of constant size.
package struct LogAnchor: Sendable, Equatable {
    struct Witness: Sendable, Equatable {
        var timestamp: Int64
        /// Of the first record that was read with this time stamp.
        var offset: Int64
    }

    /// Everything below was read, or left out by the broker (aborted, compacted).
    var next: Int64
    /// The newest time stamp of all that was read, in the future or not.
    var newest: Witness?
    /// The record that was read first since reading began.
    var first: RecordMark?
    /// The record that was read last: compaction keeps it longer than any other.
    var last: RecordMark?
    /// The node that it came from.
    private var node: Int32?
    /// The record that was read last before those of another node, until that one was found to have it too. Should the
    /// next change come before, only the first is looked into.
    var handover: RecordMark?

    init(next: Int64, newest: Witness? = nil, last: RecordMark? = nil) {
        self.next = next
        self.newest = newest
        self.last = last
    }

    /// Takes in which node a record comes from, before it is the last one.
    mutating func come(from node: Int32) {
        if let before = self.node, before != node, handover == nil { handover = last }
        self.node = node
    }

    /// Takes in the time stamp of a record.
    mutating func witness(_ timestamp: Int64, at offset: Int64) {
        guard timestamp >= 0 else { return }
        if let newest, newest.timestamp >= timestamp { return }
        newest = Witness(timestamp: timestamp, offset: offset)
    }

    /// The record with the newest time stamp is gone: the one that was read last takes its place.
    mutating func replaceWitness(_ offset: Int64) {
        guard newest?.offset == offset else { return }
        newest = nil
        if let last { witness(last.timestamp, at: last.offset) }
    }
}

/// What the consumer reads at one moment: taken on its queue, given to the scout's look.
package struct ReadingAnchors: Sendable {
    struct Partition: Sendable {
        /// Of the opening that it reads from.
        var turn: Int
        var anchor: LogAnchor
        /// The broker refused this position.
        var refused: Int64?
    }

    struct Topic: Sendable {
        var incarnation: Int
        /// By partition number; nil where nothing is read.
        var partitions: [Partition?]
    }

    var topics: [Topic] = []

    /// Of one who reads nothing yet.
    package init() {}

    /// What is read of the partition, if the consumer has adopted what the scout knows.
    func partition(_ number: Int32, topic: Int, incarnation: Int, turn: Int) -> Partition? {
        guard topics.indices.contains(topic), topics[topic].incarnation == incarnation,
            topics[topic].partitions.indices.contains(Int(number)),
            let partition = topics[topic].partitions[Int(number)], partition.turn == turn
        else { return nil }
        return partition
    }
}
