import KafkaLogs

/// The position of a stream on this node, and on no other: other nodes understand cursors.
///
/// Needs two words while the stream only follows events of this node; more while it replays what came after a cursor.
package struct StreamPosition: Sendable {
    /// Everything up to this event, in the order in which the node read the events, is decided for this stream: delivered or not.
    package let sequence: UInt64
    /// Offsets of a node that was ahead: what lies before them was delivered there.
    package let floors: [PartitionFloor]
    let resume: ResumeState?

    package init(sequence: UInt64, floors: [PartitionFloor] = []) {
        self.init(sequence: sequence, floors: floors, resume: nil)
    }

    /// Whether it follows events of this node alone, none of them left out.
    package var isLive: Bool { resume == nil && floors.isEmpty }

    init(sequence: UInt64, floors: [PartitionFloor], resume: ResumeState?) {
        self.sequence = sequence
        self.floors = floors
        self.resume = resume
    }
}

/// Events before `offset` were delivered by a node that was ahead of this one; the stream leaves them out as they come.
package struct PartitionFloor: Equatable, Sendable {
    package let partition: PartitionName
    package let offset: Int64
}

/// What a replay has come to: the cursor that it began with, moved on over what was served.
struct ResumeState: Sendable {
    let issue: Int64
    /// Decides on partitions without a position: all that had come to them before was read.
    let readUntil: Int64
    /// Whether partitions without a position may have been read nevertheless: nothing may have been let go there.
    private(set) var isPartial = false
    private(set) var positions: [Cursor.Position]
    var fingerprint: Cursor.Fingerprint?

    init(issue: Int64, readUntil: Int64, positions: [Cursor.Position], fingerprint: Cursor.Fingerprint?) {
        self.issue = issue
        self.readUntil = min(issue, readUntil)
        self.positions = positions
        self.fingerprint = fingerprint
    }

    init(_ cursor: Cursor) {
        self.init(
            issue: cursor.issue, readUntil: cursor.readUntil ?? cursor.issue, positions: cursor.positions,
            fingerprint: cursor.fingerprint)
        isPartial = cursor.isPartial
    }

    func offset(of partition: PartitionName) -> Int64? {
        let index = index(of: partition)
        return index < positions.count && positions[index].partition == partition ? positions[index].offset : nil
    }

    /// Moves a position forward, never back.
    mutating func move(_ partition: PartitionName, to offset: Int64) {
        let index = index(of: partition)
        if index < positions.count, positions[index].partition == partition {
            positions[index].offset = max(positions[index].offset, offset)
        } else {
            positions.insert(Cursor.Position(partition: partition, offset: offset, known: nil), at: index)
        }
    }

    /// The first index whose name is not before the partition's.
    private func index(of partition: PartitionName) -> Int {
        var (low, high) = (0, positions.count)
        while low < high {
            let middle = (low + high) / 2
            if positions[middle].partition < partition { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// An event of the log.
package struct LoggedEvent: Sendable {
    package let event: ThinEvent
    package let partition: PartitionName
    package let offset: Int64
    /// As Kafka has it, in ms; -1 where the record has none.
    package let timestamp: Int64
    package let sequence: UInt64
    /// The text of its cursor; empty unless requested.
    package let at: [UInt8]

    package init(
        event: ThinEvent, partition: PartitionName, offset: Int64, timestamp: Int64, sequence: UInt64, at: [UInt8]
    ) {
        self.event = event
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.sequence = sequence
        self.at = at
    }
}

package enum ReadAnswer: Sendable {
    /// Events in the order in which they came; `position` is behind them and behind what the filter left out. Complete when
    /// nothing that passes the filter follows; only such a page is shorter than its limit.
    case page(events: [LoggedEvent], position: StreamPosition, isComplete: Bool)
    /// Something after the position was let go meanwhile.
    case lost
}

/// A partition as cursors name it; its topic is an index in the list of topics, sorted by their bytes.
package typealias PartitionName = KafkaLogs.PartitionName

/// What is known of the log of one partition: one value, handed over as a whole by the code that watches the log.
package typealias LogFacts = KafkaLogs.LogFacts
