import Reactor
import TLS

/// A connected stream of bytes on a loop, plain or with TLS over it, with one face for both: the face of ``ByteStream``.
///
/// With TLS, what is written gathers until the end of the tick, is encrypted there in as few records as it fills, and
/// leaves in one send; nothing is encrypted that the socket has no room for. What comes is decrypted in the loop's
/// buffers. So an idle transport owns no buffer. While the handshake lasts, what comes waits for its turn in the
/// loop's queue.
package final class Transport<Owner: TransportOwner>: TimerTarget {
    private enum Phase: UInt8 {
        /// The owner was not called yet: bytes may not flow.
        case opening
        case handshaking
        case open
        /// Closed by us or failed; what is queued leaves, nothing is reported any more but the end.
        case closing
        case ended
    }

    /// Encrypted in one tick for one transport: more would stay in our memory, since the kernel's buffer for a socket
    /// has about as much, and keep the loop from the others.
    private static var maximumBytesPerFlush: Int { 4 * TLSExchange.maximumRecordBytes }

    package let shared: TransportLoop
    private let stream: ByteStream<Transport<Owner>>
    private var owner: Owner?
    private var session: TLSSession?
    private var phase = Phase.opening
    private var isPaused = false
    /// The socket has given its last byte, but some of them still wait for their turn in the handshake.
    private var inputHasEnded = false
    private var answersPeerFinish = false
    /// The owner wrote something, and ``TransportOwner/transportDrained()`` is still due for it.
    private var owesDrained = false
    private var isWaiting = false
    private var failure: TLSFailure?
    private var plaintext = PlaintextQueue()
    private var handshakeBytes: [UInt8] = []
    private var handshakeTimer: Timer?

    /// Takes over a connected, non-blocking stream socket.
    ///
    /// Where there is no memory for an accepted connection's session, the transport ends after ``start(_:)`` as after
    /// any other failure of TLS.
    ///
    /// - Throws: ``TLSError/badName(_:)`` for a client's name that no certificate can have.
    package init(
        _ descriptor: consuming FileDescriptor, security: TransportSecurity, on shared: TransportLoop
    ) throws(TLSError) {
        self.shared = shared
        stream = ByteStream(descriptor, loop: shared.loop)
        do {
            session = try Transport.makeSession(security, shared)
        } catch {
            guard case .server = security else { throw error }
            session = nil
            failure = TLSFailure(.failed, error.description)
        }
    }

    private static func makeSession(
        _ security: TransportSecurity, _ shared: TransportLoop
    ) throws(TLSError) -> TLSSession? {
        switch security {
        case .plain: nil
        case .server(let context): try TLSSession(server: context, exchange: shared.exchange)
        case .client(let context, let name): try TLSSession(client: context, exchange: shared.exchange, name: name)
        }
    }

    /// Begins to read, and to call `owner`, which is held until the end was reported. Once. A client begins its
    /// handshake.
    package func start(_ owner: Owner) {
        self.owner = owner
        stream.start(self)
        if let failure { return end(failure) }
        if session == nil { stream.requestFlush() } else { beginHandshake() }
    }

    /// Puts TLS over a plain transport that is open: what a client does behind a proxy. Everything that was written
    /// before leaves in plain text.
    package func secure(_ security: TransportSecurity) throws(TLSError) {
        precondition(session == nil && phase == .open, "TLS begins once, on a plain transport that is open")
        session = try Transport.makeSession(security, shared)
        if session != nil { beginHandshake() }
    }

    private func beginHandshake() {
        phase = .handshaking
        let limit = shared.limits.handshakeMilliseconds
        handshakeTimer = shared.loop.schedule(afterMilliseconds: limit, self, 0)
        if isPaused { stream.resumeReading() }
        // At the end of the tick: this may be a call out of another session, which has the loop's buffers.
        stream.requestFlush()
    }

    // MARK: The face

    /// What was written and the kernel has not taken yet: plaintext that waits, and ciphertext.
    package var pendingBytes: Int { plaintext.count + stream.pendingBytes }

    /// Whether the kernel did not take all that was written in an earlier tick: the peer reads too slowly, or not at all.
    package var isBlocked: Bool { stream.isBlocked }

    /// True while writing has an effect: from the start to a close by us, a failure or the end.
    package var isOpen: Bool { phase != .closing && phase != .ended && stream.isOpen }

    /// True until TLS is agreed upon; meanwhile its own deadline counts.
    package var isHandshaking: Bool { phase == .handshaking }

    /// What TLS agreed upon; nil without TLS or before the handshake is done.
    package var agreement: TLSAgreement? { session?.agreement }

    /// Queues bytes; the array is shared and not copied. They leave at the end of the tick, or after the handshake.
    package func write(_ bytes: [UInt8]) { write(bytes, range: 0..<bytes.count) }

    /// Queues a part of an array; otherwise as ``write(_:)``.
    package func write(_ bytes: [UInt8], range: Range<Int>) {
        guard isOpen, !range.isEmpty else { return }
        if session == nil { return stream.write(bytes, range: range) }
        plaintext.append(bytes, range)
        owesDrained = true
        if phase == .open { stream.requestFlush() }
    }

    /// Asks the peer to wait by reading no further. Up to ``EventLoop/receiveBufferBytes`` that were read before may
    /// still be delivered. During a handshake it takes effect after it.
    package func pauseReading() {
        isPaused = true
        if phase == .open || session == nil { stream.pauseReading() }
    }

    package func resumeReading() {
        isPaused = false
        if phase == .open || session == nil { stream.resumeReading() }
    }

    /// Ends the transport. Nothing is delivered any more.
    ///
    /// - Parameter afterFlush: true lets what was written leave, followed by TLS's `close_notify`, within
    ///   the stream's limit for lingering; false drops it and closes at once.
    package func close(afterFlush: Bool = true) {
        guard phase != .ended else { return }
        cancelHandshakeTimer()
        let wasOpen = phase == .open
        if phase == .closing && afterFlush { return }
        phase = .closing
        guard afterFlush else { return stream.close(afterFlush: false) }
        // With TLS the rest is encrypted at the end of the tick, since this may be a call out of the session itself.
        if session != nil && wasOpen { stream.requestFlush() } else { stream.close(afterFlush: true) }
    }

    // MARK: Handshake

    private func receiveHandshake(_ bytes: Span<UInt8>) {
        guard shared.account(bytes.count) else {
            return fail(TLSFailure(.overloaded, "peers that wait for their handshake have sent too much"))
        }
        unsafe bytes.withUnsafeBufferPointer { unsafe handshakeBytes.append(contentsOf: $0) }
        if handshakeBytes.count >= shared.limits.waitingBytesPerHandshake { stream.pauseReading() }
        guard !isWaiting else { return }
        isWaiting = shared.enqueue(self)
        if !isWaiting { fail(TLSFailure(.overloaded, "too many peers wait for their handshake")) }
    }

    private func dropHandshakeBytes() -> [UInt8] {
        defer { handshakeBytes = [] }
        _ = shared.account(-handshakeBytes.count)
        return handshakeBytes
    }

    /// This peer's turn: everything that it has sent so far is read.
    func continueHandshake() {
        isWaiting = false
        let bytes = dropHandshakeBytes()
        guard phase == .handshaking, let session else { return }
        stream.resumeReading()
        session.receive(bytes.span) { plain in deliver(plain) }
        // A handshake that ends without plaintext behind it has delivered nothing yet.
        if session.state != .handshaking, phase == .handshaking { handshakeIsDone(session) }
        settle(session)
        if inputHasEnded, phase != .ended { _ = inputEnds(session) }
    }

    private func handshakeIsDone(_ session: TLSSession) {
        if case .failed = session.state { return }
        phase = .open
        cancelHandshakeTimer()
        shared.counters.handshakes += 1
        if session.agreement?.isResumed == true { shared.counters.resumed += 1 }
        if isPaused { stream.pauseReading() }
        if !plaintext.isEmpty { stream.requestFlush() }
        owner?.transportOpened()
    }

    /// Ends a handshake that has lasted too long. Also for the owner, whose own time for the first request may be over
    /// a moment before the handshake's: whoever is first decides, or the other one would find nothing to decide.
    package func expireHandshake() {
        guard phase == .handshaking else { return }
        let limit = shared.limits.handshakeMilliseconds
        fail(TLSFailure(.timedOut, "the handshake was not done within \(limit) ms"))
    }

    package func timerFired(_ kind: UInt8) {
        handshakeTimer = nil
        expireHandshake()
    }

    private func cancelHandshakeTimer() {
        if let timer = handshakeTimer.take() { shared.loop.cancel(timer) }
    }

    // MARK: What TLS gives

    private func deliver(_ plain: Span<UInt8>) -> Bool {
        if phase == .handshaking, let session { handshakeIsDone(session) }
        guard phase == .open else { return false }
        owner?.transportReceived(plain)
        return phase == .open
    }

    /// After each call that gave the session input: sends its output, and follows its state.
    private func settle(_ session: TLSSession) {
        sendOutput()
        switch session.state {
        case .handshaking, .open: break
        case .closedByPeer: peerFinishes()
        case .failed(let failure): fail(failure)
        }
    }

    private func sendOutput() {
        shared.exchange.takeOutput { output in
            stream.write(unsafe output.withUnsafeBufferPointer { unsafe Array($0) })
        }
    }

    private func peerFinishes() {
        guard phase == .open, !answersPeerFinish else { return }
        answersPeerFinish = owner?.transportPeerFinished() ?? false
        if !answersPeerFinish { close() }
    }

    private func fail(_ failure: TLSFailure) {
        // Of a transport that we close anyway, nobody needs to know more.
        guard phase != .closing, phase != .ended else { return }
        end(failure)
    }

    private func end(_ failure: TLSFailure) {
        shared.counters[failure.reason] += 1
        self.failure = failure
        phase = .closing
        cancelHandshakeTimer()
        plaintext.removeAll()
        switch failure.reason {
        case .plainHTTP: stream.write(PlainAnswer.bytes)
        case .timedOut, .overloaded: return stream.close(afterFlush: false)
        // There was no memory for a session: nothing can be said, least of all in plain text.
        case .failed where session == nil: return stream.close(afterFlush: false)
        default: break
        }
        stream.close(afterFlush: true)
    }

    // MARK: Encryption

    private func flush(_ session: TLSSession) {
        // What the socket has no room for stays plaintext: it may yet be dropped, and shares its array with others. The
        // stream reports that it is blocked.
        guard stream.pendingBytes == 0 || phase == .closing else { return }
        let limit = phase == .closing ? Int.max : Transport.maximumBytesPerFlush
        var encrypted = 0
        while !plaintext.isEmpty, encrypted < limit {
            let before = plaintext.count
            guard plaintext.takeRecord(&shared.record, { session.send($0) }) else { break }
            encrypted += before - plaintext.count
            if shared.exchange.outputCount > Transport.maximumBytesPerFlush { sendOutput() }
        }
        if phase == .closing { session.close() }
        settle(session)
        if phase == .closing { stream.close(afterFlush: true) }
    }
}

@available(*, unavailable) extension Transport: Sendable {}

extension Transport: HandshakeWaiting {}

extension Transport: ByteStreamOwner {
    package func streamReceived(_ bytes: Span<UInt8>) {
        switch phase {
        case .opening:
            open()
            if phase == .open { owner?.transportReceived(bytes) }
        case .handshaking: receiveHandshake(bytes)
        case .open:
            guard let session else {
                owner?.transportReceived(bytes)
                return
            }
            session.receive(bytes) { plain in deliver(plain) }
            settle(session)
        case .closing, .ended: break
        }
    }

    private func open() {
        phase = .open
        owner?.transportOpened()
    }

    package func streamWillFlush() {
        if phase == .opening { open() }
        guard let session else { return }
        if phase != .handshaking { return flush(session) }
        session.start()
        sendOutput()
    }

    package func streamDrained() {
        if !plaintext.isEmpty, phase == .open { return stream.requestFlush() }
        // The owner does not wait for what TLS sends for itself.
        guard phase == .open, owesDrained || session == nil else { return }
        owesDrained = false
        owner?.transportDrained()
    }

    package func streamBlocked() {
        if phase == .open { owner?.transportBlocked() }
    }

    package func streamPeerFinished() -> Bool {
        guard let session else { return phase == .open ? owner?.transportPeerFinished() ?? false : false }
        inputHasEnded = true
        // What waits for its turn may be the alert that says why.
        if isWaiting { return true }
        return inputEnds(session)
    }

    /// - Returns: whether our half stays open.
    private func inputEnds(_ session: TLSSession) -> Bool {
        if phase == .open && session.state == .closedByPeer { return answersPeerFinish }
        // Closed by us: what was written leaves first, at the end of this tick.
        guard phase != .closing else { return true }
        if let failure = session.endOfInput() { fail(failure) }
        return false
    }

    package func streamEnded(_ reason: StreamEnd) {
        cancelHandshakeTimer()
        _ = dropHandshakeBytes()
        plaintext.removeAll()
        // A reset in the middle of a handshake is an abandoned one, whatever the kernel calls it.
        if phase == .handshaking {
            shared.counters[.abandoned] += 1
            if case .failed = reason {
                failure = TLSFailure(.abandoned, "the connection ended during the handshake: \(reason)")
            }
        }
        phase = .ended
        session = nil
        let owner = self.owner
        self.owner = nil
        if let failure { owner?.transportEnded(.tls(failure)) } else { owner?.transportEnded(.stream(reason)) }
    }
}
