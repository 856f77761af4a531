/// Text inside a JSON string (RFC 8259 §7).
enum JSONText {
    /// Appends `text`, escaped, and stops before the first character that would make it more than `maximumBytes`.
    static func append(_ text: String, to output: inout [UInt8], maximumBytes: Int) {
        let end = output.count + maximumBytes
        for scalar in text.unicodeScalars {
            let piece = escaped(scalar)
            guard output.count + piece.count <= end else { return }
            output.append(contentsOf: piece)
        }
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> [UInt8] {
        switch scalar.value {
        case 0x22: Array("\\\"".utf8)
        case 0x5C: Array("\\\\".utf8)
        case 0..<0x20, 0x7F, 0x2028, 0x2029:
            // DEL and the line separators need no escape in JSON; terminals and JavaScript are glad of it.
            Array(("\\u" + String(repeating: "0", count: 4 - hexadecimal(scalar).count) + hexadecimal(scalar)).utf8)
        default: Array(String(scalar).utf8)
        }
    }

    private static func hexadecimal(_ scalar: Unicode.Scalar) -> String { String(scalar.value, radix: 16) }
}
