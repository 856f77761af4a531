import PostgreSQL

/// How far a pass is that vacuums the tables with texts, one after the other. The database remembers it. So after a failure, or
/// on another node, the pass goes on with the table that was not done.
struct VacuumPass: Equatable {
    enum Step: Equatable {
        case none, begin
        /// And which table is next then, as ``next``.
        case vacuum(String, next: Int64)
    }

    static let tables = ["accounts", "streams", "types", "things", "people", "waiting"]

    /// Something was erased and no pass has begun since. A running pass ends first.
    let isOwed: Bool
    /// The table that is next, counted from 1; 0: no pass is running.
    let next: Int64

    var step: Step {
        guard next > 0 else { return isOwed ? .begin : .none }
        // The number is of another version, which had more tables.
        guard next <= Self.tables.count else { return .begin }
        return .vacuum(Self.tables[Int(next) - 1], next: next < Self.tables.count ? next + 1 : 0)
    }
}

extension VacuumPass {
    init(_ connection: Connection) throws {
        let rows = try connection.run("SELECT to_overwrite, next_vacuum FROM livegate_archive")
        self.init(isOwed: rows.bool(0, 0), next: rows.integer(0, 1))
    }
}

/// Vacuums what was erased, on a session separate from the writer's. The connection is made when something was erased.
final class PostgreSQLVacuumer {
    /// No vacuum lasts so long. If the server is gone, the network reports it sooner.
    static let vacuumMilliseconds: UInt64 = 86_400_000
    /// After so many pages it rests for a moment, as autovacuum does, so that readers and writers have the disk too.
    static let settings = "SET statement_timeout = 0; SET vacuum_cost_delay = 1"

    private let session: Session
    private let locks: LockKey

    init(_ session: Session, _ locks: LockKey) {
        self.session = session
        self.locks = locks
    }

    /// Removes deleted rows from one table and its indexes, as far as PostgreSQL does: their space is used again. It does not
    /// reach copies in the write-ahead log, in replicas and in backups. Of several nodes one does it.
    ///
    /// False: nothing is left to be done.
    func vacuum() throws -> Bool {
        try session.run { connection in
            guard try VacuumPass(connection).step != .none else { return false }
            let lock = try connection.run("SELECT pg_try_advisory_lock($1)", [.integer(locks.overwriting)])
            guard lock.bool(0, 0) else { throw ArchiveError.stillRead }
            defer { _ = try? connection.run("SELECT pg_advisory_unlock($1)", [.integer(locks.overwriting)]) }
            // Another node may have gone on since.
            switch try VacuumPass(connection).step {
            case .none: return false
            case .begin:
                try connection.command("UPDATE livegate_archive SET to_overwrite = false, next_vacuum = 1")
            case .vacuum(let table, let next):
                try vacuum(table, connection)
                _ = try connection.run("UPDATE livegate_archive SET next_vacuum = $1", [.integer(next)])
            }
            return true
        }
    }

    /// Indexes lose the texts of deleted rows even if these are few. The end of the file is not given back, because readers
    /// would have to wait for that.
    private func vacuum(_ table: String, _ connection: Connection) throws {
        let milliseconds = connection.statementMilliseconds
        connection.statementMilliseconds = Self.vacuumMilliseconds
        defer { connection.statementMilliseconds = milliseconds }
        try connection.command("VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) livegate_\(table)")
    }
}
