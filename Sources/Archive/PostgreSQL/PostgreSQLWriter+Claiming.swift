import LiveUpdates
import PostgreSQL

extension PostgreSQLWriter {
    /// The partitions whose locks this session has got, each with its next offset. Locks of others are released.
    func claim(_ partitions: [ArchivePartition]) throws -> [ClaimedPartition] {
        try session.run { connection in
            if held.connection != session.connections { held = ([], session.connections) }
            for partition in held.partitions.subtracting(partitions) {
                _ = try connection.run("SELECT pg_advisory_unlock($1)", [.integer(locks.partition(partition))])
                held.partitions.remove(partition)
            }
            try lock(partitions.filter { !held.partitions.contains($0) }, connection)
            return try claims(partitions.filter(held.partitions.contains), connection)
        }
    }

    private func lock(_ partitions: [ArchivePartition], _ connection: Connection) throws {
        guard !partitions.isEmpty else { return }
        let rows = try connection.run(
            "SELECT pg_try_advisory_lock(k.key) FROM unnest($1::bigint[]) WITH ORDINALITY k(key, ordinal) ORDER BY k.ordinal",
            [.integers(partitions.map(locks.partition))])
        for (row, partition) in partitions.enumerated() where rows.bool(row, 0) {
            held.partitions.insert(partition)
        }
    }

    private func claims(_ partitions: [ArchivePartition], _ connection: Connection) throws -> [ClaimedPartition] {
        // This query runs even for no partition: it shows whether the session lives.
        let rows = try connection.run(
            """
            SELECT k.ordinal, p.next, p.stamp, p.log FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY
            k(topic, partition, ordinal) JOIN livegate_positions p ON p.topic = k.topic AND p.partition = k.partition
            """,
            [
                .byteStrings(partitions.map { Array($0.topic.utf8) }), .integers(partitions.map { Int64($0.number) }),
            ])
        var claimed = partitions.map { ClaimedPartition($0, next: nil) }
        for row in 0..<rows.count where !rows.isNull(row, 1) {
            let index = Int(rows.integer(row, 0)) - 1
            claimed[index] = ClaimedPartition(
                partitions[index], next: rows.integer(row, 1), stamp: rows.isNull(row, 2) ? nil : rows.integer(row, 2),
                log: rows.isNull(row, 3) ? nil : StoredLog(rows.bytes(row, 3)))
        }
        return claimed
    }
}

/// Whether a connection has a session of the server for itself. A pool may give sessions to transactions (PgBouncer's
/// `pool_mode = transaction`). Then locks, prepared statements and messages of other nodes would belong to other connections.
enum SessionProbe {
    /// Asks for the session twice, while another connection holds one in between. A pool that has got its session back gives it
    /// to that connection.
    ///
    /// - Throws: ``ArchiveError/pooled`` where it is another one.
    static func check(_ make: () -> Session) throws {
        let (own, other) = (make(), make())
        let first = try identifier(own)
        let second = try other.run { connection in
            try connection.transaction {
                _ = try connection.query(question)
                return try identifier(own)
            }
        }
        guard first == second else { throw ArchiveError.pooled }
    }

    private static let question = "SELECT pg_backend_pid()"

    private static func identifier(_ session: Session) throws -> String {
        try session.run { try $0.query(question).text(0, 0) }
    }
}
