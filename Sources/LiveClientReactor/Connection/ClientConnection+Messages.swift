import LiveClient
import TLS
import WebSocket

extension ClientConnection {
    /// Whether messages can be sent.
    package var isOpen: Bool {
        if case .streaming = phase { return ending == nil }
        guard case .open = phase, ending == nil, let current = session?.phase else { return false }
        return current == .open
    }

    /// The bytes that were sent and that the kernel has not accepted yet. An owner that sends much sets a limit and then waits
    /// for ``ConnectionOwner/connectionDrained()``.
    package var pendingBytes: Int { transport?.pendingBytes ?? 0 }

    private var isBlocked: Bool { transport?.isBlocked ?? false }

    func open(_ opening: Opening) {
        clearDeadline()
        phase = .open
        let limits = WebSocketLimits(
            maximumMessageBytes: settings.limits.maximumMessageBytes,
            maximumFragments: settings.limits.maximumFragments,
            maximumControlFramesPerSecond: settings.limits.maximumControlFramesPerSecond)
        session = WebSocketSession(client: limits, deflate: opening.deflate) { MaskKey(Random.word()) }
        schedulePing()
        owner?.connectionOpened(opening)
    }

    // MARK: Receiving

    func receiveFrames(_ bytes: Span<UInt8>) {
        session?.receive(bytes, now: loop.now, isBlocked: isBlocked, into: &events)
        let received = events
        events.removeAll(keepingCapacity: events.count <= 64)
        for event in received {
            // The owner may have dropped the connection after an earlier event.
            guard ending == nil else { return }
            deliver(event)
        }
        // If the peer does not read, answers to its pings replace each other and do not accumulate.
        if !isBlocked || !isOpen { writeOutput() }
    }

    private func deliver(_ event: WebSocketEvent) {
        switch event {
        case .message(let kind, let payload): owner?.connectionReceived(kind, payload)
        case .ping(let payload): owner?.connectionReceivedPing(payload)
        case .pong(let payload): receivedPong(payload)
        case .discarded: break
        case .close(let code, let reason):
            writeOutput()
            ending = .closed(code ?? .noStatus, reason: reason)
            // RFC 6455 §7.1.1: the server closes the connection first, so that its port is free at once.
            setDeadline(settings.limits.lingerMilliseconds) { $0.transport?.close(afterFlush: true) }
        case .failed(let error):
            writeOutput()
            end(.broken(error), afterFlush: true)
        }
    }

    /// Makes the server wait, because we stop reading. Messages that were read before may still be delivered.
    package func pauseReading() {
        isPaused = true
        transport?.pauseReading()
    }

    package func resumeReading() {
        isPaused = false
        transport?.resumeReading()
    }

    // MARK: Sending

    func writeOutput() {
        guard let bytes = session?.takeOutput(), !bytes.isEmpty else { return }
        transport?.write(bytes)
    }

    /// Sends a message. Returns false and sends nothing before the opening and after the beginning of a close.
    @discardableResult
    package func send(_ kind: MessageKind, _ payload: [UInt8]) -> Bool {
        guard isOpen, session?.send(kind, payload.span) == true else { return false }
        writeOutput()
        return true
    }

    /// Sends a ping of the caller.
    ///
    /// - Precondition: at most 125 bytes.
    package func ping(_ payload: [UInt8]) {
        guard isOpen else { return }
        session?.ping(payload.span)
        writeOutput()
    }

    /// Sends a pong without a ping.
    ///
    /// - Precondition: at most 125 bytes.
    package func pong(_ payload: [UInt8]) {
        guard isOpen else { return }
        session?.pong(payload.span)
        writeOutput()
    }

    /// Begins to close. Messages being sent or received are delivered first. Before the opening it drops the attempt.
    ///
    /// - Precondition: the code may be sent, and the reason has at most ``CloseCode/maximumReasonBytes``.
    package func close(_ code: CloseCode = .normal, reason: String = "") {
        if case .streaming = phase { return end(.closed(code, reason: reason)) }
        guard case .open = phase else { return abort() }
        guard isOpen else { return }
        session?.close(code, reason: reason)
        writeOutput()
        setDeadline(settings.limits.closeMilliseconds) { $0.end(.closeUnanswered) }
    }

    // MARK: Pings

    private func schedulePing() {
        guard let milliseconds = settings.pingMilliseconds else { return }
        pingTimer = loop.schedule(afterMilliseconds: milliseconds) { [weak self] in
            guard let self, self.isOpen else { return }
            self.schedulePing()
            guard let payload = self.heartbeat.next(now: .now) else { return }
            self.ping(payload)
            self.awaitPong()
        }
    }

    private func awaitPong() {
        pongTimer = loop.schedule(afterMilliseconds: settings.limits.pongMilliseconds) { [weak self] in
            guard let self, self.heartbeat.isWaiting else { return }
            // While we do not read, we cannot miss a pong.
            if self.isPaused { return self.awaitPong() }
            self.end(.noPong)
        }
    }

    private func receivedPong(_ payload: [UInt8]) {
        let roundTrip = heartbeat.roundTrip(of: payload, now: .now)
        if roundTrip != nil, let timer = pongTimer {
            loop.cancel(timer)
            pongTimer = nil
        }
        owner?.connectionReceivedPong(payload, roundTrip: roundTrip)
    }
}

/// Our pings and the time until their pongs. It has no timer: its owner calls ``next(now:)`` when one is due.
struct Heartbeat {
    private var sequence: UInt64 = 0
    private var outstanding: (payload: [UInt8], sentAt: ContinuousClock.Instant)?

    /// Whether a ping waits for its pong.
    var isWaiting: Bool { outstanding != nil }

    /// The payload of the next ping; nil while the one before has no pong yet.
    mutating func next(now: ContinuousClock.Instant) -> [UInt8]? {
        guard outstanding == nil else { return nil }
        sequence += 1
        let payload = Array(String(sequence).utf8)
        outstanding = (payload, now)
        return payload
    }

    /// The time since the ping that this pong answers; nil if it answers none, which RFC 6455 §5.5.3 allows.
    mutating func roundTrip(of pong: [UInt8], now: ContinuousClock.Instant) -> Duration? {
        guard let outstanding, outstanding.payload == pong else { return nil }
        self.outstanding = nil
        return now - outstanding.sentAt
    }
}
