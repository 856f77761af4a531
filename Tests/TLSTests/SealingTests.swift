import Testing

@testable import TLS

@Suite struct SealingTests {
    static let key = [UInt8](0..<32)

    @Test func `a code of a message is the one of RFC 4231`() {
        #expect(
            Hexadecimal.encode(Digest.hmac(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test func `a sealed text is the one that NIST gives for this key`() {
        // Test cases 13 and 14 of the GCM submission: key, nonce and text are zeros.
        let zeros = [UInt8](repeating: 0, count: 32)
        #expect(
            Hexadecimal.encode(Sealing.seal([UInt8](repeating: 0, count: 16), key: zeros, associated: [])!)
                == "cea7403d4d606b6e074ec5d3baf39d18" + "d0d1c8a799996bf0265b98b5d48ab919")
        #expect(
            Hexadecimal.encode(Sealing.seal([], key: zeros, associated: [])!) == "530f8afbc74536b9a963b4f1c4cb738b")
    }

    @Test(arguments: [0, 1, 15, 16, 17, 700]) func `a text of any length is opened again`(_ count: Int) {
        let text = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        for associated in [[], [7], text] as [[UInt8]] {
            let sealed = Sealing.seal(text, key: Self.key, associated: associated)!
            #expect(sealed.count == count + Sealing.tagBytes)
            #expect(Sealing.open(sealed, key: Self.key, associated: associated) == text)
        }
    }

    @Test func `a change of any bit, in text, tag, key or what is associated, opens nothing`() {
        let sealed = Sealing.seal([1, 2, 3], key: Self.key, associated: [9, 8])!
        for bit in 0..<(sealed.count * 8) {
            var changed = sealed
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(Sealing.open(changed, key: Self.key, associated: [9, 8]) == nil)
        }
        for count in 0..<sealed.count {
            #expect(Sealing.open(Array(sealed[..<count]), key: Self.key, associated: [9, 8]) == nil)
        }
        var other = Self.key
        other[31] ^= 1
        #expect(Sealing.open(sealed, key: other, associated: [9, 8]) == nil)
        for associated in [[], [9], [9, 9], [9, 8, 0]] as [[UInt8]] {
            #expect(Sealing.open(sealed, key: Self.key, associated: associated) == nil)
        }
    }
}
