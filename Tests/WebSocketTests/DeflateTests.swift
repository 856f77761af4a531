// Tests: Deflater.swift, Inflater.swift

import CZlib
import TestHarness
import Testing

@testable import WebSocket

/// Raw deflate data, compressed by the C library's own calls.
private func deflated(
    _ bytes: [UInt8], flush: Int32 = Z_SYNC_FLUSH, level: Int32 = 6
) -> [UInt8] {
    var stream = unsafe z_stream()
    _ = unsafe zlib_deflate_init_raw(&stream, level, 15, 8)
    var output = [UInt8](repeating: 0, count: bytes.count + 1024)
    let count = unsafe bytes.withUnsafeBufferPointer { source in
        unsafe output.withUnsafeMutableBufferPointer { target in
            unsafe stream.next_in = source.baseAddress
            unsafe stream.avail_in = UInt32(source.count)
            unsafe stream.next_out = target.baseAddress
            unsafe stream.avail_out = UInt32(target.count)
            _ = unsafe deflate(&stream, flush)
            return unsafe target.count - Int(stream.avail_out)
        }
    }
    _ = unsafe deflateEnd(&stream)
    return Array(output[..<count])
}

private func compressed(_ bytes: [UInt8]) -> [UInt8] { Array(deflated(bytes).dropLast(4)) }

private let both = DeflateParameters()
private let neither = DeflateParameters(serverContextTakeover: false, clientContextTakeover: false)
private let hello = utf8("Hello")

private let rows: [Row] = [
    Row(
        name: "RFC 7692 §7.2.3.1, one compressed frame",
        bytes: plain(1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], reserved: 4), events: [.message(.text, hello)],
        role: .client, deflate: both),
    Row(
        name: "RFC 7692 §7.2.3.1, in two fragments",
        bytes: plain(1, [0xF2, 0x48, 0xCD], final: false, reserved: 4) + plain(0, [0xC9, 0xC9, 0x07, 0x00]),
        events: [.message(.text, hello)], role: .client, deflate: both),
    Row(
        name: "RFC 7692 §7.2.3.2, the second message refers to the first",
        bytes: plain(1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], reserved: 4)
            + plain(1, [0xF2, 0x00, 0x11, 0x00, 0x00], reserved: 4),
        events: [.message(.text, hello), .message(.text, hello)], role: .client, deflate: both),
    Row(
        name: "a reference to the message before, which was agreed away",
        bytes: plain(1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], reserved: 4)
            + plain(1, [0xF2, 0x00, 0x11, 0x00, 0x00], reserved: 4),
        events: [.message(.text, hello), .failed(.invalidDeflate)], role: .client, deflate: neither),
    Row(
        name: "RFC 7692 §7.2.3.3, a stored block",
        bytes: plain(1, [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00], reserved: 4),
        events: [.message(.text, hello)], role: .client, deflate: both),
    Row(
        name: "RFC 7692 §7.2.3.4, a last block and a byte",
        bytes: plain(1, [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00], reserved: 4),
        events: [.message(.text, hello)], role: .client, deflate: both),
    Row(
        name: "a last block without that byte, twice",
        bytes: plain(1, [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], reserved: 4)
            + plain(1, [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], reserved: 4),
        events: [.message(.text, hello), .message(.text, hello)], role: .client, deflate: both),
    Row(
        name: "RFC 7692 §7.2.3.5, two blocks",
        bytes: plain(
            1, [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00], reserved: 4),
        events: [.message(.text, hello)], role: .client, deflate: both),
    Row(
        name: "RFC 7692 §7.2.3.6, an empty message", bytes: masked(1, [0x00], reserved: 4),
        events: [.message(.text, [])], deflate: both),
    Row(
        name: "no bytes at all as an empty message", bytes: masked(2, reserved: 4), events: [.message(.binary, [])],
        deflate: both),
    Row(
        name: "a plain message between compressed ones",
        bytes: masked(1, compressed(hello), reserved: 4) + masked(1, hello)
            + masked(1, compressed(hello), reserved: 4),
        events: [.message(.text, hello), .message(.text, hello), .message(.text, hello)], deflate: both),
    Row(
        name: "a ping in between and an empty last fragment",
        bytes: masked(1, [0xF2, 0x48, 0xCD], final: false, reserved: 4) + masked(9)
            + masked(0, [0xC9, 0xC9, 0x07, 0x00], final: false) + masked(0),
        events: [.ping([]), .message(.text, hello)], deflate: neither),
    Row(
        name: "checked and not kept", bytes: masked(1, compressed(hello), reserved: 4),
        events: [.discarded(.text, byteCount: 5)], deflate: neither, payloads: .discard),
    Row(
        name: "no deflate data", bytes: masked(1, [0xFF, 0xFF, 0xFF, 0xFF], reserved: 4),
        events: [.failed(.invalidDeflate)], deflate: both),
    Row(
        name: "a stored block that is cut short",
        bytes: masked(2, [0x00, 0x09, 0x00, 0xF6, 0xFF, 0x48, 0x65, 0x6C, 0x6C], reserved: 4),
        events: [.failed(.invalidDeflate)], deflate: both),
    Row(
        name: "inflated text that is not UTF-8", bytes: masked(1, compressed([0x61, 0xED, 0xA0, 0x80]), reserved: 4),
        events: [.failed(.invalidText)], deflate: both, payloads: .discard),
    Row(
        name: "inflated text that ends inside a character", bytes: masked(1, compressed([0xC3]), reserved: 4),
        events: [.failed(.invalidText)], deflate: both),
]

@Suite struct DeflateTests {
    @Test(arguments: rows) func `compressed messages mean what the RFC says, wherever they are cut`(row: Row) {
        row.check()
    }

    @Test(arguments: [PayloadPolicy.deliver, .discard])
    func `the limit counts inflated bytes: exactly it passes, one more does not`(policy: PayloadPolicy) {
        let limits = WebSocketLimits(maximumMessageBytes: 10_000)
        let ten = [UInt8](repeating: 0x61, count: 10_000)
        let passed: WebSocketEvent =
            policy == .deliver ? .message(.text, ten) : .discarded(.text, byteCount: 10_000)
        #expect(
            events([masked(1, compressed(ten), reserved: 4)], limits: limits, deflate: both, payloads: policy)
                == [passed])
        #expect(
            events([masked(1, compressed(ten + [0x61]), reserved: 4)], limits: limits, deflate: both, payloads: policy)
                == [.failed(.messageTooLarge(bytes: 10_001, limit: 10_000))])
    }

    @Test func `a bomb is stopped at the limit, and no more is ever held`() throws {
        struct Sink: InflatedByteSink {
            var held = 0
            mutating func append(_ bytes: Span<UInt8>) throws(WebSocketError) {
                held += bytes.count
                if held > 65536 { throw .messageTooLarge(bytes: UInt64(held), limit: 65536) }
            }
        }
        // 32 MiB of zeros are 32 KiB on the wire, within what the limit of 64 KiB lets pass there.
        let bomb = compressed([UInt8](repeating: 0, count: 32 << 20))
        let limits = WebSocketLimits(maximumMessageBytes: 65536)
        #expect(bomb.count < WebSocketLimits.compressedBytes(of: limits.maximumMessageBytes))
        #expect(
            events([masked(2, bomb, reserved: 4)], limits: limits, deflate: both)
                == [.failed(.messageTooLarge(bytes: 65537, limit: 65536))])
        var sink = Sink()
        var inflater = try Inflater(windowBits: 15)
        do { try inflater.inflate(bomb.span, into: &sink) } catch {}
        // Seen one chunk behind the limit, not at the end of the data.
        #expect((65537...65536 + 4096).contains(sink.held))
    }

    @Test func `text that breaks before the data does is what failed, wherever it is cut`() {
        Row(
            name: "", bytes: masked(1, compressed([0xFF]) + [0xFF, 0xFF], reserved: 4),
            events: [.failed(.invalidText)], deflate: both
        ).check()
    }

    @Test func `blocks that give nothing are bounded too`() {
        let limits = WebSocketLimits(maximumMessageBytes: 80)
        let limit = WebSocketLimits.compressedBytes(of: limits.maximumMessageBytes)
        #expect(limit == 80 + 10 + 1024)
        let empty = [UInt8]([0x00, 0x00, 0x00, 0xFF, 0xFF])
        let blocks = Array(repeating: empty, count: limit / 5 + 1).flatMap { $0 }
        let most = Array(blocks[..<(limit / 5 * 5)]) + [0x00]
        #expect(most.count <= limit)
        #expect(
            events([masked(2, most, reserved: 4)], limits: limits, deflate: both) == [.message(.binary, [])])
        #expect(
            events([masked(2, blocks, reserved: 4)], limits: limits, deflate: both)
                == [.failed(.compressedMessageTooLarge(limit: limit))])
    }

    @Test(arguments: [8, 9, 10, 15], [true, false])
    func `what the deflater gives, the inflater reads`(windowBits: Int, takeover: Bool) throws {
        var random = SeededGenerator(seed: 7692)
        var deflater = try Deflater(windowBits: windowBits, contextTakeover: takeover)
        let parameters = DeflateParameters(
            serverContextTakeover: takeover, clientContextTakeover: takeover, serverWindowBits: windowBits)
        var receiver = WebSocketReceiver(
            role: .client, limits: WebSocketLimits(maximumMessageBytes: 1 << 20), deflate: parameters)
        for size in [0, 1, 5, 90, 0, 0, 4095, 4096, 4097, 70_000, 3] {
            let payload = size % 2 == 0 ? random.bytes(size) : [UInt8](repeating: 0x41, count: size)
            var frame: [UInt8] = []
            let body = deflater.message(payload.span)
            FrameEncoder.append(.binary, isCompressed: true, payload: body.span, to: &frame)
            var got: [WebSocketEvent] = []
            receiver.receive(frame.span, now: 0, into: &got)
            #expect(got == [.message(.binary, payload)], "\(size) bytes")
        }
    }

    @Test func `with the smallest window no reference reaches back further than 256 bytes`() throws {
        // zlib itself compresses with 512 here; a peer that holds 256 has to be able to read it.
        var random = SeededGenerator(seed: 8)
        var deflater = try Deflater(windowBits: 8, contextTakeover: true)
        let block = random.bytes(251)
        let payload = (0..<40).flatMap { _ in block } + (0..<40).flatMap { _ in random.bytes(3) + block.prefix(200) }
        let body = deflater.message(payload.span) + Inflater.tail
        var stream = unsafe z_stream()
        #expect(unsafe zlib_inflate_init_raw(&stream, 8) == Z_OK)
        defer { _ = unsafe inflateEnd(&stream) }
        var output: [UInt8] = []
        // In steps of one byte of room, so that only the window of 256 bytes can serve references.
        unsafe body.withUnsafeBufferPointer { source in
            unsafe stream.next_in = source.baseAddress
            unsafe stream.avail_in = UInt32(source.count)
            var byte: UInt8 = 0
            while output.count < payload.count {
                unsafe stream.avail_out = 1
                let status = unsafe withUnsafeMutablePointer(to: &byte) { target in
                    unsafe stream.next_out = target
                    return unsafe inflate(&stream, Z_SYNC_FLUSH)
                }
                guard status == Z_OK, unsafe stream.avail_out == 0 else { return }
                output.append(byte)
            }
        }
        #expect(output == payload)
    }

    @Test func `without context takeover the same message has one form`() throws {
        var deflater = try Deflater(windowBits: 8, contextTakeover: false)
        let payload = utf8(#"{"ent":"incident","id":"PAM4FGS","type":"created"}"#)
        let first = deflater.message(payload.span)
        _ = deflater.message(utf8("something else").span)
        #expect(deflater.message(payload.span) == first)
    }

    @Test func `sessions compress when it was agreed, and keep or drop their context as agreed`() {
        for parameters in [both, neither] {
            let server = WebSocketSession(server: WebSocketLimits(), deflate: parameters)
            let client = WebSocketSession(
                client: WebSocketLimits(), deflate: parameters, maskKeys: { MaskKey(0x0102_0304) })
            let text = utf8("again and again and again and again")
            var events: [WebSocketEvent] = []
            var sizes: [Int] = []
            for _ in 0..<3 {
                client.send(.text, text.span)
                server.receive(client.takeOutput().span, now: 0, into: &events)
                server.send(.text, text.span)
                let output = server.takeOutput()
                sizes.append(output.count)
                client.receive(output.span, now: 0, into: &events)
            }
            server.send(.text, text.span, isCompressible: false)
            #expect(server.takeOutput() == plain(1, text))
            #expect(events == [WebSocketEvent](repeating: .message(.text, text), count: 6))
            #expect((sizes[1] < sizes[0]) == parameters.serverContextTakeover)
            #expect(sizes[0] < text.count)
        }
    }
}
