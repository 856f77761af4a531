import HTTP
import LiveUpdates
import Logging
import Reactor
import TLS
import Transport
import WebSocket

/// One client, from the accepted socket to its end.
///
///     request ──refused────────────────────────────────► ending
///        └──admitted──► joining ──ingest's answer──► open ──close frame──► ending
///
/// Confined to its loop. The bytes, with or without TLS, are `Transport`'s; this type decides what they mean.
final class Connection {
    enum Phase: UInt8 {
        /// Reading the request.
        case request
        /// Admitted; waits for ingest to say from when on it gets events.
        case joining
        /// The 101 was sent; events come.
        case open
        /// Said its last: nothing is written after that, and what comes only matters for the close handshake.
        case ending
    }

    /// What an admitted connection keeps between the request and the 101.
    private struct Joining {
        let admitted: Admission.Admitted
        /// What followed the request in the same read; bounded by the loop's receive buffer.
        var early: [UInt8]
    }

    let id: ConnectionID
    /// The place in its `LoopFanOut` audience, which owns the number.
    var placeInAudience = 0
    private(set) var takesDeflated = false

    private unowned let node: LoopNode
    private let peer: String
    private var phase = Phase.request
    private var transport: Transport<Connection>?
    private var parser: RequestParser?
    private var joining: Joining?
    private var session: WebSocketSession?
    private var identity: Identity?
    /// The handshake's deadline, then the token's end: one at a time.
    private var timer: Timer?

    init(id: ConnectionID, node: LoopNode, peer: String) {
        self.id = id
        self.node = node
        self.peer = peer
    }

    /// Takes the accepted socket. The handshake's time is absolute: bytes that drip in do not prolong it.
    func start(_ descriptor: consuming FileDescriptor) {
        parser = RequestParser(limits: node.policy.requestLimits)
        setTimer(afterMilliseconds: node.policy.handshakeTimeoutMilliseconds) { $0.requestTimedOut() }
        let transport: Transport<Connection>
        do {
            transport = try Transport(descriptor, security: node.policy.security, on: node.transports)
        } catch {
            // Only a client's name can be refused.
            preconditionFailure("a server's transport was refused: \(error)")
        }
        self.transport = transport
        transport.start(self)
    }

    private func setTimer(afterMilliseconds delay: UInt64, _ action: @escaping (Connection) -> Void) {
        if let timer { node.loop.cancel(timer) }
        timer = node.loop.schedule(afterMilliseconds: delay) { [weak self] in
            guard let self else { return }
            timer = nil
            action(self)
        }
    }

    private func cancelTimer() {
        if let timer = timer.take() { node.loop.cancel(timer) }
    }

    // MARK: - Request

    private func receiveRequest(_ bytes: Span<UInt8>) {
        guard let progress = parser?.consume(bytes) else { return }
        switch progress {
        case .needMore: break
        case .refused(let refusal): refuse(refusal)
        case .head(let head, let consumed):
            parser = nil
            decide(head, early: bytes.extracting(droppingFirst: consumed))
        }
    }

    private func decide(_ head: RequestHead, early: Span<UInt8>) {
        switch node.admission.decide(head, epochSeconds: node.epochSeconds()) {
        case .refuse(let refusal): refuse(refusal, withoutBody: head.method == "HEAD")
        case .plainGet:
            count(refusal: "not_a_websocket", status: 400)
            finish(writing: Refusal.plainGet(date: node.httpDate()))
        case .admit(let admitted):
            joining = Joining(admitted: admitted, early: [])
            keepEarly(early)
            identity = admitted.identity
            takesDeflated = admitted.deflate != nil
            phase = .joining
            // Whoever has not seen the 101 has nothing to say.
            transport?.pauseReading()
            node.subscribe(self, account: admitted.identity.account)
        }
    }

    /// Keeps what followed the request for the WebSocket. Reading is paused, but of one read TLS may give several pieces.
    private func keepEarly(_ bytes: Span<UInt8>) {
        for index in bytes.indices { joining?.early.append(bytes[index]) }
    }

    private func refuse(_ refusal: Refusal, withoutBody: Bool = false) {
        count(refusal: refusal.code.rawValue, status: refusal.status)
        finish(writing: refusal.serialized(date: node.httpDate(), withoutBody: withoutBody))
    }

    private func count(refusal code: String, status: Int) {
        node.counters.refusals[code, default: 0] += 1
        node.logger.debug("request refused", [.peer: .text(peer), .status: .number(status), .code: .text(code)])
    }

    private func requestTimedOut() {
        guard phase == .request else { return }
        // TLS has the same deadline for its part, and knows better what to say of it.
        if transport?.isHandshaking == true { return }
        // Who has said nothing at all, like a balancer that keeps a spare connection, wants no answer.
        if let parser, parser.isInsideHead { refuse(Refusal(.timeout)) } else { finish(writing: []) }
    }

    // MARK: - WebSocket

    /// Ingest has answered: everything of the account from here on comes to this loop. The 101 leaves now.
    func joined() {
        guard phase == .joining, let joining = joining.take(), let transport else { return }
        let admitted = joining.admitted
        let accept = Digest.sha1(WebSocketKey.acceptInput(admitted.upgrade.key))
        transport.write(
            UpgradeResponse.serialized(
                accept: Base64.encode(accept),
                subprotocol: admitted.upgrade.offers(Admission.subprotocol) ? Admission.subprotocol : nil,
                extensions: admitted.deflate?.answer))
        session = WebSocketSession(
            server: node.policy.webSocketLimits, deflate: admitted.deflate?.parameters, payloads: .discard)
        phase = .open
        node.fanOut.join(self, account: admitted.identity.account)
        node.counters.opened += 1
        node.logger.info("connection opened", [.peer: .text(peer), .account: .text(admitted.identity.account.text)])
        watchToken(admitted.identity)
        if !joining.early.isEmpty { receiveFrames(joining.early.span) }
        transport.resumeReading()
    }

    private func watchToken(_ identity: Identity) {
        cancelTimer()
        guard let expiresAt = identity.expiresAt else { return }
        let seconds = UInt64(clamping: max(0, expiresAt - node.epochSeconds()))
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        setTimer(afterMilliseconds: overflow ? .max : milliseconds) { $0.close(.tokenExpired) }
    }

    private func receiveFrames(_ bytes: Span<UInt8>) {
        // What a client sends is read, checked and ignored; the session answers pings and closes.
        node.events.removeAll(keepingCapacity: true)
        let isBlocked = transport.map { $0.pendingBytes > 0 } ?? true
        session?.receive(bytes, now: node.loop.now, isBlocked: isBlocked, into: &node.events)
        writeSession()
    }

    /// Sends what the session wants to say, unless earlier bytes have not left: then pongs replace each other.
    private func writeSession() {
        guard let transport, let action = session?.transportAction else { return }
        if session?.hasOutput == true, transport.pendingBytes == 0 || action != .keep,
            let output = session?.takeOutput()
        {
            transport.write(output)
        }
        switch action {
        case .keep: break
        case .awaitPeer: beginEnding()
        case .closeAfterFlush:
            beginEnding()
            transport.close(afterFlush: true)
        }
    }

    /// A slice of frames that many connections share.
    func deliver(_ frames: [UInt8]) {
        guard phase == .open else { return }
        transport?.write(frames)
    }

    /// Closes with a code; nothing is written after it.
    func close(_ code: CloseCode) {
        guard phase == .open else { return abandon(code) }
        node.counters.closes[code.rawValue, default: 0] += 1
        session?.close(code)
        writeSession()
        setTimer(afterMilliseconds: LoopNode.closeTimeoutMilliseconds) { $0.transport?.close(afterFlush: true) }
    }

    /// A close before there is a WebSocket to say it on.
    private func abandon(_ code: CloseCode) {
        guard phase != .ending else { return }
        refuse(Refusal(code == .goingAway ? .draining : .overloaded, retryAfterSeconds: LoopNode.retryAfterSeconds))
    }

    // MARK: - The end

    private func finish(writing answer: [UInt8]) {
        beginEnding()
        transport?.write(answer)
        transport?.close(afterFlush: true)
    }

    /// From here on no event reaches this connection.
    private func beginEnding() {
        guard phase != .ending else { return }
        cancelTimer()
        leave()
        phase = .ending
    }

    private func leave() {
        guard let account = identity?.account else { return }
        if phase == .open { node.fanOut.leave(self, account: account) }
        if phase == .open || phase == .joining { node.unsubscribe(account: account) }
    }
}

extension Connection: TransportOwner {
    func transportReceived(_ bytes: Span<UInt8>) {
        switch phase {
        case .request: receiveRequest(bytes)
        case .open, .ending: receiveFrames(bytes)
        case .joining: keepEarly(bytes)
        }
    }

    func transportDrained() {
        if phase == .open { writeSession() }
    }

    /// After a tick's send: what the kernel has not taken is what a slow client costs.
    func transportBlocked() {
        guard phase == .open, let transport, transport.pendingBytes > node.policy.maximumPendingBytes else { return }
        node.logger.info(
            "connection too slow",
            [
                .peer: .text(peer), .bytes: .number(transport.pendingBytes),
                .limit: .number(node.policy.maximumPendingBytes),
            ])
        close(.tooSlow)
    }

    func transportEnded(_ reason: TransportEnd) {
        beginEnding()
        cancelTimer()
        if let ending = session?.ending {
            node.logger.info(
                "connection closed",
                [
                    .peer: .text(peer), .account: identity.map { .text($0.account.text) } ?? .absent,
                    .code: .number(Int(ending.code.rawValue)), .reason: .text("\(reason)"),
                ])
        }
        node.forget(self, reason)
        transport = nil
    }
}

@available(*, unavailable)
extension Connection: Sendable {}
