// Tests: WebSocketError.swift, WebSocketLimits.swift

import Testing

@testable import WebSocket

@Suite struct LimitTests {
    private let limits = WebSocketLimits(
        maximumMessageBytes: 10, maximumFragments: 3, maximumControlFramesPerSecond: 2)

    @Test(arguments: [PayloadPolicy.deliver, .discard], [MessageKind.text, .binary])
    func `a message of exactly the limit passes, one byte more does not`(policy: PayloadPolicy, kind: MessageKind) {
        let ten = [UInt8](repeating: 0x61, count: 10)
        let passed: WebSocketEvent = policy == .deliver ? .message(kind, ten) : .discarded(kind, byteCount: 10)
        for pieces in cuts(of: masked(kind.rawValue, ten)) {
            #expect(events(pieces, limits: limits, payloads: policy) == [passed])
        }
        for pieces in cuts(of: masked(kind.rawValue, ten + [0x61])) {
            #expect(
                events(pieces, limits: limits, payloads: policy)
                    == [.failed(.messageTooLarge(bytes: 11, limit: 10))])
        }
    }

    @Test func `fragments count together towards the limit`() {
        let six = [UInt8](repeating: 1, count: 6)
        let four = [UInt8](repeating: 2, count: 4)
        #expect(
            events([masked(2, six, final: false) + masked(0, four)], limits: limits)
                == [.message(.binary, six + four)])
        #expect(
            events([masked(2, six, final: false) + masked(0, four + [1])], limits: limits)
                == [.failed(.messageTooLarge(bytes: 11, limit: 10))])
    }

    @Test func `empty fragments count, exactly the limit passes, one more does not`() {
        let two = masked(2, final: false) + masked(0, final: false)
        #expect(events([two + masked(0)], limits: limits) == [.message(.binary, [])])
        #expect(events([two + masked(0, final: false)], limits: limits) == [])
        #expect(
            events([two + masked(0, final: false) + masked(0)], limits: limits)
                == [.failed(.tooManyFragments(limit: 3))])
    }

    @Test func `fragments are counted for each message anew`() {
        let message = masked(2, final: false) + masked(0, final: false) + masked(0)
        #expect(events([message + message], limits: limits) == [.message(.binary, []), .message(.binary, [])])
    }

    @Test func `pings and pongs of one second are limited together, and a second later allowed again`() {
        var receiver = WebSocketReceiver(role: .server, limits: limits)
        var got: [WebSocketEvent] = []
        receiver.receive((masked(9) + masked(10)).span, now: 5000, into: &got)
        receiver.receive((masked(9) + masked(10)).span, now: 6000, into: &got)
        #expect(got == [.ping([]), .pong([]), .ping([]), .pong([])])
        #expect(receiver.isFinished == false)
        receiver.receive(masked(9).span, now: 6999, into: &got)
        #expect(got.last == .failed(.tooManyControlFrames(limit: 2)))
        #expect(receiver.isFinished == true)
    }

    /// 6 bytes of header each: 10, 6 and 8 bytes.
    private var threeFrames: [UInt8] { masked(1, utf8("four")) + masked(9) + masked(2, [1, 2]) }

    @Test func `bytes of a second are limited with headers and control frames, what stands before the limit is read`() {
        for (limit, passed) in [(24, 3), (23, 2), (16, 2), (15, 1), (10, 1), (9, 0), (1, 0)] {
            let limits = WebSocketLimits(maximumInboundBytesPerSecond: limit)
            let all: [WebSocketEvent] = [
                .discarded(.text, byteCount: 4), .ping([]), .discarded(.binary, byteCount: 2),
            ]
            let failure: [WebSocketEvent] = limit < 24 ? [.failed(.tooManyBytes(limit: limit))] : []
            for pieces in cuts(of: threeFrames) {
                #expect(events(pieces, limits: limits, payloads: .discard) == all.prefix(passed) + failure, "\(limit)")
            }
        }
        #expect(WebSocketError.tooManyBytes(limit: 1).closeCode == .tooMuch)
    }

    @Test func `bytes are counted from one second to the next, whatever turns they are read in`() {
        let limits = WebSocketLimits(
            maximumInboundBytesPerSecond: 12, turn: .init(maximumFrames: 1, maximumInflatedBytes: .max))
        var receiver = WebSocketReceiver(role: .server, limits: limits)
        var got: [WebSocketEvent] = []
        // What is left for the next turn is counted when it is read, and only then.
        let calls: [(bytes: [UInt8], now: UInt64)] = [
            (masked(9) + masked(9), 5000), (masked(9), 5999), (masked(9), 6000), (masked(9), 6100), (masked(9), 6999),
        ]
        for (bytes, now) in calls {
            let count = receiver.receive(bytes.span, now: now, into: &got)
            #expect(count == 6, "\(now)")
        }
        #expect(got == [.ping([]), .ping([]), .ping([]), .ping([]), .failed(.tooManyBytes(limit: 12))])
    }

    @Test func `a close behind which too much comes is a close`() {
        let limits = WebSocketLimits(maximumInboundBytesPerSecond: 6)
        #expect(events([masked(8) + masked(9) + masked(9)], limits: limits) == [.close(nil, reason: "")])
    }

    @Test func `a limit that changes counts from the next bytes on`() {
        let loop = WebSocketLoop(limits: WebSocketLimits(maximumMessagesPerSecond: 1), payloads: .discard)
        var receiver = WebSocketReceiver(role: .server, on: loop)
        var got: [WebSocketEvent] = []
        receiver.receive(masked(1).span, now: 1000, into: &got)
        loop.limits.maximumMessagesPerSecond = 2
        receiver.receive(masked(1).span, now: 1000, into: &got)
        #expect(receiver.isFinished == false)
        receiver.receive(masked(1).span, now: 1000, into: &got)
        #expect(got.last == .failed(.tooManyMessages(limit: 2)))
    }

    @Test func `a failure's close ends with the time to come back that is added before it is written`() {
        for (retry, reason) in [(Int?.none, "too many messages"), (1234, "too many messages retry_ms=1234")] {
            let session = WebSocketSession(server: WebSocketLimits(maximumMessagesPerSecond: 1))
            var got: [WebSocketEvent] = []
            session.receive((masked(1) + masked(1)).span, now: 0, into: &got)
            #expect(session.failure == .tooManyMessages(limit: 1))
            if let retry { session.addRetry(milliseconds: retry) }
            #expect(session.takeOutput() == [0x88, UInt8(2 + reason.utf8.count), 0x11, 0x4D] + utf8(reason))
            // What has been written stays.
            session.addRetry(milliseconds: 1)
            #expect(!session.hasOutput && session.ending.code == .tooMuch)
        }
    }

    @Test func `a close is read however many pings came`() {
        #expect(
            events([masked(9) + masked(9) + masked(8)], limits: limits)
                == [.ping([]), .ping([]), .close(nil, reason: "")])
    }

    @Test func `the connection's own state is small`() {
        // Every connection of a gateway has one; when idle it holds nothing else on the heap from here.
        #expect(MemoryLayout<WebSocketReceiver>.size <= 96)
    }

    @Test func `each error names a code that may be sent and a reason that fits a close frame`() {
        let errors: [WebSocketError] = [
            .reservedBits(1), .reservedOpcode(3), .fragmentedControlFrame(.ping), .controlFrameTooLong(.ping),
            .unmaskedFrame, .maskedFrame, .lengthNotShortest(1), .lengthTopBit, .continuationWithoutMessage,
            .messageInsideMessage, .messageTooLarge(bytes: 2, limit: 1), .compressedMessageTooLarge(limit: 1),
            .tooManyFragments(limit: 1), .tooManyControlFrames(limit: 1), .tooManyMessages(limit: 1),
            .tooManyBytes(limit: 1), .tooManyTokens(limit: 1),
            .messageTooSlow(limitMilliseconds: 1), .invalidText, .shortCloseFrame,
            .invalidCloseCode(1), .invalidCloseReason, .invalidDeflate, .zlib(-4),
        ]
        for error in errors {
            #expect(error.closeCode.mayBeSent)
            #expect((1...CloseCode.maximumReasonBytes).contains(error.reason.utf8.count))
            #expect(!error.description.isEmpty)
        }
        #expect(
            WebSocketError.messageTooLarge(bytes: 4097, limit: 4096).description
                == "message too large: 4097 bytes or more, over max_message_bytes 4096")
    }
}
