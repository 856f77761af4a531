import PostgreSQL

/// Whether a connection has a session of the server for itself. Behind a pool that gives sessions to transactions (PgBouncer's
/// `pool_mode = transaction`) locks, prepared statements and messages of other nodes would be somebody else's.
enum SessionProbe {
    /// Asks for the session twice, and between the two another connection keeps one: a pool that has given its session back
    /// gives that one away.
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
