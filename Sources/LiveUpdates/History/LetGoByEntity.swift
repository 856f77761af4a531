/// What a log that has been full has let go of one partition, kept by entity: a client that asked for some entities has lost
/// nothing through the others.
///
/// The entities of which something was let go last have entries of their own, at most ``maximumEntities``. All else counts for
/// every entity: what was let go of others, and what was let go before this began.
struct LetGoByEntity {
    /// A product has some dozens of entities, and a partition's newest events are of few. 32 of them need 1 KiB.
    static let maximumEntities = 32

    /// The last of what was let go; all else that went lies before it.
    struct Last: Equatable {
        var offset: Int64
        /// The newest arrival of all; in ms.
        var arrival: Int64
        var sequence: UInt64

        mutating func include(_ other: Last) {
            offset = max(offset, other.offset)
            arrival = max(arrival, other.arrival)
            sequence = max(sequence, other.sequence)
        }
    }

    private struct Row {
        let entity: UInt16
        var last: Last
    }

    /// Counts for every entity.
    private(set) var ofAll: Last
    /// Each entity once, in no order.
    private var rows: [Row] = []

    init(ofAll: Last) { self.ofAll = ofAll }

    /// Bytes allocated for it, in addition to its element in the array of all partitions.
    var allocatedBytes: Int {
        rows.capacity == 0 ? 0 : rows.capacity * MemoryLayout<Row>.stride + PartitionLog.arrayHeaderBytes
    }

    /// Notes an event that was let go; offsets rise from call to call. `entity` is its number, 0 where it has none.
    ///
    /// If the maximum is reached, the entity of which nothing was let go for longest loses its own entry.
    mutating func note(_ last: Last, of entity: UInt16) {
        guard entity > 0 else { return ofAll.include(last) }
        if let index = rows.firstIndex(where: { $0.entity == entity }) { return rows[index].last.include(last) }
        if rows.count == Self.maximumEntities,
            let oldest = rows.indices.min(by: { rows[$0].last.offset < rows[$1].last.offset })
        {
            ofAll.include(rows[oldest].last)
            rows.remove(at: oldest)
        }
        rows.append(Row(entity: entity, last: last))
    }

    /// The last of what was let go that may have been of one of the entities.
    func last(of entities: [UInt16]) -> Last {
        var last = ofAll
        for row in rows where entities.contains(row.entity) { last.include(row.last) }
        return last
    }

    /// Streams with a position before a sequence have lost that position, whatever entities they asked for.
    mutating func lose(before sequence: UInt64) { ofAll.sequence = max(ofAll.sequence, sequence) }
}
