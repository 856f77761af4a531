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
            .tooManyFragments(limit: 1), .tooManyControlFrames(limit: 1), .tooManyDataFrames(limit: 1),
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
