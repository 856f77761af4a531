// Tests: ArchiveReport.swift

import Archive
import GatewaySettings
import Logging
import Testing

@testable import Gateway

struct ArchiveReportTests {
    /// Words of PostgreSQL 15 and libpq, and what the advice names.
    static let rows: [(words: String, advice: String)] = [
        (#"FATAL:  password authentication failed for user "live""#, "the password in archive.password_file"),
        ("fe_sendauth: no password supplied", "the file with the password in archive.password_file"),
        (#"FATAL:  database "live" does not exist"#, "the database and the user in archive.store"),
        (#"FATAL:  role "live" does not exist"#, "the database and the user in archive.store"),
        (#"FATAL:  no pg_hba.conf entry for host "10.0.0.5""#, "pg_hba.conf"),
        (#"could not translate host name "db" to address: Name or service not known"#, "the host in archive.store"),
        (#"connection to server at "db", port 5432 failed: Connection refused"#, "check that PostgreSQL runs"),
        ("ERROR:  permission denied for schema public", "grant the user of archive.store Create"),
        ("FATAL:  sorry, too many clients already", "max_connections of PostgreSQL"),
        ("the server does not answer", "check the database, and who holds its locks"),
        (#"ERROR:  relation "livegate_marks" does not exist"#, "check the database, and who holds its locks"),
    ]

    @Test(arguments: rows.indices) func `what PostgreSQL says comes with what to check`(row: Int) {
        let (words, advice) = Self.rows[row]
        let report = ArchiveReport(
            logger: Logger("test", to: SilentLog()), store: .postgresql(uri: "postgresql://live@db/live"))
        #expect(report.advice(.unavailable("PostgreSQL error: \(words)")).contains(advice))
    }

    @Test func `of a file no database is told`() {
        let report = ArchiveReport(logger: Logger("test", to: SilentLog()), store: .sqlite(path: "/a.db"))
        #expect(report.advice(.unavailable("permission denied")) == "check the disk")
    }
}
