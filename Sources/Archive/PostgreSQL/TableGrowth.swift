import PostgreSQL

/// When the server has to count a table again. Plans depend on the size: if the server believes that a table is empty, they
/// read all of it for each row. The server counts by itself too, a minute later.
struct TableGrowth {
    /// A table of fewer rows is read fast enough.
    static let minimumRows: Int64 = 500

    private var added: Int64 = 0
    private var next = minimumRows

    /// Rows were added. Returns whether to check how many rows the server assumes.
    mutating func add(_ rows: Int) -> Bool {
        added += Int64(rows)
        return added >= next
    }

    /// The server assumes so many rows; below 0: it never counted the table. Returns whether to have it counted.
    mutating func isOutdated(rows: Int64) -> Bool {
        let known = max(0, rows)
        defer { (added, next) = (0, max(Self.minimumRows, known, added)) }
        return added > known
    }
}

/// What the server knows of the tables that a writer fills.
final class TableSizes {
    private var growths: [String: TableGrowth] = [:]

    /// Rows were added, in this transaction. The next statement is planned for as many as there are.
    func added(_ rows: Int, to table: String, _ connection: Connection) throws {
        guard growths[table, default: TableGrowth()].add(rows) else { return }
        let found = try connection.run(
            "SELECT reltuples::bigint FROM pg_class WHERE relname = convert_from($1, 'UTF8') AND pg_table_is_visible(oid)",
            [.text(table)])
        let known = found.count > 0 ? found.integer(0, 0) : 0
        guard growths[table, default: TableGrowth()].isOutdated(rows: known) else { return }
        // It does not wait for a vacuum, which counts too.
        try connection.command("ANALYZE (SKIP_LOCKED) \(table)")
    }
}
