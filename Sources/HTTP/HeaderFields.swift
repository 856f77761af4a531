/// The header fields of a message, in the order of arrival, with their bytes unchanged.
///
/// Names are compared without regard to the case of ASCII letters. Values do not include the blanks around them. They may
/// contain any byte except control bytes other than HTAB; nothing here assumes that they are UTF-8. All fields share
/// one array of bytes, so that a head needs two allocations, however many fields it has.
package struct HeaderFields: Sendable {
    struct Field: Sendable {
        let name: Range<Int32>
        let value: Range<Int32>
    }

    private var bytes: [UInt8]
    private var fields: [Field]

    package init() {
        bytes = []
        fields = []
    }

    /// Stores the bytes of a parsed head; `fields` are ranges of them.
    init(bytes: [UInt8], fields: [Field]) {
        self.bytes = bytes
        self.fields = fields
    }

    package var count: Int { fields.count }

    package var isEmpty: Bool { fields.isEmpty }

    /// Name and value at a position, in the order of arrival.
    package subscript(position: Int) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        let field = fields[position]
        return (slice(field.name), slice(field.value))
    }

    /// The value of the first field of this name, or nil.
    package func first(_ name: String) -> ArraySlice<UInt8>? {
        for field in fields where isNamed(field, name) { return slice(field.value) }
        return nil
    }

    /// The values of all fields of this name, in their order.
    package func all(_ name: String) -> [ArraySlice<UInt8>] {
        var values: [ArraySlice<UInt8>] = []
        for field in fields where isNamed(field, name) { values.append(slice(field.value)) }
        return values
    }

    /// The value of the only field of this name: nil when there is none or more than one.
    package func only(_ name: String) -> ArraySlice<UInt8>? {
        let values = all(name)
        return values.count == 1 ? values[0] : nil
    }

    /// The first value of this name as text; nil when it is absent or not UTF-8.
    package func text(_ name: String) -> String? {
        first(name).flatMap { bytes in
            // `String(validating:as:)` came with iOS 18. Invalid UTF-8 becomes U+FFFD, which has other bytes.
            let text = String(decoding: bytes, as: UTF8.self)
            return text.utf8.elementsEqual(bytes) ? text : nil
        }
    }

    package func contains(_ name: String) -> Bool { first(name) != nil }

    /// Whether the comma-separated lists of all fields of this name contain the token, in any case (RFC 9110 §5.6.1).
    package func containsToken(_ token: String, in name: String) -> Bool {
        hasMember(name) { $0.equalsIgnoringCase(token) }
    }

    /// The members of the comma-separated lists of all fields of this name; empty members are left out.
    package func list(_ name: String) -> [ArraySlice<UInt8>] {
        var members: [ArraySlice<UInt8>] = []
        _ = hasMember(name) { member in
            members.append(member)
            return false
        }
        return members
    }

    /// Whether `passes` accepts a member of the lists of all fields of this name. Stops at the first such member.
    private func hasMember(_ name: String, _ passes: (ArraySlice<UInt8>) -> Bool) -> Bool {
        for field in fields where isNamed(field, name) {
            var start = Int(field.value.lowerBound)
            let end = Int(field.value.upperBound)
            while start < end {
                var comma = start
                while comma < end, bytes[comma] != ASCII.comma { comma += 1 }
                let member = bytes[start..<comma].trimmed
                if !member.isEmpty, passes(member) { return true }
                start = comma + 1
            }
        }
        return false
    }

    /// Adds a field at the end. The bytes are not checked here: the code that sends them to a peer checks them first.
    package mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: store(name), value: store(value)))
    }

    private mutating func store(_ text: String) -> Range<Int32> {
        let start = Int32(bytes.count)
        bytes.append(contentsOf: text.utf8)
        return start..<Int32(bytes.count)
    }

    /// Most fields differ in length from the name that is searched for. For those, no slice is made.
    private func isNamed(_ field: Field, _ name: String) -> Bool {
        guard Int(field.name.upperBound - field.name.lowerBound) == name.utf8.count else { return false }
        return slice(field.name).equalsIgnoringCase(name)
    }

    private func slice(_ range: Range<Int32>) -> ArraySlice<UInt8> {
        bytes[Int(range.lowerBound)..<Int(range.upperBound)]
    }
}

extension HeaderFields: Equatable {
    /// Equal when names and values are the same bytes in the same order.
    package static func == (left: HeaderFields, right: HeaderFields) -> Bool {
        left.count == right.count
            && (0..<left.count).allSatisfy { left[$0].name == right[$0].name && left[$0].value == right[$0].value }
    }
}

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
