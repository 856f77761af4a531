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
        (#"{"token":"\#(others)"}"#, "refused"), (#"{"token":"\#(token)x"}"#, "refused"),
        (#"{"token":"x"}"#, "refused"),
        (#"{"token":""}"#, "refused"), (#"{"token":null}"#, "refused"), (#"{"token":5}"#, "refused"),
        (#"{"token":["\#(token)"]}"#, "refused"), (#"{"token":{"token":"\#(token)"}}"#, "refused"),
        (#"{"token":"\#(token)","token":"\#(token)"}"#, "refused"),
        (#"{"token":"\#(String(repeating: "x", count: 9_000))"}"#, "refused"),
        ("{}", "none"), (#"{"Token":"x"}"#, "none"), (#"{"tokens":"x"}"#, "none"), (#"{"a":{"token":"x"}}"#, "none"),
        (#"["token"]"#, "none"), (#""token""#, "none"), ("", "none"), ("{", "none"), (#"{"token":"\#(token)""#, "none"),
        (#"{"token":"x"}{}"#, "none"), (#"{token:"x"}"#, "none"), (#"{"token":"x",}"#, "none"),
    ]

    @Test(arguments: rows) func `a token is taken, refused, or no token at all`(_ message: String, _ expected: String) {
        let renewal = TokenRenewal.decide(
            Array(message.utf8), account: Account("PACC1"), verifier: TokenForge.verifier(), now: Self.now)
        let outcome =
            switch renewal {
            case .noToken: "none"
            case .refused: "refused"
            case .later: "later"
            case .taken(let identity): "taken \(identity.expiresAt ?? 0)"
            }
        #expect(outcome == expected)
    }

    @Test func `a token that has ended is refused`() {
        let message = Array(#"{"token":"\#(Self.token)"}"#.utf8)
        for (now, isTaken) in [(1_795_243_600, true), (1_795_243_601, false)] as [(Int64, Bool)] {
            let renewal = TokenRenewal.decide(
                message, account: Account("PACC1"), verifier: TokenForge.verifier(), now: now)
            if case .taken = renewal { #expect(isTaken) } else { #expect(!isTaken) }
        }
    }

    @Test func `a token that cannot be checked now changes nothing`() {
        let source = KeySource(
            issuer: TokenForge.issuer, url: "https://a", authorities: nil, algorithms: [.es256],
            timing: .init(refreshMilliseconds: 1, cooldownMilliseconds: 1, maximumAgeMilliseconds: 2))
        let fetched = FetchedKeys(source)
        fetched.publish(.init(keys: nil, asksForUnknown: true))
        let verifier = TokenVerifier(issuers: [
            TrustedIssuer(
                issuer: TokenForge.issuer, audiences: [TokenForge.audience], algorithms: [.es256],
                accountClaim: "account_id", fetched: fetched)
        ])
        let renewal = TokenRenewal.decide(
            Array(#"{"token":"\#(Self.token)"}"#.utf8), account: Account("PACC1"), verifier: verifier, now: Self.now)
        guard case .later = renewal else {
            Issue.record("\(renewal)")
            return
        }
    }
}
