// Tests: JSONWebKey.swift, PEMKeys.swift

import CJOSE
import TestTokens
import Testing

@testable import Tokens

/// What a file of keys gives, and what `check` says about it.
@Suite struct KeySetTests {
    @Test func `several PEM blocks give several keys in their order`() {
        let text =
            TestKey.rsa.publicPEM + Array("a word between\n".utf8) + TestKey.p384.certificatePEM
            + TestKey.p521.publicPEM
        let set = KeySet(text)
        #expect(set.problems.isEmpty)
        #expect(set.keys.map(\.family) == [.rsa, .ellipticCurve(.p384), .ellipticCurve(.p521)])
        #expect(set.keys[0].sizeBits == 2048)
    }

    @Test func `a JWKS gives its keys with names and algorithms`() {
        let set = KeySet(
            TokenForge.jwks(
                TokenForge.webKey(TestKey.p256, .p256, more: #","kid":"a","alg":"ES256","use":"sig""#),
                TokenForge.webKey(
                    rsa: TestKey.rsa, more: #","alg":"PS256","key_ops":["verify"],"x5t":"unknown members are fine""#),
                TokenForge.webKey(secret: TokenForge.secret)))
        #expect(set.problems.isEmpty)
        #expect(set.keys.map(\.family) == [.ellipticCurve(.p256), .rsa, .secret])
        #expect(set.keys.map(\.name) == [Array("a".utf8), nil, nil])
        #expect(set.keys[1].fits(.ps256) && !set.keys[1].fits(.rs256) && !set.keys[1].fits(.ps512))
    }

    @Test func `a private key is taken without its private half, with a warning`() {
        for text in [
            TestKey.p256.privatePEM, TestKey.rsa.privatePEM,
            TokenForge.jwks(TokenForge.webKey(TestKey.p256, .p256, more: #","d":"AAAA""#)),
        ] {
            let set = KeySet(text)
            #expect(set.keys.count == 1 && set.problems.count == 1 && set.problems[0].isWarning)
            #expect(set.keys[0].sign([1], algorithm: set.keys[0].family == .rsa ? .rs256 : .es256, keyName: nil) == nil)
        }
    }

    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let text: [UInt8]
        /// Words that the first problem must have.
        let words: String
        var testDescription: String { name }

        init(_ name: String, _ text: [UInt8], _ words: String) {
            (self.name, self.text, self.words) = (name, text, words)
        }
    }

    @Test(arguments: files + webKeys)
    func `a file without a usable key is a problem`(_ row: Row) throws {
        let set = KeySet(row.text)
        let problem = try #require(set.problems.first { !$0.isWarning })
        #expect(problem.text.contains(row.words), "\(problem.text)")
        #expect(set.keys.isEmpty)
    }

    static let files: [Row] = [
        Row("empty", [], "holds no key"),
        Row("a word", Array("hello".utf8), "holds no key"),
        Row("binary", [0, 1, 2, 0xFF], "holds no key"),
        Row("PEM cut", Array(TestKey.p256.publicPEM.prefix(60)), "PEM block 1: it cannot be read"),
        Row(
            "PEM of rubbish", Array("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n".utf8),
            "PEM block 1: it cannot be read"),
        Row("PEM of a CRL", Array("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n".utf8), "holds no key"),
        Row("key under a passphrase", TestKey.p256.encryptedPEM, "passphrase"),
        Row("RSA of 1024 bits", TestKey.smallRSA.publicPEM, "1024 bits, at least 2048"),
        Row("secp256k1", TestKey.secp256k1.publicPEM, "P-256, P-384 and P-521"),
        Row("Ed25519", TestKey.ed25519.publicPEM, "P-256, P-384 and P-521"),
        Row("no JSON", Array("{\"keys\":".utf8), "malformed JWKS"),
        Row("no list", Array("{\"keys\":{}}".utf8), "malformed JWKS"),
        Row("keys twice", Array("{\"keys\":[],\"keys\":[]}".utf8), "malformed JWKS"),
        Row("one key alone", Array(TokenForge.webKey(TestKey.p256, .p256).utf8), "malformed JWKS"),
        Row("empty list", TokenForge.jwks(), "holds no key"),
    ]

    static let webKeys: [Row] = [
        ("no object", "1", "no object"),
        ("a member twice", #"{"kty":"oct","k":"AAAA","k":"AAAA"}"#, "member twice"),
        ("no kty", "{}", "no kty"),
        ("kty is a number", #"{"kty":1}"#, "no kty"),
        ("unknown kty", #"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#, "holds no key"),
        ("unknown curve", #"{"kty":"EC","crv":"secp256k1","x":"AAAA","y":"AAAA"}"#, "holds no key"),
        ("for encryption", TokenForge.webKey(TestKey.p256, .p256, more: #","use":"enc""#), "holds no key"),
        ("for signing only", TokenForge.webKey(TestKey.p256, .p256, more: #","key_ops":["sign"]"#), "holds no key"),
        ("for another algorithm", TokenForge.webKey(TestKey.p256, .p256, more: #","alg":"ECDH-ES""#), "holds no key"),
        ("use is a number", TokenForge.webKey(TestKey.p256, .p256, more: #","use":1"#), "use"),
        ("kid of a path", TokenForge.webKey(TestKey.p256, .p256, more: #","kid":"../x""#), "kid"),
        ("kid is a number", TokenForge.webKey(TestKey.p256, .p256, more: #","kid":1"#), "kid"),
        ("not on the curve", TokenForge.webKey(TestKey.p384, .p256), "no point of P-256"),
        ("a point that is none", #"{"kty":"EC","crv":"P-256","x":"\#(one)","y":"\#(one)"}"#, "no point of P-256"),
        ("no y", #"{"kty":"EC","crv":"P-256","x":"\#(one)"}"#, "no point of P-256"),
        ("x padded", #"{"kty":"EC","crv":"P-256","x":"\#(one)=","y":"\#(one)"}"#, "no point of P-256"),
        ("RSA without n", #"{"kty":"RSA","e":"AQAB"}"#, "n or e"),
        ("RSA with exponent 1", TokenForge.webKey(rsa: TestKey.rsa, exponent: "AQ"), "odd number from 3"),
        ("RSA with exponent 01", TokenForge.webKey(rsa: TestKey.rsa, exponent: "AAE"), "odd number from 3"),
        ("RSA with an even exponent", TokenForge.webKey(rsa: TestKey.rsa, exponent: "Ag"), "odd number from 3"),
        ("RSA of 1024 bits", TokenForge.webKey(rsa: TestKey.smallRSA), "1024 bits"),
        ("empty secret", #"{"kty":"oct","k":""}"#, "its k"),
        ("secret in plain text", #"{"kty":"oct","k":"pass word"}"#, "its k"),
    ].map { Row($0, TokenForge.jwks($1), $2) }

    static let one = TokenForge.encode([UInt8](repeating: 0, count: 31) + [1])

    @Test func `a key that is passed over leaves the others`() {
        let set = KeySet(
            TokenForge.jwks(#"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#, TokenForge.webKey(TestKey.p256, .p256)))
        #expect(set.keys.count == 1 && set.problems.map(\.isWarning) == [true])
    }

    @Test func `as many keys as a rotation needs, and one more is a problem`() {
        for (count, isFine) in [(KeySet.maximumKeys, true), (KeySet.maximumKeys + 1, false)] {
            let keys = (0..<count).map { TokenForge.webKey(TestKey.p256, .p256, more: ",\"kid\":\"\($0)\"") }
            let set = KeySet(Self.set(keys))
            #expect(set.problems.isEmpty == isFine)
            #expect(set.keys.count == KeySet.maximumKeys)
        }
    }

    private static func set(_ keys: [String]) -> [UInt8] { Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8) }

    @Test func `of one kind as many keys without a kid as a token is tried with, and one more is a problem`() {
        let (rsa, point) = (TestKey.rsa.publicPEM, TestKey.p256.publicPEM)
        func problems(_ rsas: Int, _ points: Int) -> [String] {
            KeySet((0..<rsas).flatMap { _ in rsa } + (0..<points).flatMap { _ in point }).problems.map(\.text)
        }
        #expect(problems(8, 8).isEmpty)
        #expect(problems(9, 1)[0].hasPrefix("9 keys of one kind without a kid, over the limit of 8"))
        #expect(problems(1, 9)[0].hasPrefix("9 keys of one kind without a kid, over the limit of 8"))
    }

    @Test(
        arguments: [
            // The exponent, big-endian, and whether it is good.
            ([1], false), ([0, 1], false), ([2], false), ([3], true), ([0, 0, 0, 0, 0, 0, 0, 0, 0, 3], true),
            ([1, 0, 1], true),
            ([UInt8](repeating: 255, count: 8), true), ([1, 0, 0, 0, 0, 0, 0, 0, 1], false),
            ([UInt8](repeating: 255, count: 383), false),
        ] as [([UInt8], Bool)])
    func `an RSA exponent is odd, from 3 and of at most 64 bits, wherever the key comes from`(
        _ exponent: [UInt8], _ isGood: Bool
    ) {
        let key = TestKey.rsa(exponent: exponent)
        for text in [
            key.publicPEM, key.certificatePEM(signedBy: .p256),
            TokenForge.jwks(TokenForge.webKey(rsa: TestKey.rsa, exponent: TokenForge.encode(exponent))),
        ] {
            let set = KeySet(text)
            #expect(set.keys.count == (isGood ? 1 : 0))
            let words = "an odd number from 3 of at most 64 bits"
            #expect(set.problems.contains { $0.text.contains(words) } == !isGood, "\(set.problems)")
        }
    }

    @Test func `a kid names one key of each kind, for each algorithm`() {
        func named(_ key: String, _ curve: KeyCurve?, _ more: String = "") -> String {
            let more = ",\"kid\":\"a\"\(more)"
            guard let curve else { return TokenForge.webKey(rsa: key == "o" ? .otherRSA : .rsa, more: more) }
            return TokenForge.webKey(curve == .p384 ? .p384 : key == "o" ? .otherP256 : .p256, curve, more: more)
        }
        let (ps, rs) = (#","alg":"PS256""#, #","alg":"RS256""#)
        for (keys, problems) in [
            ([named("", .p256), named("", nil), named("", .p384)], 0),
            ([named("", .p256), named("o", .p256)], 1), ([named("", .p256), named("", .p256)], 1),
            ([named("", nil, rs), named("o", nil, ps)], 0), ([named("", nil, rs), named("o", nil)], 1),
            ([named("", nil), named("o", nil, ps)], 1), ([named("", nil, ps), named("o", nil, ps)], 1),
        ] as [([String], Int)] {
            let set = KeySet(Self.set(keys))
            #expect(set.keys.count == keys.count - problems && set.problems.count == problems, "\(keys)")
            #expect(set.problems.allSatisfy { $0.text.hasPrefix("key 2 of the JWKS: its kid a is that of another") })
            // From a server, the first counts.
            let fetched = try? FetchedKeySet.read(Self.set(keys), algorithms: SignatureAlgorithm.asymmetric)
            #expect(fetched?.count == keys.count - problems)
        }
    }

    @Test func `an issuer is told about keys that do not fit its algorithms`() {
        func texts(_ keys: [UInt8], _ algorithms: [SignatureAlgorithm]) -> [String] {
            TokenForge.trusted(keys, algorithms: algorithms).problems.map(\.text)
        }
        let short = TokenForge.jwks(TokenForge.webKey(secret: Array(TokenForge.secret.prefix(47))))
        #expect(texts(short, [.hs256]).isEmpty)
        #expect(
            texts(short, [.hs256, .hs384]) == ["a secret of 47 bytes is too short for HS384: at least 48 are needed"])
        #expect(texts(TestKey.rsa.publicPEM, [.rs256, .es256]).isEmpty)
        #expect(texts(TestKey.rsa.publicPEM, [.es256])[0].hasPrefix("no key fits the algorithms ES256"))
        #expect(texts(short, SignatureAlgorithm.asymmetric)[0].hasPrefix("no key fits the algorithms RS256"))
    }

    @Test func `reading keys leaves no error behind for TLS on the same thread`() {
        _ = KeySet(TestKey.secp256k1.publicPEM + TestKey.p256.publicPEM.prefix(60))
        _ = KeySet(TokenForge.jwks(#"{"kty":"EC","crv":"P-256","x":"\#(Self.one)","y":"\#(Self.one)"}"#))
        #expect(ERR_peek_error() == 0)
        _ = TokenForge.verifier().verify(TokenForge.token(by: .otherP256), now: TokenForge.now)
        _ = TokenForge.verifier(TestKey.rsa.publicPEM).verify(
            TokenForge.token(.rs256, by: .otherRSA), now: TokenForge.now)
        #expect(ERR_peek_error() == 0)
    }
}
