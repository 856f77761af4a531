/// How many columns of a terminal text takes.
enum TextWidth {
    static func of(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        if first.isASCII { return 1 }
        // U+FE0F asks for the coloured form of what stands before it, which is wide.
        if character.unicodeScalars.contains("\u{FE0F}") { return 2 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return isWide(first) ? 2 : 1
        }
    }

    static func of(_ text: some Sequence<Character>) -> Int { text.reduce(0) { $0 + of($1) } }

    /// Unicode's East Asian Width W and F, by blocks (UAX #11): a line editor may be off by one in a rare block, a
    /// table of all of them would be longer than the editor.
    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.properties.isEmojiPresentation { return true }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF,
            0x20000...0x3FFFD:
            return true
        default: return false
        }
    }
}
