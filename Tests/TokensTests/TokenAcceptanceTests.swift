// Tests: TokenVerifier.swift, TrustedIssuer.swift

import LiveUpdates
import TLS
import TestTokens
import Testing

@testable import Tokens

/// What is accepted, up to each limit.
@Suite struct TokenAcceptanceTests {
    @Test(arguments: [
        (SignatureAlgorithm.rs256, TestKey.rsa), (.rs384, .rsa), (.rs512, .rsa), (.ps256, .rsa), (.ps384, .rsa),
        (.ps512, .rsa), (.es256, .p256), (.es384, .p384), (.es512, .p521),
    ])
    func `a token of each algorithm is accepted`(_ algorithm: SignatureAlgorithm, _ key: TestKey) {
        let token = TokenForge.token(algorithm, by: key)
        for pem in [key.publicPEM, key.certificatePEM, key.privatePEM] {
            #expect(account(TokenForge.verifier(pem), token) == "PACC1")
        }
    }

    @Test(arguments: ["qx", "qy"])
    func `a key with a coordinate that begins with a zero is one like others`(_ coordinate: String) {
        let key = TestKey.p256(withZeroAtBeginOf: coordinate)
        let token = TokenForge.token(.es256, by: key)
        for text in [key.publicPEM, key.privatePEM, TokenForge.jwks(TokenForge.webKey(key, .p256))] {
            #expect(account(TokenForge.verifier(text), token) == "PACC1")
        }
    }

    @Test(arguments: [SignatureAlgorithm.hs256, .hs384, .hs512])
    func `a token with a shared secret is accepted when the settings list its algorithm`(
        _ algorithm: SignatureAlgorithm
    ) {
        let keys = TokenForge.jwks(TokenForge.webKey(secret: TokenForge.secret))
        let token = TokenRefusalTests.signedHS(algorithm, with: TokenForge.secret)
        #expect(account(TokenForge.verifier(keys, algorithms: [algorithm]), token) == "PACC1")
        #expect(TokenForge.verifier(keys).verify(token, now: TokenForge.now).refusal == .algorithm)
    }

    @Test func `a secret as long as the hash is enough and one byte less is not`() {
        for (count, refusal) in [(32, nil), (31, TokenRefusal.unknownKey)] {
            let secret = Array(TokenForge.secret.prefix(count))
            let verifier = TokenForge.verifier(TokenForge.jwks(TokenForge.webKey(secret: secret)), algorithms: [.hs256])
            let token = TokenRefusalTests.signedHS(.hs256, with: secret)
            #expect(verifier.verify(token, now: TokenForge.now).refusal == refusal)
        }
    }

    @Test(arguments: [
        (#""PACC1""#, "PACC1"), ("42", "42"), (#""42""#, "42"), ("0", "0"), ("-7", "-7"),
        ("18446744073709551615", "18446744073709551615"), ("-9223372036854775808", "-9223372036854775808"),
        (#""a b""#, "a b"), (#"" \u00e4\u2028""#, " ä\u{2028}"), (#""\"\\""#, #""\"#),
        ("\"\(String(repeating: "x", count: 255))\"", String(repeating: "x", count: 255)),
    ])
    func `an account is a text or a whole number, byte by byte`(_ claim: String, _ expected: String) {
        #expect(
            account(TokenForge.verifier(), TokenForge.token(payload: TokenForge.claims(account: claim))) == expected)
    }

    @Test(
        arguments: [
            ("", nil, nil), (#","iat":7,"jti":"abc""#, 7, "abc"), (#","iat":1.5,"jti":5"#, nil, nil),
            (",\"iat\":\(TokenForge.now + 60)", TokenForge.now + 60, nil),
            (",\"iat\":\(TokenForge.now + 61)", nil, nil),
            (#","iat":18446744073709551615"#, nil, nil), (#","iat":"7","jti":"""#, nil, nil),
            (#","iat":-1,"jti":"a\u0000""#, nil, nil),
            (",\"jti\":\"\(String(repeating: "x", count: 128))\"", nil, String(repeating: "x", count: 128)),
            (
                ",\"jti\":\"\(String(repeating: "x", count: 129))\"", nil,
                Hexadecimal.encode(Digest.sha256([UInt8](repeating: 0x78, count: 129)))
            ),
        ] as [(String, Int64?, String?)])
    func `a token says when it was issued and what it is called`(_ more: String, _ issuedAt: Int64?, _ id: String?)
        throws
    {
        let token = TokenForge.token(payload: TokenForge.claims(more: more))
        let identity = try TokenForge.verifier().verify(token, now: TokenForge.now).get()
        #expect(identity.issuedAt == issuedAt && identity.tokenID == id)
    }

    @Test func `accounts that Unicode calls equivalent are two`() {
        let composed = TokenForge.token(payload: TokenForge.claims(account: #""\u00e9""#))
        let decomposed = TokenForge.token(payload: TokenForge.claims(account: #""e\u0301""#))
        let accounts = [composed, decomposed].map {
            try? TokenForge.verifier().verify($0, now: TokenForge.now).get().account
        }
        #expect(accounts[0] != nil && accounts[0] != accounts[1])
    }

    @Test func `times are kept to the second`() throws {
        let token = TokenForge.token(payload: TokenForge.claims(exp: "1795240001", more: ",\"nbf\":1795240030"))
        let identity = try TokenForge.verifier().verify(token, now: TokenForge.now).get()
        #expect(identity.expiresAt == 1_795_240_001)
        #expect(TokenForge.verifier().verify(token, now: TokenForge.now + 1).refusal == .expired(at: 1_795_240_001))
        #expect(
            TokenForge.verifier().verify(token, now: TokenForge.now - 1).refusal == .notYetValid(before: 1_795_240_030))
    }

    @Test func `a time beyond the calendar expires at its end`() throws {
        for exp in ["253402300800", "9223372036854775807", "18446744073709551615"] {
            let token = TokenForge.token(payload: TokenForge.claims(exp: exp))
            #expect(try TokenForge.verifier().verify(token, now: TokenForge.now).get().expiresAt == 253_402_300_799)
        }
    }

    @Test(arguments: [#""livegate""#, #"["livegate"]"#, #"["other","livegate"]"#])
    func `an audience is a text or a list`(_ aud: String) {
        #expect(account(TokenForge.verifier(), TokenForge.token(payload: TokenForge.claims(aud: aud))) == "PACC1")
    }

    @Test func `a subject is known by its name, and one that is long or strange by its digest`() throws {
        let (short, long) = (String(repeating: "s", count: 255), String(repeating: "s", count: 256))
        func digest(_ name: String) -> String { Hexadecimal.encode(Digest.sha256(Array(name.utf8))) }
        for (claim, subject) in [
            (#","sub":"u1""#, "u1"), (",\"sub\":\"\(short)\"", short), (",\"sub\":\"\(long)\"", digest(long)),
            (#","sub":"a\nb""#, digest("a\nb")), (#","sub":7"#, "7"), ("", nil), (#","sub":"""#, nil),
            (#","sub":null"#, nil), (#","sub":["u1"]"#, nil),
        ] {
            let token = TokenForge.token(payload: TokenForge.claims(more: claim))
            #expect(try TokenForge.verifier().verify(token, now: TokenForge.now).get().subject == subject)
        }
    }

    @Test func `a key without a name takes any name, a key with one only its own`() {
        let named = #"{"alg":"ES256","kid":"a"}"#
        #expect(account(TokenForge.verifier(), TokenForge.token(header: named)) == "PACC1")
        let rotation = TestKey.otherP256.publicPEM + TestKey.p256.publicPEM
        #expect(account(TokenForge.verifier(rotation), TokenForge.token()) == "PACC1")
        #expect(account(TokenForge.verifier(TokenRefusalTests.twoNames), TokenForge.token(header: named)) == "PACC1")
    }

    @Test func `a token without a kid is tried with all keys that fit its algorithm, eight at most`() {
        func verifier(_ others: Int) -> TokenVerifier {
            let strangers = (0..<others).map { TokenForge.webKey(.otherP256, .p256, more: ",\"kid\":\"\($0)\"") }
            // Those of other kinds take nobody's turn.
            let kinds = (0..<8).map { TokenForge.webKey(rsa: .rsa, more: ",\"kid\":\"r\($0)\"") }
            let own = TokenForge.webKey(.p256, .p256, more: ",\"kid\":\"own\"")
            return TokenForge.verifier(
                Array("{\"keys\":[\((kinds + strangers + [own]).joined(separator: ","))]}".utf8))
        }
        #expect(account(TokenForge.verifier(TokenRefusalTests.twoNames), TokenForge.token(by: .otherP256)) == "PACC1")
        #expect(account(verifier(7), TokenForge.token()) == "PACC1")
        #expect(verifier(8).verify(TokenForge.token(), now: TokenForge.now).refusal == .signature)
    }

    @Test func `the same key name in two issuers means the key of each`() {
        let header = #"{"alg":"ES256","kid":"a"}"#
        let other = TokenForge.token(
            by: .otherP256, header: header, payload: TokenForge.claims(iss: #""https://other.example""#))
        #expect(account(TokenRefusalTests.twoIssuers, TokenForge.token(header: header)) == "PACC1")
        #expect(account(TokenRefusalTests.twoIssuers, other) == "PACC1")
    }

    @Test func `headers that name or bring keys change nothing`() {
        let header =
            #"{"alg":"ES256","typ":"at+jwt","jku":"http://127.0.0.1:1/","x5u":"x","jwk":{"kty":"oct"},"x5c":[]}"#
        #expect(account(TokenForge.verifier(), TokenForge.token(header: header)) == "PACC1")
    }

    @Test func `a token of the largest size is accepted`() {
        #expect(account(TokenForge.verifier(), TokenForge.sized(TokenVerifier.maximumTokenBytes)) == "PACC1")
    }

    @Test func `without an audience in the settings a token without one is accepted`() {
        let verifier = TokenVerifier(issuers: [TokenRefusalTests.withoutAudience])
        #expect(account(verifier, TokenForge.token(payload: TokenForge.claims(aud: nil))) == "PACC1")
    }

    @Test func `several threads verify with one verifier`() async {
        let verifier = TokenForge.verifier(TestKey.rsa.publicPEM + TestKey.p256.publicPEM)
        let good = [TokenForge.token(), TokenForge.token(.rs256, by: .rsa), TokenForge.token(.ps256, by: .rsa)]
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<100).count { verifier.verify(good[$0 % 3], now: TokenForge.now).refusal == nil }
                }
            }
            for await accepted in group { #expect(accepted == 100) }
        }
    }

    private func account(_ verifier: TokenVerifier, _ token: [UInt8]) -> String? {
        (try? verifier.verify(token, now: TokenForge.now).get()).map { String(describing: $0.account.text) }
    }
}
