@testable import WebSocket

/// A frame written out by hand, so that the encoder under test does not vouch for the receiver under test.
struct WireFrame {
    enum LengthForm { case shortest, two, eight }

    var opcode: UInt8
    var payload: [UInt8] = []
    var isFinal = true
    var reserved: UInt8 = 0
    var mask: [UInt8]?
    var form = LengthForm.shortest
    /// What the header says, where that is not the payload's length.
    var length: UInt64?

    var bytes: [UInt8] {
        let length = length ?? UInt64(payload.count)
        var bytes = [(isFinal ? 0x80 : 0) | reserved << 4 | opcode]
        let top: UInt8 = mask == nil ? 0 : 0x80
        switch form {
        case .shortest where length < 126: bytes.append(top | UInt8(length))
        case .two,
            .shortest where length < 65536:
            bytes += [top | 126, UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF)]
        default: bytes += [top | 127] + (0..<8).map { UInt8(length >> (56 - 8 * UInt64($0)) & 0xFF) }
        }
        bytes += mask ?? []
        return bytes + payload.enumerated().map { $1 ^ (mask?[$0 % 4] ?? 0) }
    }
}

/// A frame as a client sends it; the mask is fixed, which no rule of a receiver depends on.
func masked(
    _ opcode: UInt8, _ payload: [UInt8] = [], final isFinal: Bool = true, reserved: UInt8 = 0,
    form: WireFrame.LengthForm = .shortest, length: UInt64? = nil
) -> [UInt8] {
    WireFrame(
        opcode: opcode, payload: payload, isFinal: isFinal, reserved: reserved, mask: [0x37, 0xFA, 0x21, 0x3D],
        form: form, length: length
    ).bytes
}

/// A frame as a server sends it.
func plain(
    _ opcode: UInt8, _ payload: [UInt8] = [], final isFinal: Bool = true, reserved: UInt8 = 0,
    form: WireFrame.LengthForm = .shortest, length: UInt64? = nil
) -> [UInt8] {
    WireFrame(opcode: opcode, payload: payload, isFinal: isFinal, reserved: reserved, form: form, length: length).bytes
}

func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }

/// What a fresh receiver makes of `pieces`.
func events(
    _ pieces: [[UInt8]], role: Role = .server, limits: WebSocketLimits = WebSocketLimits(),
    deflate: DeflateParameters? = nil, payloads: PayloadPolicy = .deliver
) -> [WebSocketEvent] {
    var receiver = WebSocketReceiver(role: role, limits: limits, deflate: deflate, payloads: payloads)
    var events: [WebSocketEvent] = []
    for piece in pieces { receiver.receive(piece.span, now: 0, into: &events) }
    return events
}

/// Every way to cut `bytes` in two, the whole, and each byte alone.
func cuts(of bytes: [UInt8]) -> [[[UInt8]]] {
    [[bytes], bytes.map { [$0] }] + bytes.indices.dropFirst().map { [Array(bytes[..<$0]), Array(bytes[$0...])] }
}
