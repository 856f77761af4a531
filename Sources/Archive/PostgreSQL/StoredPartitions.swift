import LiveUpdates
import PostgreSQL

/// How far the partitions of a batch are stored, locked until the transaction ends. If two nodes both believe that they write
/// one, the second finds what the first has stored.
struct StoredPartitions {
    private struct Position {
        var next: Int64?
        var stamp: Int64?
        var log: StoredLog?
    }

    private let horizon: Int64
    private var positions: [ArchivePartition: Position] = [:]
    private var changed: Set<ArchivePartition> = []

    init(of batch: ArchiveBatch, horizon: Int64, _ connection: Connection) throws {
        self.horizon = horizon
        let partitions = Array(Set(batch.runs.map { ArchivePartition(topic: $0.topic, number: $0.partition) }))
        let names: [Parameter] = [
            .byteStrings(partitions.map { Array($0.topic.utf8) }), .integers(partitions.map { Int64($0.number) }),
        ]
        _ = try connection.run(
            """
            INSERT INTO livegate_positions (topic, partition) SELECT k.topic, k.partition
            FROM unnest($1::bytea[], $2::bigint[]) k(topic, partition) ORDER BY 1, 2 ON CONFLICT DO NOTHING
            """, names)
        let rows = try connection.run(
            """
            SELECT k.ordinal, p.next, p.stamp FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY
            k(topic, partition, ordinal) JOIN livegate_positions p ON p.topic = k.topic AND p.partition = k.partition
            ORDER BY p.topic, p.partition FOR UPDATE OF p
            """, names)
        for row in 0..<rows.count {
            positions[partitions[Int(rows.integer(row, 0)) - 1]] = Position(
                next: rows.isNull(row, 1) ? nil : rows.integer(row, 1),
                stamp: rows.isNull(row, 2) ? nil : rows.integer(row, 2))
        }
        guard positions.count == partitions.count else { throw ArchiveError.corrupt("a position that is not kept") }
    }

    /// The first offset of a run that is not stored, nil where all of it is. Notes a gap before it, and the end of one.
    mutating func begin(
        _ run: ArchiveBatch.Run, _ outcome: inout AppendOutcome, _ connection: Connection
    ) throws -> Int64? {
        let partition = ArchivePartition(topic: run.topic, number: run.partition)
        let stored = positions[partition] ?? Position()
        var start = run.from
        if let next = stored.next {
            let step = run.step(next: next, stamp: stored.stamp ?? horizon)
            guard let begun = step.start else { return nil }
            start = begun
            let names: [Parameter] = [.text(run.topic), .integer(Int64(run.partition))]
            if let since = step.gapSince {
                outcome.gaps += 1
                // A gap that is open already is continued.
                _ = try connection.run(
                    """
                    INSERT INTO livegate_gaps (topic, partition, first) SELECT $1, $2, $3 WHERE NOT EXISTS
                    (SELECT 1 FROM livegate_gaps WHERE topic = $1 AND partition = $2 AND last IS NULL)
                    """, names + [.integer(since)])
                _ = try connection.run(
                    """
                    UPDATE livegate_gaps SET first = least(first, $3) WHERE topic = $1 AND partition = $2 AND last IS NULL
                    """, names + [.integer(since)])
            }
            if let stamp = step.gapUntil {
                _ = try connection.run(
                    """
                    UPDATE livegate_gaps SET first = least(first, $3), last = greatest(first, $3)
                    WHERE topic = $1 AND partition = $2 AND last IS NULL
                    """, names + [.integer(stamp)])
            }
            guard !step.keepsPosition else { return start }
        }
        positions[partition] = Position(
            next: run.next, stamp: run.stamps?.last ?? stored.stamp, log: run.log)
        changed.insert(partition)
        return start
    }

    func store(_ connection: Connection) throws {
        let partitions = Array(changed)
        guard !partitions.isEmpty else { return }
        let none = Int64.min
        _ = try connection.run(
            """
            UPDATE livegate_positions p SET next = k.next, stamp = nullif(k.stamp, \(none)),
            log = nullif(k.log, ''::bytea) FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[])
            k(topic, partition, next, stamp, log)
            WHERE p.topic = k.topic AND p.partition = k.partition
            """,
            [
                .byteStrings(partitions.map { Array($0.topic.utf8) }), .integers(partitions.map { Int64($0.number) }),
                .integers(partitions.map { positions[$0]?.next ?? 0 }),
                .integers(partitions.map { positions[$0]?.stamp ?? none }),
                .byteStrings(partitions.map { positions[$0]?.log?.bytes ?? [] }),
            ])
    }
}
