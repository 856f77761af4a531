/// A hash that is the same in every process and version: cursors and ids of the archive contain it. FNV-1a with 64 bits.
package struct StableHash {
    package private(set) var state: UInt64 = 0xCBF2_9CE4_8422_2325

    package init() {}

    mutating func combine(_ byte: UInt8) { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }

    mutating func combine(_ number: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) {
            combine(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }

    /// Feeds the bytes and an end that no UTF-8 contains, so that two texts never run into one.
    package mutating func combine(_ text: String) {
        let bytes = text.utf8Span.span
        for index in bytes.indices { combine(bytes[index]) }
        combine(UInt8.max)
    }

    /// Upper and lower half combined: FNV's low bits alone depend only on the low bits of the input.
    package var folded: UInt32 { UInt32(truncatingIfNeeded: state >> 32 ^ state) }
}

/// CRC-32 as in zip and Ethernet (polynomial 0x04C11DB7, reflected). It sees every error within 32 successive bits.
enum CyclicRedundancyCheck {
    private static let table: [UInt32] = (0..<256).map { byte in
        var value = UInt32(byte)
        for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        return value
    }

    /// Of the first `count` bytes.
    static func value(of bytes: [UInt8], count: Int) -> UInt32 {
        let table = table
        var value = UInt32.max
        for index in 0..<count { value = value >> 8 ^ table[Int(UInt8(truncatingIfNeeded: value) ^ bytes[index])] }
        return ~value
    }
}
