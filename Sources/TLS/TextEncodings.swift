/// Base64 as RFC 4648 defines it, read strictly: each byte sequence has exactly one text.
///
/// If two texts decoded to the same bytes, a token or key could pass a comparison unnoticed. So blanks, line ends, missing
/// or superfluous padding and trailing bits that are not zero are refused (§3.5).
package enum Base64 {
    /// §4, with padding: `Sec-WebSocket-Key`, `Sec-WebSocket-Accept`, basic credentials.
    package static func encode(_ bytes: [UInt8]) -> String {
        encode(bytes, alphabet: standard, pads: true)
    }

    /// §5, without padding: the parts of a JWT.
    package static func encodeURL(_ bytes: [UInt8]) -> String {
        encode(bytes, alphabet: urlSafe, pads: false)
    }

    /// §4; padding is required. Nil unless it is the one valid text of some bytes.
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var digits = Array(text)
        guard digits.count % 4 == 0 else { return nil }
        for _ in 0..<2 where digits.last == pad { digits.removeLast() }
        return decode(digits, table: standardValues)
    }

    /// §4; padding is required. Nil unless it is the one valid text of some bytes.
    package static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }

    /// §5; padding is refused. Nil unless it is the one valid text of some bytes.
    package static func decodeURL(_ text: some Sequence<UInt8>) -> [UInt8]? {
        decode(Array(text), table: urlSafeValues)
    }

    /// §5; padding is refused. Nil unless it is the one valid text of some bytes.
    package static func decodeURL(_ text: String) -> [UInt8]? { decodeURL(text.utf8) }

    private static let pad = UInt8(ascii: "=")
    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    private static let standard = Array((letters + "+/").utf8)
    private static let urlSafe = Array((letters + "-_").utf8)
    private static let standardValues = values(standard)
    private static let urlSafeValues = values(urlSafe)
    private static let noDigit: UInt8 = 0xFF

    private static func values(_ alphabet: [UInt8]) -> [UInt8] {
        var table = [UInt8](repeating: noDigit, count: 256)
        for (value, digit) in alphabet.enumerated() { table[Int(digit)] = UInt8(value) }
        return table
    }

    private static func encode(_ bytes: [UInt8], alphabet: [UInt8], pads: Bool) -> String {
        let rest = bytes.count % 3
        let digits = (bytes.count * 4 + 2) / 3
        let text = [UInt8](capacity: digits + 2) { text in
            for start in stride(from: 0, to: bytes.count - rest, by: 3) {
                let group = Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
                text.append(alphabet[group >> 18])
                text.append(alphabet[group >> 12 & 63])
                text.append(alphabet[group >> 6 & 63])
                text.append(alphabet[group & 63])
            }
            guard rest > 0 else { return }
            let last = Int(bytes[bytes.count - rest]) << 8 | (rest == 2 ? Int(bytes[bytes.count - 1]) : 0)
            text.append(alphabet[last >> 10])
            text.append(alphabet[last >> 4 & 63])
            if rest == 2 { text.append(alphabet[last << 2 & 63]) }
            if pads { for _ in rest..<3 { text.append(pad) } }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Parameter digits: without padding. A single digit in the last group does not hold a whole byte.
    private static func decode(_ digits: [UInt8], table: [UInt8]) -> [UInt8]? {
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3 + 2)
        var group: UInt32 = 0
        var bits: UInt32 = 0
        for digit in digits {
            let value = table[Int(digit)]
            guard value != noDigit else { return nil }
            group = group << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> bits))
                group &= (1 << bits) - 1
            }
        }
        return group == 0 ? bytes : nil
    }
}

/// Bytes written as hexadecimal digits.
package enum Hexadecimal {
    /// Two digits a byte, in lower case.
    package static func encode(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The bytes of an even number of digits in either case, or `nil`.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
