/// A part of a settings document, with the line in which it begins, from 1.
package struct YAMLElement: Sendable {
    package indirect enum Content: Sendable {
        case text(String, YAMLStyle)
        case list([YAMLElement])
        case map([YAMLEntry])
        /// Something that this reader does not accept, and has reported.
        case refused
    }

    package let line: Int
    package let content: Content

    package init(line: Int, _ content: Content) {
        self.line = line
        self.content = content
    }
}

/// A key and its value. Keys of one map differ in their bytes.
package struct YAMLEntry: Sendable {
    package let key: String
    package let line: Int
    package let value: YAMLElement

    package init(key: String, line: Int, value: YAMLElement) {
        self.key = key
        self.line = line
        self.value = value
    }
}

/// The form in which a text is written. It decides which types the text can have.
package enum YAMLStyle: Sendable {
    /// In quotes or as a block: always text.
    case quoted
    /// Without quotes: the characters decide the type (YAML 1.2, core schema).
    case plain
    /// From a source that has no types: an environment variable or a flag.
    case untyped
}

extension YAMLElement {
    /// The type of a bare scalar in the core schema (YAML 1.2 §10.3.2).
    package enum PlainKind {
        case text, null, boolean, number
    }

    package static func plainKind(_ text: String) -> PlainKind {
        switch text {
        case "", "~", "null", "Null", "NULL": return .null
        case "true", "True", "TRUE", "false", "False", "FALSE": return .boolean
        case ".inf", ".Inf", ".INF", "+.inf", "-.inf", ".nan", ".NaN", ".NAN": return .number
        default: return resemblesNumber(Array(text.utf8)) ? .number : .text
        }
    }

    private static func resemblesNumber(_ bytes: [UInt8]) -> Bool {
        func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
        if bytes.starts(with: [0x30, UInt8(ascii: "x")]) || bytes.starts(with: [0x30, UInt8(ascii: "o")]) {
            let digits = bytes.dropFirst(2)
            return !digits.isEmpty && digits.allSatisfy { isDigit($0) || (0x41...0x46).contains($0 & 0xDF) }
        }
        var rest = bytes[...]
        if rest.first == UInt8(ascii: "-") || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        let whole = rest.prefix(while: isDigit)
        rest = rest.dropFirst(whole.count)
        var fraction: ArraySlice<UInt8> = []
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            fraction = rest.prefix(while: isDigit)
            rest = rest.dropFirst(fraction.count)
        }
        guard !whole.isEmpty || !fraction.isEmpty else { return false }
        if let mark = rest.first, mark | 0x20 == UInt8(ascii: "e") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "-") || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
            let exponent = rest.prefix(while: isDigit)
            guard !exponent.isEmpty else { return false }
            rest = rest.dropFirst(exponent.count)
        }
        return rest.isEmpty
    }
}
