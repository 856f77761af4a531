/// Where in a record a text may be.
enum Source: Equatable, Sendable {
    /// A JSON pointer into the value.
    case value(JSONPointer)
    /// A JSON pointer into the changed row, for the Debezium presets.
    case row(JSONPointer)
    case header(String)
    case key
    case keyValue(JSONPointer)
    /// The part of the topic's name between dots: from 0, or backwards from -1.
    case topic(Int)

    // Only presets can use the following.

    /// An attribute of a CloudEvent: a `ce_` header, or a member of the value.
    case attribute(JSONPointer, header: String)
    /// A part, backwards from -1, of a CloudEvent's `type`.
    case typePart(Int)
    /// The id of the resource that a PagerDuty webhook is about.
    case resourceIdentifier
    /// `op` of a Debezium envelope, where it is a change.
    case operation
    /// `__deleted` or `__op` of a flattened row.
    case flatOperation

    /// Whether the value has to be read for it in any case (of a CloudEvent's attributes the headers decide).
    var readsValue: Bool {
        switch self {
        case .value, .row, .resourceIdentifier, .operation, .flatOperation: true
        case .header, .key, .keyValue, .topic, .attribute, .typePart: false
        }
    }

    /// The largest depth below the value's root that it reads; `wrapped` where a payload may be in between.
    func depth(wrapped: Bool) -> Int {
        switch self {
        case .value(let pointer): pointer.depth + (wrapped ? 1 : 0)
        case .row(let pointer): pointer.depth + 2  // within a payload's after
        case .resourceIdentifier: 6  // /event/data/X_role_assignments/0/X/id
        case .operation, .flatOperation: 2
        case .attribute, .typePart: 1
        case .header, .key, .keyValue, .topic: 0
        }
    }
}

extension Source {
    /// Why a text does not name a source.
    struct Malformed: Error {
        let expected: String
    }

    /// Topic names have at most 249 characters, so no part has a higher number.
    static let maximumTopicPart = 249

    /// Reads the text of a source as it is in the settings.
    init(_ text: String, allowsRow: Bool) throws(Malformed) {
        if text.utf8.first == UInt8(ascii: "/") {
            self = .value(try Self.pointer(text))
        } else if let name = Self.rest(of: text, after: "header:") {
            guard !name.isEmpty else { throw Malformed(expected: "the name of a header after \"header:\"") }
            self = .header(name)
        } else if text.isBytewiseEqual(to: "key") {
            self = .key
        } else if let pointer = Self.rest(of: text, after: "key:") {
            self = .keyValue(try Self.pointer(pointer))
        } else if let part = Self.rest(of: text, after: "topic:") {
            self = .topic(try Self.part(part))
        } else if let pointer = Self.rest(of: text, after: "row:") {
            guard allowsRow else {
                throw Malformed(expected: "another source: \"row:\" is for the presets debezium and debezium-flat")
            }
            self = .row(try Self.pointer(pointer))
        } else {
            let rows = allowsRow ? ", row:/pointer" : ""
            throw Malformed(
                expected: "a source: /pointer\(rows), header:NAME, key, key:/pointer or topic:N")
        }
    }

    private static func rest(of text: String, after prefix: StaticString) -> String? {
        let prefix = "\(prefix)".utf8
        guard text.utf8.starts(with: prefix) else { return nil }
        return String(Substring(text.utf8.dropFirst(prefix.count)))
    }

    private static func pointer(_ text: String) throws(Malformed) -> JSONPointer {
        do throws(JSONPointer.Malformed) {
            return try JSONPointer(text)
        } catch {
            switch error {
            case .noSlash: throw Malformed(expected: "a JSON pointer, which begins with \"/\"")
            case .badEscape: throw Malformed(expected: "a JSON pointer with every \"~\" written as \"~0\"")
            case .tooLong(let bytes):
                throw Malformed(
                    expected: "a JSON pointer of at most \(JSONPointer.maximumBytes) bytes, not \(bytes)")
            }
        }
    }

    private static func part(_ text: String) throws(Malformed) -> Int {
        let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        guard !digits.isEmpty, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let part = Int(text), abs(part) <= maximumTopicPart
        else {
            throw Malformed(
                expected: "a whole number from -\(maximumTopicPart) to \(maximumTopicPart) after \"topic:\"")
        }
        return part
    }
}

extension Source: CustomStringConvertible {
    var description: String {
        switch self {
        case .value(let pointer): pointer.description
        case .row(let pointer): "row:\(pointer)"
        case .header(let name): "header:\(name)"
        case .key: "key"
        case .keyValue(let pointer): "key:\(pointer)"
        case .topic(let part): "topic:\(part)"
        case .attribute(_, let header): "the attribute \(header.dropFirst(3))"
        case .typePart(let part): part == -1 ? "the last part of type" : "the last but one part of type"
        case .resourceIdentifier: "the id of the resource in /event/data"
        case .operation: "/op"
        case .flatOperation: "/__deleted and /__op"
        }
    }
}
