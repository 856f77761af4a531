import HTTP
import LiveUpdates
import Logging
import Reactor
import TLS
import Tokens
import Transport
import WebSocket

/// One client, from the accepted socket to its end.
///
///     request ──refused─────────────────────────────────────────► ending
///        ├──admitted to a stream──► joining ──ingest's answer──► open ──close──► ending
///        └──admitted to sync──► syncing ──answer──► request, or ending
///
/// Confined to its loop. The bytes, with or without TLS, are `Transport`'s; this type decides what they mean. What a
/// stream has been given and is owed is ``LiveStream``'s.
final class Connection {
    enum Phase: UInt8 {
        /// Reading a request.
        case request
        /// Admitted; waits for ingest to say from when on it gets events.
        case joining
        /// The head was sent; events come.
        case open
        /// A request to `/sync/v1` is being answered.
        case syncing
        /// Said its last: nothing is written after that, and what comes only matters for the close handshake.
        case ending
    }

    /// What an admitted connection keeps between the request and the head of its answer.
    struct Joining {
        let admitted: Admission.Admitted
        /// What followed the request in the same read; bounded by the loop's receive buffer.
        var early: [UInt8]
    }

    private(set) var id: ConnectionID
    /// The place in its group of the fan-out, which owns the number.
    var placeInAudience = 0

    unowned let loop: ConnectionLoop
    let peer: String
    var phase = Phase.request
    var transport: Transport<Connection>?
    var parser: RequestParser?
    var joining: Joining?
    var session: WebSocketSession?
    var stream: LiveStream?
    var sync: SyncExchange?
    private(set) var identity: Identity?
    /// The request's deadline, then the token's end: one at a time.
    private var timer: Timer?
    /// The next ping or comment, or the time for its answer.
    var pulse: Timer?
    var awaitsPong = false
    /// Monotonic, in milliseconds; 0 before the first ping.
    var pingedAt: UInt64 = 0

    init(id: ConnectionID, loop: ConnectionLoop, peer: String) {
        self.id = id
        self.loop = loop
        self.peer = peer
    }

    /// Takes the accepted socket. The handshake's time is absolute: bytes that drip in do not prolong it.
    func start(_ descriptor: consuming FileDescriptor) {
        awaitRequest(within: loop.policy.handshakeTimeoutMilliseconds)
        let transport: Transport<Connection>
        do {
            transport = try Transport(descriptor, security: loop.policy.security, on: loop.transports)
        } catch {
            // Only a client's name can be refused.
            preconditionFailure("a server's transport was refused: \(error)")
        }
        self.transport = transport
        transport.start(self)
    }

    private func awaitRequest(within milliseconds: UInt64) {
        phase = .request
        parser = RequestParser(limits: loop.policy.requestLimits)
        setTimer(afterMilliseconds: milliseconds) { $0.requestTimedOut() }
    }

    func setTimer(afterMilliseconds delay: UInt64, _ action: @escaping (Connection) -> Void) {
        cancelTimer()
        timer = loop.eventLoop.schedule(afterMilliseconds: delay) { [weak self] in
            guard let self else { return }
            timer = nil
            action(self)
        }
    }

    func cancelTimer() {
        if let timer = timer.take() { loop.eventLoop.cancel(timer) }
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
        switch loop.admission.decide(head, epochSeconds: loop.epochSeconds()) {
        case .refuse(let refusal):
            refuse(refusal, withoutBody: head.method == "HEAD", isStorable: head.path != Admission.syncPath)
        case .plainGet:
            count(refusal: "not_a_websocket", status: 400)
            finish(writing: Refusal.plainGet(date: loop.httpDate()))
        case .admit(let admitted):
            identity = admitted.identity
            cancelTimer()
            switch admitted.service {
            case .sync(let parameters): beginSync(parameters, keepsAlive: SyncAnswer.keepsAlive(head), early)
            case .webSocket, .eventStream: join(admitted, early)
            }
        }
    }

    func refuse(_ refusal: Refusal, withoutBody: Bool = false, isStorable: Bool = true) {
        count(refusal: refusal.code.rawValue, status: refusal.status)
        finish(
            writing: refusal.serialized(
                date: loop.httpDate(), withoutBody: withoutBody, isStorable: isStorable, keepsAlive: false))
    }

    func count(refusal code: String, status: Int) {
        loop.counters.refusals[code, default: 0] += 1
        loop.logger.debug("request refused", [.peer: .text(peer), .status: .number(status), .code: .text(code)])
    }

    private func requestTimedOut() {
        guard phase == .request else { return }
        // TLS has the same deadline for its part, and knows better what to say of it.
        if transport?.isHandshaking == true { return }
        // Who has said nothing at all, like a balancer that keeps a spare connection, wants no answer.
        if let parser, parser.isInsideHead { refuse(Refusal(.timeout)) } else { finish(writing: []) }
    }

    /// The answer has been written and the client may ask again; `early` is what it has said already.
    func awaitNextRequest(early: [UInt8]) {
        id.turn &+= 1
        awaitRequest(within: ConnectionLoop.idleRequestMilliseconds)
        transport?.resumeReading()
        if !early.isEmpty { receiveRequest(early.span) }
    }

    // MARK: - The end

    func finish(writing answer: [UInt8]) {
        beginEnding()
        transport?.write(answer)
        transport?.close(afterFlush: true)
    }

    /// From here on no event reaches this connection.
    func beginEnding() {
        guard phase != .ending else { return }
        cancelTimer()
        if let pulse = pulse.take() { loop.eventLoop.cancel(pulse) }
        leave()
        phase = .ending
    }

    private func leave() {
        stream?.end()
        if phase == .open || phase == .joining { loop.unsubscribe(self, withCursors: asksForCursors) }
        sync?.end()
        sync = nil
    }

    /// Whether the account's events carry cursors for the sake of this connection.
    var asksForCursors: Bool {
        if let stream { return stream.form.needsCursors || stream.parameters.isChangedMode }
        guard let (parameters, form) = joining?.admitted.liveRequest else { return false }
        return form.needsCursors || parameters.isChangedMode
    }

    var account: Account {
        guard let account = identity?.account else { preconditionFailure("nobody knows yet whose connection this is") }
        return account
    }
}

extension Connection: TransportOwner {
    func transportReceived(_ bytes: Span<UInt8>) {
        switch phase {
        case .request: receiveRequest(bytes)
        case .open, .ending: receiveFrames(bytes)
        case .joining: keepEarly(bytes)
        case .syncing: sync?.keepEarly(bytes)
        }
    }

    func transportDrained() {
        guard phase == .open else { return }
        if session != nil { writeSession() }
        stream?.drained()
    }

    /// After a tick's send: the kernel has not taken all of it.
    func transportBlocked() {
        if phase == .open { stream?.blocked() }
    }

    func transportEnded(_ reason: TransportEnd) {
        let code = session?.ending.code.rawValue
        let wasStream = stream != nil
        beginEnding()
        if wasStream {
            loop.logger.info(
                "connection closed",
                [
                    .peer: .text(peer), .account: identity.map { .text($0.account.text) } ?? .absent,
                    .code: code.map { LogValue.number(Int($0)) } ?? .absent, .reason: .text("\(reason)"),
                ])
        }
        loop.forget(self, reason)
        stream = nil
        transport = nil
    }
}

@available(*, unavailable)
extension Connection: Sendable {}
