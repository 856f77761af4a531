import HTTP
import Reactor
import Tokens

/// What becomes of a request, at once or when another server was asked about its token.
extension Connection {
    /// The request is read, but it is not known yet whether its token is good.
    final class AwaitingToken {
        let head: RequestHead
        /// What followed the request.
        var early: EarlyBytes
        var deadline: Timer?
        var permit: ConnectionPermit?

        init(_ head: RequestHead, _ early: EarlyBytes, _ permit: consuming ConnectionPermit?) {
            self.head = head
            self.early = early
            self.permit = permit
        }
    }

    /// `finding`: what was found out about the request's token, where that had to be asked.
    func decide(_ head: RequestHead, early: EarlyBytes, finding: TokenLookupResult? = nil) {
        identifyClient(head)
        answerFields = loop.admission.browsers.fields(head)
        if case .request(let reading) = phase, let limit = reading.limit { return refuseOverLimit(limit, head) }
        // Such a caller learns only that it may not ask.
        if case let crossOrigin = loop.admission.browsers.crossOrigin, crossOrigin.caller(head.headers) == .refused {
            answerFields = crossOrigin.foreignFields
        }
        switch loop.admission.decide(head, epochSeconds: loop.epochSeconds(), finding: finding) {
        case .ask(let question): awaitFinding(question, head, early)
        case .refuse(let refusal): refuse(refusal, head)
        case .plainGet:
            loop.count(refusal: Refusal.plainGetCode, status: 400, client)
            finish(writing: Refusal.plainGet(date: loop.httpDate(), fields: answerFields))
        case .preflight:
            let keepsAlive = keepsAlive(behind: head)
            answer(
                CrossOrigin.preflightAnswer(date: loop.httpDate(), fields: answerFields, keepsAlive: keepsAlive),
                keepsAlive: keepsAlive, early)
        case .ticket(let identity, let policy):
            lastAdmitted = identity
            answerWithTicket(identity, policy, head, early)
        case .admit(let admitted): enter(admitted, head, early)
        }
    }

    /// Waits for the finding, at most as long as a request may last.
    func awaitFinding(_ question: TokenQuestion, _ head: RequestHead, _ early: EarlyBytes) {
        let permit = takePermit()
        endPhase()
        let awaiting = AwaitingToken(head, early, permit)
        phase = .awaitingToken(awaiting)
        awaiting.deadline = schedule(.deadline, afterMilliseconds: loop.policy.handshakeTimeoutMilliseconds)
        // While it waits its end should be noticed.
        if early.count <= EarlyBytes.maximumBytes { transport?.resumeReading() }
        loop.lookups.post(TokenLookupRequest(question: question, loop: loop.index, connection: id))
    }

    /// What could be found out was.
    func tokenLookedUp(_ answer: TokenLookupAnswer) {
        let finding = answer.finding
        if case .open(let open) = phase { return tokenChecked(open, finding, recheck: answer.recheck) }
        // It may have been refused meanwhile, since its time was up.
        guard case .awaitingToken(let awaiting) = phase else { return }
        cancel(&awaiting.deadline)
        decide(awaiting.head, early: awaiting.early, finding: finding)
    }

    func tokenLookupTimedOut() {
        guard case .awaitingToken(let awaiting) = phase else { return }
        refuse(Refusal(.notReady), isStorable: awaiting.head.path == Admission.livePath)
    }
}

extension ConnectionLoop {
    /// What was found out about the token of a request that waits, or of an open stream.
    func receive(_ answer: TokenLookupAnswer) { connections[answer.connection]?.tokenLookedUp(answer) }
}
