import TestTokens
import Testing

@testable import Tokens

@Suite struct FetchedKeysTests {
    private static func key(_ name: String, more: String = "") -> String {
        TokenForge.webKey(.p256, .p256, more: ",\"kid\":\"\(name)\"\(more)")
    }

    private static func set(_ keys: [String]) -> [UInt8] { Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8) }

    // MARK: - The set

    @Test func `keys that cannot be used are passed over`() throws {
        let strange = [
            #"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#, #"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#, "{}", "1",
            "null",
            #"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#, Self.key("encrypts", more: #","use":"enc""#),
            #"{"kty":"EC","kty":"EC"}"#,
            TokenForge.webKey(secret: TokenForge.secret),
        ]
        let keys = try FetchedKeySet.read(
            Self.set(strange + [Self.key("a")] + strange), algorithms: SignatureAlgorithm.asymmetric)
        #expect(keys.map(\.name) == [Array("a".utf8)])
        #expect(throws: FetchedKeySet.Problem.noneUsable(of: strange.count)) {
            try FetchedKeySet.read(Self.set(strange), algorithms: SignatureAlgorithm.asymmetric)
        }
        // A key for another algorithm than the settings name is none.
        #expect(throws: FetchedKeySet.Problem.noneUsable(of: 1)) {
            try FetchedKeySet.read(Self.set([Self.key("a")]), algorithms: [.es384])
        }
    }

    @Test(arguments: [
        "", "{", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[],"keys":[]}"#, "null", "<html></html>",
        "-----BEGIN PUBLIC KEY-----",
    ])
    func `what is no key set is none`(text: String) {
        #expect(throws: FetchedKeySet.Problem.notJWKS) {
            try FetchedKeySet.read(Array(text.utf8), algorithms: SignatureAlgorithm.asymmetric)
        }
    }

    @Test func `a set has at most a hundred keys, and one with none is none`() throws {
        let hundred = (1...100).map { Self.key("\($0)") }
        let keys = try FetchedKeySet.read(Self.set(hundred), algorithms: [.es256])
        #expect(keys.count == 100)
        #expect(throws: FetchedKeySet.Problem.tooMany(101)) {
            try FetchedKeySet.read(Self.set(hundred + ["{}"]), algorithms: [.es256])
        }
        #expect(throws: FetchedKeySet.Problem.noneUsable(of: 0)) {
            try FetchedKeySet.read(Self.set([]), algorithms: [.es256])
        }
    }

    @Test func `a set has at most a mebibyte`() throws {
        let set = Self.set([Self.key("a")])
        func padded(_ count: Int) -> [UInt8] { set + [UInt8](repeating: 0x20, count: count - set.count) }
        #expect(try FetchedKeySet.read(padded(1 << 20), algorithms: [.es256]).count == 1)
        #expect(throws: FetchedKeySet.Problem.notJWKS) {
            try FetchedKeySet.read(padded(1 << 20 + 1), algorithms: [.es256])
        }
    }

    // MARK: - Tokens

    /// A token signed by the P-256 key under a name, judged by an issuer with these keys.
    private static func verdict(
        _ name: String?, _ keys: [String]?, asksForUnknown: Bool = true, by signer: TestKey = .p256
    ) throws -> TokenRefusal? {
        let source = KeySource(
            issuer: TokenForge.issuer, url: "https://a", authorities: nil, algorithms: [.es256],
            timing: .init(refreshMilliseconds: 1, cooldownMilliseconds: 1, maximumAgeMilliseconds: 2))
        let fetched = FetchedKeys(source)
        fetched.publish(
            .init(
                keys: try keys.map { try FetchedKeySet.read(set($0), algorithms: [.es256]) },
                asksForUnknown: asksForUnknown))
        let verifier = TokenVerifier(issuers: [
            TrustedIssuer(
                issuer: TokenForge.issuer, audiences: [TokenForge.audience], algorithms: [.es256],
                accountClaim: "account_id", fetched: fetched)
        ])
        let header = name.map { "{\"alg\":\"ES256\",\"kid\":\"\($0)\"}" }
        return verifier.verify(TokenForge.token(by: signer, header: header), now: TokenForge.now).refusal
    }

    @Test func `a token is tried with eight keys without a name and no more, and with one of its name`() throws {
        let (unnamed, named) = (TokenForge.webKey(.otherP256, .p256), Self.other("a"))
        for (others, refusal) in [(7, nil), (8, TokenRefusal.signature)] as [(Int, TokenRefusal?)] {
            let before = Array(repeating: unnamed, count: others)
            #expect(try Self.verdict(nil, before + [TokenForge.webKey(.p256, .p256)], asksForUnknown: false) == refusal)
        }
        #expect(try Self.verdict("a", [named, Self.key("a")], asksForUnknown: false) == .signature)
        #expect(try Self.verdict("a", [Self.key("a"), named], asksForUnknown: false) == nil)
        // Keys of other names take nobody's turn.
        #expect(try Self.verdict("a", (1...99).map { Self.key("\($0)") } + [Self.key("a")]) == nil)
    }

    private static func other(_ name: String) -> String {
        TokenForge.webKey(.otherP256, .p256, more: ",\"kid\":\"\(name)\"")
    }

    @Test func `keys of before count at once where they come from the same place for the same issuer`() throws {
        func verifier(_ issuer: String, _ url: String, refresh: UInt64) -> TokenVerifier {
            let source = KeySource(
                issuer: issuer, url: url, authorities: nil, algorithms: [.es256],
                timing: .init(refreshMilliseconds: refresh, cooldownMilliseconds: 1, maximumAgeMilliseconds: 2))
            return TokenVerifier(issuers: [
                TrustedIssuer(
                    issuer: issuer, audiences: [TokenForge.audience], algorithms: [.es256], accountClaim: "account_id",
                    fetched: FetchedKeys(source))
            ])
        }
        let before = verifier(TokenForge.issuer, "https://a", refresh: 1)
        let keys = try FetchedKeySet.read(Self.set([Self.key("a")]), algorithms: [.es256])
        before.issuers[0].fetched?.publish(.init(keys: keys, asksForUnknown: false))
        for (issuer, url, hasKeys) in [
            (TokenForge.issuer, "https://a", true), (TokenForge.issuer, "https://b", false), ("b", "https://a", false),
        ] {
            let next = verifier(issuer, url, refresh: 2)
            next.takeKeys(from: before)
            #expect((next.issuers[0].fetched?.snapshot.keys != nil) == hasKeys)
        }
    }

    private static let question = TokenRefusal.undecided(.keys(issuer: TokenForge.issuer))

    @Test func `a token is judged by the keys of now, and asks for one that is not among them`() throws {
        let keys = [Self.key("a"), Self.key("b")]
        #expect(try Self.verdict("a", keys) == nil)
        #expect(try Self.verdict("c", keys) == Self.question)
        #expect(try Self.verdict("c", keys, asksForUnknown: false) == .unknownKey)
        #expect(try Self.verdict("a", nil) == .unavailable)
        #expect(try Self.verdict(nil, keys) == nil)
    }

    @Test func `keys without names are tried before one is asked for`() throws {
        let unnamed = [TokenForge.webKey(.p256, .p256)]
        #expect(try Self.verdict("c", unnamed) == nil)
        #expect(try Self.verdict(nil, unnamed) == nil)
        #expect(try Self.verdict("c", unnamed, by: .otherP256) == Self.question)
        #expect(try Self.verdict("c", unnamed, asksForUnknown: false, by: .otherP256) == .signature)
    }

    @Test func `a signature that no key verifies is asked about as an unknown name, once in a while`() throws {
        for (name, keys) in [
            ("a", [Self.key("a")]), ("a", [Self.key("a"), Self.key("b")]), (nil, [Self.key("a")]),
            (nil, [TokenForge.webKey(.p256, .p256)]), ("a", [TokenForge.webKey(.p256, .p256)]),
        ] as [(String?, [String])] {
            #expect(try Self.verdict(name, keys, by: .otherP256) == Self.question)
            #expect(try Self.verdict(name, keys, asksForUnknown: false, by: .otherP256) == .signature)
            #expect(try Self.verdict(name, keys) == nil)
        }
    }

    @Test func `a token whose key its issuer has withdrawn, or replaced, counts no more`() throws {
        let source = KeySource(
            issuer: TokenForge.issuer, url: "https://a", authorities: nil, algorithms: [.es256],
            timing: .init(refreshMilliseconds: 1, cooldownMilliseconds: 1, maximumAgeMilliseconds: 2))
        let fetched = FetchedKeys(source)
        let verifier = TokenVerifier(issuers: [
            TrustedIssuer(
                issuer: TokenForge.issuer, audiences: [TokenForge.audience], algorithms: [.es256],
                accountClaim: "account_id", fetched: fetched)
        ])
        func publish(_ keys: [String]?) throws {
            let keys = try keys.map { try FetchedKeySet.read(Self.set($0), algorithms: [.es256]) }
            fetched.publish(.init(keys: keys, asksForUnknown: false))
        }
        try publish([Self.key("a")])
        let token = TokenForge.token(header: #"{"alg":"ES256","kid":"a"}"#)
        let identity = try verifier.verify(token, now: TokenForge.now).get()
        for (keys, isWithdrawn) in [
            ([Self.key("a")], false), ([Self.other("b"), Self.key("a", more: ",\"alg\":\"ES256\"")], false),
            ([Self.other("a")], true), ([Self.other("b")], true), ([Self.key("b")], true), (nil, false),
        ] as [([String]?, Bool)] {
            try publish(keys)
            #expect(verifier.hasWithdrawnKey(of: identity) == isWithdrawn, "\(keys ?? [])")
            #expect(verifier.stillVouches(for: identity) == !isWithdrawn)
            #expect(verifier.question(ofKeyOf: identity) == nil)
            // A set that may be older than the key is asked for before anybody is refused.
            fetched.publish(.init(keys: fetched.snapshot.keys, asksForUnknown: true))
            #expect(verifier.question(ofKeyOf: identity) == (isWithdrawn ? .keys(issuer: TokenForge.issuer) : nil))
        }
        // A key of a file is withdrawn by nobody.
        let filed = TokenForge.verifier(TokenForge.jwks(Self.key("a")))
        #expect(try filed.verify(token, now: TokenForge.now).get().keyMark == nil)
        #expect(!filed.hasWithdrawnKey(of: identity))
    }
}
