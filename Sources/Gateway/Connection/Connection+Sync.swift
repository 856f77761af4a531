import HTTP
import LiveUpdates
import Tokens

/// A connection that asks `/sync/v1`: one request after the other, each read when the answer to the one before has left.
extension Connection {
    func poll(
        _ parameters: SyncParameters, _ identity: Identity, keepsAlive: Bool, _ early: EarlyBytes,
        _ permit: consuming ConnectionPermit?
    ) {
        let tokenMilliseconds = identity.expiresAt.map { loop.milliseconds(until: $0) } ?? .max
        let poll = Poll(
            parameters, tokenMilliseconds: tokenMilliseconds, account: identity.account, port: self,
            fanOut: loop.fanOut)
        phase = .polling(
            Polling(
                identity, poll, at: loop.eventLoop.now, keepsAlive: keepsAlive, early: early,
                isCounted: parameters.mayWait, permit))
        // While it waits its end should be noticed.
        if early.count <= EarlyBytes.maximumBytes { transport?.resumeReading() }
        poll.begin()
        if peerHasFinished { poll.answerNow() }
    }

    func pollBegins() {
        guard case .polling(let polling) = phase else { preconditionFailure("a wait that nobody asked for") }
        polling.hasBegun = true
        loop.counters.begin(.sync)
    }

    /// The wait is over: with an answer, or because the client has gone.
    func endWait(_ polling: Polling, _ label: String) {
        guard polling.hasBegun else { return }
        polling.hasBegun = false
        loop.counters.end(.sync, label)
    }

    func pollEnds(answer body: [UInt8], _ facts: DeliveryFacts) {
        endPoll(facts, body, isRefusal: false) {
            SyncAnswer.head(of: body, date: loop.httpDate(), keepsAlive: $0, fields: answerFields)
        }
    }

    func pollEnds(refused why: ResyncReason, fresh: CursorText) {
        let refusal = SyncAnswer.refusal(of: why, fresh: fresh.bytes)
        if refusal.code == .resync {
            // This answers a request that was admitted: it names the cursor to continue from.
            loop.counters.resyncs[why.rawValue, default: 0] += 1
            loop.log.refused(refusal.code.rawValue, refusal.status, client, now: loop.eventLoop.now)
        } else {
            loop.count(refusal, client)
            if let identity { loop.quota.rates.note(identity.account, isRefused: true, now: loop.eventLoop.now) }
        }
        endPoll(nil, [], isRefusal: refusal.code != .resync) {
            SyncAnswer.refused(refusal, date: loop.httpDate(), keepsAlive: $0, fields: answerFields)
        }
    }

    private func endPoll(
        _ facts: DeliveryFacts?, _ body: [UInt8], isRefusal: Bool, _ head: (_ keepsAlive: Bool) -> [UInt8]
    ) {
        guard case .polling(let polling) = phase else { preconditionFailure("an answer that nobody asked for") }
        endWait(polling, CloseLabel.answered)
        cancel(&polling.wake)
        let answering = Answering(
            facts, keepsAlive: polling.keepsAlive, early: polling.early, isRefusal: isRefusal, of: polling.identity)
        if polling.isCounted {
            answering.permit = polling.permit.take()
            answering.hasPermit = true
        } else {
            leave(&polling.permit, polling.poll.account)
        }
        beginAnswer(head(polling.keepsAlive), body, answering)
    }

    /// No next request is read while this answer waits. A client that does not read the answer is cut.
    private func beginAnswer(_ head: [UInt8], _ body: [UInt8], _ answering: Answering) {
        phase = .answering(answering)
        transport?.pauseReading()
        answering.deadline = schedule(.deadline, afterMilliseconds: loop.policy.streams.maximumLagMilliseconds)
        transport?.write(head)
        transport?.write(body)
    }

    /// Answers a request for which nothing has to be waited for.
    ///
    /// - Parameter identity: whose it is; nil where no client was admitted.
    func answer(
        _ head: [UInt8], _ body: [UInt8] = [], keepsAlive: Bool, _ early: EarlyBytes, of identity: Identity? = nil
    ) {
        endPhase()
        beginAnswer(head, body, Answering(nil, keepsAlive: keepsAlive, early: early, of: identity))
    }

    /// The kernel has not accepted all of an answer: from now on it counts as a connection of its client, as a wait does.
    /// Otherwise one token could have answers made for thousands of connections that do not read.
    func answerStays(_ answering: Answering) {
        guard !answering.hasPermit, let identity = answering.identity else { return }
        if let limit = loop.quota.enter(
            identity.account, subject: identity.subject, address: addressKey, &answering.permit)
        {
            leave(&answering.permit, nil)
            loop.log.limited(limit, identity, client, now: loop.eventLoop.now)
            transport?.close(afterFlush: false)
            return
        }
        answering.hasPermit = true
    }

    func answerTimedOut() {
        loop.logger.info("connection cut: the client did not read its answer", [.peer: .text("\(client)")])
        transport?.close(afterFlush: false)
    }
}
