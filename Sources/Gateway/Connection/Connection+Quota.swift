import Balancer
import HTTP
import LiveUpdates
import Tokens

/// How a connection enters the counts of the node, and leaves them.
///
/// The payload of its phase holds its permit. The permit ends with the phase, whatever ends it.
extension Connection {
    /// Nil for clients that are not counted by address: Unix sockets and the balancers themselves.
    var addressKey: AddressKey? { loop.policy.balancer.trusted.contains(client) ? nil : AddressKey(client) }

    /// Counts the connection. Once, as soon as the client's address is known, and before anything is paid for TLS.
    ///
    /// - Returns: the limit for which it is to be refused at once.
    func arrive(_ reading: RequestReading) -> ConnectionLimit? {
        do throws(ConnectionLimit) {
            reading.permit = try loop.quota.arrive(addressKey)
        } catch {
            return refusesLater(reading, error) ? nil : error
        }
        guard case .server = loop.policy.security else {
            // Of a plain connection the first request counts, when it begins: a balancer may keep spare connections.
            reading.owesHandshake = true
            return nil
        }
        return loop.quota.takeHandshake(now: loop.eventLoop.now)
    }

    /// Whether the refusal waits for the request's head, which names the page's origin. Without the fields for its origin, no
    /// page can read when to retry. The head has the usual time, and only so many connections wait for theirs.
    private func refusesLater(_ reading: RequestReading, _ limit: ConnectionLimit) -> Bool {
        guard case .plain = loop.policy.security, loop.admission.browsers.crossOrigin.isOn,
            loop.lateRefusals < ConnectionLoop.maximumLateRefusals
        else { return false }
        loop.lateRefusals += 1
        (reading.limit, reading.isLateRefusal) = (limit, true)
        return true
    }

    /// The first bytes of a connection's first request have come.
    func countHandshake(_ reading: RequestReading) {
        reading.owesHandshake = false
        reading.limit = loop.quota.takeHandshake(now: loop.eventLoop.now)
    }

    /// Refuses a request whose connection is over a limit, before a signature is paid for. A browser's preflight is answered, or
    /// its page could not read the refusal that follows; no request follows on this connection.
    func refuseOverLimit(_ limit: ConnectionLimit, _ head: RequestHead) {
        let browsers = loop.admission.browsers.crossOrigin
        guard browsers.isPreflight(head), case .listed = browsers.caller(head.headers) else {
            return refuse(limit, withoutBody: head.method == "HEAD")
        }
        finish(
            writing: CrossOrigin.preflightAnswer(date: loop.httpDate(), fields: answerFields, keepsAlive: false))
    }

    /// Ends a connection that may not arrive. Before TLS no answer is possible.
    func refuseArrival(_ limit: ConnectionLimit) {
        guard case .server = loop.policy.security else { return refuse(limit) }
        loop.countEarlyClose(limit, client)
        endPhase()
        phase = .ending(Ending())
        if let transport { transport.close(afterFlush: false) } else { loop.forget(self, .stream(.closed)) }
    }

    /// Lets an admitted request in if a permit is free for it, and moves on.
    func enter(_ admitted: Admission.Admitted, _ head: RequestHead, _ early: EarlyBytes) {
        let identity = admitted.identity
        loop.quota.rates.note(identity.account, now: loop.eventLoop.now)
        var permit = takePermit()
        if admitted.needsPermit,
            let limit = loop.quota.enter(
                identity.account, subject: identity.subject, address: addressKey, &permit)
        {
            leave(&permit, nil)
            return refuse(limit, to: identity, isStorable: head.path == Admission.livePath)
        }
        // The ticket is last, so that a caller that is refused for anything else can use it again.
        if let ticket = admitted.ticket, let policy = loop.admission.tickets,
            let refusal = loop.admission.usedTickets.use(ticket, policy, now: loop.epochSeconds())
        {
            leave(&permit, identity.account)
            loop.quota.rates.note(identity.account, isRefused: true, now: loop.eventLoop.now)
            return refuse(refusal, head)
        }
        endPhase()
        lastAdmitted = identity
        switch admitted.service {
        case .sync(let parameters):
            poll(parameters, identity, keepsAlive: keepsAlive(behind: head), early, permit)
        case .webSocket, .eventStream: join(admitted, early, permit)
        case .archive(let request): askArchive(request, identity, head, early, permit)
        case .ticket: preconditionFailure("a ticket is no stream")
        }
    }

    /// Whether another request may follow on this connection: as its client wants, up to the last that it may make. Not
    /// behind a body that is not read.
    func keepsAlive(behind head: RequestHead, hasReadBody: Bool = false) -> Bool {
        let maximum = loop.policy.maximumRequestsPerConnection
        let limit = lastAdmitted != nil ? maximum : min(maximum, ConnectionLoop.maximumPreflights)
        let isLast = isOld || id.turn + 1 >= limit
        return !isLast && (hasReadBody || head.body.isEmpty) && SyncAnswer.keepsAlive(head)
    }

    /// Counts an idle connection for the user that it has served last; a balancer's connections serve many users in turn.
    ///
    /// - Returns: false where that user has as many as it may: the connection is to end.
    func rest(_ reading: RequestReading, of identity: Identity?) -> Bool {
        guard let identity, let subject = SubjectKey(identity.account, identity.subject),
            AddressKey(peer) != nil, !loop.policy.balancer.trusted.contains(peer)
        else { return true }
        guard loop.quota.rest(subject) else { return false }
        reading.idleSubject = subject
        return true
    }

    func endRest(_ reading: RequestReading) {
        if let subject = reading.idleSubject.take() { loop.quota.endRest(subject) }
    }

    /// The permit of a connection that waits for its first answer.
    func takePermit() -> ConnectionPermit? {
        switch phase {
        case .request(let reading): reading.permit.take()
        case .awaitingToken(let awaiting): awaiting.permit.take()
        default: nil
        }
    }

    /// Returns a permit, if there is one.
    func leave(_ permit: inout ConnectionPermit?, _ account: Account?) {
        if let permit = permit.take() { loop.quota.leave(permit, of: account) }
    }

    /// Answers with the refusal that stands for a limit, and ends.
    func refuse(
        _ limit: ConnectionLimit, to identity: Identity? = nil, withoutBody: Bool = false, isStorable: Bool = true
    ) {
        loop.count(limit, identity, client)
        finish(
            writing: loop.withRetry(limit.refusal).serialized(
                date: loop.httpDate(), withoutBody: withoutBody, isStorable: isStorable, keepsAlive: false,
                fields: answerFields))
    }
}

extension ConnectionLimit {
    /// Whether the node is at its limit, and not one of its clients.
    var isOfNode: Bool { name == .node || name == .handshakes }

    /// The refusal that the client receives. It never states how much is allowed.
    var refusal: Refusal {
        switch name {
        case .node, .handshakes: Refusal(.overloaded)
        case .account: Refusal(.tooMany, "There are too many connections of this account.")
        case .subject: Refusal(.tooMany, "There are too many connections of this user.")
        case .address: Refusal(.tooMany, "There are too many connections from this address.")
        }
    }
}
