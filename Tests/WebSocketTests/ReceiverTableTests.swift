// Tests: PartialMessage.swift, WebSocketReceiver.swift

import Testing

@testable import WebSocket

/// Bytes in, events out.
struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let events: [WebSocketEvent]
    var role = Role.server
    var limits = WebSocketLimits()
    var deflate: DeflateParameters?
    var payloads = PayloadPolicy.deliver

    var testDescription: String { name }

    /// The row holds however its bytes are cut.
    func check() {
        for pieces in cuts(of: bytes) {
            let got = WebSocketTests.events(
                pieces, role: role, limits: limits, deflate: deflate, payloads: payloads)
            #expect(got == events, "cut into \(pieces.map(\.count))")
        }
    }
}

private let hello = utf8("Hello")

private let wellFormed: [Row] = [
    Row(name: "RFC 6455 §5.7, a masked text", bytes: masked(1, hello), events: [.message(.text, hello)]),
    Row(
        name: "RFC 6455 §5.7, the bytes as the RFC has them",
        bytes: [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58], events: [.message(.text, hello)]),
    Row(
        name: "RFC 6455 §5.7, a text from a server", bytes: plain(1, hello), events: [.message(.text, hello)],
        role: .client),
    Row(
        name: "RFC 6455 §5.7, a text in two fragments",
        bytes: plain(1, utf8("Hel"), final: false) + plain(0, utf8("lo")), events: [.message(.text, hello)],
        role: .client),
    Row(
        name: "256 bytes in a 16-bit length", bytes: plain(2, [UInt8](repeating: 7, count: 256)),
        events: [.message(.binary, [UInt8](repeating: 7, count: 256))], role: .client),
    Row(name: "an empty text", bytes: masked(1), events: [.message(.text, [])]),
    Row(name: "an empty binary message", bytes: masked(2), events: [.message(.binary, [])]),
    Row(
        name: "empty fragments around one that is not",
        bytes: masked(2, final: false) + masked(0, final: false) + masked(0, [1], final: false) + masked(0),
        events: [.message(.binary, [1])]),
    Row(
        name: "a ping inside a fragmented message",
        bytes: masked(1, utf8("Hel"), final: false) + masked(9, [1, 2]) + masked(0, utf8("lo")),
        events: [.ping([1, 2]), .message(.text, hello)]),
    Row(name: "an empty ping and pong", bytes: masked(9) + masked(10), events: [.ping([]), .pong([])]),
    Row(
        name: "a ping of 125 bytes", bytes: masked(9, [UInt8](repeating: 9, count: 125)),
        events: [.ping([UInt8](repeating: 9, count: 125))]),
    Row(
        name: "a character over three fragments",
        bytes: masked(1, [0xE2], final: false) + masked(0, [0x82], final: false) + masked(0, [0xAC]),
        events: [.message(.text, utf8("€"))]),
    Row(
        name: "binary that is not UTF-8", bytes: masked(2, [0xFF, 0xC0]), events: [.message(.binary, [0xFF, 0xC0])]),
    Row(
        name: "two messages, two kinds", bytes: masked(1, utf8("a")) + masked(2, [0]),
        events: [.message(.text, utf8("a")), .message(.binary, [0])]),
    Row(name: "a close without a code", bytes: masked(8), events: [.close(nil, reason: "")]),
    Row(
        name: "a close with code and reason", bytes: masked(8, [0x03, 0xE8] + utf8("gó")),
        events: [.close(.normal, reason: "gó")]),
    Row(
        name: "a close inside a fragmented message", bytes: masked(1, hello, final: false) + masked(8, [0x03, 0xE9]),
        events: [.close(.goingAway, reason: "")]),
    Row(
        name: "whatever follows a close is not looked at", bytes: masked(8, [0x03, 0xE8]) + [0xFF, 0xFF, 0xFF],
        events: [.close(.normal, reason: "")]),
    Row(
        name: "messages that are checked and not kept",
        bytes: masked(1, utf8("Hel"), final: false) + masked(9, [1]) + masked(0, utf8("lo")) + masked(2, [1, 2, 3]),
        events: [.ping([1]), .discarded(.text, byteCount: 5), .discarded(.binary, byteCount: 3)], payloads: .discard),
]

private let broken: [Row] = [
    Row(name: "an unmasked frame from a client", bytes: plain(1, hello), events: [.failed(.unmaskedFrame)]),
    Row(name: "an empty unmasked frame from a client", bytes: plain(1), events: [.failed(.unmaskedFrame)]),
    Row(name: "a masked frame from a server", bytes: masked(1, hello), events: [.failed(.maskedFrame)], role: .client),
    Row(
        name: "an unmasked last fragment", bytes: masked(1, hello, final: false) + plain(0, hello),
        events: [.failed(.unmaskedFrame)]),
    Row(name: "RSV1 without an extension", bytes: masked(1, hello, reserved: 4), events: [.failed(.reservedBits(4))]),
    Row(name: "RSV2", bytes: masked(1, hello, reserved: 2), events: [.failed(.reservedBits(2))]),
    Row(name: "RSV3 on a close", bytes: masked(8, reserved: 1), events: [.failed(.reservedBits(1))]),
    Row(
        name: "RSV2 with compression agreed", bytes: masked(1, hello, reserved: 2),
        events: [.failed(.reservedBits(2))], deflate: DeflateParameters()),
    Row(
        name: "RSV1 on a ping", bytes: masked(9, hello, reserved: 4), events: [.failed(.reservedBits(4))],
        deflate: DeflateParameters()),
    Row(
        name: "RSV1 on a continuation", bytes: masked(1, hello, final: false) + masked(0, hello, reserved: 4),
        events: [.failed(.reservedBits(4))], deflate: DeflateParameters()),
    Row(
        name: "a good message, then a broken frame", bytes: masked(1, hello) + masked(3),
        events: [.message(.text, hello), .failed(.reservedOpcode(3))]),
    Row(
        name: "a fragmented ping", bytes: masked(9, final: false), events: [.failed(.fragmentedControlFrame(.ping))]),
    Row(
        name: "a ping of 126 bytes", bytes: masked(9, [UInt8](repeating: 0, count: 126)),
        events: [.failed(.controlFrameTooLong(.ping))]),
    Row(
        name: "a close with a 64-bit length", bytes: masked(8, form: .eight, length: 70000),
        events: [.failed(.controlFrameTooLong(.close))]),
    Row(
        name: "5 bytes in a 16-bit length", bytes: masked(1, hello, form: .two),
        events: [.failed(.lengthNotShortest(5))]),
    Row(
        name: "125 bytes in a 16-bit length", bytes: masked(2, form: .two, length: 125),
        events: [.failed(.lengthNotShortest(125))]),
    Row(
        name: "65535 bytes in a 64-bit length", bytes: masked(2, form: .eight, length: 65535),
        events: [.failed(.lengthNotShortest(65535))]),
    Row(
        name: "a length with its top bit set", bytes: masked(2, form: .eight, length: 1 << 63 | 13),
        events: [.failed(.lengthTopBit)]),
    Row(
        name: "a length of 2^62", bytes: masked(2, form: .eight, length: 1 << 62),
        events: [.failed(.messageTooLarge(bytes: 1 << 62, limit: 4096))]),
    Row(
        name: "a length of 2^63 − 1 behind another fragment",
        bytes: masked(2, hello, final: false) + masked(0, form: .eight, length: UInt64(Int.max)),
        events: [.failed(.messageTooLarge(bytes: UInt64(Int.max) + 5, limit: 4096))]),
    Row(
        name: "a continuation of nothing", bytes: masked(0, hello), events: [.failed(.continuationWithoutMessage)]),
    Row(
        name: "a continuation behind a whole message", bytes: masked(1) + masked(0),
        events: [.message(.text, []), .failed(.continuationWithoutMessage)]),
    Row(
        name: "a text inside a fragmented message", bytes: masked(1, hello, final: false) + masked(1, hello),
        events: [.failed(.messageInsideMessage)]),
    Row(
        name: "a binary inside a fragmented text", bytes: masked(1, final: false) + masked(2),
        events: [.failed(.messageInsideMessage)]),
    Row(name: "text with an impossible byte", bytes: masked(1, [0x61, 0xFF]), events: [.failed(.invalidText)]),
    Row(name: "text that ends inside a character", bytes: masked(1, [0xE2, 0x82]), events: [.failed(.invalidText)]),
    Row(
        name: "text with a surrogate, not kept", bytes: masked(1, [0xED, 0xA0, 0x80]),
        events: [.failed(.invalidText)], payloads: .discard),
    Row(
        name: "a character that a fragment breaks",
        bytes: masked(1, [0xE2, 0x82], final: false) + masked(9) + masked(0, [0x61]),
        events: [.ping([]), .failed(.invalidText)]),
    Row(name: "a close of one byte", bytes: masked(8, [0x03]), events: [.failed(.shortCloseFrame)]),
    Row(
        name: "a close reason that is not UTF-8", bytes: masked(8, [0x03, 0xE8, 0xC3, 0x28]),
        events: [.failed(.invalidCloseReason)]),
    Row(
        name: "a close reason that ends inside a character", bytes: masked(8, [0x03, 0xE8, 0xC3]),
        events: [.failed(.invalidCloseReason)]),
]

@Suite struct ReceiverTableTests {
    @Test(arguments: wellFormed) func `well-formed frames mean what the RFC says, wherever they are cut`(row: Row) {
        row.check()
    }

    @Test(arguments: broken) func `a broken frame fails the connection, wherever it is cut`(row: Row) { row.check() }

    @Test(arguments: [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] as [UInt8])
    func `a reserved opcode is refused at its first byte`(opcode: UInt8) {
        #expect(events([[0x80 | opcode]]) == [.failed(.reservedOpcode(opcode))])
    }

    @Test func `the close codes that may stand on the wire are those of the registry`() {
        let allowed = [1000...1003, 1007...1014, 3000...4999] as [ClosedRange<UInt16>]
        for code in UInt16.min...UInt16.max {
            let got = events([masked(8, [UInt8(code >> 8), UInt8(code & 0xFF)])])
            let isAllowed = allowed.contains { $0.contains(code) }
            let wanted: WebSocketEvent =
                isAllowed ? .close(CloseCode(rawValue: code), reason: "") : .failed(.invalidCloseCode(code))
            if got != [wanted] { Issue.record("\(code) gave \(got)") }
        }
    }

    @Test func `a hostile length is refused before its payload comes`() {
        let header = masked(2, form: .eight, length: 1 << 40)
        #expect(events([Array(header.prefix(10))]) == [])
        #expect(events([header]) == [.failed(.messageTooLarge(bytes: 1 << 40, limit: 4096))])
    }

    @Test func `text is refused at the first impossible byte, not at the end of its frame`() {
        let frame = masked(1, utf8("abc") + [0xF4, 0x90] + [UInt8](repeating: 0x61, count: 100))
        // 6 bytes of header, 3 of ASCII, F4: 90 after it is over U+10FFFF.
        #expect(events([Array(frame.prefix(10))]) == [])
        #expect(events([Array(frame.prefix(11))]) == [.failed(.invalidText)])
    }
}
