import COpenSSL

/// The state of a session.
package enum TLSState: Equatable, Sendable {
    case handshaking
    /// Plaintext may flow in both directions.
    case open
    /// The peer sent `close_notify`: it sends nothing more.
    case closedByPeer
    /// Nothing more may flow. The alert that the standard requires is in the output.
    case failed(TLSFailure)
}

/// One TLS connection without its socket: it converts ciphertext to plaintext, and plaintext to ciphertext. The owner of
/// an `SSL *`.
///
/// All bytes that the session has to send gather in its loop's `TLSExchange`. The caller removes them after each call:
/// also after a failed call (an alert), and when no output was expected (TLS 1.3 answers key updates).
/// Confined to the loop of its exchange.
@safe package final class TLSSession {
    /// The most handshake messages that a peer may send after the handshake: requests for new keys (TLS 1.3, RFC 8446 §4.6.3;
    /// a peer needs one in 2^24 records), session tickets, attempts to renegotiate. OpenSSL sets no limit. A request of 27
    /// bytes costs 0.2 ms and an answer, so 64 KiB of them would block a loop for half a second.
    package static let maximumLaterMessages = 256

    package private(set) var state = TLSState.handshaking
    package let role: TLSRole
    private var closeIsSent = false
    private var hasBegun = false
    private var laterMessages = 0
    private let ssl: OpaquePointer
    // Holds the buffers and the BIO's method. The BIO points to them without owning them.
    private let exchange: TLSExchange

    /// A session for an accepted connection.
    package init(server context: TLSContext, exchange: TLSExchange) throws(TLSError) {
        precondition(context.role == .server, "a server's session needs a server's context")
        unsafe ssl = try TLSSession.make(context, exchange)
        self.exchange = exchange
        role = .server
        unsafe livegate_watch_messages(ssl, noteMessage, Unmanaged.passUnretained(self).toOpaque())
        unsafe SSL_set_accept_state(ssl)
    }

    /// A session for an outgoing connection; `start` creates its first flight.
    ///
    /// - Parameter name: the DNS name or IP address that the certificate must name. A DNS name is also sent (SNI).
    package init(client context: TLSContext, exchange: TLSExchange, name: String) throws(TLSError) {
        precondition(context.role == .client, "a client's session needs a client's context")
        unsafe ssl = try TLSSession.make(context, exchange)
        self.exchange = exchange
        role = .client
        unsafe livegate_watch_messages(ssl, noteMessage, Unmanaged.passUnretained(self).toOpaque())
        unsafe SSL_set_connect_state(ssl)
        guard unsafe PeerName(name).apply(to: ssl) else { throw .badName(name) }
    }

    private static func make(_ context: TLSContext, _ exchange: TLSExchange) throws(TLSError) -> OpaquePointer {
        ErrorQueue.clear()
        guard exchange.mayMakeSession, let ssl = unsafe SSL_new(context.pointer) else {
            throw .openSSL(call: "SSL_new", cause: ErrorQueue.drain().text)
        }
        guard let bio = unsafe BIO_new(exchange.method) else {
            unsafe SSL_free(ssl)
            throw .openSSL(call: "BIO_new", cause: ErrorQueue.drain().text)
        }
        unsafe BIO_set_data(bio, exchange.wire)
        // One BIO for both directions; the session owns it from here on.
        unsafe SSL_set_bio(ssl, bio, bio)
        return unsafe ssl
    }

    deinit {
        unsafe SSL_free(ssl)
        exchange.forget(self)
    }

    /// A client's first flight. Later calls do nothing.
    package func start() {
        guard role == .client, state == .handshaking, !hasBegun else { return }
        hasBegun = true
        exchange.begin(self)
        advanceHandshake()
    }

    /// Reads all bytes that the socket gave, and delivers the plaintext.
    ///
    /// - Parameter deliver: called once a record, with a span of the loop's buffer that is valid only during the call. It must
    ///   not call a session of the loop. False means that the connection is not wanted any more; the rest is dropped.
    package func receive(_ ciphertext: Span<UInt8>, deliver: (Span<UInt8>) -> Bool) {
        guard state == .handshaking || state == .open, !ciphertext.isEmpty else { return }
        exchange.begin(self)
        if role == .server && !hasBegun {
            hasBegun = true
            if let failure = FirstByte.refusal(ciphertext[0]) {
                state = .failed(failure)
                return
            }
        }
        unsafe ciphertext.withUnsafeBufferPointer { bytes in
            unsafe exchange.wire.pointee.input = bytes.baseAddress
            unsafe exchange.wire.pointee.inputCount = bytes.count
            if state == .handshaking { advanceHandshake() }
            if state == .open { readRecords(deliver) }
            unsafe exchange.wire.pointee.input = nil
            unsafe exchange.wire.pointee.inputCount = 0
        }
    }

    private func advanceHandshake() {
        ErrorQueue.clear()
        let result = unsafe SSL_do_handshake(ssl)
        if result == 1 {
            ErrorQueue.clear()
            state = .open
        } else {
            settle(result, error: unsafe SSL_get_error(ssl, result), queue: ErrorQueue.drain())
        }
    }

    /// The loop ends: each turn consumes a record's bytes from the input, and OpenSSL refuses a series of empty records.
    private func readRecords(_ deliver: (Span<UInt8>) -> Bool) {
        let plain = unsafe exchange.plain
        while true {
            ErrorQueue.clear()
            let count = unsafe SSL_read(ssl, plain.baseAddress, Int32(plain.count))
            if count <= 0 {
                settle(count, error: unsafe SSL_get_error(ssl, count), queue: ErrorQueue.drain())
                return
            }
            let record = unsafe UnsafeBufferPointer(start: plain.baseAddress, count: Int(count))
            exchange.isDelivering = true
            defer { exchange.isDelivering = false }
            guard deliver(unsafe record.span) else { return }
        }
    }

    /// The peer sent a message of the handshake protocol.
    fileprivate func countMessage() {
        guard state == .open else { return }
        laterMessages += 1
        // OpenSSL cannot be stopped from here, but without input it has nothing more to read.
        if laterMessages > TLSSession.maximumLaterMessages { unsafe exchange.wire.pointee.inputCount = 0 }
    }

    /// Converts the result of a failed call into the session's state.
    private func settle(_ result: Int32, error: Int32, queue: ErrorQueue) {
        if laterMessages > TLSSession.maximumLaterMessages {
            let limit = TLSSession.maximumLaterMessages
            state = .failed(TLSFailure(.messageFlood, "over \(limit) handshake messages after the handshake"))
            return
        }
        switch error {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return
        case SSL_ERROR_ZERO_RETURN: state = .closedByPeer
        case SSL_ERROR_SSL: state = .failed(failure(queue))
        default: state = .failed(TLSFailure(.failed, "OpenSSL stopped with error \(error): \(queue.text)"))
        }
    }

    private func failure(_ queue: ErrorQueue) -> TLSFailure {
        guard queue.library == ERR_LIB_SSL else {
            // The error comes from the decoders of keys, points and certificates: the peer sent an invalid one.
            return TLSFailure(.malformed, queue.text)
        }
        if queue.reason == SSL_R_CERTIFICATE_VERIFY_FAILED {
            let code = unsafe SSL_get_verify_result(ssl)
            let words = unsafe String(cString: X509_verify_cert_error_string(code))
            return TLSFailure(TLSReason(verifyResult: code), "the peer's certificate was refused: \(words)")
        }
        return TLSFailure(TLSReason(openSSLReason: queue.reason), queue.text)
    }

    /// Encrypts, in records as full as they can be.
    ///
    /// - Parameter plaintext: at most `TLSExchange.maximumPlaintextBytes` since the output was last removed.
    /// - Returns: false if nothing can be sent any more: the session failed, or we closed it.
    package func send(_ plaintext: Span<UInt8>) -> Bool {
        guard state == .open || state == .closedByPeer, !closeIsSent else { return false }
        guard !plaintext.isEmpty else { return true }
        precondition(
            plaintext.count <= TLSExchange.maximumPlaintextBytes, "the plaintext is larger than the output buffer")
        exchange.begin(self)
        return unsafe plaintext.withUnsafeBufferPointer { bytes in
            ErrorQueue.clear()
            let count = unsafe SSL_write(ssl, bytes.baseAddress, Int32(bytes.count))
            // The BIO accepts all bytes at once, so that OpenSSL never asks to repeat a write.
            if count == Int32(bytes.count) { return true }
            settle(count, error: unsafe SSL_get_error(ssl, count), queue: ErrorQueue.drain())
            if case .failed = state { return false }
            state = .failed(TLSFailure(.failed, "SSL_write wrote \(count) of \(bytes.count) bytes"))
            return false
        }
    }

    /// TLS 1.3: switches to new keys and asks the peer to do so too (RFC 8446 §4.6.3). No connection of ours lives long
    /// enough to need it (2^24 full records). Peers may request it at any time; tests use this to do so.
    func updateKeys() {
        guard state == .open else { return }
        exchange.begin(self)
        ErrorQueue.clear()
        if unsafe SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1 { unsafe SSL_do_handshake(ssl) }
        ErrorQueue.clear()
    }

    /// Sends `close_notify`, once, and only where the handshake was completed.
    package func close() {
        guard state == .open || state == .closedByPeer, !closeIsSent else { return }
        closeIsSent = true
        exchange.begin(self)
        ErrorQueue.clear()
        unsafe SSL_shutdown(ssl)
        ErrorQueue.clear()
    }

    /// The socket has no more bytes.
    ///
    /// - Returns: the failure that this means; nil if the peer had sent `close_notify` before.
    package func endOfInput() -> TLSFailure? {
        switch state {
        case .handshaking: state = .failed(TLSFailure(.abandoned, "the connection ended during the handshake"))
        case .open: state = .failed(TLSFailure(.truncated, "the connection ended without close_notify"))
        case .closedByPeer, .failed: break
        }
        if case .failed(let failure) = state { return failure }
        return nil
    }

    /// The ticket with which a client resumes the session next time; nil before the server has sent one. With TLS 1.3 it
    /// arrives some time after the handshake.
    package var ticket: TLSTicket? {
        guard role == .client, state != .handshaking, let session = unsafe SSL_get_session(ssl),
            unsafe SSL_SESSION_is_resumable(session) == 1,
            // A copy: OpenSSL marks the session's own as unusable when its connection ends without close_notify.
            let copy = unsafe SSL_SESSION_dup(session)
        else { return nil }
        return unsafe TLSTicket(owning: copy)
    }

    /// Offers a ticket; call it before ``start()``. A server that does not accept it does a full handshake.
    package func resume(_ ticket: TLSTicket) {
        precondition(role == .client && state == .handshaking, "only a client that has not begun can resume")
        guard let copy = unsafe SSL_SESSION_dup(ticket.pointer) else { return }
        unsafe SSL_set_session(ssl, copy)
        unsafe SSL_SESSION_free(copy)
    }

    /// The result of the handshake; nil before it is done.
    package var agreement: TLSAgreement? {
        guard state != .handshaking, unsafe SSL_is_init_finished(ssl) == 1 else { return nil }
        return unsafe TLSAgreement(ssl)
    }
}

@available(*, unavailable) extension TLSSession: Sendable {}

/// The owner of an `SSL_SESSION *`.
@safe package final class TLSTicket {
    fileprivate let pointer: OpaquePointer

    fileprivate init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe SSL_SESSION_free(pointer) }
}

@available(*, unavailable) extension TLSTicket: Sendable {}

/// OpenSSL reports each message and record header in both directions; it costs some nanoseconds.
private func noteMessage(
    isWritten: Int32, _: Int32, contentType: Int32, _: UnsafeRawPointer?, _: Int, _: OpaquePointer?,
    context: UnsafeMutableRawPointer?
) {
    guard isWritten == 0, contentType == SSL3_RT_HANDSHAKE, let context = unsafe context else { return }
    // The session owns the `SSL *` that makes the call, so it still exists.
    unsafe Unmanaged<TLSSession>.fromOpaque(context).takeUnretainedValue().countMessage()
}
