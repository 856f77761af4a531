import Reactor
import TLS

/// A connected stream of bytes on a loop, plain or with TLS. Both have the same interface: the one of
/// ``ByteStream``.
///
/// With TLS, written bytes gather until the end of the tick. There they are encrypted in as few records as possible and
/// leave in one send; bytes that the socket cannot accept are not encrypted. Received bytes are decrypted in the loop's
/// buffers, so an idle transport owns no buffer. During the handshake, received bytes wait for their turn in the
/// loop's queue.
package final class Transport<Owner: TransportOwner>: TimerTarget {
    enum Phase: UInt8 {
        /// The owner was not called yet: bytes must not flow.
        case opening
        case handshaking
        case open
        /// Closed by us or failed. The queued bytes leave; only the end is still reported.
        case closing
        case ended
    }

    package let shared: TransportLoop
    let stream: ByteStream<Transport<Owner>>
    /// Held from the start until the end was reported to it.
    var owner: Owner?
    var phase = Phase.opening
    /// Valid after a close.
    private(set) var lingerMilliseconds = UInt16(ByteStream<Transport<Owner>>.lingerLimitMilliseconds)
    /// What the owner requested last. During a handshake we read in any case.
    var isPaused = false
    /// Nil for plain text.
    var encryption: Encryption?

    /// Becomes the owner of a connected, non-blocking stream socket.
    ///
    /// Where there is no memory for an accepted connection's session, the transport ends after ``start(_:)``, as after any
    /// other failure of TLS.
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

    /// Begins to read and to call `owner`, which is held until the end was reported. Call it once. A client begins its
    /// handshake.
    package func start(_ owner: Owner) {
        self.owner = owner
        stream.start(self)
        guard let encryption else { return stream.requestFlush() }
        if let failure = encryption.failure { return end(failure) }
        beginHandshake(encryption)
    }

    /// Starts TLS on an open plain transport: a client does that behind a proxy. Everything that was written
    /// before leaves in plain text.
    package func secure(_ security: TransportSecurity) throws(TLSError) {
        precondition(encryption == nil && phase == .open, "TLS begins once, on a plain transport that is open")
        guard let session = try Transport.makeSession(security, shared) else { return }
        let encryption = Encryption(session)
        self.encryption = encryption
        beginHandshake(encryption)
    }

    /// Starts TLS on an accepted, open plain transport whose peer began with something else, such as a PROXY header. `rest` is
    /// the bytes that followed it: the beginning of TLS.
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

    // MARK: The interface

    /// Written bytes that the kernel has not accepted yet: waiting plaintext, and ciphertext.
    package var pendingBytes: Int { (encryption?.plaintext.count ?? 0) + stream.pendingBytes }

    /// Bytes that the kernel has accepted since the start; with TLS, the encrypted bytes.
    package var sentBytes: UInt64 { stream.sentBytes }

    /// Whether the kernel did not accept everything written in an earlier tick: the peer reads too slowly, or not at
    /// all.
    package var isBlocked: Bool { stream.isBlocked }

    /// True while a write has an effect: from the start until we close, a failure or the end.
    package var isOpen: Bool { phase != .closing && phase != .ended && stream.isOpen }

    /// True until the TLS handshake is done; until then its own deadline applies.
    package var isHandshaking: Bool { phase == .handshaking }

    /// The result of the TLS handshake; nil without TLS or before the handshake is done.
    package var agreement: TLSAgreement? { encryption?.session?.agreement }

    /// The ticket with which a client resumes its session next time; nil without TLS, and before the server has sent one:
    /// see ``TLSSession/ticket``.
    package var ticket: TLSTicket? { encryption?.session?.ticket }

    /// Offers a ticket of an earlier session of this loop; call it before ``start(_:)``. Without TLS it has no effect.
    package func resume(_ ticket: TLSTicket) {
        precondition(phase == .opening, "a transport that has begun cannot resume")
        encryption?.session?.resume(ticket)
    }

    /// Queues bytes; the array is shared and not copied. They leave at the end of the tick, or after the handshake.
    package func write(_ bytes: [UInt8]) { write(bytes, range: 0..<bytes.count) }

    /// Queues a part of an array; otherwise like ``write(_:)``.
    package func write(_ bytes: [UInt8], range: Range<Int>) {
        guard isOpen, !range.isEmpty else { return }
        guard let encryption else { return stream.write(bytes, range: range) }
        encryption.plaintext.append(bytes, range)
        encryption.owesDrained = true
        if phase == .open { stream.requestFlush() }
    }

    /// Stops reading, so that the peer must wait. Up to ``EventLoop/receiveBufferBytes`` that were read before may still be
    /// delivered. During a handshake it takes effect after it.
    package func pauseReading() {
        isPaused = true
        if phase == .open || encryption == nil { stream.pauseReading() }
    }

    package func resumeReading() {
        isPaused = false
        if phase == .open || encryption == nil { stream.resumeReading() }
    }

    /// Ends the transport. Nothing is delivered after this call.
    ///
    /// - Parameters:
    ///   - afterFlush: true sends the written bytes and then TLS's `close_notify`; false drops them and closes at once.
    ///   - limitMilliseconds: the time for all of it, including the peer's end; nil: the stream's limit for lingering.
    package func close(afterFlush: Bool = true, limitMilliseconds: UInt16? = nil) {
        guard phase != .ended else { return }
        cancelHandshakeTimer()
        let wasOpen = phase == .open
        if phase == .closing && afterFlush { return }
        phase = .closing
        if let limitMilliseconds { lingerMilliseconds = limitMilliseconds }
        guard afterFlush else { return stream.close(afterFlush: false) }
        // With TLS the rest is encrypted at the end of the tick, since the session itself may have made this call.
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
            // The owner does not wait for bytes that TLS sends for itself.
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
            // The stream closes by itself after the written bytes. The owner is still notified that they have left.
            if phase == .open { phase = .closing }
            return false
        }
        encryption.inputHasEnded = true
        // The bytes that wait for their turn may contain the alert with the reason.
        if encryption.isWaiting { return true }
        return inputEnds(session)
    }

    package func streamEnded(_ reason: StreamEnd) {
        if let encryption {
            cancelHandshakeTimer()
            _ = takeHandshakeBytes(encryption)
            encryption.plaintext.removeAll()
            encryption.session = nil
            // A reset in the middle of a handshake counts as an abandoned handshake, whatever the kernel's error is.
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
