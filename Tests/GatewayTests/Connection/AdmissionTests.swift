// Tests: BrowserPolicy.swift, NodeTickets.swift

import HTTP
import LiveUpdates
import TLS
import TestTokens
import Testing
import Tokens

@testable import Gateway

struct AdmissionTests {
    static let upgrade = """
        GET /live/v1 HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n
        """

    private func admission(
        anonymous: String? = "PACC1", isReady: Bool = true, isDraining: Bool = false, deflate: Bool = false,
        browsers: BrowserPolicy = BrowserPolicy(), tickets: TicketPolicy? = nil,
        tokens: StaticTokens = StaticTokens(), issuers: [String] = []
    ) -> Admission {
        let readiness = NodeReadiness(graceMilliseconds: nil)
        if isReady { _ = readiness.becomeReady() }
        if isDraining { readiness.setRefusing(true) }
        return Admission(
            verifier: TokenVerifier(
                issuers: issuers.map { TrustedIssuer(issuer: $0, audiences: [], accountClaim: "account_id") },
                tokens: tokens, anonymous: anonymous.map { Account($0) }),
            readiness: readiness,
            agreesToDeflate: deflate,
            syncLimits: SyncLimits(maximumEvents: 500, maximumWaitMilliseconds: 55_000), browsers: browsers,
            tickets: tickets)
    }

    private func head(_ text: String) throws -> RequestHead {
        var parser = RequestParser()
        guard case .head(let head, _) = parser.consume(Array((text + "\r\n").utf8).span) else {
            throw Malformed()
        }
        return head
    }

    private struct Malformed: Error {}

    /// The code of the refusal, `plain` for the answer in plain words, or `admitted`.
    private func outcome(
        _ text: String, _ admission: Admission, finding: TokenLookupResult? = nil
    ) throws -> String {
        switch admission.decide(try head(text), epochSeconds: TokenForge.now, finding: finding) {
        case .admit: "admitted"
        case .ticket: "ticket"
        case .plainGet: "plain"
        case .preflight: "preflight"
        case .refuse(let refusal): refusal.code.rawValue
        case .ask: "asks"
        }
    }

    @Test func `a good upgrade of a known caller is admitted as the account of its token`() throws {
        guard case .admit(let admitted) = admission().decide(try head(Self.upgrade), epochSeconds: 0) else {
            Issue.record("refused")
            return
        }
        #expect(admitted.identity.account == Account("PACC1"))
        #expect(admitted.deflate == nil)
        #expect(admitted.liveRequest?.1 == StreamForm())
    }

    @Test func `another address is not found, whatever is asked of it`() throws {
        let text = Self.upgrade.replacing("/live/v1", with: "/live/v2")
        #expect(try outcome(text, admission()) == "not_found")
    }

    @Test func `a request that asks for no WebSocket is answered in plain words`() throws {
        #expect(try outcome("GET /live/v1 HTTP/1.1\r\nHost: h\r\n", admission()) == "plain")
        #expect(try outcome("GET /live/v1 HTTP/1.1\r\nHost: h\r\n", admission(anonymous: nil)) == "plain")
    }

    @Test func `another method is told which one is meant`() throws {
        #expect(try outcome("POST /live/v1 HTTP/1.1\r\nHost: h\r\n", admission()) == "method_not_allowed")
    }

    @Test func `a caller without a token is refused before it learns whether the node is ready`() throws {
        #expect(try outcome(Self.upgrade, admission(anonymous: nil, isReady: false)) == "invalid_token")
        #expect(try outcome(Self.upgrade, admission(anonymous: nil, isDraining: true)) == "invalid_token")
    }

    @Test func `nobody is let in before the node was ready or while it drains`() throws {
        #expect(try outcome(Self.upgrade, admission(isReady: false)) == "not_ready")
        #expect(try outcome(Self.upgrade, admission(isDraining: true)) == "draining")
    }

    // MARK: - What has to be asked first

    private func judged(
        _ finding: TokenLookupResult?, verifier: TokenVerifier, _ token: [UInt8], isDraining: Bool = false
    ) throws -> String {
        let text = Self.upgrade + "Authorization: Bearer \(String(decoding: token, as: UTF8.self))\r\n"
        var admission = admission(isDraining: isDraining)
        admission.verifier = verifier
        return try outcome(text, admission, finding: finding)
    }

    @Test func `a request waits once for what is asked about its token, and is decided by what was found`() throws {
        let fetched = FetchedKeys(
            KeySource(
                issuer: TokenForge.issuer, url: "https://a", authorities: nil, algorithms: [.es256],
                timing: .init(refreshMilliseconds: 1, cooldownMilliseconds: 1, maximumAgeMilliseconds: 2)))
        let verifier = TokenVerifier(issuers: [
            TrustedIssuer(
                issuer: TokenForge.issuer, audiences: [TokenForge.audience], accountClaim: "account_id",
                fetched: fetched)
        ])
        let token = TokenForge.token(header: #"{"alg":"ES256","kid":"b"}"#)
        func publish(_ name: String) throws {
            let key = TokenForge.webKey(.p256, .p256, more: ",\"kid\":\"\(name)\"")
            let keys = try FetchedKeySet.read(TokenForge.jwks(key), algorithms: [.es256])
            fetched.publish(.init(keys: keys, asksForUnknown: true))
        }
        #expect(try judged(nil, verifier: verifier, token) == "not_ready")
        try publish("a")
        #expect(try judged(nil, verifier: verifier, token) == "asks")
        #expect(try judged(nil, verifier: verifier, token, isDraining: true) == "draining", "nobody is asked")
        #expect(try judged(.decideAgain, verifier: verifier, token) == "invalid_token")
        #expect(try judged(.checked(.failure(.unavailable)), verifier: verifier, token) == "not_ready")
        try publish("b")
        #expect(try judged(.decideAgain, verifier: verifier, token) == "admitted")
        #expect(try judged(nil, verifier: verifier, token) == "admitted")
    }

    @Test func `a refusal says to the operator alone why the token, or the page, is refused`() throws {
        func refusal(_ fields: String, _ admission: Admission) throws -> Refusal? {
            guard
                case .refuse(let refusal) = admission.decide(
                    try head(Self.upgrade + fields), epochSeconds: TokenForge.now)
            else { return nil }
            return refusal
        }
        var strict = admission(anonymous: nil)
        strict.verifier = TokenForge.verifier()
        func bearer(_ token: [UInt8]) -> String {
            "Authorization: Bearer \(String(decoding: token, as: UTF8.self))\r\n"
        }
        for (fields, reason) in [
            ("", "missing"), ("Authorization: Basic x\r\n", "malformed"), (bearer(Array("x".utf8)), "malformed"),
            (bearer(TokenForge.sized(TokenVerifier.maximumTokenBytes + 1)), "too_large"),
            (bearer(TokenForge.token(header: #"{"alg":"none"}"#)), "algorithm"),
            (bearer(TokenForge.token(header: #"{"alg":"ES256","kid":".."}"#)), "kid"),
            (bearer(TokenForge.token(by: .otherP256)), "signature"),
            (bearer(TokenForge.token(payload: TokenForge.claims(iss: #""x""#))), "issuer"),
            (bearer(TokenForge.token(payload: TokenForge.claims(aud: #""x""#))), "audience"),
            (bearer(TokenForge.token(payload: TokenForge.claims(exp: "7"))), "expired"),
            (bearer(TokenForge.token(payload: TokenForge.claims(exp: nil))), "claim"),
            (bearer(TokenForge.token(payload: TokenForge.claims(account: nil))), "account"),
        ] {
            let refused = try refusal(fields, strict)
            #expect(refused?.cause == .token(reason), "\(reason)")
            let text = String(decoding: refused?.serialized(date: nil) ?? [], as: UTF8.self)
            #expect(!text.contains("\"\(reason)\"") && !text.contains(TokenForge.issuer), "\(text)")
        }
        let pages = admission(
            browsers: BrowserPolicy(origins: [try OriginPattern("https://app.example")]))
        #expect(try refusal("Origin: https://evil.example\r\n", pages)?.cause == .origin)
        #expect(try refusal("Origin: https://app.example\r\n", pages) == nil)
        // Whatever else is refused has nothing to do with a token.
        #expect(try refusal("", admission(isReady: false))?.cause == nil)
        #expect(try refusal("", admission(isDraining: true))?.cause == nil)
    }

    @Test func `compression is agreed to only where the settings say so, and without takeover`() throws {
        let text = Self.upgrade + "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
        guard case .admit(let plain) = admission().decide(try head(text), epochSeconds: 0),
            case .admit(let deflated) = admission(deflate: true).decide(try head(text), epochSeconds: 0)
        else {
            Issue.record("refused")
            return
        }
        #expect(plain.deflate == nil)
        #expect(deflated.deflate?.parameters.serverContextTakeover == false)
        #expect(deflated.deflate?.answer.contains("server_no_context_takeover") == true)
    }

    @Test func `a cursor and a wish for beats put a cursor into each message of a WebSocket`() throws {
        for (query, withAt) in [
            ("", false), ("?with=ts", false), ("?with=at", true), ("?since=x", true), ("?beat=5", true),
        ] {
            let text = Self.upgrade.replacing("/live/v1", with: "/live/v1\(query)")
            guard case .admit(let admitted) = admission().decide(try head(text), epochSeconds: 0) else {
                Issue.record("refused")
                return
            }
            #expect(admitted.liveRequest?.1.withAt == withAt, "\(query)")
        }
    }

    @Test(arguments: [
        ("GET /sync/v1", ""), ("GET /live/v1", "Accept: text/event-stream\r\n"), ("GET /archive/v1", ""),
        ("GET /inbox/v1", ""), ("POST /inbox/v1/read", ""),
    ])
    func `a body is looked at once the caller is known`(request: String, more: String) throws {
        let text = "\(request) HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\(more)"
        let digest = Digest.sha256(Array("a".utf8))
        let tokens = StaticTokens([.init(digest: digest, account: Account("PACC2"), subject: "ann")])
        var admission = admission(anonymous: nil, tokens: tokens)
        admission.archive = ArchivePolicy(maximumTimestampDelayMilliseconds: 0)
        #expect(try outcome(text, admission) == "invalid_token")
        #expect(try outcome(text + "Authorization: Bearer a\r\n", admission) == "bad_request")
    }

    @Test func `an event stream is asked for by its type, and the other address needs nothing`() throws {
        let stream = "GET /live/v1?since=x HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n"
        guard case .admit(let admitted) = admission().decide(try head(stream), epochSeconds: 0) else {
            Issue.record("refused")
            return
        }
        // What `since` implies stands in the id of each event already.
        #expect(admitted.liveRequest?.1 == StreamForm(carrier: .eventStream))
        #expect(try outcome("GET /sync/v1 HTTP/1.1\r\nHost: h\r\n", admission()) == "admitted")
        #expect(try outcome("GET /sync/v1?limit=0 HTTP/1.1\r\nHost: h\r\n", admission()) == "bad_parameter")
        #expect(try outcome("GET /sync/v1 HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n", admission()) == "bad_request")
    }

    @Test func `an offer that cannot be read is no offer`() throws {
        let text = Self.upgrade + "Sec-WebSocket-Extensions: permessage-deflate; =\r\n"
        #expect(try outcome(text, admission(deflate: true)) == "admitted")
    }

    static let listed = "Origin: https://app.example.com\r\n"
    static let foreign = "Origin: https://evil.example\r\n"
    static let asks = "Access-Control-Request-Method: GET\r\n"
    static let ownPage = "Sec-Fetch-Site: same-origin\r\n"

    /// Anonymous callers are let in, so that whatever is refused is refused for its origin or its cookie.
    static let browserRows: [(request: String, fields: String, cookie: String?, outcome: String)] = [
        ("GET /sync/v1", "", nil, "admitted"), ("GET /sync/v1", listed, nil, "admitted"),
        ("GET /sync/v1", foreign, nil, "forbidden"), ("GET /sync/v1?limit=0", foreign, nil, "forbidden"),
        ("GET /live/v1", foreign, nil, "forbidden"), ("GET /live/v1", listed, nil, "plain"),
        ("GET /elsewhere", foreign, nil, "not_found"), ("POST /sync/v1", listed, nil, "method_not_allowed"),
        ("OPTIONS /sync/v1", listed + asks, nil, "preflight"), ("OPTIONS /live/v1", listed + asks, nil, "preflight"),
        ("OPTIONS /sync/v1", asks, nil, "preflight"), ("OPTIONS /sync/v1", foreign + asks, nil, "preflight"),
        ("OPTIONS /sync/v1", listed, nil, "method_not_allowed"),
        ("OPTIONS /elsewhere", listed + asks, nil, "not_found"),
        ("GET /sync/v1", "Cookie: t=x\r\n", nil, "admitted"),
        ("GET /sync/v1", "Cookie: t=x\r\n", "t", "forbidden"),
        ("GET /sync/v1", "Cookie: other=x\r\n", "t", "admitted"),
        ("GET /sync/v1", "Cookie: t=x\r\n" + foreign, "t", "forbidden"),
        ("GET /sync/v1", "Cookie: t=x\r\n" + listed, "t", "invalid_token"),
        ("GET /sync/v1", "Cookie: t=x\r\n" + ownPage, "t", "invalid_token"),
        ("GET /sync/v1", "Cookie: t=x\r\nSec-Fetch-Site: same-site\r\n", "t", "forbidden"),
        ("GET /sync/v1", "Cookie: t=x\r\nSec-Fetch-Site: cross-site\r\n", "t", "forbidden"),
        ("GET /sync/v1", "Cookie: t=x\r\nSec-Fetch-Site: none\r\n", "t", "forbidden"),
        ("GET /sync/v1", "Cookie: t=x\r\n" + ownPage + ownPage, "t", "forbidden"),
        ("GET /sync/v1", "Cookie: t=x\r\n" + foreign + ownPage, "t", "forbidden"),
        ("GET /sync/v1", "Cookie: t=x; t=x\r\n" + listed, "t", "bad_request"),
        // No browser sends a POST without an origin.
        ("POST /ticket/v1", "Cookie: t=x\r\n" + ownPage, "t", "forbidden"),
        ("POST /ticket/v1", "Cookie: t=x\r\n", "t", "forbidden"),
        ("POST /ticket/v1", "Cookie: t=x\r\n" + listed, "t", "invalid_token"),
        ("POST /ticket/v1", "Cookie: t=x\r\n" + listed + ownPage, "t", "invalid_token"),
        ("GET /sync/v1?ticket=x", "", nil, "invalid_token"),
        ("GET /sync/v1?ticket=x&ticket=x", "", nil, "bad_parameter"),
    ]

    @Test(arguments: browserRows)
    func `pages of other origins are refused first, and cookies count only from those that are listed`(
        _ request: String, _ fields: String, _ cookie: String?, _ expected: String
    ) throws {
        let origins = [try OriginPattern("https://app.example.com")]
        let admission = admission(browsers: BrowserPolicy(origins: origins, cookie: cookie), tickets: Self.policy)
        #expect(try outcome("\(request) HTTP/1.1\r\nHost: h\r\n\(fields)", admission) == expected)
    }

    @Test func `a browser may ask beforehand while the node is not ready, and nobody where no origins are listed`()
        throws
    {
        let text = "OPTIONS /sync/v1 HTTP/1.1\r\nHost: h\r\n" + Self.listed + Self.asks
        let browsers = BrowserPolicy(origins: [try OriginPattern("https://app.example.com")])
        #expect(try outcome(text, admission(anonymous: nil, isReady: false, browsers: browsers)) == "preflight")
        #expect(try outcome(text, admission(isDraining: true, browsers: browsers)) == "preflight")
        #expect(try outcome(text, admission()) == "method_not_allowed")
        #expect(try outcome("GET /sync/v1 HTTP/1.1\r\nHost: h\r\n" + Self.foreign, admission()) == "admitted")
    }

    static let policy = TicketPolicy(
        seal: TicketSeal(secrets: [[UInt8](repeating: 7, count: 32)]), lifetimeSeconds: 30)

    private func ticket(_ now: Int64) -> Ticket {
        let identity = Identity(
            account: Account("PACC2"), subject: "s", expiresAt: now + 100, issuedAt: 5, tokenID: "t",
            voucher: .issuer("id"))
        return Ticket(identity, id: .random(), lifetimeSeconds: 30, now: now)
    }

    @Test func `a ticket lets in as its token would, until its end, and is used up once`() throws {
        let now: Int64 = 1_800_000_000
        let ticket = ticket(now)
        let target = "GET /sync/v1?ticket=\(Self.policy.seal.text(ticket)!) HTTP/1.1\r\nHost: h\r\n"
        let admission = admission(anonymous: nil, tickets: Self.policy, issuers: ["other", "id"])
        guard case .admit(let admitted) = admission.decide(try head(target), epochSeconds: now + 29) else {
            Issue.record("refused")
            return
        }
        #expect(admitted.identity.account == Account("PACC2") && admitted.identity.expiresAt == now + 100)
        #expect(admitted.ticket?.id == ticket.id)
        #expect(admission.usedTickets.use(ticket, Self.policy, now: now + 29) == nil)
        #expect(admission.usedTickets.use(ticket, Self.policy, now: now + 29)?.code == .invalidToken)
        guard case .refuse(let refusal) = admission.decide(try head(target), epochSeconds: now + 30) else {
            Issue.record("admitted")
            return
        }
        #expect(refusal.code == .invalidToken)
    }

    @Test func `a ticket of a static token that is gone, or means somebody else, lets nobody in`() throws {
        let digest = [UInt8](repeating: 9, count: StaticTokens.digestBytes)
        let identity = Identity(account: Account("PACC2"), subject: nil, expiresAt: nil, staticToken: digest)
        let ticket = Ticket(identity, id: .random(), lifetimeSeconds: 30, now: 1_800_000_000)
        let target = "GET /sync/v1?ticket=\(Self.policy.seal.text(ticket)!) HTTP/1.1\r\nHost: h\r\n"
        for (account, expected) in [("PACC2", "admitted"), ("PACC1", "invalid_token"), (nil, "invalid_token")] {
            let entries = [account].compactMap(\.self).map {
                StaticTokens.Entry(digest: digest, account: Account($0), subject: nil)
            }
            #expect(try outcome(target, admission(tickets: Self.policy, tokens: StaticTokens(entries))) == expected)
        }
    }

    @Test func `a ticket of an issuer or a server that the settings name no more lets nobody in`() throws {
        let source = IntrospectionSource(
            url: "https://a", authorities: nil, client: "c", authorization: "", accountClaim: "a", cacheMilliseconds: 1,
            timeoutMilliseconds: 1)
        for (voucher, isAdmitted) in [
            (Voucher.issuer("id"), true), (.issuer("gone"), false), (.server("https://a", client: "c"), true),
            (.server("https://b", client: "c"), false), (.server("https://a", client: "d"), false), (nil, false),
        ] {
            let identity = Identity(account: Account("PACC2"), subject: nil, expiresAt: nil, voucher: voucher)
            let ticket = Ticket(identity, id: .random(), lifetimeSeconds: 30, now: TokenForge.now)
            var admission = admission(tickets: Self.policy)
            admission.verifier = TokenVerifier(
                issuers: [TrustedIssuer(issuer: "id", audiences: [], accountClaim: "account_id")],
                anonymous: Account("PACC1"), introspection: source)
            let target = "GET /sync/v1?ticket=\(Self.policy.seal.text(ticket)!) HTTP/1.1\r\nHost: h\r\n"
            #expect(try outcome(target, admission) == (isAdmitted ? "admitted" : "invalid_token"))
        }
    }

    @Test func `the address of tickets is there only with a secret, and wants a POST and a token`() throws {
        let ticket = Self.policy.seal.text(ticket(1_800_000_000))!
        let digest = Digest.sha256(Array("known".utf8))
        let tokens = StaticTokens([.init(digest: digest, account: Account("PACC2"), subject: nil)])
        let on = admission(tickets: Self.policy, tokens: tokens, issuers: ["id"])
        let known = "Authorization: Bearer known\r\n"
        for (request, outcomes) in [
            // Who is let in without a token gets no ticket, which would stand for none.
            ("POST /ticket/v1", ("invalid_token", "not_found")),
            ("GET /ticket/v1", ("method_not_allowed", "not_found")),
            ("POST /ticket/v1?ticket=\(ticket)", ("invalid_token", "not_found")),
            ("GET /sync/v1?ticket=\(ticket)", ("admitted", "invalid_token")),
            ("GET /sync/v1?ticket=x", ("invalid_token", "invalid_token")),
        ] {
            let text = "\(request) HTTP/1.1\r\nHost: h\r\n"
            #expect(try outcome(text, on) == outcomes.0, "\(request)")
            #expect(try outcome(text, admission()) == outcomes.1, "\(request)")
        }
        let post = "POST /ticket/v1 HTTP/1.1\r\nHost: h\r\n" + known
        #expect(try outcome(post, on) == "ticket")
        #expect(try outcome(post, admission(anonymous: nil, tickets: Self.policy)) == "invalid_token")
        #expect(try outcome(post, admission(isReady: false, tickets: Self.policy, tokens: tokens)) == "not_ready")
        #expect(try outcome(post, admission(isDraining: true, tickets: Self.policy, tokens: tokens)) == "draining")
        for body in ["Content-Length: 0", "Content-Length: 2", "Transfer-Encoding: chunked"] {
            #expect(try outcome(post + body + "\r\n", on) == "ticket", "\(body)")
        }
    }
}
