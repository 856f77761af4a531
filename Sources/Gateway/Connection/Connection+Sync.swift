import HTTP
import LiveUpdates
import Tokens

/// A connection that asks `/sync/v1`: one request after the other, each read when the answer to the one before has left.
extension Connection {
    func poll(
        _ parameters: SyncParameters, _ identity: Identity, keepsAlive: Bool, _ early: EarlyBytes,
        _ place: consuming Place?
    ) {
        let tokenMilliseconds = identity.expiresAt.map { loop.milliseconds(until: $0) } ?? .max
        let poll = Poll(
            parameters, patience: min(parameters.waitMilliseconds, tokenMilliseconds), account: identity.account,
            port: self, fanOut: loop.fanOut)
        phase = .polling(Polling(identity, poll, keepsAlive: keepsAlive, early: early, place))
        // While it waits its end should be noticed.
        if early.count <= EarlyBytes.maximumBytes { transport?.resumeReading() }
        poll.begin()
    }

    func pollEnds(answer body: [UInt8]) {
        endPoll { SyncAnswer.page(body, date: loop.httpDate(), keepsAlive: $0, fields: answerFields) }
    }

    func pollEnds(refused why: ResyncReason, fresh: CursorText) {
        let refusal = SyncAnswer.refusal(of: why, fresh: fresh.bytes)
        loop.count(refusal: refusal.code.rawValue, status: refusal.status, client)
        endPoll { SyncAnswer.refused(refusal, date: loop.httpDate(), keepsAlive: $0, fields: answerFields) }
    }

    private func endPoll(_ bytes: (_ keepsAlive: Bool) -> [UInt8]) {
        guard case .polling(let polling) = phase else { preconditionFailure("an answer that nobody asked for") }
        cancel(&polling.wake)
        leave(&polling.place, polling.poll.account)
        beginAnswer(bytes(polling.keepsAlive), keepsAlive: polling.keepsAlive, polling.early)
    }

    /// No next request is read while this answer waits; a client that does not take it is cut.
    private func beginAnswer(_ bytes: [UInt8], keepsAlive: Bool, _ early: EarlyBytes) {
        let answering = Answering(keepsAlive: keepsAlive, early: early)
        phase = .answering(answering)
        transport?.pauseReading()
        answering.deadline = schedule(.deadline, afterMilliseconds: loop.policy.streams.maximumLagMilliseconds)
        transport?.write(bytes)
    }

    /// Answers a request for which nothing has to be waited for.
    func answer(_ bytes: [UInt8], keepsAlive: Bool, _ early: EarlyBytes) {
        endPhase()
        beginAnswer(bytes, keepsAlive: keepsAlive, early)
    }

    func answerWasNotTaken() {
        loop.logger.info("connection cut: it did not take its answer", [.peer: .text("\(client)")])
        transport?.close(afterFlush: false)
    }
}
