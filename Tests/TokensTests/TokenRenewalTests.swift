import LiveUpdates
import TestTokens
import Testing

@testable import Tokens

@Suite struct TokenRenewalTests {
    static let now = TokenForge.now
    static let token = String(
        decoding: TokenForge.token(payload: TokenForge.claims(exp: "1795243601")), as: UTF8.self)
    static let others = String(
        decoding: TokenForge.token(payload: TokenForge.claims(account: "\"PACC2\"")), as: UTF8.self)

    static let rows: [(message: String, outcome: String)] = [
        (#"{"token":"\#(token)"}"#, "taken 1795243601"),
        (#" { "token" : "\#(token)" , "more" : [1] } "#, "taken 1795243601"),
        (#"{"tok\u0065n":"\#(token)"}"#, "taken 1795243601"),
        (#"{"token":"\#(others)"}"#, "refused account"), (#"{"token":"\#(token)x"}"#, "refused malformed"),
        (#"{"token":"x"}"#, "refused malformed"), (#"{"token":""}"#, "refused malformed"),
        (#"{"token":null}"#, "refused malformed"), (#"{"token":5}"#, "refused malformed"),
        (#"{"token":["\#(token)"]}"#, "refused malformed"),
        (#"{"token":{"token":"\#(token)"}}"#, "refused malformed"),
        (#"{"token":"\#(token)","token":"\#(token)"}"#, "refused malformed"),
        (#"{"token":"\#(String(repeating: "x", count: 8_192))"}"#, "refused malformed"),
        (#"{"token":"\#(String(repeating: "x", count: 8_193))"}"#, "refused too_large"),
        ("{}", "none"), (#"{"Token":"x"}"#, "none"), (#"{"tokens":"x"}"#, "none"), (#"{"a":{"token":"x"}}"#, "none"),
        (#"["token"]"#, "none"), (#""token""#, "none"), ("", "none"), ("{", "none"), (#"{"token":"\#(token)""#, "none"),
        (#"{"token":"x"}{}"#, "none"), (#"{token:"x"}"#, "none"), (#"{"token":"x",}"#, "none"),
    ]

    /// One word for what becomes of a message.
    private static func outcome(
        _ message: String, _ verifier: TokenVerifier = TokenForge.verifier(), now: Int64 = now, isAsked: Bool = false
    ) -> String {
        guard let sent = SentToken(Array(message.utf8)) else { return "none" }
        return outcome(
            TokenRenewal.decide(
                sent, account: Account("PACC1"), verifier: verifier, now: now, isAsked: isAsked))
    }

    private static func outcome(_ renewal: TokenRenewal) -> String {
        switch renewal {
        case .refused(let why): "refused \(why.reason.rawValue)"
        case .later: "later"
        case .ask: "asks"
        case .taken(let identity): "taken \(identity.expiresAt ?? 0)"
        }
    }

    @Test(arguments: rows) func `a token is taken, refused, or no token at all`(_ message: String, _ expected: String) {
        #expect(Self.outcome(message) == expected)
    }

    @Test func `a token that has ended is refused`() {
        let message = #"{"token":"\#(Self.token)"}"#
        #expect(Self.outcome(message, now: 1_795_243_600) == "taken 1795243601")
        #expect(Self.outcome(message, now: 1_795_243_601) == "refused expired")
    }

    private static func verifier(_ snapshot: FetchedKeys.Snapshot) -> TokenVerifier {
        let source = KeySource(
            issuer: TokenForge.issuer, url: "https://a", authorities: nil, algorithms: [.es256],
            timing: .init(refreshMilliseconds: 1, cooldownMilliseconds: 1, maximumAgeMilliseconds: 2))
        let fetched = FetchedKeys(source)
        fetched.publish(snapshot)
        return TokenVerifier(issuers: [
            TrustedIssuer(
                issuer: TokenForge.issuer, audiences: [TokenForge.audience], algorithms: [.es256],
                accountClaim: "account_id", fetched: fetched)
        ])
    }

    @Test func `a token that cannot be checked now changes nothing`() {
        let verifier = Self.verifier(.init(keys: nil, asksForUnknown: true))
        #expect(Self.outcome(#"{"token":"\#(Self.token)"}"#, verifier) == "later")
    }

    @Test func `a token that names an unknown key is asked about once`() {
        let verifier = Self.verifier(.init(keys: [], asksForUnknown: true))
        let token = String(decoding: TokenForge.token(header: #"{"alg":"ES256","kid":"new"}"#), as: UTF8.self)
        #expect(Self.outcome(#"{"token":"\#(token)"}"#, verifier) == "asks")
        #expect(Self.outcome(#"{"token":"\#(token)"}"#, verifier, isAsked: true) == "refused kid")
    }

    @Test func `a token that is no JWT is asked about once`() {
        let source = IntrospectionSource(
            url: "https://a", authorities: nil, client: "c", authorization: "", accountClaim: "a", cacheMilliseconds: 1,
            timeoutMilliseconds: 1)
        let verifier = TokenVerifier(issuers: [], introspection: source)
        #expect(Self.outcome(#"{"token":"opaque"}"#, verifier) == "asks")
        #expect(Self.outcome(#"{"token":"opaque"}"#, verifier, isAsked: true) == "refused unknown")
        #expect(Self.outcome(#"{"token":5}"#, verifier) == "refused malformed")
    }

    @Test func `what was found out about a token is followed`() {
        for (verdict, expected) in [
            (.success(Identity(account: Account("PACC1"), subject: nil, expiresAt: 1)), "taken 1"),
            (.success(Identity(account: Account("PACC2"), subject: nil, expiresAt: 1)), "refused account"),
            (.failure(.unavailable), "later"), (.failure(.inactive), "refused inactive"),
            (.failure(.unknownKey), "refused kid"),
        ] as [(Result<Identity, TokenRefusal>, String)] {
            #expect(Self.outcome(TokenRenewal.decide(verdict, account: Account("PACC1"))) == expected)
        }
    }

    @Test func `tokens are decided in their order, and of those that wait for a question the newest counts`() throws {
        func sent(_ token: String) throws -> SentToken {
            try #require(SentToken(Array(#"{"token":"\#(token)"}"#.utf8)))
        }
        var tokens = SentTokens()
        tokens.add(try sent("1"))
        #expect(try tokens.current == sent("1") && !tokens.isAsked)
        tokens.decided()
        #expect(tokens.current == nil)
        tokens.add(try sent("2"))
        tokens.asks()
        for token in ["3", "4", "5"] { tokens.add(try sent(token)) }
        #expect(try tokens.current == sent("2") && tokens.isAsked)
        tokens.decided()
        #expect(try tokens.current == sent("5") && !tokens.isAsked)
        tokens.asks()
        tokens.decided()
        #expect(tokens.current == nil && !tokens.isAsked)
    }
}
