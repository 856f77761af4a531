/// Why bytes are not the JSON that was asked for.
///
/// JSON here is RFC 8259 to the letter: no byte-order mark, no NaN, no trailing comma, no number like `01` or `1.`,
/// nothing after the document, valid UTF-8 throughout. `offset` counts bytes from 0, where the place is known.
package enum JSONError: Error, Equatable, Sendable {
    case empty
    case syntax(offset: Int)
    case badNumber(offset: Int)
    case badEscape(offset: Int)
    case controlCharacter
    case unclosed
    case invalidUTF8
    case tooDeep(limit: Int)
    case tooLarge(bytes: Int, limit: Int)
    case noMemory
    /// A member that was asked for stands more than once in its object.
    case ambiguous(member: String)
}

extension JSONError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty: "no JSON: empty"
        case .syntax(let offset): "no JSON: unexpected byte at offset \(offset)"
        case .badNumber(let offset): "no JSON: malformed number at offset \(offset)"
        case .badEscape(let offset): "no JSON: malformed escape at offset \(offset)"
        case .controlCharacter: "no JSON: a control character inside a string"
        case .unclosed: "no JSON: it ends too early"
        case .invalidUTF8: "no JSON: not valid UTF-8"
        case .tooDeep(let limit): "JSON nested too deeply: over \(limit) levels"
        case .tooLarge(let bytes, let limit): "JSON too large: \(bytes) bytes, over \(limit)"
        case .noMemory: "no memory for the JSON"
        case .ambiguous(let member): "the member \"\(member)\" stands more than once"
        }
    }
}
