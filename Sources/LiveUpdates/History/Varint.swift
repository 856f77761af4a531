// Whole numbers in as few bytes as they need: seven bits a byte, the lowest first; the upper bit shows that more follow.

extension UInt64 {
    /// Small numbers of both signs stay small.
    init(zigzag number: Int64) { self.init(bitPattern: number << 1 ^ number >> 63) }

    /// The number of bytes that it needs.
    var varintBytes: Int { (63 - (self | 1).leadingZeroBitCount) / 7 + 1 }
}

extension [UInt8] {
    mutating func appendVarint(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    /// The lowest `count` bytes of a number, the highest of them first.
    mutating func appendFixed(_ number: UInt64, count: Int) {
        for index in (0..<count).reversed() { append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index))) }
    }
}

/// Reads numbers out of bytes from left to right. A number that is cut off, or longer than it need be, is nil.
struct ByteReader {
    let bytes: [UInt8]
    var index: Int
    /// Reads nothing from here on.
    let end: Int

    mutating func byte() -> UInt8? {
        guard index < end else { return nil }
        defer { index += 1 }
        return bytes[index]
    }

    mutating func varint() -> UInt64? {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while index < end {
            let byte = bytes[index]
            index += 1
            // The tenth byte holds the 64th bit and nothing else.
            if shift == 63 && byte > 1 { return nil }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return byte == 0 && shift > 0 ? nil : number }
            shift += 7
        }
        return nil
    }

    mutating func zigzag() -> Int64? {
        varint().map { Int64(bitPattern: $0 >> 1) ^ -Int64(bitPattern: $0 & 1) }
    }

    mutating func fixed(count: Int) -> UInt64? {
        guard end - index >= count else { return nil }
        var number: UInt64 = 0
        for _ in 0..<count {
            number = number << 8 | UInt64(bytes[index])
            index += 1
        }
        return number
    }
}
