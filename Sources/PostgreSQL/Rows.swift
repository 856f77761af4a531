import CPostgreSQL

/// What a statement gave, in binary format; cleared exactly once. Rows and columns are counted from 0.
@safe
package struct Rows: ~Copyable {
    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe PQclear(pointer) }

    package var count: Int { unsafe Int(PQntuples(pointer)) }

    /// How many rows the statement has inserted, updated or deleted.
    package var changes: Int {
        guard let text = unsafe PQcmdTuples(pointer) else { return 0 }
        return unsafe Int(String(cString: text)) ?? 0
    }

    package func isNull(_ row: Int, _ column: Int) -> Bool {
        unsafe PQgetisnull(pointer, Int32(row), Int32(column)) != 0
    }

    /// A bigint; 0 for null.
    package func integer(_ row: Int, _ column: Int) -> Int64 {
        unsafe withBytes(row, column) { bytes in
            precondition(bytes.count == 8 || bytes.count == 0, "a column that is no bigint")
            return unsafe Int64(truncatingIfNeeded: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }
    }

    package func bool(_ row: Int, _ column: Int) -> Bool { unsafe withBytes(row, column) { unsafe $0.first == 1 } }

    /// None for null.
    package func bytes(_ row: Int, _ column: Int) -> [UInt8] { unsafe withBytes(row, column) { unsafe Array($0) } }

    package func text(_ row: Int, _ column: Int) -> String {
        unsafe withBytes(row, column) { unsafe String(decoding: $0, as: UTF8.self) }
    }

    private func withBytes<Value>(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        let start = unsafe PQgetvalue(pointer, Int32(row), Int32(column))
        let count = unsafe Int(PQgetlength(pointer, Int32(row), Int32(column)))
        return unsafe body(UnsafeRawBufferPointer(start: start, count: count))
    }
}
