/// The four bytes that a client lays over its payload (RFC 6455 §5.3), the first in the lowest bits.
///
/// They must be unpredictable, so whoever sends brings them from a good source; this module has none.
package struct MaskKey: Sendable, Hashable {
    package let value: UInt32

    package init(_ value: UInt32) { self.value = value }

    /// Changes nothing: what an unmasked frame is read with.
    static let zero = MaskKey(0)

    /// The key as it applies from the `count`-th byte of a payload on.
    func advanced(by count: Int) -> MaskKey {
        let shift = UInt32(count & 3) * 8
        return shift == 0 ? self : MaskKey(value >> shift | value << (32 - shift))
    }

    /// The byte that belongs to the `index`-th byte of the payload.
    func byte(_ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: value >> (UInt32(index & 3) * 8)) }

    /// The key twice, as eight bytes lie in memory on this machine.
    var word: UInt64 { (UInt64(value) | UInt64(value) << 32).littleEndian }
}
