/// The cookies of a request (RFC 6265 §4.2.1).
package enum Cookies {
    /// What a request contains for the cookie of one name.
    package enum Value: Sendable, Equatable {
        case absent
        /// There is exactly one. Its value may be empty.
        case one([UInt8])
        /// Cookies of two paths or domains may have the same name. Their order is not reliable (RFC 6265 §4.2.2), so it is
        /// unknown which of them is meant.
        case repeated
    }

    /// The value of the only cookie of this name.
    ///
    /// Names are compared byte by byte; quotes around a value do not belong to it. A proxy may split one list into several
    /// fields (RFC 9113 §8.2.3), so they are read as one. Anything that is not a pair of name and value is skipped.
    package static func value(_ name: String, in headers: HeaderFields) -> Value {
        var found = Value.absent
        for field in headers.all("cookie") {
            for pair in field.split(separator: ASCII.semicolon) {
                guard let equals = pair.firstIndex(of: ASCII.equals), pair[..<equals].trimmed.equals(name) else {
                    continue
                }
                guard found == .absent else { return .repeated }
                found = .one(Array(unquoted(pair[(equals + 1)...].trimmed)))
            }
        }
        return found
    }

    /// Whether a cookie can have this name: a token (RFC 6265 §4.1.1).
    package static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(\.isToken)
    }

    /// RFC 6265 §4.1.1: a value may have quotes around it, either both or none.
    private static func unquoted(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard value.count >= 2, value.first == ASCII.quote, value.last == ASCII.quote else { return value }
        return value.dropFirst().dropLast()
    }
}
