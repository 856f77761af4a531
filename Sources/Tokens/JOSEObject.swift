import LiveUpdates

/// A JSON object as JOSE has it: a token's header, its claims, a key of a set.
///
/// Strict as the documents it is read from, and no member may stand twice (RFC 7515 §4, RFC 7519 §4). cjose reads the
/// header once more by its own parser; where that one is stricter, the signature does not verify.
struct JOSEObject {
    /// What a member holds, as far as JOSE asks for it.
    enum Value {
        case text([UInt8])
        case integer(JSONInteger)
        case list([JSONValue])
        /// Anything else: `null`, a truth value, an object, a number with fraction, exponent or more than 64 bits.
        case other
    }

    /// Lists and objects inside each other: key sets and tokens of identity providers stay below ten.
    static let maximumDepth = 32

    private let members: [[UInt8]: JSONValue]

    /// `nil` for anything that is not exactly one JSON object without doubled members.
    init?(_ text: [UInt8]) {
        let limits = JSONLimits(maximumBytes: KeySet.maximumFileBytes, maximumDepth: Self.maximumDepth)
        guard let document = try? JSONDocument(text, limits: limits) else { return nil }
        self.init(document.root)
    }

    /// `nil` for a value that is not an object, or has doubled members.
    init?(_ value: JSONValue) {
        guard let all = value.members else { return nil }
        var members: [[UInt8]: JSONValue] = [:]
        for (name, value) in all {
            guard let name, members.updateValue(value, forKey: Array(name.utf8)) == nil else { return nil }
        }
        self.members = members
    }

    /// The value of a member, `nil` when there is none of this name.
    subscript(name: String) -> Value? { members[Array(name.utf8)].map(Self.value) }

    /// Whether there is a member of this name, whatever it holds.
    func has(_ name: String) -> Bool { members[Array(name.utf8)] != nil }

    /// Whether no member has another name.
    func hasOnly(_ names: [String]) -> Bool {
        members.keys.allSatisfy { name in names.contains { Array($0.utf8) == name } }
    }

    /// The object in a member, `nil` when there is none, it is no object, or one of its members stands twice.
    func object(_ name: String) -> JOSEObject? { members[Array(name.utf8)].flatMap { JOSEObject($0) } }

    /// The text of a member, `nil` when there is none or it is no text.
    func text(_ name: String) -> [UInt8]? {
        if case .text(let bytes)? = self[name] { bytes } else { nil }
    }

    /// The truth value of a member, `nil` when there is none or it is something else.
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
