/// Bytes of HTTP's grammar, by name (RFC 5234 appendix B.1, RFC 9110 §5.6.2).
enum ASCII {
    static let horizontalTab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let quote: UInt8 = 0x22
    static let hash: UInt8 = 0x23
    static let percent: UInt8 = 0x25
    static let comma: UInt8 = 0x2C
    static let slash: UInt8 = 0x2F
    static let zero: UInt8 = 0x30
    static let colon: UInt8 = 0x3A
    static let semicolon: UInt8 = 0x3B
    static let equals: UInt8 = 0x3D
    static let questionMark: UInt8 = 0x3F
    static let at: UInt8 = 0x40
    static let openBracket: UInt8 = 0x5B
    static let closeBracket: UInt8 = 0x5D
    static let delete: UInt8 = 0x7F
}

extension UInt8 {
    var isDigit: Bool { self >= 0x30 && self <= 0x39 }

    var isLetter: Bool { (self | 0x20) >= 0x61 && (self | 0x20) <= 0x7A }

    /// SP or HTAB: the bytes that are allowed around a field value (RFC 9110 §5.6.3, OWS).
    var isBlank: Bool { self == ASCII.space || self == ASCII.horizontalTab }

    /// A control byte: below SP, or DEL.
    var isControl: Bool { self < 0x20 || self == ASCII.delete }

    /// A byte of a token (RFC 9110 §5.6.2, tchar).
    var isToken: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x5E...0x7A: true  // digits, letters, ^ _ `
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x7C, 0x7E: true  // ! # $ % & ' * + - . | ~
        default: false
        }
    }

    var lowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }

    /// The value of a hexadecimal digit, or nil.
    var hexadecimalValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }
}

extension ArraySlice<UInt8> {
    /// The slice without SP and HTAB at both ends.
    var trimmed: ArraySlice<UInt8> {
        var (start, end) = (startIndex, endIndex)
        while start < end, self[start].isBlank { start += 1 }
        while start < end, self[end - 1].isBlank { end -= 1 }
        return self[start..<end]
    }

    /// Whether these are the bytes of `text`, letters of ASCII in either case.
    func equalsIgnoringCase(_ text: String) -> Bool {
        guard count == text.utf8.count else { return false }
        var index = startIndex
        for byte in text.utf8 {
            guard self[index].lowercased == byte.lowercased else { return false }
            index += 1
        }
        return true
    }

    /// Whether these are exactly the bytes of `text`.
    func equals(_ text: String) -> Bool { elementsEqual(text.utf8) }

    /// A decimal number that has only digits: no sign, no blank. Nil for anything else, and for a number over `Int.max`.
    var decimal: Int? {
        guard !isEmpty else { return nil }
        var value = 0
        for byte in self {
            guard byte.isDigit else { return nil }
            let (tenfold, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, carried) = tenfold.addingReportingOverflow(Int(byte - ASCII.zero))
            guard !overflowed, !carried else { return nil }
            value = sum
        }
        return value
    }
}
