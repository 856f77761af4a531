/// Checks UTF-8 as it arrives, cut anywhere, and stops at the first byte that is not possible there in valid text
/// (RFC 3629 §4: no overlong forms, no surrogates, nothing over U+10FFFF).
struct UTF8Validator {
    /// How many continuation bytes the current character still needs.
    private var missing: UInt8 = 0
    /// The range of the next one; narrower after E0, ED, F0 and F4 (the table in RFC 3629 §4).
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    /// Whether the text could end here.
    var isComplete: Bool { missing == 0 }

    /// Checks more of the text, unmasked with `mask`. Returns the index of the first impossible byte, or nil. After an index
    /// the validator cannot be used any more.
    mutating func consume(_ bytes: Span<UInt8>, mask: MaskKey = .zero) -> Int? {
        var index = 0
        while index < bytes.count {
            if missing == 0 {
                index += asciiWords(bytes, from: index, mask: mask)
                if index == bytes.count { return nil }
            }
            // At most 8 bytes one by one, then ASCII is tried again: this limits the wasted attempts in mixed text.
            let stop = min(index + 8, bytes.count)
            while index < stop {
                guard accept(bytes[index] ^ mask.byte(index)) else { return index }
                index += 1
            }
        }
        return nil
    }

    private mutating func accept(_ byte: UInt8) -> Bool {
        if missing > 0 {
            guard byte >= lowest, byte <= highest else { return false }
            missing -= 1
            lowest = 0x80
            highest = 0xBF
            return true
        }
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: missing = 1
        case 0xE0:
            missing = 2
            lowest = 0xA0
        case 0xE1...0xEC, 0xEE...0xEF: missing = 2
        case 0xED:
            missing = 2
            highest = 0x9F
        case 0xF0:
            missing = 3
            lowest = 0x90
        case 0xF1...0xF3: missing = 3
        case 0xF4:
            missing = 3
            highest = 0x8F
        default: return false
        }
        return true
    }
}
