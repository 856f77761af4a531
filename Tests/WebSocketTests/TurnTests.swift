// Tests: WebSocketLoop.swift

import Testing

@testable import WebSocket

/// What one peer may have of its loop's time before the others.
@Suite struct TurnTests {
    private let turn = WebSocketLimits.Turn(maximumFrames: 4, maximumInflatedBytes: 1_000)
    private var limits: WebSocketLimits { WebSocketLimits(maximumMessageBytes: 900, turn: turn) }
    private let deflate = DeflateParameters(serverContextTakeover: false, clientContextTakeover: false)

    /// The events of each turn, until nothing waits.
    private func turns(
        _ bytes: [UInt8], _ limits: WebSocketLimits, deflate: DeflateParameters? = nil
    ) -> [[WebSocketEvent]] {
        let session = WebSocketSession(server: limits, deflate: deflate, payloads: .discard)
        var turns: [[WebSocketEvent]] = [[]]
        session.receive(bytes.span, now: 0, into: &turns[0])
        while session.hasRest {
            var events: [WebSocketEvent] = []
            session.receiveRest(now: 0, into: &events)
            turns.append(events)
        }
        return turns
    }

    private func bomb(_ bytes: Int, _ count: Int) throws -> [UInt8] {
        var deflater = try Deflater(windowBits: 15, contextTakeover: false)
        let message = deflater.message([UInt8](repeating: 0, count: bytes).span)
        return (0..<count).flatMap { _ in masked(2, message, reserved: 4) }
    }

    @Test func `a flood of frames is read in turns, in order, and none is lost`() {
        let flood = (0..<10).flatMap { masked(2, [UInt8](repeating: 7, count: $0)) }
        #expect(turns(flood, limits).map(\.count) == [4, 4, 2])
        #expect(turns(flood, limits).flatMap(\.self) == (0..<10).map { .discarded(.binary, byteCount: $0) })
    }

    @Test func `control frames and fragments count as frames do`() {
        let mixed = masked(9) + masked(2, final: false) + masked(10) + masked(0) + masked(9)
        #expect(turns(mixed, limits) == [[.ping([]), .pong([]), .discarded(.binary, byteCount: 0)], [.ping([])]])
    }

    @Test func `what inflates is read in turns by the bytes it inflates to`() throws {
        let turns = turns(try bomb(800, 5), limits, deflate: deflate)
        #expect(turns.map(\.count) == [2, 2, 1])
        #expect(turns.flatMap(\.self) == (0..<5).map { _ in .discarded(.binary, byteCount: 800) })
    }

    @Test func `without a limit on turns everything is read at once`() throws {
        let limits = WebSocketLimits(maximumMessageBytes: 4096)
        #expect(turns(try bomb(4096, 100), limits, deflate: deflate).map(\.count) == [100])
    }

    @Test(arguments: [1, 2, 7, 64]) func `turns give what one read would give, wherever the bytes are cut`(size: Int)
        throws
    {
        let bytes =
            masked(9, [1]) + (try bomb(800, 3)) + masked(1, utf8("hello"), final: false) + masked(0, utf8(" you"))
            + (try bomb(10, 9)) + masked(8, [3, 232]) + masked(9)
        let session = WebSocketSession(server: limits, deflate: deflate, payloads: .discard)
        var events: [WebSocketEvent] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            session.receive(Array(bytes[start..<min(start + size, bytes.count)]).span, now: 0, into: &events)
            // Every other time more comes before the rest had its turn.
            if session.hasRest, start % 2 == 0 { session.receiveRest(now: 0, into: &events) }
        }
        while session.hasRest { session.receiveRest(now: 0, into: &events) }
        let whole = WebSocketLimits(maximumMessageBytes: 900)
        #expect(events == turns(bytes, whole, deflate: deflate).flatMap(\.self))
        #expect(events.last == .close(.normal, reason: ""))
    }

    @Test func `nothing that waits is read after a failure`() {
        let session = WebSocketSession(server: limits, payloads: .discard)
        var events: [WebSocketEvent] = []
        session.receive(((0..<4).flatMap { _ in masked(9) } + plain(9) + masked(9)).span, now: 0, into: &events)
        #expect(session.hasRest)
        session.receiveRest(now: 0, into: &events)
        #expect(events.last == .failed(.unmaskedFrame) && events.count == 5)
        #expect(!session.hasRest)
    }

    @Test func `frames of messages within a second are limited, control frames apart, and allowed again later`() {
        let limits = WebSocketLimits(maximumControlFramesPerSecond: 1, maximumMessagesPerSecond: 2)
        var receiver = WebSocketReceiver(role: .server, limits: limits, payloads: .discard)
        var got: [WebSocketEvent] = []
        receiver.receive((masked(2, final: false) + masked(9) + masked(0)).span, now: 5000, into: &got)
        receiver.receive((masked(2, final: false) + masked(0)).span, now: 6000, into: &got)
        #expect(got == [.ping([]), .discarded(.binary, byteCount: 0), .discarded(.binary, byteCount: 0)])
        receiver.receive(masked(1).span, now: 6999, into: &got)
        #expect(got.last == .failed(.tooManyMessages(limit: 2)))
        #expect(WebSocketError.tooManyMessages(limit: 2).closeCode == .tooMuch)
    }

    /// What comes at a moment, in ms: the first, the middle or the last part of a message, or a pong.
    private enum Piece: Sendable { case first, middle, last, pong, pongAndFirst }

    /// Of a limit of 10 s, with whether it holds.
    private static let slowMessages: [(pieces: [(Piece, UInt64)], isInTime: Bool)] = [
        ([(.first, 5_000), (.middle, 9_000), (.last, 15_000)], true),
        ([(.first, 5_000), (.middle, 15_000), (.last, 15_001)], false),
        // Never whole, of one who answers pings.
        ([(.first, 5_000), (.pong, 15_000)], true),
        ([(.first, 5_000), (.pong, 15_000), (.pong, 15_001)], false),
        // The next one has a time of its own, and between messages there is no limit.
        ([(.first, 0), (.middle, 0), (.last, 9_000), (.first, 9_500), (.middle, 9_500), (.last, 19_500)], true),
        ([(.first, 0), (.middle, 0), (.last, 0), (.pong, 90_000), (.pongAndFirst, 99_000), (.pong, 109_000)], true),
        ([(.first, 0), (.middle, 0), (.last, 0), (.pongAndFirst, 99_000), (.pong, 109_001)], false),
    ]

    @Test(arguments: slowMessages.indices, [false, true])
    func `a message that was begun is whole within the limit, plain or compressed`(row: Int, isCompressed: Bool) throws
    {
        let (pieces, isInTime) = Self.slowMessages[row]
        var payload = [UInt8](repeating: 0x61, count: 90)
        if isCompressed {
            var deflater = try Deflater(windowBits: 15, contextTakeover: false)
            payload = deflater.message(payload.span)
        }
        let third = payload.count / 3
        let first = masked(1, Array(payload[..<third]), final: false, reserved: isCompressed ? 4 : 0)
        func bytes(_ piece: Piece) -> [UInt8] {
            switch piece {
            case .first: first
            case .middle: masked(0, Array(payload[third..<2 * third]), final: false)
            case .last: masked(0, Array(payload[(2 * third)...]))
            case .pong: masked(10)
            case .pongAndFirst: masked(10) + first
            }
        }
        let limits = WebSocketLimits(maximumMessageMilliseconds: 10_000)
        var receiver = WebSocketReceiver(role: .server, limits: limits, deflate: deflate, payloads: .discard)
        var got: [WebSocketEvent] = []
        for (piece, now) in pieces { receiver.receive(bytes(piece).span, now: now, into: &got) }
        #expect(receiver.isFinished == !isInTime)
        #expect((got.last == .failed(.messageTooSlow(limitMilliseconds: 10_000))) == !isInTime)
    }

    @Test func `an unfinished compressed message gives its inflater back when its time is over`() throws {
        let loop = WebSocketLoop(limits: WebSocketLimits(maximumMessageMilliseconds: 10_000))
        let session = WebSocketSession(server: loop, deflate: deflate)
        var deflater = try Deflater(windowBits: 15, contextTakeover: false)
        let message = deflater.message([UInt8](repeating: 0x61, count: 500).span)
        var events: [WebSocketEvent] = []
        session.receive(masked(1, message, final: false, reserved: 4).span, now: 0, into: &events)
        session.receive(masked(10).span, now: 10_000, into: &events)
        #expect(session.canSend)
        session.receive(masked(10).span, now: 10_001, into: &events)
        #expect(events.last == .failed(.messageTooSlow(limitMilliseconds: 10_000)))
        #expect(session.ending.code == .policyViolation && session.transportAction == .closeAfterFlush)
    }

    @Test func `sessions of a loop share an inflater, and none keeps one between messages`() throws {
        let loop = WebSocketLoop(limits: limits)
        let narrow = DeflateParameters(serverContextTakeover: false, clientContextTakeover: false, clientWindowBits: 9)
        let sessions = [deflate, narrow, deflate].map {
            WebSocketSession(server: loop, deflate: $0)
        }
        let text = [UInt8](repeating: 0x61, count: 500)
        var deflater = try Deflater(windowBits: 9, contextTakeover: false)
        let frame = masked(1, deflater.message(text.span), reserved: 4)
        for _ in 0..<3 {
            for session in sessions {
                var events: [WebSocketEvent] = []
                session.receive(frame.span, now: 0, into: &events)
                #expect(events == [.message(.text, text)])
            }
        }
        #expect(loop.inflatersMade == 1)
    }

    @Test func `messages in the middle have an inflater each, and a broken one is not lent again`() throws {
        let loop = WebSocketLoop(limits: limits)
        let frame = try bomb(500, 1)
        let sessions = (0..<2).map { _ in WebSocketSession(server: loop, deflate: deflate) }
        var events: [WebSocketEvent] = []
        for session in sessions { session.receive(Array(frame[..<9]).span, now: 0, into: &events) }
        #expect(loop.inflatersMade == 2)
        for session in sessions { session.receive(Array(frame[9...]).span, now: 0, into: &events) }
        let zeros = [UInt8](repeating: 0, count: 500)
        #expect(events == [.message(.binary, zeros), .message(.binary, zeros)])
        let broken = WebSocketSession(server: loop, deflate: deflate)
        broken.receive(masked(1, [0xFF, 0xFF, 0xFF], reserved: 4).span, now: 0, into: &events)
        #expect(events.last == .failed(.invalidDeflate))
        let next = WebSocketSession(server: loop, deflate: deflate)
        next.receive(frame.span, now: 0, into: &events)
        #expect(events.last == .message(.binary, zeros))
    }
}
