/// Bytes as text that a URL carries unchanged: base64url without padding (RFC 4648 §5).
enum URLText {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static let sextets: [UInt8] = {
        var sextets = [UInt8](repeating: 0xFF, count: 256)
        for (sextet, character) in alphabet.enumerated() { sextets[Int(character)] = UInt8(sextet) }
        return sextets
    }()

    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        let alphabet = alphabet
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var held: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            held = held << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[Int(held >> bits & 0x3F)])
            }
        }
        if bits > 0 { text.append(alphabet[Int(held << (6 - bits) & 0x3F)]) }
        return text
    }

    /// Nil for any other character, a length that no encoding has, and bits at the end that are not zero: one text for
    /// one sequence of bytes.
    static func decode(_ text: [UInt8]) -> [UInt8]? {
        let sextets = sextets
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var held: UInt32 = 0
        var bits: UInt32 = 0
        for character in text {
            let sextet = sextets[Int(character)]
            guard sextet != 0xFF else { return nil }
            held = held << 6 | UInt32(sextet)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: held >> bits))
            }
        }
        guard bits < 6, held & (1 << bits - 1) == 0 else { return nil }
        return bytes
    }
}
