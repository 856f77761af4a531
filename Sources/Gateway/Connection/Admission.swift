import HTTP
import LiveUpdates
import Tokens
import WebSocket

/// Decides what happens to a request, from the request, the settings and the clock alone.
///
/// The checks have this order: the address exists, the page may ask, the request is well formed, the caller is known, the node
/// can serve. A caller without a token learns no more than that, whether the node is ready or not.
struct Admission: Sendable {
    static let livePath = "/live/v1"
    static let syncPath = "/sync/v1"
    static let ticketPath = "/ticket/v1"
    static let archivePath = "/archive/v1"
    static let inboxPath = "/inbox/v1"
    static let readPath = "/inbox/v1/read"
    static let subprotocol = "livegate.v1"

    enum Decision {
        case admit(Admitted)
        /// A ticket for this caller.
        case ticket(Identity, TicketPolicy)
        case refuse(Refusal)
        /// Another server has to be asked first; the request is decided again with what was found.
        case ask(TokenQuestion)
        /// Neither an upgrade nor anything else that the address serves.
        case plainGet
        /// A browser asks what a page may ask.
        case preflight
    }

    typealias Deflate = (parameters: DeflateParameters, answer: String)

    /// What is asked for.
    enum Service {
        case webSocket(UpgradeRequest, Deflate?, LiveParameters)
        case eventStream(LiveParameters)
        case sync(SyncParameters)
        case ticket(TicketPolicy)
        case archive(ArchiveRequest)
    }

    struct Admitted {
        let identity: Identity
        let service: Service
        /// To be used up when this caller is let in.
        let ticket: Ticket?

        /// Whether it counts among the connections of its account: all that stay. An answer that is given at once does not.
        var needsPermit: Bool {
            switch service {
            case .sync(let parameters): parameters.mayWait
            case .archive: false
            case .webSocket, .eventStream, .ticket: true
            }
        }

        /// What was agreed on, of a WebSocket.
        var deflate: Deflate? {
            if case .webSocket(_, let deflate, _) = service { deflate } else { nil }
        }

        /// What a stream is asked to be like, and the form that follows from it; nil for what is no stream.
        var liveRequest: (LiveParameters, StreamForm)? {
            switch service {
            case .webSocket(_, let deflate, let parameters):
                return (parameters, StreamForm(parameters, deflate == nil ? .webSocket : .deflated))
            case .eventStream(let parameters): return (parameters, StreamForm(parameters, .eventStream))
            case .sync, .ticket, .archive: return nil
            }
        }
    }

    var verifier: TokenVerifier
    let readiness: NodeReadiness
    let agreesToDeflate: Bool
    let syncLimits: SyncLimits
    var browsers = BrowserPolicy()
    /// Nil: there are no tickets.
    var tickets: TicketPolicy?
    /// Nil: there is no archive.
    var archive: ArchivePolicy?
    /// The node has one; it stays when settings are reloaded.
    var usedTickets = NodeTickets()
    /// The same.
    var revocations = NodeRevocations()

    /// `epochSeconds` is the wall clock in whole seconds since 1970, `finding` what came of the question that this request
    /// had to wait for.
    func decide(_ head: RequestHead, epochSeconds: Int64, finding: TokenLookupResult? = nil) -> Decision {
        do throws(Refusal) {
            return try decision(head, epochSeconds, finding)
        } catch {
            return .refuse(error)
        }
    }

    private func decision(
        _ head: RequestHead, _ now: Int64, _ finding: TokenLookupResult?
    ) throws(Refusal) -> Decision {
        guard let method = method(of: head.path) else { throw Refusal(.notFound) }
        let caller = browsers.crossOrigin.caller(head.headers)
        // A browser asks before it asks for anything, and shows its page no refusal of this; the one that follows it does.
        if browsers.crossOrigin.isPreflight(head) { return .preflight }
        guard caller != .refused else { throw Refusal(.forbidden, cause: .origin) }
        guard head.method == method else { throw Refusal(.methodNotAllowed, allow: method) }
        guard let service = try asked(head) else { return .plainGet }
        let identity: Identity
        var ticket: Ticket?
        switch try verdict(head, service, caller, now, finding, &ticket) {
        case .success(let known):
            // Whatever brought it: a header, a cookie, a subprotocol, a ticket, another server's answer, or nothing at all.
            if let why = revocations.refusal(of: known) { throw Refusal(why) }
            identity = known
        case .failure(.undecided(let question)) where finding == nil:
            // Nobody would be admitted anyway, so the token servers are spared the questions of a whole fleet's drain.
            if readiness.refusesRequests { throw Refusal(.draining) }
            return .ask(question)
        // It was asked for, and is not there.
        case .failure(.undecided(let question)): throw Refusal(of: question.refusal)
        case .failure(.unavailable): throw Refusal(of: .unavailable, code: .notReady)
        case .failure(let reason): throw Refusal(of: reason)
        }
        if case .archive(let request) = service, request.needsPerson, identity.subject == nil {
            throw Refusal(.forbidden, "An inbox is a person's: the token names none (sub).")
        }
        try Self.checkBody(head, service)
        if readiness.refusesRequests { throw Refusal(.draining) }
        guard readiness.hasBeenReady else { throw Refusal(.notReady) }
        if case .ticket(let policy) = service { return .ticket(identity, policy) }
        return .admit(Admitted(identity: identity, service: service, ticket: ticket))
    }

    /// Why an admitted caller may not stay; nil: it may.
    func refusal(of identity: Identity) -> TokenRefusal? {
        if !verifier.stillKnows(identity) { return .unknownToken }
        let revoked = revocations.refusal(of: identity)
        // A client that was meant by name ends at once, whatever happened to the key.
        if revoked != .revoked, verifier.hasWithdrawnKey(of: identity) { return .withdrawnKey }
        return revoked
    }

    /// The one method of an address; nil where there is nothing.
    private func method(of path: String) -> String? {
        switch path {
        case Self.livePath, Self.syncPath: "GET"
        case Self.ticketPath: tickets == nil ? nil : "POST"
        case Self.archivePath, Self.inboxPath: archive == nil ? nil : "GET"
        case Self.readPath: archive == nil ? nil : "POST"
        default: nil
        }
    }

    /// Who asks. Of a ticket that lets in, `ticket` is to be used up.
    private func verdict(
        _ head: RequestHead, _ service: Service, _ caller: CrossOrigin.Caller, _ now: Int64,
        _ finding: TokenLookupResult?, _ ticket: inout Ticket?
    ) throws(Refusal) -> Result<Identity, TokenRefusal> {
        if case .checked(let verdict) = finding { return verdict }
        var protocols: [[UInt8]] = []
        if case .webSocket(let upgrade, _, _) = service { protocols = upgrade.protocols }
        let credential = try Credential.read(
            head, protocols: protocols, protocolName: Self.subprotocol, cookie: browsers.cookie(head, caller))
        switch credential {
        case .none:
            // A ticket replaces a token. A caller that needs no token needs no ticket, and could use tickets without end.
            if case .ticket = service { return .failure(.missing) }
            return verifier.withoutToken()
        case .token(let token): return verifier.verify(token, now: now)
        case .ticket(let text):
            if case .ticket = service { return .failure(.ticketForTicket) }
            guard let tickets else { return .failure(.ticket) }
            guard case .success(let found) = tickets.ticket(text, now: now) else { return .failure(.ticket) }
            if let question = verifier.question(ofKeyOf: found.identity) { return .failure(.undecided(question)) }
            guard verifier.stillVouches(for: found.identity) else { return .failure(.ticket) }
            ticket = found
            return .success(found.identity)
        }
    }

    /// What the request asks for; nil where it is nothing that the address serves.
    private func asked(_ head: RequestHead) throws(Refusal) -> Service? {
        // A body has no meaning here: see `answerWithTicket`.
        if head.path == Self.ticketPath, let tickets { return .ticket(tickets) }
        if head.path == Self.syncPath {
            return .sync(try SyncParameters.parse(head, syncLimits))
        }
        if let request = try ArchiveRequest.asked(head) { return .archive(request) }
        if UpgradeRequest.isAsked(by: head) {
            let upgrade = try UpgradeRequest.validate(head).get()
            return .webSocket(upgrade, deflate(upgrade), try LiveParameters.parse(head, isEventStream: false))
        }
        guard EventStream.isAsked(by: head) else { return nil }
        return .eventStream(try LiveParameters.parse(head, isEventStream: true))
    }

    /// The node never reads a body, except for a read mark; the next request would begin in the middle of it. Only an admitted
    /// caller learns what is wrong with the body.
    private static func checkBody(_ head: RequestHead, _ service: Service) throws(Refusal) {
        switch service {
        case .archive(.mark): try MarkBody.check(head)
        case .sync, .eventStream, .archive:
            guard head.body.isEmpty else { throw Refusal(.badRequest, "This address reads no body.") }
        case .webSocket, .ticket: break
        }
    }

    /// An invalid list of extensions counts as no offer: the connection works without compression.
    private func deflate(_ upgrade: UpgradeRequest) -> Deflate? {
        guard agreesToDeflate, !upgrade.extensions.isEmpty else { return nil }
        guard let offers = try? ExtensionListParser.parse(Array(upgrade.extensions.joined(separator: [0x2C]))) else {
            return nil
        }
        return DeflatePolicy.shared.accept(offers)
    }
}

extension Refusal {
    /// The refusal of a caller whose token counts no more, since something was revoked or is gone from the settings. Where a new
    /// token would not help, the caller is asked to retry.
    init(_ why: TokenRefusal) {
        switch why {
        case .unsettled: self.init(of: why, code: .notReady)
        case .undated:
            self.init(of: why, code: .notReady, retryAfterSeconds: NodeRevocations.undatedRetrySeconds)
        default: self.init(of: why)
        }
    }
}
