/// The bytes before a frame's payload (RFC 6455 §5.2), checked.
struct FrameHeader: Equatable {
    var isFinal: Bool
    /// RSV1 of a message's first frame, where permessage-deflate was agreed (RFC 7692 §6).
    var isCompressed: Bool
    var opcode: Opcode
    var length: Int
    var mask: MaskKey
}

/// Reads one frame header byte by byte, at most 14 bytes. Refuses it at the first byte that breaks a rule.
enum FrameHeaderParser: Equatable {
    case start
    case opcode(isFinal: Bool, isCompressed: Bool, Opcode)
    /// The 2 or 8 bytes of an extended length; `missing` of them have not arrived yet.
    case length(FrameHeader, width: Int, missing: Int, value: UInt64)
    case mask(FrameHeader, missing: Int)

    /// Returns the header when `byte` was its last byte.
    mutating func consume(
        _ byte: UInt8, from sender: Role, allowsCompression: Bool
    ) throws(WebSocketError) -> FrameHeader? {
        switch self {
        case .start:
            self = try Self.readOpcode(byte, allowsCompression: allowsCompression)
            return nil
        case .opcode(let isFinal, let isCompressed, let opcode):
            try Self.check(mask: byte & 0x80 != 0, from: sender)
            let length = Int(byte & 0x7F)
            // RFC 6455 §5.5: a control frame carries at most 125 bytes. This byte already shows a longer one. Its extended
            // length is never read.
            if opcode.isControl && length > 125 { throw .controlFrameTooLong(opcode) }
            let header = FrameHeader(
                isFinal: isFinal, isCompressed: isCompressed, opcode: opcode, length: length, mask: .zero)
            switch length {
            case 126: self = .length(header, width: 2, missing: 2, value: 0)
            case 127: self = .length(header, width: 8, missing: 8, value: 0)
            default: return afterLength(header, from: sender)
            }
            return nil
        case .length(var header, let width, let missing, var value):
            if missing == 8 && byte & 0x80 != 0 { throw .lengthTopBit }
            value = value << 8 | UInt64(byte)
            guard missing == 1 else {
                self = .length(header, width: width, missing: missing - 1, value: value)
                return nil
            }
            // RFC 6455 §5.2: the minimal number of bytes must be used.
            if value < (width == 2 ? 126 : 65536) { throw .lengthNotShortest(value) }
            header.length = Int(value)
            return afterLength(header, from: sender)
        case .mask(var header, let missing):
            header.mask = MaskKey(header.mask.value | UInt32(byte) << (UInt32(4 - missing) * 8))
            self = missing == 1 ? .start : .mask(header, missing: missing - 1)
            return missing == 1 ? header : nil
        }
    }

    private static func readOpcode(_ byte: UInt8, allowsCompression: Bool) throws(WebSocketError) -> Self {
        guard let opcode = Opcode(rawValue: byte & 0x0F) else { throw .reservedOpcode(byte & 0x0F) }
        let isCompressed = byte & 0x40 != 0
        // RFC 7692 §6.1: RSV1 is set only on the first frame of a message, and never on control frames.
        let mayCompress = allowsCompression && (opcode == .text || opcode == .binary)
        if byte & 0x30 != 0 || (isCompressed && !mayCompress) { throw .reservedBits(byte >> 4 & 0x7) }
        let isFinal = byte & 0x80 != 0
        if opcode.isControl && !isFinal { throw .fragmentedControlFrame(opcode) }
        return .opcode(isFinal: isFinal, isCompressed: isCompressed, opcode)
    }

    /// RFC 6455 §5.1: a server fails a connection on an unmasked frame, a client on a masked one.
    private static func check(mask: Bool, from sender: Role) throws(WebSocketError) {
        switch (sender, mask) {
        case (.client, false): throw .unmaskedFrame
        case (.server, true): throw .maskedFrame
        default: return
        }
    }

    private mutating func afterLength(_ header: FrameHeader, from sender: Role) -> FrameHeader? {
        self = sender == .client ? .mask(header, missing: 4) : .start
        return sender == .client ? nil : header
    }
}

/// The frame types of RFC 6455 §5.2; the other ten values are reserved and refused.
package enum Opcode: UInt8, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    var isControl: Bool { rawValue & 0x8 != 0 }
}

/// The kind of a message: the opcode of its first frame.
package enum MessageKind: UInt8, Sendable {
    case text = 0x1
    case binary = 0x2

    package var opcode: Opcode { self == .text ? .text : .binary }
}

/// Which end of the connection this is. A client masks the frames it sends, a server does not (RFC 6455 §5.1).
package enum Role: Sendable {
    case server
    case client
}
