import Reactor
import TLS

/// A connected stream of bytes on a loop, plain or with TLS over it, with one face for both: the face of
/// ``ByteStream``.
///
/// With TLS, what is written gathers until the end of the tick, is encrypted there in as few records as it fills, and
/// leaves in one send; nothing is encrypted that the socket has no room for. What comes is decrypted in the loop's
/// buffers. So an idle transport owns no buffer. While the handshake lasts, what comes waits for its turn in the
/// loop's queue.
package final class Transport<Owner: TransportOwner>: TimerTarget {
    enum Phase: UInt8 {
        /// The owner was not called yet: bytes may not flow.
        case opening
        case handshaking
        case open
        /// Closed by us or failed; what is queued leaves, nothing is reported any more but the end.
        case closing
        case ended
    }

    package let shared: TransportLoop
    let stream: ByteStream<Transport<Owner>>
    /// Held from the start to the end that is reported to it.
    var owner: Owner?
    var phase = Phase.opening
    /// From a close on.
    private(set) var lingerMilliseconds = UInt16(ByteStream<Transport<Owner>>.lingerLimitMilliseconds)
    /// What the owner asked for last. In a handshake we read all the same.
    var isPaused = false
    /// Nil for plain text.
    var encryption: Encryption?

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
        encryption = try Transport.makeEncryption(security, shared)
    }

    private static func makeEncryption(
        _ security: TransportSecurity, _ shared: TransportLoop
    ) throws(TLSError) -> Encryption? {
        do {
            return try Transport.makeSession(security, shared).map { Encryption($0) }
        } catch {
            guard case .server = security else { throw error }
            let encryption = Encryption(nil)
            encryption.failure = TLSFailure(.failed, error.description)
            return encryption
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
        guard let encryption else { return stream.requestFlush() }
        if let failure = encryption.failure { return end(failure) }
        beginHandshake(encryption)
    }

    /// Puts TLS over a plain transport that is open: what a client does behind a proxy. Everything that was written
    /// before leaves in plain text.
    package func secure(_ security: TransportSecurity) throws(TLSError) {
        precondition(encryption == nil && phase == .open, "TLS begins once, on a plain transport that is open")
        guard let session = try Transport.makeSession(security, shared) else { return }
        let encryption = Encryption(session)
        self.encryption = encryption
        beginHandshake(encryption)
    }

    /// Puts TLS over an accepted plain transport that is open, and whose peer began with something else, such as a PROXY
    /// header. `rest` is what came behind that: the beginning of TLS.
    package func acceptTLS(_ context: TLSContext, behind rest: Span<UInt8>) {
        precondition(encryption == nil && phase == .open, "TLS begins once, on a plain transport that is open")
        guard let encryption = try? Transport.makeEncryption(.server(context), shared) else {
            preconditionFailure("a server's session is made, or fails as its transport does")
        }
        self.encryption = encryption
        if let failure = encryption.failure { return end(failure) }
        beginHandshake(encryption)
        if !rest.isEmpty { receiveHandshake(rest, encryption) }
    }

    // MARK: The face

    /// What was written and the kernel has not taken yet: plaintext that waits, and ciphertext.
    package var pendingBytes: Int { (encryption?.plaintext.count ?? 0) + stream.pendingBytes }

    /// What the kernel has taken since the start, as it goes over the wire, in bytes.
    package var sentBytes: UInt64 { stream.sentBytes }

    /// Whether the kernel did not take all that was written in an earlier tick: the peer reads too slowly, or not at
    /// all.
    package var isBlocked: Bool { stream.isBlocked }

    /// True while writing has an effect: from the start to a close by us, a failure or the end.
    package var isOpen: Bool { phase != .closing && phase != .ended && stream.isOpen }

    /// True until TLS is agreed upon; meanwhile its own deadline counts.
    package var isHandshaking: Bool { phase == .handshaking }

    /// What TLS agreed upon; nil without TLS or before the handshake is done.
    package var agreement: TLSAgreement? { encryption?.session?.agreement }

    /// What a client resumes its session with next time; nil without TLS, and before the server has given it anything:
    /// see ``TLSSession/ticket``.
    package var ticket: TLSTicket? { encryption?.session?.ticket }

    /// Offers a ticket of a former session of this loop; before ``start(_:)``. Without TLS it has no effect.
    package func resume(_ ticket: TLSTicket) {
        precondition(phase == .opening, "a transport that has begun cannot resume")
        encryption?.session?.resume(ticket)
    }

    /// Queues bytes; the array is shared and not copied. They leave at the end of the tick, or after the handshake.
    package func write(_ bytes: [UInt8]) { write(bytes, range: 0..<bytes.count) }

    /// Queues a part of an array; otherwise as ``write(_:)``.
    package func write(_ bytes: [UInt8], range: Range<Int>) {
        guard isOpen, !range.isEmpty else { return }
        guard let encryption else { return stream.write(bytes, range: range) }
        encryption.plaintext.append(bytes, range)
        encryption.owesDrained = true
        if phase == .open { stream.requestFlush() }
    }

    /// Asks the peer to wait by reading no further. Up to ``EventLoop/receiveBufferBytes`` that were read before may
    /// still be delivered. During a handshake it takes effect after it.
    package func pauseReading() {
        isPaused = true
        if phase == .open || encryption == nil { stream.pauseReading() }
    }

    package func resumeReading() {
        isPaused = false
        if phase == .open || encryption == nil { stream.resumeReading() }
    }

    /// Ends the transport. Nothing is delivered any more.
    ///
    /// - Parameters:
    ///   - afterFlush: true lets what was written leave, followed by TLS's `close_notify`; false drops it and closes at once.
    ///   - limitMilliseconds: what all of that may take, with the peer's end; nil: the stream's limit for lingering.
    package func close(afterFlush: Bool = true, limitMilliseconds: UInt16? = nil) {
        guard phase != .ended else { return }
        cancelHandshakeTimer()
        let wasOpen = phase == .open
        if phase == .closing && afterFlush { return }
        phase = .closing
        if let limitMilliseconds { lingerMilliseconds = limitMilliseconds }
        guard afterFlush else { return stream.close(afterFlush: false) }
        // With TLS the rest is encrypted at the end of the tick, since this may be a call out of the session itself.
        if encryption != nil && wasOpen { stream.requestFlush() } else { closeStream() }
    }

    func closeStream() { stream.close(afterFlush: true, limitMilliseconds: UInt64(lingerMilliseconds)) }
}

@available(*, unavailable) extension Transport: Sendable {}

extension Transport: ByteStreamOwner {
    package func streamReceived(_ bytes: Span<UInt8>) {
        switch phase {
        case .opening:
            open()
            if phase == .open { owner?.transportReceived(bytes) }
        case .handshaking:
            if let encryption { receiveHandshake(bytes, encryption) }
        case .open:
            guard let session = encryption?.session else {
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
        guard let encryption, let session = encryption.session else { return }
        if phase != .handshaking { return flush(session, encryption) }
        session.start()
        sendOutput()
    }

    package func streamDrained() {
        guard phase == .open else { return }
        if let encryption {
            if !encryption.plaintext.isEmpty { return stream.requestFlush() }
            // The owner does not wait for what TLS sends for itself.
            guard encryption.owesDrained else { return }
            encryption.owesDrained = false
        }
        owner?.transportDrained()
    }

    package func streamFlushed() {
        guard phase == .closing, encryption?.failure == nil, encryption?.plaintext.isEmpty != false else { return }
        owner?.transportFlushed()
    }

    package func streamBlocked() {
        if phase == .open { owner?.transportBlocked() }
    }

    package func streamPeerFinished() -> Bool {
        guard let encryption, let session = encryption.session else {
            guard phase == .open else { return false }
            if owner?.transportPeerFinished() == true { return true }
            // The stream closes by itself behind what was written, of which the owner is still told that it has left.
            if phase == .open { phase = .closing }
            return false
        }
        encryption.inputHasEnded = true
        // What waits for its turn may be the alert that says why.
        if encryption.isWaiting { return true }
        return inputEnds(session)
    }

    package func streamEnded(_ reason: StreamEnd) {
        if let encryption {
            cancelHandshakeTimer()
            _ = takeHandshakeBytes(encryption)
            encryption.plaintext.removeAll()
            encryption.session = nil
            // A reset in the middle of a handshake is an abandoned one, whatever the kernel calls it.
            if phase == .handshaking {
                shared.counters[.abandoned] += 1
                shared.counters.failedHandshakes += 1
                if case .failed = reason {
                    encryption.failure = TLSFailure(
                        .abandoned, "the connection ended during the handshake: \(reason)")
                }
            }
        }
        phase = .ended
        let owner = self.owner
        self.owner = nil
        owner?.transportEnded(encryption?.failure.map { .tls($0) } ?? .stream(reason))
    }
}
