import HTTP
import LiveUpdates
import Logging
import Reactor
import Tokens
import Transport
import WebSocket

/// The close notice for all connections that are closed together.
struct CloseNotice: Equatable, Sendable {
    let code: CloseCode
    /// When clients reconnect, in milliseconds; each gets a random time of this range. Nil: the notice names no time.
    var retryMilliseconds: ClosedRange<Int>?

    init(_ code: CloseCode, retryMilliseconds: ClosedRange<Int>? = nil) {
        self.code = code
        self.retryMilliseconds = retryMilliseconds
    }

    func randomRetry(_ generator: inout some RandomNumberGenerator) -> Int? {
        retryMilliseconds.map { Int.random(in: $0, using: &generator) }
    }
}

/// How connections are closed, and what the log reports.
extension Connection {
    /// Ends the connection where that costs its client nothing. A request that has begun is read to its end, and refused there if
    /// the node refuses requests by then. Otherwise as ``close(_:why:retryMilliseconds:)``.
    func leave(_ code: CloseCode, why: String? = nil, retryMilliseconds: Int) {
        switch phase {
        case .request(let reading) where mayBeAsking(reading): break
        default: close(code, why: why, retryMilliseconds: retryMilliseconds)
        }
    }

    /// Whether a request has begun, or the client may have sent one already.
    func mayBeAsking(_ reading: RequestReading) -> Bool {
        if reading.parser.isInsideHead || transport?.isHandshaking == true { return true }
        return !reading.isIdle && loop.eventLoop.now < acceptedAt + ConnectionLoop.newcomerMilliseconds
    }

    /// Ends whatever there is, a stream with a code; nothing is written after it. Without `retryMilliseconds`, a code that names
    /// a retry time gets a random one.
    ///
    /// - Parameter why: the text of the reason, in place of the code's own word.
    func close(_ code: CloseCode, why: String? = nil, retryMilliseconds: Int? = nil) {
        switch phase {
        case .open(let open):
            let retry = retryMilliseconds ?? (code.namesRetry ? loop.retryMilliseconds() : nil)
            open.stream.sendBye(code, why: why, retry)
            end(open, code, reason: code.reason(why: why, retryMilliseconds: retry), endPhase())
        case .request(let reading):
            // On an idle connection the node writes nothing, because no request asks for it.
            if reading.parser.isInsideHead { refuseForClosing(code) } else { finishIdle() }
        case .awaitingToken, .joining: refuseForClosing(code)
        case .polling(let polling):
            guard code == .restart else { return refuseForClosing(code) }
            polling.keepsAlive = false
            polling.poll.answerNow()
        // Its answer is already being made, or its time is short.
        case .asking(let asking):
            guard code == .restart else { return refuseForClosing(code) }
            asking.keepsAlive = false
        // The answer has its own time to leave, `max_lag`, and nothing follows it.
        case .answering(let answering): answering.keepsAlive = false
        case .ending: break
        }
    }

    /// As an operator wishes. The node stays, so no client gets a notice of a drain; one that waits is refused.
    func disconnect() {
        switch phase {
        case .joining: refuse(Refusal(.overloaded))
        case .asking: refuse(Refusal(.overloaded), isStorable: false)
        default: close(.restart)
        }
    }

    /// Refuses, because there is no stream yet that could carry the close.
    private func refuseForClosing(_ code: CloseCode) {
        var isStorable = true
        switch phase {
        case .polling, .asking: isStorable = false
        default: break
        }
        refuse(Refusal(code == .goingAway || code == .restart ? .draining : .overloaded), isStorable: isStorable)
    }

    /// The stream has ended by itself.
    func streamEnds(_ code: CloseCode, _ why: StaticString, _ unsent: [DeliveryFacts]) {
        guard case .open(let open) = phase else { preconditionFailure("a stream ended that was not open") }
        loop.logger.info(
            "connection too slow",
            [
                .peer: .text("\(client)"), .account: .text(open.stream.account.text), .reason: .text("\(why)"),
                .bytes: .number(pendingBytes),
            ])
        endPhase()
        end(open, code, reason: code.reason(), Departing(facts: unsent, kind: open.kind))
    }

    private func end(_ open: OpenStream, _ code: CloseCode, reason: String, _ departing: Departing) {
        loop.counters.end(open.kind, CloseLabel.of(code, isOurs: true))
        let ending = Ending(
            session: open.session, account: open.stream.account, close: Close(code: code, isOurs: true),
            departing: departing)
        phase = .ending(ending)
        guard let session = open.session else {
            transport?.close(afterFlush: true)
            return
        }
        session.close(code, reason: reason)
        send(session)
        // From here on the peer's close frame is awaited.
        ending.deadline = schedule(.deadline, afterMilliseconds: ConnectionLoop.closeTimeoutMilliseconds)
    }

    /// Who the client is, while a stream or a poll of it lasts.
    var identity: Identity? {
        switch phase {
        case .joining(let joining): joining.admitted.identity
        case .open(let open): open.identity
        case .polling(let polling): polling.identity
        case .asking(let asking): asking.identity
        case .request, .awaitingToken, .answering, .ending: nil
        }
    }

    /// The token that admitted the client counts no more. A stream is closed with 4403, and a request that waits gets 401. A
    /// client that perhaps was not meant gets 4401, to reconnect with a new token, or 1012 where no token would help yet.
    func revoke(_ why: TokenRefusal) {
        switch (phase, why) {
        case (.open, .olderThanRevoked), (.open, .withdrawnKey): close(.tokenExpired)
        case (.open, .unsettled): close(.restart, why: "revocations")
        case (.open, .undated):
            let milliseconds = NodeRevocations.undatedRetrySeconds * 1_000
            close(.restart, why: "revocations", retryMilliseconds: milliseconds + loop.retryMilliseconds())
        case (.open, _): close(.revoked)
        case (.joining, _): refuse(Refusal(why))
        case (.polling, _), (.asking, _): refuse(Refusal(why), isStorable: false)
        case (.request, _), (.awaitingToken, _), (.answering, _), (.ending, _): break
        }
    }

    /// A stream or a request that waits, with all that its client was promised; not one that is still to be admitted.
    var isEstablished: Bool {
        switch phase {
        case .open, .polling, .asking: true
        case .request, .awaitingToken, .joining, .answering, .ending: false
        }
    }

    // MARK: - The log

    /// Logs who ended a stream and with which code. Of a connection that never was a stream, it logs only TLS failures.
    func logEnd(_ reason: TransportEnd) {
        let (account, close, isWebSocket): (Account?, Close?, Bool) =
            switch phase {
            case .open(let open): (open.stream.account, nil, open.session != nil)
            case .ending(let ending): (ending.account, ending.close, ending.session != nil)
            case .request, .awaitingToken, .joining, .polling, .asking, .answering: (nil, nil, false)
            }
        guard let account else {
            if case .tls(let failure) = reason {
                loop.log.tlsFailed(failure.reason.rawValue, "\(failure)", client, now: loop.eventLoop.now)
            }
            return
        }
        // RFC 6455 §7.1.5: a WebSocket that ended without a close frame.
        let code = close?.code ?? (isWebSocket ? .abnormal : nil)
        loop.logger.info(
            "connection closed",
            [
                .peer: .text("\(client)"), .account: .text(account.text), .by: .text(Self.closer(close, reason)),
                .code: code.map { .number(Int($0.rawValue)) } ?? .absent, .reason: .text("\(reason)"),
            ])
    }

    private static func closer(_ close: Close?, _ reason: TransportEnd) -> String {
        if let close { return close.isOurs ? "gateway" : "client" }
        return switch reason {
        case .stream(.peerClosed): "client"
        case .stream(.failed), .tls: "network"
        case .stream(.closed), .stream(.aborted), .stream(.lingerExpired), .stream(.loopStopped): "gateway"
        }
    }
}
