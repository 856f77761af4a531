import HTTP
import LiveUpdates
import Logging
import TLS
import Tokens
import WebSocket

/// A connection with a stream on it: its head, its frames, its closes.
extension Connection {
    func join(_ admitted: Admission.Admitted, _ early: Span<UInt8>) {
        guard let (parameters, form) = admitted.liveRequest else { preconditionFailure("a stream without a form") }
        joining = Joining(admitted: admitted, early: [])
        keepEarly(early)
        phase = .joining
        // Whoever has not seen the head of the answer has nothing to say.
        transport?.pauseReading()
        let page = CatchUp.pageRequest(form, isChangedMode: parameters.isChangedMode)
        loop.subscribe(self, JoinRequest(since: parameters.since, withCursors: asksForCursors, page: page))
    }

    /// Keeps what followed the request for the WebSocket. Reading is paused, but of one read TLS may give several pieces.
    func keepEarly(_ bytes: Span<UInt8>) {
        for index in bytes.indices { joining?.early.append(bytes[index]) }
    }

    /// Ingest has answered: everything of the account from here on comes to this loop. The head leaves now.
    func joined(_ answer: JoinAnswer) {
        if let sync { return sync.joined(answer) }
        guard phase == .joining, let joining, let (parameters, form) = joining.admitted.liveRequest else { return }
        self.joining = nil
        writeHead(joining.admitted)
        phase = .open
        let stream = LiveStream(parameters, form: form, account: account, connection: self, loop: loop)
        self.stream = stream
        loop.counters.opened += 1
        loop.logger.info("connection opened", [.peer: .text(peer), .account: .text(account.text)])
        watchToken(joining.admitted.identity)
        stream.begin(answer)
        beginPulse()
        if session != nil, !joining.early.isEmpty { receiveFrames(joining.early.span) }
        transport?.resumeReading()
    }

    private func writeHead(_ admitted: Admission.Admitted) {
        switch admitted.service {
        case .webSocket(let upgrade, let deflate, _):
            let accept = Digest.sha1(WebSocketKey.acceptInput(upgrade.key))
            transport?.write(
                UpgradeResponse.serialized(
                    accept: Base64.encode(accept),
                    subprotocol: upgrade.offers(Admission.subprotocol) ? Admission.subprotocol : nil,
                    extensions: deflate?.answer))
            session = WebSocketSession(
                server: loop.policy.webSocketLimits, deflate: deflate?.parameters, payloads: .discard)
        case .eventStream:
            let retry = Int.random(in: EventStreamEncoder.retryMilliseconds)
            transport?.write(EventStream.head(date: loop.httpDate(), retryMilliseconds: retry))
        case .sync: preconditionFailure("/sync/v1 is no stream")
        }
    }

    private func watchToken(_ identity: Identity) {
        guard let expiresAt = identity.expiresAt else { return }
        setTimer(afterMilliseconds: loop.milliseconds(until: expiresAt)) { $0.close(.tokenExpired) }
    }

    func took(_ page: PageAnswer) {
        if let sync { sync.took(page) } else { stream?.took(page) }
    }

    func tookFresh(_ cursor: CursorText) {
        if let sync { sync.tookFresh(cursor) } else { stream?.tookFresh(cursor) }
    }

    func reset(_ why: ResyncReason, at cursor: CursorText) {
        if let sync { sync.reset(why, at: cursor) } else { stream?.reset(why, at: cursor) }
    }

    /// Whether ingest has answered that the account's events come to this loop.
    var isSubscribed: Bool { phase == .open || sync?.isJoined == true }

    // MARK: - Bytes

    /// What the kernel has not taken yet.
    var pendingBytes: Int { transport?.pendingBytes ?? 0 }

    private var isBlocked: Bool { transport?.isBlocked ?? false }

    func write(_ bytes: [UInt8]) {
        if phase == .open { transport?.write(bytes) }
    }

    /// A slice that many connections share.
    func deliver(_ messages: [UInt8]) {
        if phase == .open { stream?.deliver(messages) }
    }

    /// Events for a connection that makes its own of them.
    func eventsCame(_ events: [LoggedEvent]) {
        if let sync { return sync.eventsCame(events) }
        if phase == .open { stream?.eventsCame(events) }
    }

    func receiveFrames(_ bytes: Span<UInt8>) {
        // Of an event stream's client nothing is expected, and nothing is read into it.
        guard let session else { return }
        // What a client sends is read, checked and ignored; the session answers pings and closes.
        loop.events.removeAll(keepingCapacity: true)
        session.receive(bytes, now: loop.eventLoop.now, isBlocked: isBlocked, into: &loop.events)
        if awaitsPong, loop.events.contains(where: \.isPong) { pongCame() }
        writeSession()
    }

    /// Sends what the session wants to say, unless the kernel has not taken what was before: then pongs replace each
    /// other.
    func writeSession() {
        guard let transport, let session else { return }
        let action = session.transportAction
        if session.hasOutput, !transport.isBlocked || action != .keep { transport.write(session.takeOutput()) }
        switch action {
        case .keep: break
        case .awaitPeer: beginEnding()
        case .closeAfterFlush:
            beginEnding()
            transport.close(afterFlush: true)
        }
    }

    // MARK: - Closes

    /// Ends the stream with a code; nothing is written after it.
    func close(_ code: CloseCode, retryMilliseconds: Int? = nil) {
        guard phase == .open else { return abandon(code) }
        loop.counters.closes[code.rawValue, default: 0] += 1
        sayBye(code, retryMilliseconds)
        end(code, retryMilliseconds)
    }

    /// The client is behind and cannot be given what it misses: only the close is written any more.
    func closeTooSlow(_ why: StaticString) {
        guard phase == .open else { return }
        loop.counters.closes[CloseCode.tooSlow.rawValue, default: 0] += 1
        loop.logger.info(
            "connection too slow",
            [
                .peer: .text(peer), .account: .text(account.text), .reason: .text("\(why)"),
                .bytes: .number(pendingBytes),
            ])
        if session == nil { sayBye(.tooSlow, nil) }
        end(.tooSlow, nil)
    }

    private func sayBye(_ code: CloseCode, _ retryMilliseconds: Int?) {
        guard let stream, stream.hasControls else { return }
        let why = code.reason()
        stream.sendControl(.bye(code: code.rawValue, why: why, retryMilliseconds: retryMilliseconds))
    }

    private func end(_ code: CloseCode, _ retryMilliseconds: Int?) {
        guard let session else { return finish(writing: []) }
        session.close(code, retryMilliseconds: retryMilliseconds)
        writeSession()
        setTimer(afterMilliseconds: ConnectionLoop.closeTimeoutMilliseconds) { $0.transport?.close(afterFlush: true) }
    }

    /// A close before there is a stream to say it on.
    private func abandon(_ code: CloseCode) {
        guard phase != .ending else { return }
        let refusal = Refusal(
            code == .goingAway ? .draining : .overloaded, retryAfterSeconds: ConnectionLoop.retryAfterSeconds)
        refuse(refusal, isStorable: sync == nil)
    }

    // MARK: - Pulse

    /// Pings begin after a random part of the interval: a fleet that came back at once is not pinged at once.
    private func beginPulse() {
        let interval = loop.policy.pingIntervalMilliseconds
        schedulePulse(after: UInt64.random(in: 0...interval))
    }

    /// Up to a 32nd of the delay later, at an instant that others share: pings of many leave in one tick, and one wake of
    /// the loop serves them all.
    private func schedulePulse(after delay: UInt64) {
        // What is over has taken its pulse back, and gets no other.
        guard phase == .open else { return }
        if let pulse { loop.eventLoop.cancel(pulse) }
        let share = max(1, delay / 32)
        let grain = UInt64(1) << (63 - UInt64(share.leadingZeroBitCount))
        let due = (loop.eventLoop.now + delay + grain - 1) & ~(grain - 1)
        pulse = loop.eventLoop.schedule(at: due) { [unowned self] in pulseIsDue() }
    }

    private func pulseIsDue() {
        pulse = nil
        guard phase == .open else { return }
        let interval = loop.policy.pingIntervalMilliseconds
        guard let session else {
            if pendingBytes == 0 { write(EventStream.comment) }
            return schedulePulse(after: interval)
        }
        let sincePing = loop.eventLoop.now - pingedAt
        if pendingBytes > 0 {
            // Behind what the client does not read no ping arrives; max_lag is for it.
            awaitsPong = false
            schedulePulse(after: interval)
        } else if awaitsPong {
            let patience = loop.policy.pongTimeoutMilliseconds
            if sincePing >= patience { close(.noPong) } else { schedulePulse(after: patience - sincePing) }
        } else {
            ping(session)
        }
    }

    /// The wait for it is over, and never fires for those who answer.
    private func pongCame() {
        awaitsPong = false
        let interval = loop.policy.pingIntervalMilliseconds
        let due = pingedAt + interval + UInt64.random(in: 0...interval / 10)
        schedulePulse(after: due - min(due, loop.eventLoop.now))
    }

    private func ping(_ session: WebSocketSession) {
        let nothing: [UInt8] = []
        session.ping(nothing.span)
        writeSession()
        awaitsPong = true
        pingedAt = loop.eventLoop.now
        schedulePulse(after: min(loop.policy.pongTimeoutMilliseconds, loop.policy.pingIntervalMilliseconds))
    }
}

extension WebSocketEvent {
    fileprivate var isPong: Bool {
        if case .pong = self { true } else { false }
    }
}
