extension String {
    /// The text on one line, with everything escaped that could steer a terminal or forge a line: control characters
    /// (C0, DEL, C1), the line and paragraph separators, and what turns the direction of writing.
    package var printable: String {
        guard unicodeScalars.contains(where: Self.isUnprintable) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where Self.isUnprintable(scalar): text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func isUnprintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
