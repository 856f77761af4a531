import LiveUpdates
import WebSocket

/// What a stream sends besides events: for clients that asked for cursors, and for `mode=changed`.
extension LiveStream {
    private func control(_ message: ControlMessage) -> [UInt8] { fanOut.encoder.control(message, form.carrier) }

    /// Replay is over. Whatever the client does not know of the source yet follows at once.
    func sendLive(at cursor: CursorText, _ now: UInt64) {
        guard hasControls else { return }
        // `live` means that all before its cursor has been sent: a signal that is owed comes first, and brings the cursor.
        if changed?.pending != nil {
            changed?.owesLive = true
            return
        }
        changed?.lastCursor = cursor.bytes
        write(control(.live(at: cursor.bytes)), now)
        sendSourceState(now)
    }

    func sendResync(_ why: ResyncReason, at cursor: CursorText, _ now: UInt64) {
        fanOut.resyncs[why, default: 0] += 1
        guard hasControls else { return }
        changed?.lastCursor = cursor.bytes
        write(control(.resync(why, at: cursor.bytes)), now)
    }

    /// Notifies the client of the source's state where it knows another one. A stream that is behind does so once it is live.
    func sendSourceState(_ now: UInt64) {
        if owedControls != nil { sendOwed(now) }
        guard fanOut.isStalled != sentStalled, hasControls, isLive, changed?.owesLive != true else { return }
        guard let state = fanOut.sourceState else { return }
        sentStalled = fanOut.isStalled
        writeWithoutCursor(control(.source(state)), now)
    }

    /// Nothing new. Not while a signal is owed: the beat's cursor would be behind what it stands for.
    func sendBeat(at cursor: [UInt8], _ now: UInt64) {
        guard hasControls, isLive, changed?.pending == nil else { return }
        changed?.lastCursor = cursor
        write(control(.beat(at: cursor)), now)
    }

    /// A beat with the cursor that the client has.
    func repeatCursor(_ now: UInt64) {
        if let cursor = changed?.lastCursor { write(control(.beat(at: cursor)), now) }
    }

    /// A close follows.
    func sendBye(_ code: CloseCode, why: String? = nil, _ retryMilliseconds: Int?) {
        guard hasControls else { return }
        // A browser reconnects by itself, and reads no `bye`.
        if form.carrier == .eventStream, let retryMilliseconds {
            port.write(EventStreamEncoder.retry(milliseconds: retryMilliseconds))
        }
        let why = why ?? code.reason()
        port.write(control(.bye(code: code.rawValue, why: why, retryMilliseconds: retryMilliseconds)))
    }

    // MARK: - The token

    /// The client's token ends at this second: it should send a new one. Once a token.
    func tokenExpires(at second: Int64, _ now: UInt64) { send(.expiring(at: second), now) }

    /// The client's new token is accepted.
    func tokenAccepted(endsAt second: Int64?, _ now: UInt64) { send(.token(endsAt: second), now) }

    /// At once, unless the stream is behind: a client that sends tokens and reads nothing is not answered without end.
    private func send(_ message: ControlMessage, _ now: UInt64) {
        guard hasControls else { return }
        if isLive { return writeWithoutCursor(control(message), now) }
        let owed = owedControls ?? OwedControls()
        owedControls = owed
        // A new token has another end, which was not reported yet.
        if case .expiring = message { owed.expiring = message } else { (owed.taken, owed.expiring) = (message, nil) }
    }

    private func sendOwed(_ now: UInt64) {
        guard isLive, let owed = owedControls.take() else { return }
        for message in [owed.taken, owed.expiring] { if let message { writeWithoutCursor(control(message), now) } }
        for message in owed.reads { writeWithoutCursor(control(message), now) }
    }

    // MARK: - Read marks

    /// So many marks a stream that is behind is owed at most.
    static var maximumOwedReads: Int { 256 }

    /// The stream's person has read up to there. A stream that is behind reports it once it is live. A stream that would be owed
    /// too much ends, since its client asks again when it reconnects.
    func markMoved(_ message: ControlMessage, _ now: UInt64) {
        guard hasControls else { return }
        settle(now: now)
        if isLive { return writeWithoutCursor(control(message), now) }
        guard case .behind = state else { return }
        let owed = owedControls ?? OwedControls()
        owedControls = owed
        guard owed.reads.count < Self.maximumOwedReads else { return close("behind by too many read marks") }
        owed.reads.append(message)
    }

    // MARK: - mode=changed

    /// Reports that something has changed: at once, or at the end of the interval since the last report.
    /// It counts as one delivery, of the newest of the events.
    func signal(at cursor: [UInt8], _ facts: DeliveryFacts, _ now: UInt64) {
        guard let changed else { return }
        let due = changed.due(fanOut.policy.changedIntervalMilliseconds)
        guard due <= now else {
            changed.pending = (cursor, facts)
            return wishWake(at: due)
        }
        changed.lastAt = now
        changed.pending = nil
        changed.lastCursor = cursor
        write(control(.changed(at: cursor)), facts, now)
        guard changed.owesLive else { return }
        changed.owesLive = false
        sendLive(at: CursorText(bytes: cursor), now)
    }
}

/// Messages that a stream that is behind still owes: about its client's token, and what its person has read elsewhere.
final class OwedControls {
    var taken: ControlMessage?
    var expiring: ControlMessage?
    var reads: [ControlMessage] = []
}

/// What `mode=changed` remembers between two messages.
final class ChangedSignal {
    /// When the last one was sent; nil before.
    var lastAt: UInt64?
    /// The newest cursor that has not been sent. Nothing with a cursor behind it may be sent before.
    var pending: (cursor: [UInt8], facts: DeliveryFacts)?
    /// The last cursor that was sent.
    var lastCursor: [UInt8]?
    /// `live` waits for the pending signal.
    var owesLive = false

    /// From when on the next one may be sent.
    func due(_ intervalMilliseconds: UInt64) -> UInt64 { lastAt.map { $0 + intervalMilliseconds } ?? 0 }

    /// A resync stands for what was owed.
    func drop() {
        pending = nil
        owesLive = false
    }
}
