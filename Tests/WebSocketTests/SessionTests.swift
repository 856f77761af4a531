// Tests: WebSocketSession.swift

import Testing

@testable import WebSocket

@Suite struct SessionTests {
    private func server(payloads: PayloadPolicy = .deliver) -> WebSocketSession {
        WebSocketSession(server: WebSocketLimits(), payloads: payloads)
    }

    private func client() -> WebSocketSession {
        WebSocketSession(client: WebSocketLimits(), maskKeys: { MaskKey(0x3D21_FA37) })
    }

    @Test func `a ping is answered with its payload, by a client masked`() {
        let server = self.server()
        var events: [WebSocketEvent] = []
        server.receive(masked(9, [1, 2, 3]).span, now: 0, into: &events)
        #expect(server.takeOutput() == plain(10, [1, 2, 3]))
        let client = self.client()
        client.receive(plain(9, [4]).span, now: 0, into: &events)
        #expect(client.takeOutput() == masked(10, [4]))
        #expect(events == [.ping([1, 2, 3]), .ping([4])])
    }

    @Test func `pings that come together are each answered, in order`() {
        let session = server()
        var events: [WebSocketEvent] = []
        session.receive((masked(9, [1]) + masked(9, [2]) + masked(9, [3])).span, now: 0, into: &events)
        #expect(session.takeOutput() == plain(10, [1]) + plain(10, [2]) + plain(10, [3]))
    }

    @Test func `a peer that pings without reading costs one pending pong`() {
        let session = server()
        var events: [WebSocketEvent] = []
        session.receive(masked(9, [0]).span, now: 0, into: &events)
        for index in 1...50 { session.receive(masked(9, [UInt8(index)]).span, now: 0, into: &events) }
        #expect(session.takeOutput() == plain(10, [0]) + plain(10, [50]))
        #expect(!session.hasOutput)
    }

    @Test func `a transport that is full leaves one pong even of pings that come together`() {
        let session = server()
        var events: [WebSocketEvent] = []
        let pings = (0..<50).flatMap { masked(9, [UInt8($0)]) }
        session.receive(pings.span, now: 0, isBlocked: true, into: &events)
        #expect(events.count == 50)
        #expect(session.takeOutput() == plain(10, [49]))
    }

    @Test func `a pong that nobody asked for is told and not answered`() {
        let session = server()
        var events: [WebSocketEvent] = []
        session.receive(masked(10, [1]).span, now: 0, into: &events)
        #expect(events == [.pong([1])])
        #expect(!session.hasOutput)
    }

    @Test func `a close is answered with its code, then nothing is read or sent`() {
        let session = server()
        var events: [WebSocketEvent] = []
        session.receive(
            (masked(9) + masked(8, [0x0F, 0xA0] + utf8("bye")) + masked(9)).span, now: 0, into: &events)
        #expect(events == [.ping([]), .close(CloseCode(rawValue: 4000), reason: "bye")])
        #expect(session.takeOutput() == plain(10) + plain(8, [0x0F, 0xA0]))
        #expect(session.phase == .closed)
        #expect(session.transportAction == .closeAfterFlush)
        #expect(session.ending == .init(code: CloseCode(rawValue: 4000), reason: "bye", isClean: true))
        session.receive(masked(1).span, now: 0, into: &events)
        #expect(events.count == 2)
        let nothing: [UInt8] = []
        let isSent = session.send(.text, nothing.span)
        let isPinged = session.ping(nothing.span)
        #expect(!isSent && !isPinged)
        session.close(.normal)
        #expect(!session.hasOutput)
    }

    @Test func `what is sent for messages that came with a close or a broken frame still goes before our close`() {
        for (bytes, close) in [
            (masked(1) + masked(8), plain(8)),
            (masked(1) + plain(1), plain(8, [0x03, 0xEA] + utf8("frame not masked"))),
        ] {
            let session = self.server()
            var events: [WebSocketEvent] = []
            session.receive(bytes.span, now: 0, into: &events)
            #expect(events.first == .message(.text, []))
            let answer = utf8("answer")
            #expect(session.canSend)
            session.send(.text, answer.span)
            #expect(session.takeOutput() == plain(1, answer) + close)
            #expect(!session.canSend && !session.send(.text, answer.span))
            #expect(!session.hasOutput)
        }
    }

    @Test func `an empty close is answered with an empty one`() {
        let session = client()
        var events: [WebSocketEvent] = []
        session.receive(plain(8).span, now: 0, into: &events)
        #expect(session.takeOutput() == masked(8))
        // RFC 6455 §7.1.1: the server closes the transport first.
        #expect(session.transportAction == .awaitPeer)
        #expect(session.ending == .init(code: .noStatus, reason: "", isClean: true))
    }

    @Test func `our close waits for the peer's, and what comes before it is still told`() {
        let session = server()
        session.close(.restart, retryMilliseconds: 8123)
        session.close(.normal)
        #expect(session.takeOutput() == plain(8, [0x03, 0xF4] + utf8("restart retry_ms=8123")))
        #expect(session.phase == .closing)
        #expect(session.transportAction == .awaitPeer)
        #expect(session.ending == .init(code: .abnormal, reason: "", isClean: false))
        var events: [WebSocketEvent] = []
        session.receive((masked(1, utf8("late")) + masked(9) + masked(8, [0x03, 0xF4])).span, now: 0, into: &events)
        #expect(events == [.message(.text, utf8("late")), .ping([]), .close(.restart, reason: "")])
        #expect(!session.hasOutput)
        #expect(session.transportAction == .closeAfterFlush)
        #expect(session.ending.isClean)
    }

    @Test func `a broken rule is answered with its code, and a pong that waited is dropped`() {
        let session = server()
        var events: [WebSocketEvent] = []
        session.receive(masked(9, [1]).span, now: 0, into: &events)
        session.receive((masked(9, [2]) + plain(1)).span, now: 0, into: &events)
        #expect(events.last == .failed(.unmaskedFrame))
        #expect(session.takeOutput() == plain(10, [1]) + plain(8, [0x03, 0xEA] + utf8("frame not masked")))
        #expect(session.transportAction == .closeAfterFlush)
        #expect(session.ending == .init(code: .protocolError, reason: "frame not masked", isClean: false))
    }

    @Test func `a broken rule after our close is not answered twice`() {
        let session = client()
        session.close(.normal)
        _ = session.takeOutput()
        var events: [WebSocketEvent] = []
        session.receive(masked(1).span, now: 0, into: &events)
        #expect(events == [.failed(.maskedFrame)])
        #expect(!session.hasOutput)
        #expect(session.transportAction == .closeAfterFlush)
    }

    @Test func `a discarding session tells sizes and fails on what is too large`() {
        let session = server(payloads: .discard)
        var events: [WebSocketEvent] = []
        session.receive(masked(1, utf8("x")).span, now: 0, into: &events)
        session.receive(masked(2, [UInt8](repeating: 0, count: 4097)).span, now: 0, into: &events)
        #expect(
            events == [
                .discarded(.text, byteCount: 1), .failed(.messageTooLarge(bytes: 4097, limit: 4096)),
            ])
        #expect(session.takeOutput() == plain(8, [0x03, 0xF1] + utf8("message too large")))
    }

    @Test func `what one end sends, the other receives, over a close both ways`() {
        let server = self.server()
        let client = self.client()
        var events: [WebSocketEvent] = []
        client.send(.text, utf8("€").span)
        client.ping([7].span)
        client.close(.normal)
        server.receive(client.takeOutput().span, now: 0, into: &events)
        client.receive(server.takeOutput().span, now: 0, into: &events)
        #expect(
            events == [
                .message(.text, utf8("€")), .ping([7]), .close(.normal, reason: "done"), .pong([7]),
                .close(.normal, reason: ""),
            ])
        #expect(client.phase == .closed && server.phase == .closed)
    }
}
