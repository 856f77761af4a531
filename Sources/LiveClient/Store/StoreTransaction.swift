import SQLite

/// A value in a ``SQLiteStore``.
public enum StoreValue: Equatable, Sendable {
    /// No value.
    case null
    /// `INTEGER`: 64 bits with a sign.
    case integer(Int64)
    /// `REAL`.
    case real(Double)
    /// `TEXT`, in UTF-8.
    case text(String)
    /// `BLOB`: bytes without a change.
    case blob([UInt8])

    init(_ value: SQLValue) {
        switch value {
        case .null: self = .null
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = .real(real)
        case .text(let text): self = .text(text)
        case .blob(let bytes): self = .blob(bytes)
        }
    }

    var sql: SQLValue {
        switch self {
        case .null: .null
        case .integer(let integer): .integer(integer)
        case .real(let real): .real(real)
        case .text(let text): .text(text)
        case .blob(let bytes): .blob(bytes)
        }
    }
}

/// An open transaction of a ``SQLiteStore``. Use it only in the function that receives it, and do not store it.
public struct StoreTransaction {
    /// The maximum number of rows of a query. More rows are an error: add a `LIMIT`.
    public static let maximumRows = 10_000

    let database: Database
    /// The store of the transaction; nil for a file that is being opened.
    var store: ObjectIdentifier?

    /// Runs one statement with its values in the order of its parameters.
    ///
    /// - Throws: ``StoreError/failed(code:message:)``. If the caller lets it pass on, the transaction ends without a change.
    public func execute(_ sql: String, _ values: [StoreValue] = []) throws(StoreError) {
        do throws(SQLiteError) {
            try database.execute(sql, values.map(\.sql))
        } catch {
            throw StoreError(error)
        }
    }

    /// The rows of one query, each with the values of its columns in order; at most ``maximumRows``.
    public func rows(_ sql: String, _ values: [StoreValue] = []) throws(StoreError) -> [[StoreValue]] {
        do throws(SQLiteError) {
            return try database.rows(sql, values.map(\.sql), maximumRows: Self.maximumRows).map {
                $0.map(StoreValue.init)
            }
        } catch {
            throw StoreError(error)
        }
    }
}

extension StoreError {
    init(_ error: SQLiteError) { self = .failed(code: Int(error.code), message: "\(error)") }
}
