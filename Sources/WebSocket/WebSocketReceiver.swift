/// Reads what a peer sends (RFC 6455 §5 to §7, RFC 7692 §6) and gives events; bytes may come cut anywhere.
///
/// Work is linear in the bytes. Between messages it holds nothing on the heap, but for the inflater's window where
/// the peer's context takeover was agreed.
package struct WebSocketReceiver: ~Copyable {
    private enum State {
        case header(FrameHeaderParser)
        /// Inside a payload of which so many bytes have come.
        case payload(FrameHeader, received: Int)
        case finished
    }

    private let sender: Role
    private let limits: WebSocketLimits
    private let policy: PayloadPolicy
    /// How the peer compresses, if it may.
    private let compression: DeflateDirection?

    private var state = State.header(.start)
    private var message: PartialMessage?
    private var control: [UInt8] = []
    private var controlRate = ControlFrameRate()
    private var inflater: Inflater?

    /// - Parameter role: our own; the peer has the other.
    package init(
        role: Role, limits: WebSocketLimits, deflate: DeflateParameters? = nil,
        payloads policy: PayloadPolicy = .deliver
    ) {
        sender = role == .server ? .client : .server
        self.limits = limits
        self.policy = policy
        compression = deflate?.direction(from: sender)
    }

    /// Whether a close frame or a failure has ended it; what comes then is not looked at (RFC 6455 §5.5.1, §7.1.7).
    package var isFinished: Bool {
        if case .finished = state { true } else { false }
    }

    /// Takes what came and appends what it meant.
    ///
    /// - Parameter now: monotonic, in ms; the limit of control frames rests on it.
    package mutating func receive(_ bytes: Span<UInt8>, now: UInt64, into events: inout [WebSocketEvent]) {
        do throws(WebSocketError) {
            var position = 0
            while position < bytes.count {
                switch state {
                case .header(var parser):
                    let header = try parser.consume(
                        bytes[position], from: sender, allowsCompression: compression != nil)
                    position += 1
                    if let header {
                        try begin(header, now: now, into: &events)
                    } else {
                        state = .header(parser)
                    }
                case .payload(let header, let received):
                    let end = min(position + header.length - received, bytes.count)
                    let piece = bytes.extracting(position..<end)
                    try take(piece, of: header, at: received)
                    position = end
                    state = .payload(header, received: received + piece.count)
                    if received + piece.count == header.length { try finish(header, into: &events) }
                case .finished:
                    return
                }
            }
        } catch {
            end()
            events.append(.failed(error))
        }
    }

    private mutating func end() {
        state = .finished
        message = nil
        control = []
        inflater = nil
    }

    // MARK: - A frame begins

    private mutating func begin(
        _ header: FrameHeader, now: UInt64, into events: inout [WebSocketEvent]
    ) throws(WebSocketError) {
        if header.opcode.isControl {
            if header.opcode != .close {
                try controlRate.count(now: now, limit: limits.maximumControlFramesPerSecond)
            }
        } else {
            try beginFragment(header)
        }
        state = .payload(header, received: 0)
        if header.length == 0 { try finish(header, into: &events) }
    }

    /// RFC 6455 §5.4, and the limits, from what the header announces: nothing has been sized by it yet.
    private mutating func beginFragment(_ header: FrameHeader) throws(WebSocketError) {
        switch (header.opcode, message != nil) {
        case (.continuation, false): throw .continuationWithoutMessage
        case (.continuation, true): break
        case (_, true): throw .messageInsideMessage
        default:
            message = PartialMessage(
                kind: header.opcode == .text ? .text : .binary, isCompressed: header.isCompressed, policy: policy,
                maximumBytes: limits.maximumMessageBytes)
        }
        guard message!.fragments < limits.maximumFragments else {
            throw .tooManyFragments(limit: limits.maximumFragments)
        }
        message!.fragments += 1
        let isCompressed = message!.isCompressed
        let limit = isCompressed ? limits.maximumCompressedBytes : limits.maximumMessageBytes
        let before = message!.wireBytes
        guard header.length <= limit - before else {
            if isCompressed { throw .compressedMessageTooLarge(limit: limit) }
            throw .messageTooLarge(bytes: UInt64(before) + UInt64(header.length), limit: limit)
        }
        message!.wireBytes += header.length
    }

    // MARK: - Its payload comes

    private mutating func take(
        _ piece: Span<UInt8>, of header: FrameHeader, at offset: Int
    ) throws(WebSocketError) {
        let mask = header.mask.advanced(by: offset)
        if header.opcode.isControl {
            if control.isEmpty { control.reserveCapacity(header.length) }
            control.append(piece, mask: mask)
        } else if message!.isCompressed {
            if inflater == nil { inflater = try Inflater(windowBits: compression!.windowBits) }
            try inflater!.inflate(piece, mask: mask, into: &message!)
        } else {
            try message!.append(piece, mask: mask)
        }
    }

    // MARK: - A frame is whole

    private mutating func finish(_ header: FrameHeader, into events: inout [WebSocketEvent]) throws(WebSocketError) {
        state = .header(.start)
        switch header.opcode {
        case .ping: events.append(.ping(takeControl()))
        case .pong: events.append(.pong(takeControl()))
        case .close:
            let close = try CloseFrame(payload: takeControl())
            end()
            events.append(.close(close.code, reason: close.reason))
        case .continuation, .text, .binary:
            if header.isFinal { events.append(try finishMessage()) }
        }
    }

    private mutating func takeControl() -> [UInt8] {
        let payload = control
        control = []
        return payload
    }

    private mutating func finishMessage() throws(WebSocketError) -> WebSocketEvent {
        if message!.isCompressed, inflater != nil {
            let keepsWindow = compression!.contextTakeover
            try inflater!.finishMessage(keepsWindow: keepsWindow, into: &message!)
            // A window of up to 32 KiB is given back unless the next message may refer to it.
            if !keepsWindow { inflater = nil }
        }
        defer { message = nil }
        return try message!.finish()
    }
}

/// How many pings and pongs came within the running second.
private struct ControlFrameRate {
    private var since: UInt64 = 0
    private var frames = 0

    mutating func count(now: UInt64, limit: Int) throws(WebSocketError) {
        if now < since || now - since >= 1000 {
            since = now
            frames = 0
        }
        guard frames < limit else { throw .tooManyControlFrames(limit: limit) }
        frames += 1
    }
}

/// The payload of a close frame (RFC 6455 §5.5.1, §7.4).
private struct CloseFrame {
    let code: CloseCode?
    let reason: String

    init(payload: [UInt8]) throws(WebSocketError) {
        guard !payload.isEmpty else {
            code = nil
            reason = ""
            return
        }
        guard payload.count >= 2 else { throw .shortCloseFrame }
        let code = CloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        guard code.mayBeSent else { throw .invalidCloseCode(code.rawValue) }
        var text = UTF8Validator()
        guard text.consume(payload.span.extracting(2..<payload.count)) == nil, text.isComplete else {
            throw .invalidCloseReason
        }
        self.code = code
        reason = String(decoding: payload[2...], as: UTF8.self)
    }
}
