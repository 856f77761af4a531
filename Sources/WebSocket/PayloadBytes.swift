// Processes payload bytes a word at a time. Besides the calls into zlib, this is the module's only unsafe code: safe
// subscripts cost a bounds check for each byte, and every byte that a client sends is processed here.

extension [UInt8] {
    /// Appends all of `bytes`.
    mutating func append(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { source in
            unsafe append(contentsOf: source)
        }
    }

    /// Appends `bytes` combined with `key`. The same operation masks and unmasks (RFC 6455 §5.3).
    mutating func append(_ bytes: Span<UInt8>, mask key: MaskKey) {
        let start = count
        append(bytes)
        guard key != .zero else { return }
        unsafe withUnsafeMutableBytes { all in
            unsafe applyMask(key, to: UnsafeMutableRawBufferPointer(rebasing: all[start...]))
        }
    }
}

/// Combines `bytes` with `key` in place: eight bytes at a time, then the rest.
func applyMask(_ key: MaskKey, to bytes: UnsafeMutableRawBufferPointer) {
    guard let base = bytes.baseAddress, key != .zero else { return }
    let word = key.word
    var index = 0
    while index + 8 <= bytes.count {
        let value = unsafe base.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        unsafe base.storeBytes(of: value ^ word, toByteOffset: index, as: UInt64.self)
        index += 8
    }
    while index < bytes.count {
        unsafe bytes[index] ^= key.byte(index)
        index += 1
    }
}

/// How many bytes from `start` on are ASCII under `key`, counted in whole words; 0 where fewer than eight are.
///
/// `key` belongs to the first byte of `bytes`. A word passes if none of its eight top bits is set.
func asciiWords(_ bytes: Span<UInt8>, from start: Int, mask key: MaskKey) -> Int {
    let word = key.advanced(by: start).word
    return unsafe bytes.withUnsafeBytes { all in
        var index = start
        while index + 8 <= all.count {
            let value = unsafe all.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ word
            if value & 0x8080_8080_8080_8080 != 0 { break }
            index += 8
        }
        return index - start
    }
}

/// The four bytes with which a client masks its payload (RFC 6455 §5.3); the first is in the lowest bits.
///
/// They must be unpredictable. So the sender gets them from a good source; this module has none.
package struct MaskKey: Sendable, Hashable {
    package let value: UInt32

    package init(_ value: UInt32) { self.value = value }

    /// Changes nothing: the key for unmasked frames.
    static let zero = MaskKey(0)

    /// The key for the payload from its `count`-th byte on.
    func advanced(by count: Int) -> MaskKey {
        let shift = UInt32(count & 3) * 8
        return shift == 0 ? self : MaskKey(value >> shift | value << (32 - shift))
    }

    /// The byte that belongs to the `index`-th byte of the payload.
    func byte(_ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: value >> (UInt32(index & 3) * 8)) }

    /// The key twice, in the byte order of eight bytes in this machine's memory.
    var word: UInt64 { (UInt64(value) | UInt64(value) << 32).littleEndian }
}
