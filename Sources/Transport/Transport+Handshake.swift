import Reactor
import TLS

// From the start of TLS until the handshake is done. The peer's bytes wait for their turn among all handshakes of the
// loop.
extension Transport: HandshakeWaiting {
    func beginHandshake(_ encryption: Encryption) {
        phase = .handshaking
        let limit = shared.limits.handshakeMilliseconds
        encryption.handshakeTimer = shared.loop.schedule(afterMilliseconds: limit, self, 0)
        if isPaused { stream.resumeReading() }
        // At the end of the tick: another session, which uses the loop's buffers, may have made this call.
        stream.requestFlush()
    }

    /// Keeps the received bytes for this peer's turn, and requests a turn.
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

    /// Removes and returns the waiting bytes, and subtracts them from the loop's limit.
    func takeHandshakeBytes(_ encryption: Encryption) -> [UInt8] {
        defer { encryption.handshakeBytes = [] }
        _ = shared.account(-encryption.handshakeBytes.count)
        return encryption.handshakeBytes
    }

    /// This peer's turn: reads everything that it has sent so far.
    func continueHandshake() {
        guard let encryption else { return }
        encryption.isWaiting = false
        let bytes = takeHandshakeBytes(encryption)
        guard phase == .handshaking, let session = encryption.session else { return }
        stream.resumeReading()
        session.receive(bytes.span) { plain in deliver(plain) }
        // A handshake that ends without plaintext after it has delivered nothing yet.
        if session.state != .handshaking, phase == .handshaking { handshakeIsDone(session) }
        if case .failed(let failure) = session.state, failure.reason == .plainHTTP { encryption.plainRequest = bytes }
        settle(session)
        if encryption.inputHasEnded, phase != .ended { _ = inputEnds(session) }
    }

    /// The handshake is done. Called before the first plaintext is delivered.
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

    /// Ends a handshake that has lasted too long. The owner calls it too: its own deadline for the first request may pass a
    /// moment before the handshake's. The first of them ends the handshake, and the other does nothing.
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
