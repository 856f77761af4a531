/// A record written down as a line of JSON:
/// `{"topic":"events","key":null,"headers":[["account_id","PACC1"]],"value":"{\"id\":…}"}`.
///
/// A `value` or `key` that is neither a string nor null stands for its own JSON; headers may be an object too.
struct RecordLine {
    /// The depth of a record's own parts in it: the name and the value of a pair in the list of headers.
    static let depth = 3

    var topic: String
    var value: [UInt8]?
    var key: [UInt8]?
    var headers: [(name: String, value: [UInt8]?)]
}

extension RecordLine: RecordReading {
    func readValue(_ body: (Span<UInt8>) -> Void) -> Bool { Self.read(value, body) }

    func readKey(_ body: (Span<UInt8>) -> Void) -> Bool { Self.read(key, body) }

    func readHeader(_ name: String, _ body: (Span<UInt8>) -> Void) -> Bool {
        Self.read(headers.first { $0.name.isBytewiseEqual(to: name) }?.value, body)
    }

    private static func read(_ bytes: [UInt8]?, _ body: (Span<UInt8>) -> Void) -> Bool {
        guard let bytes else { return false }
        body(bytes.span)
        return true
    }
}

extension RecordLine {
    /// What is wrong with a line that has a record's members.
    struct Malformed: Error {
        let problem: String
    }

    /// The value alone: no topic, no key, no headers.
    init(bareValue: [UInt8]) {
        self.init(topic: "", value: bareValue, key: nil, headers: [])
    }

    /// Nil when this is not a record but a bare value: a record is an object with `topic`, a string, and `value`.
    init?(_ root: JSONValue) throws(Malformed) {
        guard let topic = try Self.member("topic", of: root)?.string,
            let value = try Self.member("value", of: root)
        else { return nil }
        let key = try Self.member("key", of: root)
        self.topic = topic
        self.value = try Self.bytes(of: value, called: "value")
        self.key = if let key { try Self.bytes(of: key, called: "key") } else { nil }
        headers = try Self.headers(of: Self.member("headers", of: root))
    }

    private static func member(_ name: String, of root: JSONValue) throws(Malformed) -> JSONValue? {
        do throws(JSONError) {
            return try root.member(name)
        } catch {
            throw Malformed(problem: "duplicate member \(name) in the record")
        }
    }

    private static func bytes(of value: JSONValue, called name: String) throws(Malformed) -> [UInt8]? {
        switch value.kind {
        case .null: return nil
        case .string:
            guard let text = value.string else {
                throw Malformed(problem: "the record's \(name) has half a surrogate pair, which no bytes stand for")
            }
            return Array(text.utf8)
        default: return Array(value.source.utf8)
        }
    }

    private static func headers(of list: JSONValue?) throws(Malformed) -> [(name: String, value: [UInt8]?)] {
        let malformed = Malformed(problem: "the record's headers are not a list of [name, value] pairs")
        guard let list, !list.isNull else { return [] }
        var headers: [(name: String, value: [UInt8]?)] = []
        if let members = list.members {
            for member in members {
                guard let name = member.name else { throw malformed }
                headers.append((name, try bytes(of: member.value, called: "header")))
            }
            return headers
        }
        guard let elements = list.elements else { throw malformed }
        for element in elements {
            guard let pair = element.elements, pair.count == 2, let name = pair[0].string else { throw malformed }
            headers.append((name, try bytes(of: pair[1], called: "header")))
        }
        return headers
    }
}
