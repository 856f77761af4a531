/// What is wrong with a field line.
package enum FieldFault: Error, Equatable, Sendable {
    /// It begins with a blank: a continuation of the line before it (RFC 9112 §5.2).
    case folded
    case noColon
    case emptyName
    case blankBeforeColon
    case nameNotToken
}

/// Reads `name: value` (RFC 9112 §5) within the bytes of a head.
enum FieldLine {
    static func parse(_ line: Range<Int>, in bytes: [UInt8]) throws(FieldFault) -> HeaderFields.Field {
        if bytes[line.lowerBound].isBlank { throw .folded }
        var colon = line.lowerBound
        while colon < line.upperBound, bytes[colon].isToken { colon += 1 }
        guard colon < line.upperBound, bytes[colon] == ASCII.colon else {
            guard let later = line.first(where: { bytes[$0] == ASCII.colon }) else { throw .noColon }
            // RFC 9112 §5.1: a proxy that strips the blank and one that does not would see two different names.
            throw bytes[later - 1].isBlank ? .blankBeforeColon : .nameNotToken
        }
        guard colon > line.lowerBound else { throw .emptyName }
        var start = colon + 1
        var end = line.upperBound
        while start < end, bytes[start].isBlank { start += 1 }
        while start < end, bytes[end - 1].isBlank { end -= 1 }
        return HeaderFields.Field(
            name: Int32(line.lowerBound)..<Int32(colon), value: Int32(start)..<Int32(end))
    }
}
