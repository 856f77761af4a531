/// One end of a connection after its handshake. It receives, answers pings and closes by itself, and gathers the bytes
/// to send. It uses neither a socket nor a clock. Confined to the loop of its connection.
///
/// The caller passes received bytes to `receive`, then sends the result of `takeOutput`. If earlier output has not left yet,
/// the caller waits before the next `takeOutput`. So a peer that pings without reading costs one pending pong.
package final class WebSocketSession {
    /// The state of the connection (RFC 6455 §7).
    package enum Phase: Sendable {
        case open
        /// Our close frame is written, the peer's has not arrived. The caller sets a deadline for it.
        case closing
        /// Both close frames were exchanged, or a rule was broken. Nothing more is read, and the rest of the output ends with
        /// our close frame.
        case closed
    }

    /// What the owner of the transport must do.
    package enum TransportAction: Sendable {
        case keep
        /// Wait for the peer, with a deadline, then close. The server waits for its close frame, the client for the server
        /// to close first (RFC 6455 §7.1.1).
        case awaitPeer
        /// Send the rest, then close.
        case closeAfterFlush
    }

    /// How the connection ended, as RFC 6455 §7.1.5 and §7.1.6 define it.
    package struct Ending: Equatable, Sendable {
        /// The peer's code if it sent one, otherwise `.noStatus` or `.abnormal`; our code after a failure.
        package let code: CloseCode
        package let reason: String
        /// Whether both sides sent close frames.
        package let isClean: Bool
    }

    // In this order the small properties share a word.
    private var output: [UInt8] = []
    private var rare: Rare?
    private var receiver: WebSocketReceiver
    private let role: Role
    private let compression: DeflateDirection?
    package private(set) var phase = Phase.open

    /// State that an idle connection of a server does not need.
    private final class Rare {
        var nextMaskKey: (() -> MaskKey)?
        /// Received bytes beyond the work of one turn, from `restStart` on.
        var rest: [UInt8] = []
        var restStart = 0
        var deflater: Deflater?
        var pendingPong: [UInt8]?
        /// Our answer to the peer's close or failure. It waits for `takeOutput`, so that answers to messages of the same
        /// read are sent before it.
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

    /// The server's end, with its own limits.
    package convenience init(
        server limits: WebSocketLimits, deflate: DeflateParameters? = nil, payloads: PayloadPolicy = .deliver
    ) {
        self.init(server: WebSocketLoop(limits: limits, payloads: payloads), deflate: deflate)
    }

    /// The client's end. `maskKeys` returns a fresh, unpredictable key for each frame (RFC 6455 §10.3).
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

    /// Reads the received bytes, appends the events, and queues the answers that the protocol requires.
    ///
    /// Where the limits bound the work of a turn, some bytes may wait afterwards (`hasRest`). Then the caller stops reading the
    /// transport. After others had their turn, it calls `receiveRest` until nothing waits. Bytes that it passes meanwhile wait
    /// after the rest. Their number is limited: they were read from the transport already.
    ///
    /// - Parameters:
    ///   - now: monotonic, in ms.
    ///   - isBlocked: whether earlier output has not left. Then a newer answer to a ping replaces an older one, as long as
    ///     output is waiting. Otherwise each ping of these bytes is answered.
    package func receive(
        _ bytes: Span<UInt8>, now: UInt64, isBlocked: Bool = false, into events: inout [WebSocketEvent]
    ) {
        guard phase != .closed else { return }
        if let rare, hasRest { return rare.rest.append(bytes) }
        let count = read(bytes, now: now, isBlocked: isBlocked, into: &events)
        if count < bytes.count, phase != .closed { openRare().rest.append(bytes.extracting(count..<bytes.count)) }
    }

    /// Whether some of the received bytes wait for their turn.
    package var hasRest: Bool { rare.map { $0.restStart < $0.rest.count } ?? false }

    /// One more turn for the waiting bytes; otherwise like `receive`.
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

    /// Ends the connection for a rule that the peer broke: a rule of the protocol, or one that only the owner can check.
    package func fail(_ error: WebSocketError) {
        openRare().failure = error
        end(answering: (error.closeCode, error.reason))
    }

    private func end(answering close: (code: CloseCode?, reason: String)) {
        // After the close frame a pong has no use.
        rare?.pendingPong = nil
        if phase == .open { openRare().pendingClose = close }
        phase = .closed
    }

    // MARK: - Sending

    /// Whether messages and pings may still be queued: until a close is part of the output (RFC 6455 §5.5.1).
    package var canSend: Bool { phase == .open || rare?.pendingClose != nil }

    /// Queues a message. Returns false and does nothing where `canSend` is false.
    ///
    /// Where compression was agreed the message is compressed, unless `isCompressible` is false because it would be wasted.
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

    /// Nil where no compression was agreed, or there is no memory for it: each message may be uncompressed (RFC 7692 §6).
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

    /// Queues a ping. Returns false and does nothing where `canSend` is false.
    ///
    /// - Precondition: at most 125 bytes.
    @discardableResult
    package func ping(_ payload: Span<UInt8>) -> Bool {
        precondition(payload.count <= 125, "a ping carries at most 125 bytes")
        guard canSend else { return false }
        FrameEncoder.append(.ping, payload: payload, mask: maskKey(), to: &output)
        return true
    }

    /// Queues an unsolicited pong (RFC 6455 §5.5.3: a heartbeat in one direction). Returns false after a close was
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

    /// Begins to close. Does nothing when that has begun already. Without `reason`, the fixed reason of the code is sent.
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

    /// Appends the time after which the peer may reconnect to the reason of the close that answers a failure. Only while that
    /// close waits for ``takeOutput()``.
    package func addRetry(milliseconds: Int) {
        guard let rare, let (code, reason) = rare.pendingClose else { return }
        rare.pendingClose = (code, "\(reason) retry_ms=\(milliseconds)")
    }

    // MARK: - Output

    package var hasOutput: Bool { !output.isEmpty || rare?.pendingPong != nil || rare?.pendingClose != nil }

    /// Returns the bytes to send, in order, and removes them.
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

    /// How the connection ended. Read it when the transport has ended.
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
