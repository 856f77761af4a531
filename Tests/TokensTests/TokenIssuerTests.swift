// Tests: SignatureAlgorithm.swift, SignatureKey.swift

import Glibc
import LiveUpdates
import TLS
import TestTokens
import Testing

@testable import Tokens

/// `livegate token`: what it makes is accepted, and what it cannot make it says.
@Suite struct TokenIssuerTests {
    static let request = TokenIssuer.Request(
        account: "PACC1", issuer: TokenForge.issuer, audience: TokenForge.audience, subject: "dev", lifetimeSeconds: 60)

    @Test(arguments: [
        (TestKey.rsa, nil, SignatureAlgorithm.rs256), (.p256, nil, .es256), (.p384, nil, .es384), (.p521, nil, .es512),
        (.rsa, SignatureAlgorithm.ps256, .ps256), (.rsa, .rs512, .rs512), (.rsa, .ps512, .ps512),
    ])
    func `the algorithm follows the key unless it is given`(
        _ key: TestKey, _ asked: SignatureAlgorithm?, _ expected: SignatureAlgorithm
    ) throws {
        let issuer = try TokenIssuer(pem: key.privatePEM, path: "key.pem", algorithm: asked)
        #expect(issuer.algorithm == expected)
        let token = Array(issuer.token(Self.request, now: TokenForge.now).utf8)
        let verifier = TokenForge.verifier(key.publicPEM, algorithms: [expected])
        let identity = try verifier.verify(token, now: TokenForge.now + 59).get()
        #expect(identity.account == Account("PACC1") && identity.subject == "dev")
        #expect(identity.expiresAt == TokenForge.now + 60)
        #expect(verifier.verify(token, now: TokenForge.now + 60).refusal == .expired(at: TokenForge.now + 60))
    }

    @Test func `the token says what was asked, escaped, and nothing else`() throws {
        let issuer = try TokenIssuer(pem: TestKey.p256.privatePEM, path: "key.pem")
        var request = TokenIssuer.Request(
            account: "a\"\\ä", accountClaim: "https://x/acc", keyName: "k1", lifetimeSeconds: 1)
        let parts = issuer.token(request, now: 7).split(separator: ".").map { Base64.decodeURL(String($0)) }
        #expect(parts[0] == Array(#"{"alg":"ES256","typ":"JWT","kid":"k1"}"#.utf8))
        #expect(parts[1] == Array(#"{"https://x/acc":"a\"\\ä","iat":7,"exp":8}"#.utf8))
        request.accountClaim = "sub"
        #expect(request.problem == nil)
    }

    @Test(arguments: [
        ("account", TokenIssuer.Request(account: "")), ("account", .init(account: "a\nb")),
        ("account", .init(account: String(repeating: "x", count: 256))),
        ("claim", .init(account: "A", accountClaim: "")),
        ("claim", .init(account: "A", accountClaim: "exp")),
        ("claim", .init(account: "A", accountClaim: "sub", subject: "u")),
        ("kid", .init(account: "A", keyName: "../k")), ("kid", .init(account: "A", keyName: "")),
    ])
    func `what no verifier would take is not made`(_ option: String, _ request: TokenIssuer.Request) {
        #expect(request.problem?.option == option)
        #expect(TokenIssuer.Request(account: String(repeating: "x", count: 255)).problem == nil)
    }

    @Test(
        arguments: [
            (TestKey.rsa.publicPEM, nil, "public key"), ([], nil, "no private key"),
            (Array("hello".utf8), nil, "no private key"),
            (TestKey.p256.encryptedPEM, nil, "passphrase"), (TestKey.smallRSA.privatePEM, nil, "1024 bits"),
            (TestKey.ed25519.privatePEM, nil, "P-256"), (TestKey.secp256k1.privatePEM, nil, "P-256"),
            (TestKey.p256.privatePEM, SignatureAlgorithm.rs256, "one for ES256"),
            (TestKey.p256.privatePEM, .es384, "one for ES256"), (TestKey.rsa.privatePEM, .es256, "one for RS256"),
        ] as [([UInt8], SignatureAlgorithm?, String)])
    func `a key that cannot sign so is named`(_ pem: [UInt8], _ algorithm: SignatureAlgorithm?, _ words: String) {
        #expect {
            try TokenIssuer(pem: pem, path: "key.pem", algorithm: algorithm)
        } throws: { error in
            guard let problem = error as? TokenIssuer.KeyProblem else { return false }
            return problem.path == "key.pem" && problem.reason.contains(words)
        }
    }

    @Test func `of several keys in a file the first private one signs`() throws {
        let issuer = try TokenIssuer(
            pem: TestKey.rsa.certificatePEM + TestKey.p384.privatePEM + TestKey.p256.privatePEM, path: "k")
        #expect(issuer.algorithm == .es384)
    }
}
