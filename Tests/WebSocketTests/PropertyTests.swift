// Tests: FrameHeaderParser.swift

import TestHarness
import Testing

@testable import WebSocket

/// Random conversations; a failure names its seed.
@Suite struct PropertyTests {
    private static let sizes = [0, 1, 2, 3, 7, 8, 9, 125, 126, 127, 300, 4096, 65535, 65536]

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `what is encoded in fragments with pings between comes back, wherever it is cut`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let role: Role = seed % 2 == 0 ? .server : .client
        let limits = WebSocketLimits(
            maximumMessageBytes: 1 << 20, maximumFragments: 64, maximumControlFramesPerSecond: 1000)
        var bytes: [UInt8] = []
        var wanted: [WebSocketEvent] = []
        for _ in 0..<Int.random(in: 1...12, using: &random) {
            append(messageTo: role, &bytes, &wanted, &random)
        }
        var receiver = WebSocketReceiver(role: role, limits: limits)
        var got: [WebSocketEvent] = []
        var position = 0
        while position < bytes.count {
            let end = min(position + Int.random(in: 1...9000, using: &random), bytes.count)
            receiver.receive(bytes[position..<end].span, now: 0, into: &got)
            position = end
        }
        #expect(got == wanted, "seed \(seed)")
    }

    private func append(
        messageTo role: Role, _ bytes: inout [UInt8], _ wanted: inout [WebSocketEvent],
        _ random: inout SeededGenerator
    ) {
        let size = Self.sizes.randomElement(using: &random)!
        let isText = Bool.random(using: &random)
        let payload =
            isText
            ? utf8(String("aé€𝄞".randomElement(using: &random)!)) + text(size, &random)
            : random.bytes(size)
        let fragments = Int.random(in: 1...5, using: &random)
        var position = 0
        for index in 1...fragments {
            let end =
                index == fragments ? payload.count : Int.random(in: position...payload.count, using: &random)
            let opcode: Opcode = index > 1 ? .continuation : isText ? .text : .binary
            FrameEncoder.append(
                opcode, isFinal: index == fragments, payload: payload[position..<end].span,
                mask: mask(to: role, &random), to: &bytes)
            position = end
            if index < fragments, Bool.random(using: &random) {
                let ping = random.bytes(Int.random(in: 0...125, using: &random))
                FrameEncoder.append(.ping, payload: ping.span, mask: mask(to: role, &random), to: &bytes)
                wanted.append(.ping(ping))
            }
        }
        wanted.append(.message(isText ? .text : .binary, payload))
    }

    private func text(_ size: Int, _ random: inout SeededGenerator) -> [UInt8] {
        (0..<size).map { _ in UInt8.random(in: 0...127, using: &random) }
    }

    private func mask(to role: Role, _ random: inout SeededGenerator) -> MaskKey? {
        role == .server ? MaskKey(UInt32.random(in: 0 ... .max, using: &random)) : nil
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `bytes at random mean the same wherever they are cut, and never more than the limits`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let bytes = random.bytes(Int.random(in: 1...200, using: &random)).enumerated().map { index, byte in
            // Mostly frames that begin well, so that more than the first byte is reached.
            index == 0 ? [0x81, 0x01, 0x82, 0xC1, 0x89].randomElement(using: &random)! : byte
        }
        let role: Role = seed % 2 == 0 ? .server : .client
        let deflate = seed % 3 == 0 ? DeflateParameters() : nil
        let whole = events([bytes], role: role, deflate: deflate)
        for pieces in cuts(of: bytes) {
            #expect(events(pieces, role: role, deflate: deflate) == whole, "seed \(seed)")
        }
    }
}
