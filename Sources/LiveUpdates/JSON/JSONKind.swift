/// The kinds of JSON values, by the numbers of the C shim.
package enum JSONKind: UInt8, Sendable {
    case null = 0
    case `false` = 1
    case `true` = 2
    case number = 3
    case string = 4
    case array = 5
    case object = 6
}

/// An integer of at most 64 bits, exactly: `-9223372036854775808` to `18446744073709551615`.
package enum JSONInteger: Equatable, Sendable, CustomStringConvertible {
    /// Below zero.
    case negative(Int64)
    case positive(UInt64)

    package var description: String {
        switch self {
        case .negative(let value): String(value)
        case .positive(let value): String(value)
        }
    }
}
