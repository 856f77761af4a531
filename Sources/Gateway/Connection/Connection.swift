import Balancer
import HTTP
import LiveUpdates
import Logging
import Reactor
import TLS
import Tokens
import Transport
import WebSocket

/// One client, from the accepted socket to its end.
///
///     request ──refused───────────────────────────────────────────────► ending
///        ├──its token is not known yet──► awaitingToken ──it is──► as from a request
///        ├──admitted to a stream──► joining ──ingest's answer──► open ──close──► ending
///        ├──admitted to sync──► polling ──answer──► answering ──it has left──► request, or ending
///        └──asks the archive──► asking ──answer──► answering
///
/// Confined to its loop. The bytes, with or without TLS, are `Transport`'s; this type decides what they mean. What a
/// client is given and owed is the subscriber's: ``LiveStream`` or ``Poll``, whose port this is.
final class Connection {
    private(set) var id: ConnectionID
    let loop: ConnectionLoop
    /// Where the connection comes from: the socket's peer, or the address in its PROXY header.
    var peer: ClientAddress
    /// The client of the request or stream: from the balancer's header, else the peer. Logs and limits name it.
    var client: ClientAddress
    /// Monotonic, in milliseconds.
    let acceptedAt: UInt64
    var phase: Phase
    /// Fires when the connection is old; nil where no age is set.
    var age: Timer?
    /// The answer to the current request is the last one.
    var isOld = false
    /// The identity that was admitted last on this connection: its client may keep the connection between two requests.
    var lastAdmitted: Identity?
    /// The peer has sent its end behind a whole request: it is answered, and what it has sent ahead, and nothing more comes.
    var peerHasFinished = false
    private(set) var transport: Transport<Connection>?
    /// What the answer to the request at hand has for its browser, whatever it is.
    var answerFields: CrossOrigin.Fields

    init(id: ConnectionID, loop: ConnectionLoop, peer: ClientAddress) {
        self.id = id
        self.loop = loop
        self.peer = peer
        client = peer
        acceptedAt = loop.eventLoop.now
        phase = .request(RequestReading(loop.policy.requestLimits))
        answerFields = loop.admission.browsers.crossOrigin.commonFields
    }

    /// Begins to read from the accepted socket. The request's time is absolute: bytes that drip in do not prolong it.
    func start(_ descriptor: consuming FileDescriptor) {
        let reading = awaitRequest(within: loop.policy.handshakeTimeoutMilliseconds)
        // The PROXY header comes before TLS, which begins behind it.
        if loop.policy.balancer.expectsProxyHeader { reading.proxyHeader = ProxyHeaderParser() }
        let security = reading.proxyHeader == nil ? loop.policy.security : .plain
        let limit = reading.proxyHeader == nil ? arrive(reading) : nil
        // The descriptor is closed with this call.
        if let limit, case .server = loop.policy.security { return refuseArrival(limit) }
        let transport: Transport<Connection>
        do {
            transport = try Transport(descriptor, security: security, on: loop.transports)
        } catch {
            // Only a client's name can be refused.
            preconditionFailure("a server's transport was refused: \(error)")
        }
        self.transport = transport
        applyMaximumAge()
        transport.start(self)
        if let limit { refuseArrival(limit) }
    }

    private func awaitRequest(within milliseconds: UInt64) -> RequestReading {
        let reading = RequestReading(loop.policy.requestLimits)
        phase = .request(reading)
        reading.deadline = schedule(.deadline, afterMilliseconds: milliseconds)
        return reading
    }

    /// The loop holds the connection for the timer; every phase cancels its timers when it ends.
    func schedule(_ alarm: Alarm, afterMilliseconds delay: UInt64) -> Timer {
        loop.eventLoop.schedule(afterMilliseconds: delay, self, alarm.rawValue)
    }

    func cancel(_ timer: inout Timer?) {
        if let timer = timer.take() { loop.eventLoop.cancel(timer) }
    }

    /// The subscriber of the phase, if it has one.
    var subscription: Subscription<Connection>? {
        switch phase {
        case .joining(let joining): .stream(joining.stream)
        case .open(let open): .stream(open.stream)
        case .polling(let polling): .poll(polling.poll)
        case .request, .awaitingToken, .asking, .answering, .ending: nil
        }
    }

    // MARK: - Request

    func receiveRequest(_ bytes: Span<UInt8>, _ reading: RequestReading) {
        if reading.proxyHeader != nil { return receiveProxyHeader(bytes, reading) }
        if reading.isIdle {
            // From its first byte on a later request has the time of a first one.
            reading.isIdle = false
            endRest(reading)
            cancel(&reading.deadline)
            reading.deadline = schedule(.deadline, afterMilliseconds: loop.policy.handshakeTimeoutMilliseconds)
        }
        if reading.owesHandshake { countHandshake(reading) }
        switch reading.parser.consume(bytes) {
        case .needMore: break
        case .refused(let refusal): refuse(refusal)
        case .head(let head, let consumed):
            var early = EarlyBytes()
            early.append(bytes.extracting(droppingFirst: consumed))
            decide(head, early: early)
        }
    }

    func refuse(_ refusal: Refusal, _ head: RequestHead) {
        refuse(
            refusal, withoutBody: head.method == "HEAD", isStorable: head.path == Admission.livePath,
            origin: head.headers.all("origin").first.map { Array($0) })
    }

    /// Answers with a refusal, and ends.
    func refuse(
        _ refusal: Refusal, withoutBody: Bool = false, isStorable: Bool = true, origin: [UInt8]? = nil
    ) {
        if let identity { loop.quota.rates.note(identity.account, isRefused: true, now: loop.eventLoop.now) }
        if case .polling(let polling) = phase { endWait(polling, CloseLabel.answered) }
        loop.count(refusal, origin: origin, client)
        finish(
            writing: loop.withRetry(refusal).serialized(
                date: loop.httpDate(), withoutBody: withoutBody, isStorable: isStorable, keepsAlive: false,
                fields: answerFields))
    }

    private func requestTimedOut(_ reading: RequestReading) {
        if reading.proxyHeader != nil { return rejectProxyHeader(.late) }
        // TLS has the same deadline for its part, and can report the cause more precisely.
        if let transport, transport.isHandshaking { return transport.expireHandshake() }
        // A peer that has sent nothing at all, like a balancer that keeps a spare connection, expects no answer.
        if reading.parser.isInsideHead { refuse(Refusal(.timeout)) } else { finishIdle() }
    }

    /// An answer has left and the client may ask again, or has already done so. A client that was never admitted, or is just
    /// refused, has a newcomer's time for it: otherwise connections could be kept without a token.
    private func awaitNextRequest(_ answered: Answering) {
        id.turn &+= 1
        answerFields = loop.admission.browsers.crossOrigin.commonFields
        let isIdle = answered.early.count == 0
        let staysIdle = isIdle && lastAdmitted != nil && !answered.isRefusal
        let limit = staysIdle ? ConnectionLoop.idleRequestMilliseconds : loop.policy.handshakeTimeoutMilliseconds
        let reading = awaitRequest(within: limit)
        reading.isIdle = isIdle
        if staysIdle, !peerHasFinished, !rest(reading, of: lastAdmitted) { return finishIdle() }
        var early = answered.early
        switch early.consume({ reading.parser.consume($0) }) {
        // Half a request stays one.
        case .needMore where peerHasFinished: finish(writing: [])
        case .needMore: transport?.resumeReading()
        case .refused(let refusal): refuse(refusal)
        case .head(let head, let consumed):
            early.drop(consumed)
            decide(head, early: early)
        }
    }
}

extension Connection: TimerTarget {
    /// The timers of a connection. Each but its age has a field of its own in the phase that needs it.
    enum Alarm: UInt8 {
        /// Of a request, of an answer that the client is to read, of the close.
        case deadline
        /// What the subscriber wished for.
        case wake
        case tokenEnd
        case heartbeat
        case age
    }

    func timerFired(_ kind: UInt8) {
        guard let alarm = Alarm(rawValue: kind) else { preconditionFailure("a timer that no connection has") }
        switch (alarm, phase) {
        case (.age, _):
            age = nil
            ageIsReached()
        case (.deadline, .request(let reading)):
            reading.deadline = nil
            requestTimedOut(reading)
        case (.deadline, .awaitingToken(let awaiting)):
            awaiting.deadline = nil
            tokenLookupTimedOut()
        case (.deadline, .asking(let asking)):
            asking.deadline = nil
            archiveTimedOut(asking)
        case (.wake, .asking(let asking)): askAgain(asking)
        case (.deadline, .answering(let answering)):
            answering.deadline = nil
            answerTimedOut()
        case (.deadline, .ending(let ending)):
            ending.deadline = nil
            transport?.close(afterFlush: true)
        case (.wake, .open(let open)):
            open.wake = nil
            open.stream.wake(now: loop.eventLoop.now)
        case (.wake, .polling(let polling)):
            polling.wake = nil
            polling.poll.wake()
        case (.tokenEnd, .open(let open)):
            guard let token = open.token else { break }
            token.end = nil
            tokenAlarm(open, token)
        case (.heartbeat, .open(let open)):
            open.heartbeat.timer = nil
            heartbeatIsDue(open)
        default: preconditionFailure("a timer of a phase that is over")
        }
    }
}

extension Connection: TransportOwner {
    func transportReceived(_ bytes: Span<UInt8>) {
        switch phase {
        case .open(let open):
            if let session = open.session { receiveFrames(bytes, session) } else { countStray(bytes.count, open) }
        case .ending(let ending): if let session = ending.session { receiveFrames(bytes, session) }
        case .request(let reading): receiveRequest(bytes, reading)
        case .awaitingToken(let awaiting):
            awaiting.early.append(bytes)
            if awaiting.early.count > EarlyBytes.maximumBytes { transport?.pauseReading() }
        case .joining(let joining):
            joining.early.append(bytes)
            // A client that has no head of the answer yet sends little. To pause for every client would be two system calls a
            // handshake.
            if joining.early.count > EarlyBytes.maximumBytes { transport?.pauseReading() }
        case .asking(let asking): receive(bytes, asking)
        // Reading is paused, but of one read TLS may give several pieces.
        case .answering(let answering): answering.early.append(bytes)
        case .polling(let polling):
            polling.early.append(bytes)
            // The end of the client would go unnoticed until the answer; a client that sends so much ahead is no phone.
            if polling.early.count > EarlyBytes.maximumBytes { transport?.pauseReading() }
        }
    }

    func transportDrained() {
        loop.fanOut.moment = loop.eventLoop.flushedAt
        switch phase {
        case .open(let open):
            if let session = open.session, session.hasOutput { send(session) }
            open.stream.drained(now: loop.eventLoop.now)
        case .answering(let answering):
            if let facts = answering.facts.take() { loop.fanOut.ledger.observe(facts, .sync, at: loop.fanOut.moment) }
            guard answering.keepsAlive, !peerHasFinished || answering.early.count > 0 else {
                return finish(writing: [])
            }
            endPhase()
            awaitNextRequest(answering)
        case .ending(let ending): haveLeft(&ending.departing)
        case .request, .awaitingToken, .joining, .polling, .asking: break
        }
    }

    /// After a tick's send: the kernel has not accepted all of it.
    func transportBlocked() {
        switch phase {
        case .open(let open): open.stream.blocked(now: loop.eventLoop.now)
        case .answering(let answering): answerStays(answering)
        case .request, .awaitingToken, .joining, .polling, .asking, .ending: break
        }
    }

    func transportEnded(_ reason: TransportEnd) {
        countCutProxyHeader(reason)
        if case .open(let open) = phase { loop.counters.end(open.kind, CloseLabel.cut) }
        endPhase()
        cancel(&age)
        logEnd(reason)
        phase = .ending(Ending())
        loop.forget(self, reason)
        transport = nil
    }
}

@available(*, unavailable)
extension Connection: Sendable {}
