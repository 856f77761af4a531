// Tests: CloseCode.swift

import Testing

@testable import WebSocket

@Suite struct FrameEncoderTests {
    @Test(arguments: [0, 1, 125, 126, 127, 65535, 65536, 70000])
    func `a frame has the shortest length on both sides of each border`(count: Int) {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        var got: [UInt8] = []
        FrameEncoder.append(.binary, payload: payload.span, to: &got)
        #expect(got == plain(2, payload))
        got = []
        FrameEncoder.append(.binary, payload: payload.span, mask: MaskKey(0x3D21_FA37), to: &got)
        #expect(got == masked(2, payload))
        got = [1]
        FrameEncoder.append(.text, to: &got) { $0 += payload }
        #expect(got == [1] + plain(1, payload))
    }

    @Test func `several frames go into one buffer`() {
        let nothing: [UInt8] = []
        var got: [UInt8] = []
        FrameEncoder.append(.text, isFinal: false, isCompressed: true, payload: [1].span, to: &got)
        FrameEncoder.append(.ping, payload: nothing.span, to: &got)
        FrameEncoder.append(.continuation, payload: [2].span, to: &got)
        FrameEncoder.append(.binary, isCompressed: true, to: &got) { $0.append(3) }
        #expect(got == [0x41, 1, 1, 0x89, 0, 0x80, 1, 2, 0xC2, 1, 3])
    }

    @Test func `a close frame carries code and reason, or nothing`() {
        var got: [UInt8] = []
        FrameEncoder.appendClose(nil, reason: "", to: &got)
        FrameEncoder.appendClose(.restart, reason: "restart", to: &got)
        #expect(got == [0x88, 0, 0x88, 9, 0x03, 0xF4] + utf8("restart"))
    }
}

@Suite struct CloseCodeTests {
    @Test func `every reason of the table fits a close frame, with the longest wait too`() {
        for row in CloseCode.table {
            let longest = row.code.reason(retryMilliseconds: CloseCode.maximumRetryMilliseconds)
            #expect(longest.utf8.count <= CloseCode.maximumReasonBytes)
            #expect(row.code.mayBeSent)
            #expect(CloseCode.retryMilliseconds(inReason: longest) == CloseCode.maximumRetryMilliseconds)
        }
        #expect(Set(CloseCode.table.map(\.code)).count == CloseCode.table.count)
    }

    @Test(
        arguments: [
            (1000, .finish), (1001, .backOff(isBug: false)), (1002, .backOff(isBug: true)),
            (1003, .backOff(isBug: true)), (1007, .backOff(isBug: true)), (1008, .backOff(isBug: true)),
            (1009, .backOff(isBug: true)), (1011, .backOff(isBug: false)), (1012, .wait(minimumMilliseconds: 0)),
            (1013, .wait(minimumMilliseconds: 5000)), (4401, .refreshToken), (4403, .stop),
            (4408, .backOff(isBug: false)), (4409, .backOff(isBug: false)), (4429, .wait(minimumMilliseconds: 0)),
            (1005, .backOff(isBug: false)), (1006, .backOff(isBug: false)), (4999, .backOff(isBug: false)),
        ] as [(UInt16, ClientAction)])
    func `what a client does is what the protocol's table says`(code: UInt16, action: ClientAction) {
        #expect(CloseCode(rawValue: code).clientAction == action)
    }

    @Test(
        arguments: [
            ("restart retry_ms=8123", 8123), ("retry_ms=0", 0), ("retry_ms=86400000", 86_400_000),
            ("retry_ms=86400001", nil), ("retry_ms=123456789", nil), ("retry_ms=", nil), ("retry_ms=-1", nil),
            ("retry_ms=1x", nil), ("retry_ms=5 later", nil), ("xretry_ms=5", nil), ("", nil), ("   ", nil),
        ] as [(String, Int?)])
    func `the wait is read from the end of a reason alone`(reason: String, milliseconds: Int?) {
        #expect(CloseCode.retryMilliseconds(inReason: reason) == milliseconds)
    }
}
