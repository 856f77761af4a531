/// Writes frames (RFC 6455 §5.2). Several frames may follow each other in one buffer, with nothing in between.
package enum FrameEncoder {
    /// The most bytes of a header: 2 bytes, 8 of length, 4 of mask.
    package static let maximumHeaderBytes = 14

    /// Appends one frame. A client passes a fresh `mask` for each frame; a server passes none.
    package static func append(
        _ opcode: Opcode, isFinal: Bool = true, isCompressed: Bool = false, payload: Span<UInt8>,
        mask: MaskKey? = nil, to buffer: inout [UInt8]
    ) {
        appendStart(opcode, isFinal: isFinal, isCompressed: isCompressed, to: &buffer)
        appendLength(payload.count, isMasked: mask != nil, to: &buffer)
        guard let mask else {
            buffer.append(payload)
            return
        }
        for index in 0..<4 { buffer.append(mask.byte(index)) }
        buffer.append(payload, mask: mask)
    }

    /// Appends one unmasked frame. `write` appends the payload to the buffer itself, so that a message is encoded in the buffer
    /// that is sent. A payload over 125 bytes is moved once, by 2 or 8 bytes.
    package static func append(
        _ opcode: Opcode, isCompressed: Bool = false, to buffer: inout [UInt8],
        writingPayload write: (inout [UInt8]) -> Void
    ) {
        appendStart(opcode, isFinal: true, isCompressed: isCompressed, to: &buffer)
        let lengthIndex = buffer.count
        buffer.append(0)
        write(&buffer)
        let length = buffer.count - lengthIndex - 1
        precondition(length >= 0, "a payload writer only appends")
        if length <= 125 {
            buffer[lengthIndex] = UInt8(length)
            return
        }
        var bytes: [UInt8] = []
        appendLength(length, isMasked: false, to: &bytes)
        buffer.replaceSubrange(lengthIndex...lengthIndex, with: bytes)
    }

    /// Appends a close frame; without a code it is empty (RFC 6455 §5.5.1).
    ///
    /// - Precondition: `code` is allowed in a frame, and `reason` is at most `CloseCode.maximumReasonBytes` long.
    package static func appendClose(
        _ code: CloseCode?, reason: String, mask: MaskKey? = nil, to buffer: inout [UInt8]
    ) {
        var payload: [UInt8] = []
        if let code {
            precondition(code.mayBeSent, "a close code that must not be sent")
            precondition(reason.utf8.count <= CloseCode.maximumReasonBytes, "a close reason over 123 bytes")
            payload = [UInt8(code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)]
            payload.append(contentsOf: reason.utf8)
        }
        append(.close, payload: payload.span, mask: mask, to: &buffer)
    }

    private static func appendStart(
        _ opcode: Opcode, isFinal: Bool, isCompressed: Bool, to buffer: inout [UInt8]
    ) {
        buffer.append((isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue)
    }

    private static func appendLength(_ length: Int, isMasked: Bool, to buffer: inout [UInt8]) {
        let top: UInt8 = isMasked ? 0x80 : 0
        switch length {
        case 0...125:
            buffer.append(top | UInt8(length))
        case 126...0xFFFF:
            buffer.append(top | 126)
            buffer.append(UInt8(length >> 8))
            buffer.append(UInt8(truncatingIfNeeded: length))
        default:
            buffer.append(top | 127)
            for shift in stride(from: 56, through: 0, by: -8) {
                buffer.append(UInt8(truncatingIfNeeded: length >> shift))
            }
        }
    }
}
