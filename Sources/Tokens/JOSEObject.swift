import LiveUpdates

/// A JSON object of JOSE: a token's header, its claims, or a key of a set.
///
/// It is parsed as strictly as other documents, and duplicate members are invalid (RFC 7515 §4, RFC 7519 §4). cjose reads the
/// header again with its own parser. If that is stricter, the signature does not verify.
struct JOSEObject {
    /// The value of a member, as far as JOSE needs it.
    enum Value {
        case text([UInt8])
        case integer(JSONInteger)
        case list([JSONValue])
        /// Anything else: `null`, a boolean, an object, or a number with a fraction, an exponent or more than 64 bits.
        case other
    }

    /// Limit of nested lists and objects: key sets and tokens of identity providers stay below ten.
    static let maximumDepth = 32

    private let members: [[UInt8]: JSONValue]

    /// `nil` for anything that is not exactly one JSON object without duplicate members.
    init?(_ text: [UInt8]) {
        let limits = JSONLimits(maximumBytes: KeySet.maximumFileBytes, maximumDepth: Self.maximumDepth)
        guard let document = try? JSONDocument(text, limits: limits) else { return nil }
        self.init(document.root)
    }

    /// `nil` for a value that is not an object, or has duplicate members.
    init?(_ value: JSONValue) {
        guard let all = value.members else { return nil }
        var members: [[UInt8]: JSONValue] = [:]
        for (name, value) in all {
            guard let name, members.updateValue(value, forKey: Array(name.utf8)) == nil else { return nil }
        }
        self.members = members
    }

    /// The value of a member; `nil` if it is missing.
    subscript(name: String) -> Value? { members[Array(name.utf8)].map(Self.value) }

    /// Whether the object has this member, with any value.
    func has(_ name: String) -> Bool { members[Array(name.utf8)] != nil }

    /// Whether the object has only members with these names.
    func hasOnly(_ names: [String]) -> Bool {
        members.keys.allSatisfy { name in names.contains { Array($0.utf8) == name } }
    }

    /// The object in a member; `nil` if it is missing, is not an object, or has duplicate members.
    func object(_ name: String) -> JOSEObject? { members[Array(name.utf8)].flatMap { JOSEObject($0) } }

    /// The text of a member; `nil` if it is missing or not a text.
    func text(_ name: String) -> [UInt8]? {
        if case .text(let bytes)? = self[name] { bytes } else { nil }
    }

    /// The boolean value of a member; `nil` if it is missing or something else.
    func truth(_ name: String) -> Bool? { members[Array(name.utf8)]?.bool }

    private static func value(_ value: JSONValue) -> Value {
        switch value.kind {
        case .string: value.string.map { .text(Array($0.utf8)) } ?? .other
        case .number: value.integer.map { .integer($0) } ?? .other
        case .array: .list(value.elements ?? [])
        default: .other
        }
    }
}
