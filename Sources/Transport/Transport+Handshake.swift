import Reactor
import TLS

// From the start of TLS until it is agreed upon. What the peer sends waits for its turn among all handshakes of the
// loop.
extension Transport: HandshakeWaiting {
    func beginHandshake(_ encryption: Encryption) {
        phase = .handshaking
        let limit = shared.limits.handshakeMilliseconds
        encryption.handshakeTimer = shared.loop.schedule(afterMilliseconds: limit, self, 0)
        if isPaused { stream.resumeReading() }
        // At the end of the tick: this may be a call out of another session, which has the loop's buffers.
        stream.requestFlush()
    }

    /// Keeps what came for this peer's turn, and asks for a turn.
    func receiveHandshake(_ bytes: Span<UInt8>, _ encryption: Encryption) {
        guard shared.account(bytes.count) else {
            return fail(TLSFailure(.overloaded, "peers that wait for their handshake have sent too much"))
        }
        unsafe bytes.withUnsafeBufferPointer { unsafe encryption.handshakeBytes.append(contentsOf: $0) }
        if encryption.handshakeBytes.count >= shared.limits.waitingBytesPerHandshake { stream.pauseReading() }
        guard !encryption.isWaiting else { return }
        encryption.isWaiting = shared.enqueue(self)
        if !encryption.isWaiting { fail(TLSFailure(.overloaded, "too many peers wait for their handshake")) }
    }

    /// Takes out what waits, and gives its share of the loop's limit back.
    func takeHandshakeBytes(_ encryption: Encryption) -> [UInt8] {
        defer { encryption.handshakeBytes = [] }
        _ = shared.account(-encryption.handshakeBytes.count)
        return encryption.handshakeBytes
    }

    /// This peer's turn: everything that it has sent so far is read.
    func continueHandshake() {
        guard let encryption else { return }
        encryption.isWaiting = false
        let bytes = takeHandshakeBytes(encryption)
        guard phase == .handshaking, let session = encryption.session else { return }
        stream.resumeReading()
        session.receive(bytes.span) { plain in deliver(plain) }
        // A handshake that ends without plaintext behind it has delivered nothing yet.
        if session.state != .handshaking, phase == .handshaking { handshakeIsDone(session) }
        if case .failed(let failure) = session.state, failure.reason == .plainHTTP { encryption.plainRequest = bytes }
        settle(session)
        if encryption.inputHasEnded, phase != .ended { _ = inputEnds(session) }
    }

    /// TLS is agreed upon: before the first plaintext is delivered.
    func handshakeIsDone(_ session: TLSSession) {
        if case .failed = session.state { return }
        phase = .open
        cancelHandshakeTimer()
        shared.counters.handshakes += 1
        if session.agreement?.isResumed == true { shared.counters.resumed += 1 }
        if isPaused { stream.pauseReading() }
        if encryption?.plaintext.isEmpty == false { stream.requestFlush() }
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
        encryption?.handshakeTimer = nil
        expireHandshake()
    }

    func cancelHandshakeTimer() {
        if let timer = encryption?.handshakeTimer.take() { shared.loop.cancel(timer) }
    }
}
