import LiveUpdates
import SQLite

/// How far partitions are stored, and the gaps before that.
extension ArchiveWriter {
    /// All of these, each with its next offset: a file has one writer.
    func claim(_ partitions: [ArchivePartition]) throws -> [ClaimedPartition] {
        try partitions.map { partition in
            var claimed = ClaimedPartition(partition, next: nil)
            try database.each(
                "SELECT next, stamp, log FROM positions WHERE topic = ? AND partition = ?",
                [.text(partition.topic), .integer(Int64(partition.number))]
            ) { statement in
                claimed = ClaimedPartition(
                    partition, next: statement.integer(0), stamp: statement.isNull(1) ? nil : statement.integer(1),
                    log: statement.isNull(2) ? nil : StoredLog(statement.blob(2)))
                return false
            }
            return claimed
        }
    }

    /// The first offset of a run that is to be stored, nil where all of it is. Notes a gap before it, and the end of one.
    func beginning(
        of run: ArchiveBatch.Run, _ outcome: inout AppendOutcome
    ) throws -> (offset: Int64, keepsPosition: Bool)? {
        let partition: [SQLValue] = [.text(run.topic), .integer(Int64(run.partition))]
        var stored: (next: Int64, stamp: Int64)?
        try database.each("SELECT next, stamp FROM positions WHERE topic = ? AND partition = ?", partition) {
            statement in
            stored = (statement.integer(0), statement.isNull(1) ? horizon : statement.integer(1))
            return false
        }
        guard let stored else { return (run.from, false) }
        let step = run.step(next: stored.next, stamp: stored.stamp)
        guard let start = step.start else { return nil }
        if let since = step.gapSince {
            outcome.gaps += 1
            // A gap that is open already is continued.
            try database.run(
                """
                INSERT INTO gaps (topic, partition, first, last) SELECT ?1, ?2, ?3, NULL WHERE NOT EXISTS
                (SELECT 1 FROM gaps WHERE topic = ?1 AND partition = ?2 AND last IS NULL)
                """, partition + [.integer(since)])
            try database.run(
                "UPDATE gaps SET first = min(first, ?3) WHERE topic = ?1 AND partition = ?2 AND last IS NULL",
                partition + [.integer(since)])
        }
        if let stamp = step.gapUntil {
            try database.run(
                """
                UPDATE gaps SET first = min(first, ?3), last = max(first, ?3) WHERE topic = ?1 AND partition = ?2
                AND last IS NULL
                """, partition + [.integer(stamp)])
        }
        return (start, step.keepsPosition)
    }
}
