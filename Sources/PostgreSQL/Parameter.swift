/// A value of a statement, which is sent to the server in its binary format.
package enum Parameter: Sendable {
    case null
    case integer(Int64)
    case bool(Bool)
    case bytes([UInt8])
    /// Arrays of one dimension.
    case integers([Int64])
    case byteStrings([[UInt8]])

    /// The type's OID (src/include/catalog/pg_type.dat); 0 leaves it to the statement.
    var type: UInt32 {
        switch self {
        case .null: 0
        case .integer: Self.int8
        case .bool: 16
        case .bytes: Self.bytea
        case .integers: 1016
        case .byteStrings: 1001
        }
    }

    private static let int8: UInt32 = 20
    private static let bytea: UInt32 = 17

    package static func text(_ text: String) -> Parameter { .bytes(Array(text.utf8)) }

    /// Nothing for null.
    func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: break
        case .integer(let integer): Self.append(integer, to: &bytes)
        case .bool(let bool): bytes.append(bool ? 1 : 0)
        case .bytes(let value): bytes += value
        case .integers(let values):
            Self.appendHead(count: values.count, Self.int8, to: &bytes)
            bytes.reserveCapacity(bytes.count + 12 * values.count)
            for value in values {
                Self.append(Int32(8), to: &bytes)
                Self.append(value, to: &bytes)
            }
        case .byteStrings(let values):
            Self.appendHead(count: values.count, Self.bytea, to: &bytes)
            bytes.reserveCapacity(bytes.count + values.reduce(0) { $0 + 4 + $1.count })
            for value in values {
                Self.append(Int32(value.count), to: &bytes)
                bytes += value
            }
        }
    }

    /// Dimensions, no nulls, the elements' type; then the dimension's length and where it begins (array_send in
    /// src/backend/utils/adt/arrayfuncs.c).
    private static func appendHead(count: Int, _ type: UInt32, to bytes: inout [UInt8]) {
        append(Int32(count == 0 ? 0 : 1), to: &bytes)
        append(Int32(0), to: &bytes)
        append(Int32(bitPattern: type), to: &bytes)
        guard count > 0 else { return }
        append(Int32(count), to: &bytes)
        append(Int32(1), to: &bytes)
    }

    /// Highest byte first.
    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}
