import Reactor
import TLS

// Input and output of an open session: plaintext to the owner, records to the stream, and the end.
extension Transport {
    /// How much one transport encrypts in one tick. More would stay in our memory, since the kernel's buffer for a socket
    /// holds about as much, and would delay the other transports of the loop.
    private static var maximumBytesPerFlush: Int { 4 * TLSExchange.maximumRecordBytes }

    /// Delivers plaintext of the session, piece by piece.
    ///
    /// - Returns: whether the session continues to decrypt; false once the transport is closed.
    func deliver(_ plain: Span<UInt8>) -> Bool {
        if phase == .handshaking, let session = encryption?.session { handshakeIsDone(session) }
        guard phase == .open else { return false }
        owner?.transportReceived(plain)
        return phase == .open
    }

    /// Called after each call that gave the session input. Sends its output and handles its state.
    func settle(_ session: TLSSession) {
        sendOutput()
        switch session.state {
        case .handshaking, .open: break
        case .closedByPeer: peerFinishes()
        case .failed(let failure): fail(failure)
        }
    }

    /// Writes the session's records to the stream; they leave at the end of the tick.
    func sendOutput() {
        shared.exchange.takeOutput { output in
            stream.write(unsafe output.withUnsafeBufferPointer { unsafe Array($0) })
        }
    }

    /// The peer sent `close_notify`.
    func peerFinishes() {
        guard phase == .open, let encryption, !encryption.answersPeerFinish else { return }
        encryption.answersPeerFinish = owner?.transportPeerFinished() ?? false
        if !encryption.answersPeerFinish { close() }
    }

    /// Ends the transport because TLS failed.
    func fail(_ failure: TLSFailure) {
        // We are closing the transport anyway, so the owner does not need the reason.
        guard phase != .closing, phase != .ended else { return }
        end(failure)
    }

    func end(_ failure: TLSFailure) {
        shared.counters[failure.reason] += 1
        if phase == .handshaking || phase == .opening { shared.counters.failedHandshakes += 1 }
        phase = .closing
        cancelHandshakeTimer()
        encryption?.failure = failure
        encryption?.plaintext.removeAll()
        switch failure.reason {
        case .plainHTTP:
            let request = encryption?.plainRequest ?? []
            stream.write(owner?.transportPlainAnswer(to: request) ?? PlainAnswer.bytes())
        case .timedOut, .overloaded: return stream.close(afterFlush: false)
        // There was no memory for a session, so no alert can be sent, and plain text must not be sent.
        case .failed where encryption?.session == nil: return stream.close(afterFlush: false)
        default: break
        }
        stream.close(afterFlush: true)
    }

    /// The socket has no more bytes, and the session has read them all.
    ///
    /// - Returns: whether our half stays open.
    func inputEnds(_ session: TLSSession) -> Bool {
        if phase == .open && session.state == .closedByPeer { return encryption?.answersPeerFinish ?? false }
        // Closed by us: the written bytes leave first, at the end of this tick.
        guard phase != .closing else { return true }
        if let failure = session.endOfInput() { fail(failure) }
        return false
    }

    // MARK: Encryption

    /// Encrypts the written bytes, at the end of a tick.
    func flush(_ session: TLSSession, _ encryption: Encryption) {
        // Bytes that the socket cannot accept stay plaintext: they may still be dropped, and they share their array with others.
        // The stream reports that it is blocked.
        guard stream.pendingBytes == 0 || phase == .closing else { return }
        let limit = phase == .closing ? Int.max : Transport.maximumBytesPerFlush
        var encrypted = 0
        while !encryption.plaintext.isEmpty, encrypted < limit {
            let before = encryption.plaintext.count
            guard encryption.plaintext.takeRecord(&shared.record, { session.send($0) }) else { break }
            encrypted += before - encryption.plaintext.count
            if shared.exchange.outputCount > Transport.maximumBytesPerFlush { sendOutput() }
        }
        if phase == .closing { session.close() }
        settle(session)
        if phase == .closing { closeStream() }
    }
}
