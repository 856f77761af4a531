// Tests: UTF8Validator.swift

import Testing

@testable import WebSocket

@Suite struct PayloadBytesTests {
    @Test func `masking by words gives what masking by bytes gives, at every length and phase`() {
        let key = MaskKey(0x0403_02F1)
        let keyBytes: [UInt8] = [0xF1, 2, 3, 4]
        for count in 0...70 {
            let source = (0..<count).map { UInt8($0 * 7 & 0xFF) }
            for phase in 0..<8 {
                var got: [UInt8] = [9, 9, 9]
                got.append(source.span, mask: key.advanced(by: phase))
                let wanted = source.enumerated().map { $1 ^ keyBytes[($0 + phase) % 4] }
                #expect(got == [9, 9, 9] + wanted, "\(count) bytes from \(phase)")
            }
        }
    }

    @Test func `a key of zeros changes nothing`() {
        var got: [UInt8] = []
        got.append([1, 2, 3, 4, 5, 6, 7, 8, 9].span, mask: .zero)
        #expect(got == [1, 2, 3, 4, 5, 6, 7, 8, 9])
    }

    @Test func `every sequence of up to three bytes is judged as the standard library judges it`() {
        for first in UInt8.min...UInt8.max {
            check([first])
            // A lead byte is told apart by what it is; of the rest the borders of all ranges are enough.
            for second in UInt8.min...UInt8.max {
                check([first, second])
                guard first >= 0x80 else { continue }
                for third in [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF] as [UInt8] {
                    check([first, second, third])
                    guard first >= 0xF0 else { continue }
                    for fourth in [0x7F, 0x80, 0xBF, 0xC0] as [UInt8] { check([first, second, third, fourth]) }
                }
            }
        }
    }

    private func check(_ bytes: [UInt8]) {
        let wanted = String(validating: bytes, as: UTF8.self) != nil
        var validator = UTF8Validator()
        let whole = validator.consume(bytes.span) == nil && validator.isComplete
        // Behind and before long ASCII, so that the words' path and the bytes' path meet at every place.
        var padded = UTF8Validator()
        let padding = [UInt8](repeating: 0x61, count: 7 + bytes.count)
        let inside = padded.consume((padding + bytes + padding).span) == nil && padded.isComplete
        if whole != wanted || inside != wanted { Issue.record("\(bytes): \(whole) and \(inside), not \(wanted)") }
    }

    @Test func `the first impossible byte is told at every place, masked or not`() {
        let key = MaskKey(0xDEAD_BEEF)
        for place in 0..<40 {
            var bytes = utf8("ab€cdé𝄞 and then some more of ASCII, long")
            guard String(validating: bytes[..<place], as: UTF8.self) != nil else { continue }
            bytes[place] = 0xFF
            var hidden: [UInt8] = []
            hidden.append(bytes.span, mask: key)
            var one = UTF8Validator()
            var other = UTF8Validator()
            #expect(one.consume(bytes.span) == place)
            #expect(other.consume(hidden.span, mask: key) == place)
        }
    }
}
