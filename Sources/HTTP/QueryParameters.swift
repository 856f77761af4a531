/// The parameters of a query, percent-decoded strictly. Duplicate and malformed parameters stay visible.
///
/// A parameter is `name=value` between `&`; one without `=` has an empty value. `+` is a plus sign. An empty piece
/// between two `&` is not a parameter. The length of a request line limits their number.
package struct QueryParameters: Sendable, Equatable {
    /// What a query contains for one name.
    package enum Value: Sendable, Equatable {
        case absent
        case one([UInt8])
        /// There is one, but its percent-encoding is invalid.
        case malformed
        case repeated
    }

    private struct Parameter: Sendable, Equatable {
        let name: [UInt8]
        /// Nil if the percent-encoding is invalid.
        let value: [UInt8]?
    }

    private let parameters: [Parameter]

    /// - Parameter query: the text after `?`, as it was sent; nil when there is none.
    package init(_ query: String?) {
        parameters = Array((query ?? "").utf8).split(separator: 0x26).compactMap { piece in
            let equals = piece.firstIndex(of: 0x3D)
            // A name that cannot be decoded is not a known name.
            guard let name = PercentEncoding.decoded(piece[..<(equals ?? piece.endIndex)]) else { return nil }
            guard let equals else { return Parameter(name: name, value: []) }
            return Parameter(name: name, value: PercentEncoding.decoded(piece[(equals + 1)...]))
        }
    }

    package subscript(name: String) -> Value {
        let found = parameters.filter { $0.name.elementsEqual(name.utf8) }
        guard let first = found.first else { return .absent }
        guard found.count == 1 else { return .repeated }
        return first.value.map(Value.one) ?? .malformed
    }

    /// The names, in their order. A duplicate name is included as often as the query has it.
    package var names: [[UInt8]] { parameters.map(\.name) }
}

/// RFC 3986 §2.1.
package enum PercentEncoding {
    /// The decoded bytes; nil where two hexadecimal digits do not follow a `%`.
    package static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            if text[index] == ASCII.percent {
                guard text.endIndex - index > 2, let high = text[index + 1].hexadecimalValue,
                    let low = text[index + 2].hexadecimalValue
                else { return nil }
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(text[index])
                index += 1
            }
        }
        return bytes
    }
}
