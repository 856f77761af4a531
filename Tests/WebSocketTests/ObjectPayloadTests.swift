// Tests: PartialMessage.swift

import Testing

@testable import WebSocket

/// The policy `objects`: one kind of message is collected, beyond the limit of the others.
@Suite struct ObjectPayloadTests {
    static let limits = WebSocketLimits(maximumMessageBytes: 10, maximumFragments: 4)
    static let policy = PayloadPolicy.objects(maximumBytes: 20)

    private static func text(_ count: Int, _ start: String = "{") -> String {
        start + String(repeating: "x", count: count - start.utf8.count)
    }

    private static func whole(_ text: String) -> [UInt8] { masked(1, utf8(text)) }

    static let rows: [(name: String, bytes: [UInt8], events: [WebSocketEvent])] = [
        ("short object", whole("{}"), [.message(.text, utf8("{}"))]),
        ("object at its limit", whole(text(20)), [.message(.text, utf8(text(20)))]),
        ("object behind blanks", whole(" \t\r\n{}"), [.message(.text, utf8(" \t\r\n{}"))]),
        ("object over the limit", whole(text(21)), [.failed(.messageTooLarge(bytes: 21, limit: 10))]),
        ("other text", whole("hello"), [.discarded(.text, byteCount: 5)]),
        ("other text at the limit", whole(text(10, "y")), [.discarded(.text, byteCount: 10)]),
        ("other text over it", whole(text(11, "y")), [.failed(.messageTooLarge(bytes: 11, limit: 10))]),
        ("other text behind blanks over it", whole(text(11, " [")), [.failed(.messageTooLarge(bytes: 11, limit: 10))]),
        ("nothing", whole(""), [.discarded(.text, byteCount: 0)]),
        ("blanks", whole("    "), [.discarded(.text, byteCount: 4)]),
        ("blanks over the limit", whole("           "), [.failed(.messageTooLarge(bytes: 11, limit: 10))]),
        ("binary that looks like one", masked(2, utf8("{}")), [.discarded(.binary, byteCount: 2)]),
        ("binary over the limit", masked(2, utf8(text(11))), [.failed(.messageTooLarge(bytes: 11, limit: 10))]),
        (
            "fragments",
            masked(1, utf8(" "), final: false) + masked(0, utf8("{12345678"), final: false)
                + masked(9, [7]) + masked(0, utf8("90}")), [.ping([7]), .message(.text, utf8(" {1234567890}"))]
        ),
        (
            "fragments over the limit", masked(1, utf8(text(15)), final: false) + masked(0, utf8("123456")),
            [.failed(.messageTooLarge(bytes: 21, limit: 10))]
        ),
        (
            "fragments of other text", masked(1, utf8("12345678"), final: false) + masked(0, utf8("901")),
            [.failed(.messageTooLarge(bytes: 11, limit: 10))]
        ),
        ("text that is not UTF-8", masked(1, [0x7B, 0xFF]), [.failed(.invalidText)]),
        ("text that ends inside a character", masked(1, [0x7B, 0xC3]), [.failed(.invalidText)]),
        (
            "two after each other", whole("{1}") + whole("x") + whole("{2}"),
            [
                .message(.text, utf8("{1}")), .discarded(.text, byteCount: 1), .message(.text, utf8("{2}")),
            ]
        ),
    ]

    @Test(arguments: rows)
    func `text that begins like an object is given, however it is cut`(
        _ name: String, _ bytes: [UInt8], _ expected: [WebSocketEvent]
    ) {
        for pieces in cuts(of: bytes) {
            #expect(events(pieces, limits: Self.limits, payloads: Self.policy) == expected, "\(pieces.map(\.count))")
        }
    }

    @Test func `an object within a larger limit of messages, and longer than what is asked for, is not kept`() {
        let limits = WebSocketLimits(maximumMessageBytes: 30)
        for (count, isGiven) in [(20, true), (21, false), (30, false)] {
            let payload = utf8(Self.text(count))
            let expected: WebSocketEvent =
                isGiven ? .message(.text, payload) : .discarded(.text, byteCount: count)
            for pieces in cuts(of: masked(1, payload)) {
                #expect(events(pieces, limits: limits, payloads: Self.policy) == [expected])
            }
        }
    }

    @Test func `compressed, the same holds for what is inflated`() throws {
        let deflate = DeflateParameters(serverContextTakeover: false, clientContextTakeover: false)
        func outcome(_ text: String) throws -> [WebSocketEvent] {
            var deflater = try Deflater(windowBits: 15, contextTakeover: false)
            let compressed = deflater.message(utf8(text).span)
            return events(
                [masked(1, compressed, reserved: 4)], limits: Self.limits, deflate: deflate, payloads: Self.policy)
        }
        #expect(try outcome(Self.text(20)) == [.message(.text, utf8(Self.text(20)))])
        #expect(try outcome(Self.text(21)) == [.failed(.messageTooLarge(bytes: 11, limit: 10))])
        #expect(try outcome(Self.text(10, "y")) == [.discarded(.text, byteCount: 10)])
        #expect(try outcome(Self.text(11, "y")) == [.failed(.messageTooLarge(bytes: 11, limit: 10))])
    }

    @Test func `in pieces of a byte a message holds no more than what is asked for`() throws {
        var message = PartialMessage(
            kind: .text, isCompressed: false, policy: .objects(maximumBytes: 16_384), maximumBytes: 4_096, began: 0)
        message.wireBytes = 16_384
        for _ in 0..<16_384 {
            try message.append(utf8("{").span, mask: .zero)
            // What the allocator rounds up to is its own.
            #expect(message.payload.capacity <= 16_384 + 4_096)
        }
        #expect(message.payload.count == 16_384)
    }
}
