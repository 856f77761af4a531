import CSQLite

/// A statement that is prepared once and run many times, with other values.
///
/// It belongs to its ``Database`` and to the same thread. Parameters and columns are counted from 0.
@safe
package final class PreparedStatement {
    private let pointer: OpaquePointer
    private let database: OpaquePointer
    private let sql: String
    /// The first refusal of a value since the last reset.
    private var refusal: Int32 = SQLITE_OK

    /// The corresponding C function is `sqlite3_prepare_v3`.
    init(_ handle: borrowing DatabaseHandle, _ sql: String) throws(SQLiteError) {
        let database = unsafe handle.pointer
        var prepared: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        let code = unsafe sqlite3_prepare_v3(database, sql, -1, flags, &prepared, nil)
        guard code == SQLITE_OK, let pointer = unsafe prepared else {
            throw SQLiteError(
                code: code == SQLITE_OK ? SQLITE_MISUSE : code, message: handle.reason, statement: sql)
        }
        unsafe self.pointer = pointer
        unsafe self.database = database
        self.sql = sql
    }

    deinit { unsafe _ = sqlite3_finalize(pointer) }

    // MARK: - Values

    package func bind(_ index: Int, _ integer: Int64) {
        note(unsafe sqlite3_bind_int64(pointer, Int32(index + 1), integer))
    }

    package func bind(_ index: Int, text: String) {
        note(
            unsafe sqlite3_bind_text(
                pointer, Int32(index + 1), text, Int32(clamping: text.utf8.count), livegate_sqlite_transient()))
    }

    package func bind(_ index: Int, blob: [UInt8]) {
        // An empty array has no address, which would be bound as null.
        note(
            blob.isEmpty
                ? unsafe sqlite3_bind_zeroblob(pointer, Int32(index + 1), 0)
                : unsafe sqlite3_bind_blob(
                    pointer, Int32(index + 1), blob, Int32(clamping: blob.count), livegate_sqlite_transient()))
    }

    package func bind(_ index: Int, _ value: SQLValue) {
        switch value {
        case .null: note(unsafe sqlite3_bind_null(pointer, Int32(index + 1)))
        case .integer(let integer): bind(index, integer)
        case .real(let real): note(unsafe sqlite3_bind_double(pointer, Int32(index + 1), real))
        case .text(let text): bind(index, text: text)
        case .blob(let blob): bind(index, blob: blob)
        }
    }

    private func note(_ code: Int32) { if refusal == SQLITE_OK { refusal = code } }

    // MARK: - Rows

    /// Goes to the next row. False: there is none, and the statement can be run again.
    package func step() throws(SQLiteError) -> Bool {
        let code = refusal == SQLITE_OK ? unsafe sqlite3_step(pointer) : refusal
        if code == SQLITE_ROW { return true }
        let error =
            code == SQLITE_DONE
            ? nil : SQLiteError(code: code, message: unsafe String(cString: sqlite3_errmsg(database)), statement: sql)
        reset()
        if let error { throw error }
        return false
    }

    /// Runs it to its end.
    package func run() throws(SQLiteError) { while try step() {} }

    /// Drops the rows that are not read, and releases their locks. Bound values stay.
    package func reset() {
        unsafe _ = sqlite3_reset(pointer)
        refusal = SQLITE_OK
    }

    package func isNull(_ column: Int) -> Bool {
        unsafe sqlite3_column_type(pointer, Int32(column)) == SQLITE_NULL
    }

    package func integer(_ column: Int) -> Int64 { unsafe sqlite3_column_int64(pointer, Int32(column)) }

    /// Text, and nothing for null.
    package func text(_ column: Int) -> String {
        guard let text = unsafe sqlite3_column_text(pointer, Int32(column)) else { return "" }
        let count = unsafe Int(sqlite3_column_bytes(pointer, Int32(column)))
        return unsafe String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// Bytes, and none for null.
    package func blob(_ column: Int) -> [UInt8] {
        let bytes = unsafe sqlite3_column_blob(pointer, Int32(column))
        let count = unsafe Int(sqlite3_column_bytes(pointer, Int32(column)))
        return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count))
    }
}

extension Database {
    /// The statement of this text, prepared at its first use and kept as long as the file is open.
    package func prepared(_ sql: String) throws(SQLiteError) -> PreparedStatement {
        if let known = statements[sql] { return known }
        precondition(
            statements.count < Self.maximumStatements, "statements are texts of the program, not made at each call")
        let statement = try PreparedStatement(handle, sql)
        statements[sql] = statement
        return statement
    }

    /// Runs a statement that is prepared once, and gives each row to `row`, until it returns false.
    package func each(_ sql: String, _ values: [SQLValue] = [], _ row: (PreparedStatement) throws -> Bool) throws {
        let statement = try prepared(sql)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(index, value) }
        while try statement.step() { guard try row(statement) else { return } }
    }

    /// Runs a statement that is prepared once. Returns how many rows it has changed.
    @discardableResult
    package func run(_ sql: String, _ values: [SQLValue] = []) throws -> Int {
        try each(sql, values) { _ in true }
        return changes
    }

    /// Rows that the last statement has inserted, updated or deleted.
    package var changes: Int { unsafe Int(sqlite3_changes64(handle.pointer)) }

    package var lastRow: Int64 { unsafe sqlite3_last_insert_rowid(handle.pointer) }

    /// Reads several statements as of one moment, and writes nothing.
    package func snapshot<Value>(_ body: () throws -> Value) throws -> Value {
        try run("BEGIN")
        defer { _ = try? run("COMMIT") }
        return try body()
    }
}
