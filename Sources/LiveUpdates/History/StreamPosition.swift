/// Where a stream stands on this node, and on no other: cursors are what others understand.
///
/// Costs two words while the stream only lives on events of this node; more while it replays what came after a cursor.
package struct StreamPosition: Sendable {
    /// Everything up to this event, in the order in which the node took them, is delivered or not for this stream.
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
    /// Partitions without a position are judged by it.
    let issue: Int64
    private(set) var positions: [Cursor.Position]
    var fingerprint: Cursor.Fingerprint?

    func offset(of partition: PartitionName) -> Int64? {
        let place = place(of: partition)
        return place < positions.count && positions[place].partition == partition ? positions[place].offset : nil
    }

    /// Moves a position forward, never back.
    mutating func move(_ partition: PartitionName, to offset: Int64) {
        let place = place(of: partition)
        if place < positions.count, positions[place].partition == partition {
            positions[place].offset = max(positions[place].offset, offset)
        } else {
            positions.insert(Cursor.Position(partition: partition, offset: offset, known: nil), at: place)
        }
    }

    /// The first place whose name is not before the partition's.
    private func place(of partition: PartitionName) -> Int {
        var (low, high) = (0, positions.count)
        while low < high {
            let middle = (low + high) / 2
            if positions[middle].partition < partition { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// How far the broker's ends that a cursor is judged by can be relied on.
package enum EndsSeen: Sendable {
    /// At some earlier look: a position beyond them leaves it undecided.
    case earlier
    /// A look at the broker succeeded, partitions included, and began after the cursor came in. Beyond an end that was
    /// asked for at that moment or later (monotonic, in ms) is beyond what the broker has; a leader that did not answer
    /// leaves it undecided.
    case since(UInt64)
    /// Nobody answered for too long: positions beyond them are taken for those of a node that is ahead of this one.
    case unknown
}

/// What becomes of a cursor.
package enum Resumption: Sendable {
    /// Everything after it can be given, from this position on. Its floors are also given apart: live events obey them
    /// too.
    case accepted(StreamPosition, floors: [PartitionFloor])
    case refused(ResyncReason)
    /// It names what lies beyond the ends last seen: look again, and judge again.
    case undecided
}

/// An event of the log.
package struct LoggedEvent: Sendable {
    package let event: ThinEvent
    package let partition: PartitionName
    package let offset: Int64
    /// As Kafka has it, in ms; -1 where the record has none.
    package let timestamp: Int64
    package let sequence: UInt64
    /// The text of its cursor; empty unless asked for.
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
    /// Events in the order in which they came; `position` stands behind them and behind what the filter left out.
    /// Complete when nothing that passes the filter follows; only such a page is shorter than its limit.
    case page(events: [LoggedEvent], position: StreamPosition, isComplete: Bool)
    /// Something after the position was let go meanwhile.
    case lost
}
