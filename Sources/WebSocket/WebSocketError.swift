// All code that closes a WebSocket, or whose WebSocket is closed, needs the close codes.
@_exported import CloseCodes

/// Why a connection was failed (RFC 6455 §7.1.7): the rule that the peer broke, and the value it sent.
package enum WebSocketError: Error, Equatable, Sendable {
    case reservedBits(UInt8)
    case reservedOpcode(UInt8)
    case fragmentedControlFrame(Opcode)
    case controlFrameTooLong(Opcode)
    case unmaskedFrame
    case maskedFrame
    case lengthNotShortest(UInt64)
    case lengthTopBit
    case continuationWithoutMessage
    case messageInsideMessage
    case messageTooLarge(bytes: UInt64, limit: Int)
    case compressedMessageTooLarge(limit: Int)
    case tooManyFragments(limit: Int)
    case tooManyControlFrames(limit: Int)
    case tooManyMessages(limit: Int)
    /// Messages that the owner must check; each check has its own cost.
    case tooManyTokens(limit: Int)
    case tooManyBytes(limit: Int)
    case messageTooSlow(limitMilliseconds: UInt64)
    case invalidText
    case shortCloseFrame
    case invalidCloseCode(UInt16)
    case invalidCloseReason
    case invalidDeflate
    case zlib(Int32)
}

extension WebSocketError {
    /// The code of the close frame to the peer (RFC 6455 §7.4.1).
    package var closeCode: CloseCode {
        switch self {
        case .messageTooLarge, .compressedMessageTooLarge: .messageTooLarge
        case .tooManyFragments, .tooManyControlFrames, .messageTooSlow: .policyViolation
        case .tooManyMessages, .tooManyTokens, .tooManyBytes: .tooMuch
        case .invalidText, .invalidCloseReason, .invalidDeflate: .invalidPayload
        case .zlib: .serverFailure
        default: .protocolError
        }
    }

    /// The fixed text for the peer. It never repeats anything that the peer sent.
    package var reason: String {
        switch self {
        case .reservedBits: "reserved bits set"
        case .reservedOpcode: "reserved opcode"
        case .fragmentedControlFrame: "fragmented control frame"
        case .controlFrameTooLong: "control frame over 125 bytes"
        case .unmaskedFrame: "frame not masked"
        case .maskedFrame: "frame masked by the server"
        case .lengthNotShortest: "length not in its shortest form"
        case .lengthTopBit: "length with its top bit set"
        case .continuationWithoutMessage: "continuation without a message"
        case .messageInsideMessage: "message inside a fragmented message"
        case .messageTooLarge, .compressedMessageTooLarge: "message too large"
        case .tooManyFragments: "too many fragments"
        case .tooManyControlFrames: "too many control frames"
        case .tooManyMessages: "too many messages"
        case .tooManyTokens: "too many tokens"
        case .tooManyBytes: "too many bytes"
        case .messageTooSlow: "message too slow"
        case .invalidText: "text is not UTF-8"
        case .shortCloseFrame: "close frame of one byte"
        case .invalidCloseCode: "close code not allowed"
        case .invalidCloseReason: "close reason is not UTF-8"
        case .invalidDeflate: "compressed message is broken"
        case .zlib: "internal error"
        }
    }
}

extension WebSocketError: CustomStringConvertible {
    /// For the operator: what failed, the value, the limit and the setting to change.
    package var description: String {
        switch self {
        case .reservedBits(let bits): "reserved bits set: \(bits) of RSV1 to RSV3, without an extension that uses them"
        case .reservedOpcode(let opcode): "reserved opcode: \(opcode)"
        case .fragmentedControlFrame(let opcode): "fragmented control frame: \(opcode)"
        case .controlFrameTooLong(let opcode): "control frame too long: \(opcode) of more than 125 bytes"
        case .lengthNotShortest(let length): "length not in its shortest form: \(length) bytes"
        case .messageTooLarge(let bytes, let limit):
            "message too large: \(bytes) bytes or more, over max_message_bytes \(limit)"
        case .compressedMessageTooLarge(let limit):
            "compressed message too large: over \(limit) bytes before inflation, which follows from max_message_bytes"
        case .tooManyFragments(let limit): "too many fragments in one message: over max_fragments \(limit)"
        case .tooManyControlFrames(let limit):
            "too many pings and pongs within a second: over max_control_frames_per_second \(limit)"
        case .tooManyTokens(let limit):
            "too many tokens: more than \(limit) in a second, which no client has a use for"
        case .tooManyMessages(let limit):
            "too many frames of messages within a second: over max_messages_per_second \(limit)"
        case .tooManyBytes(let limit): "too many bytes within a second: over max_inbound_bytes_per_second \(limit)"
        case .messageTooSlow(let limit): "message too slow: not whole \(limit) ms after it was begun"
        case .invalidCloseCode(let code): "close code not allowed: \(code)"
        case .zlib(let status): "zlib failed with status \(status)"
        default: reason
        }
    }
}
