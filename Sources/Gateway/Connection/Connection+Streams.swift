import HTTP
import LiveUpdates
import Logging
import TLS
import Tokens
import WebSocket

/// A connection with a stream on it: its head and its frames.
extension Connection {
    func join(_ admitted: Admission.Admitted, _ early: EarlyBytes, _ permit: consuming ConnectionPermit?) {
        guard let (parameters, form) = admitted.liveRequest else { preconditionFailure("a stream without a form") }
        let stream = LiveStream(
            parameters, form: form, account: admitted.identity.account, port: self, fanOut: loop.fanOut)
        let joining = Joining(admitted, stream, permit)
        joining.early = early
        phase = .joining(joining)
        stream.begin(since: parameters.since)
    }

    /// Ingest has answered.
    func joined(_ answer: JoinAnswer) {
        var early = EarlyBytes()
        if case .joining(let joining) = phase { early = joining.early }
        subscription?.joined(answer, now: loop.eventLoop.now)
        guard case .open(let open) = phase else { return }
        if peerHasFinished {
            endBehindPeer(open)
            transport?.close(afterFlush: true)
            return
        }
        beginHeartbeat(open)
        watchToken(open)
        if open.session == nil { countStray(early.count, open) }
        if let session = open.session, early.count > 0 { early.consume { receiveFrames($0, session) } }
        if open.session?.hasRest != true { transport?.resumeReading() }
    }

    private func writeHead(_ admitted: Admission.Admitted) -> WebSocketSession? {
        switch admitted.service {
        case .webSocket(let upgrade, let deflate, _):
            let accept = Digest.sha1(WebSocketKey.acceptInput(upgrade.key))
            transport?.write(
                UpgradeResponse.serialized(
                    accept: Base64.encode(accept),
                    subprotocol: upgrade.offers(Admission.subprotocol) ? Admission.subprotocol : nil,
                    extensions: deflate?.answer, fields: answerFields))
            return WebSocketSession(server: loop.webSockets, deflate: deflate?.parameters)
        case .eventStream:
            let retry = Int.random(in: EventStreamEncoder.retryMilliseconds, using: &loop.spread)
            transport?.write(
                EventStream.head(date: loop.httpDate(), retryMilliseconds: retry, fields: answerFields))
            return nil
        case .sync, .ticket, .archive: preconditionFailure("no stream was asked for")
        }
    }

    /// Counts what the client of an event stream sends behind its request, which has no meaning.
    func countStray(_ bytes: Int, _ open: OpenStream) {
        open.strayBytes = UInt32(clamping: Int(open.strayBytes) + bytes)
        if open.strayBytes > ConnectionLoop.maximumStrayBytes { close(.policyViolation) }
    }

    // MARK: - Frames

    /// What a client sends is read, checked and ignored, but for its next token; the session answers pings and closes.
    func receiveFrames(_ bytes: Span<UInt8>, _ session: WebSocketSession) {
        let hadRest = session.hasRest
        loop.events.removeAll(keepingCapacity: true)
        session.receive(
            bytes, now: loop.eventLoop.now, isBlocked: transport?.isBlocked ?? false, into: &loop.events)
        framesCame(session)
        if session.hasRest, !hadRest { receiveRestLater(session) }
    }

    /// The client had its share of this tick: its further bytes wait behind those of others, here or in the kernel.
    private func receiveRestLater(_ session: WebSocketSession) {
        transport?.pauseReading()
        loop.eventLoop.executeNextTick { [self] in receiveRest(session) }
    }

    private func receiveRest(_ session: WebSocketSession) {
        guard let transport else { return }
        loop.events.removeAll(keepingCapacity: true)
        session.receiveRest(now: loop.eventLoop.now, isBlocked: transport.isBlocked, into: &loop.events)
        framesCame(session)
        if session.hasRest { receiveRestLater(session) } else { transport.resumeReading() }
    }

    private func framesCame(_ session: WebSocketSession) {
        if case .open(let open) = phase, open.heartbeat.awaitsPong, loop.events.contains(where: \.isPong) {
            pongCame(open)
        }
        for case .message(_, let message) in loop.events { messageCame(message, session) }
        if case .open(let open) = phase, let failure = session.failure { askToWait(open, session, failure) }
        send(session)
        guard session.transportAction == .closeAfterFlush else { return }
        if case .open(let open) = phase {
            // The peer's close, or a rule that it broke.
            let ending = session.ending
            loop.counters.end(open.kind, CloseLabel.of(ending.code, isOurs: !ending.isClean))
            let departing = endPhase()
            phase = .ending(
                Ending(
                    session: session, account: open.stream.account,
                    close: Close(code: ending.code, isOurs: !ending.isClean), departing: departing))
        }
        transport?.close(afterFlush: true)
    }

    /// A client that sent too much would do so again as soon as it reconnects, so its close names a retry time.
    private func askToWait(_ open: OpenStream, _ session: WebSocketSession, _ failure: WebSocketError) {
        guard failure.closeCode.namesRetry else { return }
        let retry = loop.retryMilliseconds()
        open.stream.sendBye(failure.closeCode, retry)
        session.addRetry(milliseconds: retry)
        loop.log.sentTooMuch("\(failure)", open.stream.account.text, client, now: loop.eventLoop.now)
    }

    /// Sends the session's output, unless the kernel has not accepted the bytes before; then pongs replace each other.
    func send(_ session: WebSocketSession) {
        guard let transport, session.hasOutput else { return }
        if !transport.isBlocked || session.transportAction != .keep { transport.write(session.takeOutput()) }
    }
}

extension Connection: SubscriberPort {
    var pendingBytes: Int { transport?.pendingBytes ?? 0 }

    func isOf(_ person: String) -> Bool { identity?.subject?.isBytewiseEqual(to: person) ?? false }

    func write(_ bytes: [UInt8]) { transport?.write(bytes) }

    // MARK: - Wishes to ingest

    private func subscriber(_ account: Account) -> Subscriber {
        Subscriber(account: account, loop: loop.index, connection: id)
    }

    func subscribe(_ account: Account, _ request: JoinRequest) {
        loop.ingest.post(.subscribe(subscriber(account), request))
    }

    func unsubscribe(_ account: Account, withCursors: Bool) {
        loop.ingest.post(.unsubscribe(subscriber(account), withCursors: withCursors))
    }

    func read(_ account: Account, _ request: ReadRequest) { loop.ingest.post(.read(subscriber(account), request)) }

    func readNow(_ account: Account) { loop.ingest.post(.readNow(subscriber(account))) }

    func askFreshCursor(_ account: Account) { loop.ingest.post(.freshCursor(subscriber(account))) }

    // MARK: - Wishes to the connection

    func wake(at time: UInt64) {
        switch phase {
        case .open(let open):
            cancel(&open.wake)
            open.wake = loop.eventLoop.schedule(at: time, self, Alarm.wake.rawValue)
        case .polling(let polling):
            cancel(&polling.wake)
            polling.wake = loop.eventLoop.schedule(at: time, self, Alarm.wake.rawValue)
        case .request, .awaitingToken, .joining, .asking, .answering, .ending:
            preconditionFailure("a wish of a subscriber that has ended")
        }
    }

    func streamBegins() {
        guard case .joining(let joining) = phase else { preconditionFailure("a stream begins that has not joined") }
        let identity = joining.admitted.identity
        let open = OpenStream(
            identity, joining.stream, writeHead(joining.admitted), joining.permit.take(), at: loop.eventLoop.now)
        // A stream has no further head.
        answerFields = []
        phase = .open(open)
        loop.counters.opened += 1
        loop.counters.begin(open.kind)
        let account = joining.stream.account
        loop.logger.info("connection opened", [.peer: .text("\(client)"), .account: .text(account.text)])
    }
}
