import Testing

@testable import Gateway

struct EarlyBytesTests {
    private static func address(_ early: EarlyBytes) -> UInt {
        early.consume { bytes in
            unsafe bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        }
    }

    private static func text(_ early: EarlyBytes) -> [UInt8] {
        early.consume { bytes in bytes.indices.map { bytes[$0] } }
    }

    @Test func `what comes in many pieces is moved a few times, not once a piece`() {
        var early = EarlyBytes()
        var addresses: [UInt] = []
        for index in 0..<EarlyBytes.maximumBytes {
            early.append([UInt8(truncatingIfNeeded: index)].span)
            let address = Self.address(early)
            if addresses.last != address { addresses.append(address) }
        }
        // Twice as much room each time: 15 moves for 32 KiB. Room for the next piece alone would make 32,768.
        #expect(addresses.count <= 20, "moved \(addresses.count) times")
        #expect(Self.text(early) == (0..<EarlyBytes.maximumBytes).map { UInt8(truncatingIfNeeded: $0) })
    }

    @Test func `what was used is gone, and what comes then stands behind the rest`() {
        var early = EarlyBytes()
        for index in 0..<10_000 {
            early.append([1, 2, 3, UInt8(truncatingIfNeeded: index)].span)
            early.drop(index == 0 ? 3 : 4)
            #expect(early.count == 1)
        }
        #expect(Self.text(early) == [UInt8(truncatingIfNeeded: 9_999)])
    }
}
