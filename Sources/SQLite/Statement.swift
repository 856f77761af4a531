import CSQLite

/// A value as SQLite keeps it.
package enum SQLValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

/// A prepared statement with its values, finalized exactly once.
@safe
struct Statement: ~Copyable {
    private let pointer: OpaquePointer
    private let database: OpaquePointer
    private let sql: String

    /// The corresponding C functions are `sqlite3_prepare_v2` and `sqlite3_bind_*`.
    ///
    /// - Parameter sql: one statement. A second one behind it is an error here, not left out silently.
    static func prepare(
        _ handle: borrowing DatabaseHandle, _ sql: String, _ values: [SQLValue]
    ) throws(SQLiteError) -> Statement {
        let database = unsafe handle.pointer
        var prepared: OpaquePointer?
        var rest = 0
        let code = unsafe sql.withCString { text in
            var tail: UnsafePointer<CChar>?
            let code = unsafe sqlite3_prepare_v2(database, text, -1, &prepared, &tail)
            while let byte = unsafe tail?.pointee, byte != 0 {
                if byte != 0x20 && byte != 0x0A && byte != 0x3B { rest += 1 }
                unsafe tail = tail?.advanced(by: 1)
            }
            return code
        }
        guard code == SQLITE_OK, let pointer = unsafe prepared else {
            let reason = code == SQLITE_OK ? "no statement" : handle.reason
            throw SQLiteError(code: code == SQLITE_OK ? SQLITE_MISUSE : code, message: reason, statement: sql)
        }
        let statement = unsafe Statement(pointer: pointer, database: database, sql: sql)
        guard rest == 0 else {
            throw SQLiteError(code: SQLITE_MISUSE, message: "more than one statement", statement: sql)
        }
        let wanted = unsafe Int(sqlite3_bind_parameter_count(pointer))
        guard wanted == values.count else {
            throw SQLiteError(
                code: SQLITE_RANGE, message: "\(values.count) values for \(wanted) parameters", statement: sql)
        }
        for (index, value) in values.enumerated() {
            let code = unsafe Self.bind(value, at: Int32(index + 1), pointer)
            guard code == SQLITE_OK else { throw SQLiteError(code: code, message: handle.reason, statement: sql) }
        }
        return statement
    }

    private init(pointer: OpaquePointer, database: OpaquePointer, sql: String) {
        unsafe self.pointer = pointer
        unsafe self.database = database
        self.sql = sql
    }

    deinit { unsafe _ = sqlite3_finalize(pointer) }

    private static func bind(_ value: SQLValue, at index: Int32, _ pointer: OpaquePointer) -> Int32 {
        switch value {
        case .null: unsafe sqlite3_bind_null(pointer, index)
        case .integer(let integer): unsafe sqlite3_bind_int64(pointer, index, integer)
        case .real(let real): unsafe sqlite3_bind_double(pointer, index, real)
        case .text(let text):
            unsafe sqlite3_bind_text(
                pointer, index, text, Int32(clamping: text.utf8.count), livegate_sqlite_transient())
        // An empty array has no address, which would be bound as null.
        case .blob(let bytes) where bytes.isEmpty:
            unsafe sqlite3_bind_zeroblob(pointer, index, 0)
        case .blob(let bytes):
            unsafe sqlite3_bind_blob(pointer, index, bytes, Int32(clamping: bytes.count), livegate_sqlite_transient())
        }
    }

    /// Goes to the next row. False: there is none.
    mutating func step() throws(SQLiteError) -> Bool {
        switch unsafe sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            throw SQLiteError(code: code, message: unsafe String(cString: sqlite3_errmsg(database)), statement: sql)
        }
    }

    /// The values of the current row.
    var row: [SQLValue] {
        let count = unsafe sqlite3_column_count(pointer)
        return (0..<count).map { value(at: $0) }
    }

    private func value(at column: Int32) -> SQLValue {
        switch unsafe sqlite3_column_type(pointer, column) {
        case SQLITE_INTEGER: return .integer(unsafe sqlite3_column_int64(pointer, column))
        case SQLITE_FLOAT: return .real(unsafe sqlite3_column_double(pointer, column))
        case SQLITE_TEXT:
            guard let text = unsafe sqlite3_column_text(pointer, column) else { return .null }
            let count = unsafe Int(sqlite3_column_bytes(pointer, column))
            return .text(unsafe String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self))
        case SQLITE_BLOB:
            let count = unsafe Int(sqlite3_column_bytes(pointer, column))
            let bytes = unsafe UnsafeRawBufferPointer(start: sqlite3_column_blob(pointer, column), count: count)
            return .blob(unsafe Array(bytes))
        default: return .null
        }
    }
}
