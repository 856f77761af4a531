/// One end of a connection after its handshake: receives, answers pings and closes by itself, and gathers the bytes
/// to send. It neither knows a socket nor a clock. Confined to the loop of its connection.
///
/// The caller hands in what came (`receive`), then sends what `takeOutput` gives, unless bytes taken earlier have not
/// left yet: then it waits with taking. That is how a peer that pings without reading costs one pending pong.
package final class WebSocketSession {
    /// How far the connection is (RFC 6455 §7).
    package enum Phase: Sendable {
        case open
        /// Our close frame is written, the peer's has not come; the caller sets a deadline for it.
        case closing
        /// Both close frames were exchanged, or a rule was broken: nothing more is read, and what is left to send ends
        /// with our close frame.
        case closed
    }

    /// What the owner of the transport does about it.
    package enum TransportAction: Sendable {
        case keep
        /// Wait for the peer, with a deadline, then close: for its close frame, or, being the client, for the server
        /// to close first (RFC 6455 §7.1.1).
        case awaitPeer
        /// Send what is left, then close.
        case closeAfterFlush
    }

    /// How it ended, as RFC 6455 §7.1.5 and §7.1.6 count it.
    package struct Ending: Equatable, Sendable {
        /// The peer's code if it sent one, `.noStatus` or `.abnormal` else; ours after a failure.
        package let code: CloseCode
        package let reason: String
        /// Whether close frames went both ways.
        package let isClean: Bool
    }

    // In this order the small ones share a word.
    private var output: [UInt8] = []
    private var rare: Rare?
    private var receiver: WebSocketReceiver
    private let role: Role
    private let compression: DeflateDirection?
    package private(set) var phase = Phase.open

    /// What an idle connection of a server does not have.
    private final class Rare {
        var nextMaskKey: (() -> MaskKey)?
        /// What came and was more than the work of one turn, from `restStart` on.
        var rest: [UInt8] = []
        var restStart = 0
        var deflater: Deflater?
        var pendingPong: [UInt8]?
        /// Our answer to the peer's close or failure. It waits for `takeOutput`, so that answers to messages that came
        /// in the same read still stand before it.
        var pendingClose: (code: CloseCode?, reason: String)?
        var peerClose: (code: CloseCode?, reason: String)?
        var failure: WebSocketError?
    }

    /// The server's end, one of many on a loop.
    package init(server shared: WebSocketLoop, deflate: DeflateParameters? = nil) {
        role = .server
        compression = deflate?.direction(from: .server)
        receiver = WebSocketReceiver(role: .server, on: shared, deflate: deflate)
    }

    /// The server's end, with limits of its own.
    package convenience init(
        server limits: WebSocketLimits, deflate: DeflateParameters? = nil, payloads: PayloadPolicy = .deliver
    ) {
        self.init(server: WebSocketLoop(limits: limits, payloads: payloads), deflate: deflate)
    }

    /// The client's end. `maskKeys` gives a fresh, unpredictable key for each frame (RFC 6455 §10.3).
    package init(
        client limits: WebSocketLimits, deflate: DeflateParameters? = nil, payloads: PayloadPolicy = .deliver,
        maskKeys: @escaping () -> MaskKey
    ) {
        role = .client
        compression = deflate?.direction(from: .client)
        receiver = WebSocketReceiver(role: .client, limits: limits, deflate: deflate, payloads: payloads)
        openRare().nextMaskKey = maskKeys
    }

    private func openRare() -> Rare {
        if let rare { return rare }
        let rare = Rare()
        self.rare = rare
        return rare
    }

    private func maskKey() -> MaskKey? { rare?.nextMaskKey?() }

    // MARK: - Receiving

    /// Reads what came, appends what it meant, and queues the answers that the protocol asks for.
    ///
    /// Where the limits bound the work of a turn, some of it may wait afterwards (`hasRest`). The caller then stops
    /// reading the transport, and goes on with `receiveRest` after others had their turn, until nothing waits. What it
    /// hands in meanwhile waits behind it: that is bounded by what was read of the transport already.
    ///
    /// - Parameters:
    ///   - now: monotonic, in ms.
    ///   - isBlocked: whether earlier output has not left: then answers to pings replace each other, as they do
    ///     while output waits to be taken. Otherwise each ping of these bytes is answered.
    package func receive(
        _ bytes: Span<UInt8>, now: UInt64, isBlocked: Bool = false, into events: inout [WebSocketEvent]
    ) {
        guard phase != .closed else { return }
        if let rare, hasRest { return rare.rest.append(bytes) }
        let count = read(bytes, now: now, isBlocked: isBlocked, into: &events)
        if count < bytes.count, phase != .closed { openRare().rest.append(bytes.extracting(count..<bytes.count)) }
    }

    /// Whether some of what came waits for its turn.
    package var hasRest: Bool { rare.map { $0.restStart < $0.rest.count } ?? false }

    /// One more turn for what waits; otherwise as `receive`.
    package func receiveRest(now: UInt64, isBlocked: Bool = false, into events: inout [WebSocketEvent]) {
        guard let rare else { return }
        if phase != .closed {
            let waiting = rare.rest
            rare.restStart += read(
                waiting.span.extracting(rare.restStart..<waiting.count), now: now, isBlocked: isBlocked, into: &events)
        }
        if phase == .closed || !hasRest { (rare.rest, rare.restStart) = ([], 0) }
    }

    private func read(
        _ bytes: Span<UInt8>, now: UInt64, isBlocked: Bool, into events: inout [WebSocketEvent]
    ) -> Int {
        let isBlocked = isBlocked || hasOutput
        let first = events.count
        let count = receiver.receive(bytes, now: now, into: &events)
        for index in first..<events.count {
            switch events[index] {
            case .ping(let payload): answer(ping: payload, isBlocked: isBlocked)
            case .close(let code, let reason): answer(close: code, reason: reason)
            case .failed(let error): fail(error)
            case .message, .discarded, .pong: break
            }
        }
        return count
    }

    private func answer(ping payload: [UInt8], isBlocked: Bool) {
        guard phase == .open else { return }
        if isBlocked {
            // RFC 6455 §5.5.3: only the most recent ping has to be answered.
            openRare().pendingPong = payload
        } else {
            FrameEncoder.append(.pong, payload: payload.span, mask: maskKey(), to: &output)
        }
    }

    /// RFC 6455 §5.5.1: the answer to a close repeats its code.
    private func answer(close code: CloseCode?, reason: String) {
        openRare().peerClose = (code, reason)
        end(answering: (code, ""))
    }

    /// Ends it for a rule that the peer broke: one of the protocol, or one that only the owner can judge.
    package func fail(_ error: WebSocketError) {
        openRare().failure = error
        end(answering: (error.closeCode, error.reason))
    }

    private func end(answering close: (code: CloseCode?, reason: String)) {
        // After the close frame a pong says nothing new.
        rare?.pendingPong = nil
        if phase == .open { openRare().pendingClose = close }
        phase = .closed
    }

    // MARK: - Sending

    /// Whether messages and pings may still be queued: until a close is among the output (RFC 6455 §5.5.1).
    package var canSend: Bool { phase == .open || rare?.pendingClose != nil }

    /// Queues a message. False, and nothing done, where `canSend` is.
    ///
    /// Where compression was agreed it is compressed, unless `isCompressible` says that this would be wasted.
    @discardableResult
    package func send(_ kind: MessageKind, _ payload: Span<UInt8>, isCompressible: Bool = true) -> Bool {
        guard canSend else { return false }
        if isCompressible, let compressed = compress(payload) {
            FrameEncoder.append(
                kind.opcode, isCompressed: true, payload: compressed.span, mask: maskKey(), to: &output)
        } else {
            FrameEncoder.append(kind.opcode, payload: payload, mask: maskKey(), to: &output)
        }
        return true
    }

    /// nil where nothing was agreed, or there is no memory for it: each message may go uncompressed (RFC 7692 §6).
    private func compress(_ payload: Span<UInt8>) -> [UInt8]? {
        guard let compression else { return nil }
        let rare = openRare()
        if rare.deflater == nil {
            rare.deflater = try? Deflater(
                windowBits: compression.windowBits, contextTakeover: compression.contextTakeover)
        }
        guard rare.deflater != nil else { return nil }
        let compressed = rare.deflater!.message(payload)
        if !compression.contextTakeover { rare.deflater = nil }
        return compressed
    }

    /// Queues a ping. False, and nothing done, where `canSend` is.
    ///
    /// - Precondition: at most 125 bytes.
    @discardableResult
    package func ping(_ payload: Span<UInt8>) -> Bool {
        precondition(payload.count <= 125, "a ping carries at most 125 bytes")
        guard canSend else { return false }
        FrameEncoder.append(.ping, payload: payload, mask: maskKey(), to: &output)
        return true
    }

    /// Queues a pong that nobody asked for (RFC 6455 §5.5.3: a heartbeat in one direction). False once a close was
    /// queued.
    ///
    /// - Precondition: at most 125 bytes.
    @discardableResult
    package func pong(_ payload: Span<UInt8>) -> Bool {
        precondition(payload.count <= 125, "a pong carries at most 125 bytes")
        guard phase == .open else { return false }
        FrameEncoder.append(.pong, payload: payload, mask: maskKey(), to: &output)
        return true
    }

    /// Begins to close; does nothing when that has begun already. Without `reason`, the code's own.
    ///
    /// - Precondition: the code may be sent, and a reason is at most `CloseCode.maximumReasonBytes` long.
    package func close(_ code: CloseCode?, reason: String? = nil, retryMilliseconds: Int? = nil) {
        guard phase == .open else { return }
        appendClose(code, reason: reason ?? code?.reason(retryMilliseconds: retryMilliseconds) ?? "")
        phase = .closing
    }

    private func appendClose(_ code: CloseCode?, reason: String) {
        rare?.pendingPong = nil
        rare?.deflater = nil
        FrameEncoder.appendClose(code, reason: reason, mask: maskKey(), to: &output)
    }

    /// Ends the reason of the close that answers a failure with the time after which the peer may come back. Only while that
    /// close waits for ``takeOutput()``.
    package func addRetry(milliseconds: Int) {
        guard let rare, let (code, reason) = rare.pendingClose else { return }
        rare.pendingClose = (code, "\(reason) retry_ms=\(milliseconds)")
    }

    // MARK: - Output

    package var hasOutput: Bool { !output.isEmpty || rare?.pendingPong != nil || rare?.pendingClose != nil }

    /// The bytes to send, in order; afterwards there are none.
    package func takeOutput() -> [UInt8] {
        if let payload = rare?.pendingPong {
            rare?.pendingPong = nil
            FrameEncoder.append(.pong, payload: payload.span, mask: maskKey(), to: &output)
        }
        if let (code, reason) = rare?.pendingClose {
            rare?.pendingClose = nil
            appendClose(code, reason: reason)
        }
        let bytes = output
        output = []
        return bytes
    }

    // MARK: - The end

    /// The rule that the peer broke, if it did.
    package var failure: WebSocketError? { rare?.failure }

    package var transportAction: TransportAction {
        switch phase {
        case .open: .keep
        case .closing: .awaitPeer
        case .closed: role == .client && rare?.failure == nil ? .awaitPeer : .closeAfterFlush
        }
    }

    /// How it ended, asked when the transport has.
    package var ending: Ending {
        if let peerClose = rare?.peerClose {
            return Ending(code: peerClose.code ?? .noStatus, reason: peerClose.reason, isClean: true)
        }
        if let failure = rare?.failure {
            return Ending(code: failure.closeCode, reason: failure.reason, isClean: false)
        }
        return Ending(code: .abnormal, reason: "", isClean: false)
    }
}

@available(*, unavailable) extension WebSocketSession: Sendable {}
