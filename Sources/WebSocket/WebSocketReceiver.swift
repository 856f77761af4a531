/// Reads the bytes of a peer (RFC 6455 §5 to §7, RFC 7692 §6) and produces events. The bytes may be cut anywhere.
///
/// Work is linear in the bytes. Between messages it holds nothing on the heap, except the inflater's window where the
/// peer's context takeover was agreed.
package struct WebSocketReceiver: ~Copyable {
    private enum State {
        case header(FrameHeaderParser)
        /// Inside a payload; `received` bytes of it have arrived.
        case payload(FrameHeader, received: Int)
        case finished
    }

    /// The received part of an incomplete frame, message or control frame, and the inflater where one is kept. It is released
    /// while the connection is idle.
    private final class Work {
        /// Nil between frames.
        var state: State?
        var message: PartialMessage?
        var control: [UInt8] = []
        var inflater: Inflater?
    }

    private let shared: WebSocketLoop
    private var work: Work?
    private var rate = InboundRate()
    private let sender: Role
    /// How the peer compresses, if it may.
    private let compression: DeflateDirection?
    /// Whether a close frame or a failure has ended it. Later bytes are ignored (RFC 6455 §5.5.1, §7.1.7).
    package private(set) var isFinished = false

    /// - Parameter role: our own role; the peer has the other one.
    package init(role: Role, on shared: WebSocketLoop, deflate: DeflateParameters? = nil) {
        sender = role == .server ? .client : .server
        self.shared = shared
        compression = deflate?.direction(from: sender)
    }

    /// A receiver with its own limits.
    package init(
        role: Role, limits: WebSocketLimits, deflate: DeflateParameters? = nil,
        payloads policy: PayloadPolicy = .deliver
    ) {
        self.init(role: role, on: WebSocketLoop(limits: limits, payloads: policy), deflate: deflate)
    }

    /// Reads the received bytes, up to the work of one turn, and appends the events.
    ///
    /// - Parameter now: monotonic, in ms. The limits per second and the limit of a message's time depend on it.
    /// - Returns: how many bytes were read. The others must be passed again, before any later ones. Without a limit on turns,
    ///   or when it is finished, all bytes were read.
    @discardableResult
    package mutating func receive(_ bytes: Span<UInt8>, now: UInt64, into events: inout [WebSocketEvent]) -> Int {
        shared.beginTurn()
        var state = takeState()
        defer { keep(state) }
        if case .finished = state { return bytes.count }
        do throws(WebSocketError) {
            if let began = work?.message?.began { try checkTime(since: began, now: now) }
            // The bytes before the limit are read, whatever follows them.
            let allowed = bytes.extracting(first: rate.bytesLeft(now: now, shared.limits))
            let count = try read(allowed, &state, now: now, into: &events)
            rate.countBytes(count)
            if case .finished = state { return bytes.count }
            guard count < allowed.count || allowed.count == bytes.count else {
                throw .tooManyBytes(limit: shared.limits.maximumInboundBytesPerSecond)
            }
            return count
        } catch {
            state = .finished
            events.append(.failed(error))
        }
        return bytes.count
    }

    /// Returns how many bytes were read: all of them, unless the turn is over or the receiver finished.
    private mutating func read(
        _ bytes: Span<UInt8>, _ state: inout State, now: UInt64, into events: inout [WebSocketEvent]
    ) throws(WebSocketError) -> Int {
        var position = 0
        while position < bytes.count {
            switch state {
            case .header(var parser):
                if shared.turnIsOver { return position }
                let header = try parser.consume(
                    bytes[position], from: sender, allowsCompression: compression != nil)
                position += 1
                if let header {
                    try begin(header, &state, now: now, into: &events)
                } else {
                    state = .header(parser)
                }
            case .payload(let header, let received):
                let end = min(position + header.length - received, bytes.count)
                let piece = bytes.extracting(position..<end)
                try consume(piece, of: header, at: received)
                position = end
                state = .payload(header, received: received + piece.count)
                if received + piece.count == header.length { try finish(header, &state, into: &events) }
            case .finished:
                return position
            }
        }
        return position
    }

    private func takeState() -> State {
        if isFinished { return .finished }
        return work?.state.take() ?? .header(.start)
    }

    private mutating func keep(_ state: State) {
        switch state {
        case .header(.start): break
        case .header, .payload: openWork().state = state
        case .finished:
            isFinished = true
            work = nil
        }
    }

    private mutating func openWork() -> Work {
        if let work { return work }
        let work = Work()
        self.work = work
        return work
    }

    /// Otherwise an incomplete message would keep its memory as long as its peer answers pings.
    private func checkTime(since began: UInt64, now: UInt64) throws(WebSocketError) {
        let limit = shared.limits.maximumMessageMilliseconds
        guard now - began <= limit else { throw .messageTooSlow(limitMilliseconds: limit) }
    }

    // MARK: - A frame begins

    private mutating func begin(
        _ header: FrameHeader, _ state: inout State, now: UInt64, into events: inout [WebSocketEvent]
    ) throws(WebSocketError) {
        shared.turnFrames += 1
        if header.opcode.isControl {
            if header.opcode != .close { try rate.countControl(now: now, shared.limits) }
        } else {
            try rate.countMessageFrame(now: now, shared.limits)
            try beginFragment(header, openWork(), now: now)
        }
        state = .payload(header, received: 0)
        if header.length == 0 { try finish(header, &state, into: &events) }
    }

    /// RFC 6455 §5.4, and the limits, checked with the values of the header: nothing has been allocated for them yet.
    private func beginFragment(_ header: FrameHeader, _ work: Work, now: UInt64) throws(WebSocketError) {
        let limits = shared.limits
        switch (header.opcode, work.message != nil) {
        case (.continuation, false): throw .continuationWithoutMessage
        case (.continuation, true): break
        case (_, true): throw .messageInsideMessage
        default:
            work.message = PartialMessage(
                kind: header.opcode == .text ? .text : .binary, isCompressed: header.isCompressed,
                policy: shared.payloads, maximumBytes: limits.maximumMessageBytes, began: now)
        }
        guard work.message!.fragments < limits.maximumFragments else {
            throw .tooManyFragments(limit: limits.maximumFragments)
        }
        work.message!.fragments += 1
        let isCompressed = work.message!.isCompressed
        let messageLimit = work.message!.limit
        let limit = isCompressed ? WebSocketLimits.compressedBytes(of: messageLimit) : messageLimit
        let before = work.message!.wireBytes
        guard header.length <= limit - before else {
            if isCompressed { throw .compressedMessageTooLarge(limit: limit) }
            throw .messageTooLarge(
                bytes: UInt64(before) + UInt64(header.length), limit: limits.maximumMessageBytes)
        }
        work.message!.wireBytes += header.length
    }

    // MARK: - Its payload comes

    private mutating func consume(
        _ piece: Span<UInt8>, of header: FrameHeader, at offset: Int
    ) throws(WebSocketError) {
        let mask = header.mask.advanced(by: offset)
        let work = openWork()
        if header.opcode.isControl {
            if work.control.isEmpty { work.control.reserveCapacity(header.length) }
            work.control.append(piece, mask: mask)
        } else if work.message!.isCompressed {
            let windowBits = compression!.windowBits
            if work.inflater == nil { work.inflater = try shared.borrowInflater(windowBits: windowBits) }
            let before = work.message!.byteCount
            try work.inflater!.inflate(piece, mask: mask, into: &work.message!)
            // Empty blocks inflate to nothing, but cost the same.
            shared.turnInflatedBytes += max(work.message!.byteCount - before, piece.count)
        } else {
            try work.message!.append(piece, mask: mask)
        }
    }

    // MARK: - A frame is whole

    private mutating func finish(
        _ header: FrameHeader, _ state: inout State, into events: inout [WebSocketEvent]
    ) throws(WebSocketError) {
        state = .header(.start)
        switch header.opcode {
        case .ping: events.append(.ping(removeControl()))
        case .pong: events.append(.pong(removeControl()))
        case .close:
            let close = try CloseFrame(payload: removeControl())
            state = .finished
            events.append(.close(close.code, reason: close.reason))
        case .continuation, .text, .binary:
            if header.isFinal { events.append(try finishMessage(openWork())) }
        }
    }

    private mutating func removeControl() -> [UInt8] {
        guard let work else { return [] }
        let payload = work.control
        work.control = []
        dropWork(work)
        return payload
    }

    private mutating func finishMessage(_ work: Work) throws(WebSocketError) -> WebSocketEvent {
        if work.message!.isCompressed, work.inflater != nil {
            let keepsWindow = compression!.contextTakeover
            try work.inflater!.finishMessage(keepsWindow: keepsWindow, into: &work.message!)
            // A window of up to 32 KiB is released unless the next message may refer to it.
            if !keepsWindow, let inflater = work.inflater.take() { shared.giveBack(inflater) }
        }
        let message = work.message.take()!
        dropWork(work)
        return try message.finish()
    }

    private mutating func dropWork(_ work: Work) {
        if work.message == nil, work.inflater == nil { self.work = nil }
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

/// What the peer sent. Payloads are never longer than the limits allow; text is valid UTF-8.
package enum WebSocketEvent: Equatable, Sendable {
    case message(MessageKind, [UInt8])
    /// A message that was checked and not stored (`PayloadPolicy.discard`), with its size after inflation.
    case discarded(MessageKind, byteCount: Int)
    case ping([UInt8])
    case pong([UInt8])
    /// The peer's close frame; no event follows. Without a code, the frame was empty.
    case close(CloseCode?, reason: String)
    /// The peer broke a rule; no event follows.
    case failed(WebSocketError)
}
