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

/// What a message is: the opcode of its first frame.
package enum MessageKind: UInt8, Sendable {
    case text = 0x1
    case binary = 0x2

    package var opcode: Opcode { self == .text ? .text : .binary }
}

/// Which end of the connection this is. A client masks what it sends, a server does not (RFC 6455 §5.1).
package enum Role: Sendable {
    case server
    case client
}
