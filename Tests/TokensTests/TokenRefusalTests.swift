// Tests: CompactToken.swift, JOSEObject.swift, TokenClaims.swift, TokenVerifier.swift

import TestTokens
import Testing

@testable import Tokens

/// Each way to be refused, with signatures that are good wherever the signature is not the point.
@Suite struct TokenRefusalTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let token: [UInt8]
        let refusal: TokenRefusal
        var verifier = TokenForge.verifier()
        var testDescription: String { name }

        init(
            _ name: String, _ refusal: TokenRefusal, _ token: [UInt8],
            by verifier: TokenVerifier = TokenForge.verifier()
        ) {
            (self.name, self.refusal, self.token, self.verifier) = (name, refusal, token, verifier)
        }
    }

    @Test(arguments: headers + keyNames + texts + payloads + times + accounts + signatures + unpaid)
    func `a token is refused, with its reason`(_ row: Row) {
        #expect(row.verifier.verify(row.token, now: TokenForge.now).refusal == row.refusal)
    }

    static let headers: [Row] =
        ["none", "None", "NONE", "nOnE", "es256", "ES256 ", "", "HS257", "ES256K", "EdDSA"].map {
            Row("alg \"\($0)\"", .algorithm, TokenForge.token(header: "{\"alg\":\"\($0)\"}"))
        } + [
            Row("no alg", .algorithm, TokenForge.token(header: "{}")),
            Row("alg is a number", .algorithm, TokenForge.token(header: "{\"alg\":256}")),
            Row("alg is a list", .algorithm, TokenForge.token(header: "{\"alg\":[\"ES256\"]}")),
            Row("alg twice", .malformed(.header), TokenForge.token(header: "{\"alg\":\"ES256\",\"alg\":\"ES256\"}")),
            Row(
                "alg twice, once escaped", .malformed(.header),
                TokenForge.token(header: #"{"alg":"ES256","\u0061lg":"none"}"#)),
            Row("unknown crit", .criticalHeader, TokenForge.token(header: #"{"alg":"ES256","crit":["exp"],"exp":1}"#)),
            Row("empty crit", .criticalHeader, TokenForge.token(header: #"{"alg":"ES256","crit":[]}"#)),
            Row("b64 false", .criticalHeader, TokenForge.token(header: #"{"alg":"ES256","crit":["b64"],"b64":false}"#)),
            Row("b64 false without crit", .criticalHeader, TokenForge.token(header: #"{"alg":"ES256","b64":false}"#)),
            Row("header is a list", .malformed(.header), TokenForge.token(header: #"["ES256"]"#)),
            Row("header is cut", .malformed(.header), TokenForge.token(header: #"{"alg":"ES256""#)),
            Row("header has a tail", .malformed(.header), TokenForge.token(header: #"{"alg":"ES256"} x"#)),
            Row("header is empty", .malformed(.header), TokenForge.token(header: "")),
            Row("header is very deep", .malformed(.header), deepHeader),
            Row(
                "algorithm is not the issuer's", .algorithm, TokenForge.token(),
                by: TokenForge.verifier(algorithms: [.es384])),
            Row("HS, though the settings list none", .algorithm, signedHS(.hs256, with: TokenForge.secret)),
            Row(
                "the RSA key as HS256 secret", .algorithm, confused(.hs256),
                by: TokenForge.verifier(TestKey.rsa.publicPEM)),
            Row(
                "the RSA key as HS256 secret, HS allowed beside it", .unknownKey, confused(.hs256),
                by: TokenForge.verifier(TestKey.rsa.publicPEM, algorithms: [.rs256, .hs256])),
            Row(
                "ES384 with a P-256 key", .unknownKey,
                TokenForge.token(header: #"{"alg":"ES384"}"#, payload: TokenForge.claims())),
        ]

    static let keyNames: [Row] =
        [
            "../../../dev/null", "..", "a/../b", #"\""#, "'", "key one", "", #"\n"#, "é", #"\u0000"#,
            String(repeating: "k", count: KeyName.maximumBytes + 1),
        ].map { name in
            // A NUL makes the whole header unreadable or only its name unusable; both are a refusal before any key.
            Row("kid \(name.prefix(20))", .keyName, TokenForge.token(header: "{\"alg\":\"ES256\",\"kid\":\"\(name)\"}"))
        } + [
            Row("kid of 1 MB", .tooLarge, TokenForge.token(header: "{\"alg\":\"ES256\",\"kid\":\"\(megabyte)\"}")),
            Row("kid is a number", .keyName, TokenForge.token(header: #"{"alg":"ES256","kid":1}"#)),
            Row(
                "kid is absent, and no key of the issuer fits", .signature, TokenForge.token(by: .secp256k1),
                by: TokenForge.verifier(twoNames)),
            Row(
                "kid of nobody", .unknownKey, TokenForge.token(header: #"{"alg":"ES256","kid":"c"}"#),
                by: TokenForge.verifier(twoNames)),
            Row(
                "kid of another key", .signature, TokenForge.token(header: #"{"alg":"ES256","kid":"b"}"#),
                by: TokenForge.verifier(twoNames)),
            Row(
                "the same kid in two issuers, each with its own key", .signature,
                TokenForge.token(by: .otherP256, header: #"{"alg":"ES256","kid":"a"}"#), by: twoIssuers),
            Row(
                "a key brought along in jwk", .signature,
                TokenForge.token(
                    by: .otherP256, header: "{\"alg\":\"ES256\",\"jwk\":\(TokenForge.webKey(TestKey.otherP256, .p256))}"
                )),
            Row(
                "a key pointed at by jku and x5u", .signature,
                TokenForge.token(
                    by: .otherP256,
                    header:
                        #"{"alg":"ES256","jku":"http://127.0.0.1:1/keys","x5u":"http://127.0.0.1:1/x","x5c":["MIIB"]}"#)
            ),
        ]

    static let texts: [Row] = [
        Row("no text", .malformed(.token), []),
        Row("one part", .malformed(.token), Array("abc".utf8)),
        Row("two parts", .malformed(.token), Array(good.prefix(good.lastIndex(of: dot)!))),
        Row("four parts", .malformed(.token), good + [dot] + Array("AAAA".utf8)),
        Row("five parts, as encrypted tokens have", .malformed(.token), Array("a.b.c.d.e".utf8)),
        Row("only dots", .malformed(.header), [dot, dot]),
        Row("empty signature", .malformed(.signature), Array(good.prefix(good.lastIndex(of: dot)! + 1))),
        Row(
            "alg none and an empty signature", .malformed(.signature),
            TokenForge.token(header: #"{"alg":"none"}"#, payload: TokenForge.claims()) { _ in [] }),
        Row("padding", .malformed(.signature), good + Array("==".utf8)),
        Row("blank at the end", .malformed(.signature), good + [0x20]),
        Row("line end at the end", .malformed(.signature), good + [0x0A]),
        Row(
            "blank within", .malformed(.payload),
            Array(good.prefix(while: { $0 != dot })) + Array(". ".utf8) + good.drop { $0 != dot }.dropFirst()),
        Row("plus instead of minus", .malformed(.header), [UInt8(ascii: "+")] + good.dropFirst()),
        Row("trailing bits that are not zero", .malformed(.signature), withTrailingBits),
        Row("a byte too many in a group", .malformed(.signature), good + Array("AAA".utf8)),
        Row("beyond the size", .tooLarge, TokenForge.sized(TokenVerifier.maximumTokenBytes + 1)),
    ]

    static let payloads: [Row] = [
        Row("payload is no JSON", .malformed(.payload), TokenForge.token(payload: "hello")),
        Row("payload is a list", .malformed(.payload), TokenForge.token(payload: "[]")),
        Row(
            "a claim twice", .malformed(.payload),
            TokenForge.token(payload: TokenForge.claims(more: #","account_id":"PACC2""#))),
        Row(
            "a claim twice, once escaped", .malformed(.payload),
            TokenForge.token(payload: TokenForge.claims(more: #","\u0065xp":1"#))),
        Row("iss missing", .issuer, TokenForge.token(payload: TokenForge.claims(iss: nil))),
        Row(
            "iss of somebody else", .issuer,
            TokenForge.token(payload: TokenForge.claims(iss: #""https://issuer.example/""#))),
        Row(
            "iss in other case", .issuer,
            TokenForge.token(payload: TokenForge.claims(iss: #""HTTPS://issuer.example""#))),
        Row("iss is a list", .issuer, TokenForge.token(payload: TokenForge.claims(iss: "[\"\(TokenForge.issuer)\"]"))),
        Row("aud missing", .audience, TokenForge.token(payload: TokenForge.claims(aud: nil))),
        Row("aud of somebody else", .audience, TokenForge.token(payload: TokenForge.claims(aud: #""livegate2""#))),
        Row("aud is an empty list", .audience, TokenForge.token(payload: TokenForge.claims(aud: "[]"))),
        Row("aud is a list of others", .audience, TokenForge.token(payload: TokenForge.claims(aud: #"["a","b"]"#))),
        Row(
            "aud is a list with a number", .audience,
            TokenForge.token(payload: TokenForge.claims(aud: #"["livegate",1]"#))),
        Row("aud is an object", .audience, TokenForge.token(payload: TokenForge.claims(aud: #"{"livegate":1}"#))),
        Row(
            "aud, where none is expected", .audience, TokenForge.token(), by: TokenVerifier(issuers: [withoutAudience])),
    ]

    static let times: [Row] =
        [
            nil, "\"1795243600\"", "1795243600.0", "1795243600.5", "1.7952436e9", "-1", "1e400", "null", "true",
            "[1795243600]",
        ].map {
            Row("exp \($0 ?? "missing")", .claim(.exp), TokenForge.token(payload: TokenForge.claims(exp: $0)))
        }
        + ["\"0\"", "1.0", "-1", "null"].map {
            Row("nbf \($0)", .claim(.nbf), TokenForge.token(payload: TokenForge.claims(more: ",\"nbf\":\($0)")))
        } + [
            Row(
                "exp at this second", .expired(at: TokenForge.now),
                TokenForge.token(payload: TokenForge.claims(exp: "1795240000"))),
            Row("exp of 1970", .expired(at: 0), TokenForge.token(payload: TokenForge.claims(exp: "0"))),
            Row(
                "nbf a second beyond the leeway", .notYetValid(before: TokenForge.now + 31),
                TokenForge.token(payload: TokenForge.claims(more: ",\"nbf\":1795240031"))),
            Row(
                "nbf at the end of time", .notYetValid(before: .max),
                TokenForge.token(payload: TokenForge.claims(more: ",\"nbf\":9223372036854775807"))),
        ]

    static let accounts: [Row] =
        [
            nil, "\"\"", "null", "true", "1.0", "1e3", "[\"PACC1\"]", "{}", #""PACC1\n""#, #""PACC1\u0000""#,
            #""\u007f""#,
            #""\u0085""#, "\"\(String(repeating: "x", count: 256))\"",
        ].map { claim in
            Row(
                "account \(claim?.prefix(20) ?? "missing")", .account,
                TokenForge.token(payload: TokenForge.claims(account: claim)))
        } + [
            Row(
                "account of 64 KB", .tooLarge,
                TokenForge.token(payload: TokenForge.claims(account: "\"\(String(repeating: "x", count: 65_536))\"")))
        ]

    static let signatures: [Row] = [
        Row("another key's", .signature, TokenForge.token(by: .otherP256)),
        Row(
            "an RSA key's", .signature, TokenForge.token(.rs256, by: .otherRSA),
            by: TokenForge.verifier(TestKey.rsa.publicPEM)),
        Row(
            "RS256 said to be PS256", .signature, relabelled(.rs256, as: .ps256),
            by: TokenForge.verifier(TestKey.rsa.publicPEM)),
        Row(
            "PS256 said to be RS256", .signature, relabelled(.ps256, as: .rs256),
            by: TokenForge.verifier(TestKey.rsa.publicPEM)),
        Row(
            "RS256 said to be RS512", .signature, relabelled(.rs256, as: .rs512),
            by: TokenForge.verifier(TestKey.rsa.publicPEM)),
        Row(
            "RS256 of a byte less", .signature, cut(.rs256, by: .rsa, from: 1),
            by: TokenForge.verifier(TestKey.rsa.publicPEM)),
        Row("ES256 in DER", .signature, es256 { TestKey.p256.signDER($0, hash: "SHA256") }),
        Row("ES256 of a byte less", .signature, cut(.es256, by: .p256, from: 1)),
        Row(
            "ES256 with two bytes more", .signature,
            es256 { TestKey.raw(TestKey.p256.signDER($0, hash: "SHA256"), half: 33) }),
        Row("ES256 with r 0", .signature, es256 { zeros + TestKey.p256.sign($0, .es256).suffix(32) }),
        Row("ES256 with s 0", .signature, es256 { TestKey.p256.sign($0, .es256).prefix(32) + zeros }),
        Row("ES256 with r and s 0", .signature, es256 { _ in zeros + zeros }),
        Row(
            "ES256 with r the order", .signature,
            es256 { KeyCurve.p256.order + TestKey.p256.sign($0, .es256).suffix(32) }),
        Row(
            "ES256 with s the order", .signature,
            es256 { TestKey.p256.sign($0, .es256).prefix(32) + KeyCurve.p256.order }),
        Row("HS256 of one byte", .signature, hs { _ in [0] }, by: sharing),
        Row(
            "HS256 of 31 bytes", .signature, hs { TestKey.hmac($0, secret: TokenForge.secret, .hs256).dropLast() },
            by: sharing),
        Row(
            "HS256 of 33 bytes", .signature, hs { TestKey.hmac($0, secret: TokenForge.secret, .hs256) + [0] },
            by: sharing),
        Row("HS256 of another secret", .signature, signedHS(.hs256, with: TokenForge.secret + [1]), by: sharing),
        Row("HS256 with an empty secret", .signature, signedHS(.hs256, with: []), by: sharing),
        Row("payload changed", .signature, swappedPayload),
    ]

    /// What the token's own words refuse costs no signature: with a bad one they are the reason.
    static let unpaid: [Row] = [
        ("iss", .issuer, TokenForge.claims(iss: #""x""#)), ("aud", .audience, TokenForge.claims(aud: #""x""#)),
        ("exp", .expired(at: 7), TokenForge.claims(exp: "7")), ("no exp", .claim(.exp), TokenForge.claims(exp: nil)),
        ("nbf", .notYetValid(before: .max), TokenForge.claims(more: ",\"nbf\":9223372036854775807")),
    ].map { Row("\($0) of a token of nobody", $1, TokenForge.token(by: .otherP256, payload: $2)) }
}

extension TokenRefusalTests {
    static let dot = UInt8(ascii: ".")
    static let good = TokenForge.token()
    static let zeros = [UInt8](repeating: 0, count: 32)
    static let megabyte = String(repeating: "k", count: 1 << 20)
    static let deepHeader = TokenForge.token(
        header: "{\"alg\":\"ES256\",\"x\":" + String(repeating: "[", count: 500) + String(repeating: "]", count: 500)
            + "}")
    static let twoNames = TokenForge.jwks(
        TokenForge.webKey(TestKey.p256, .p256, more: ",\"kid\":\"a\""),
        TokenForge.webKey(TestKey.otherP256, .p256, more: ",\"kid\":\"b\""))
    static let twoIssuers = TokenVerifier(issuers: [
        TokenForge.trusted(TokenForge.jwks(TokenForge.webKey(TestKey.p256, .p256, more: ",\"kid\":\"a\""))),
        TokenForge.trusted(
            TokenForge.jwks(TokenForge.webKey(TestKey.otherP256, .p256, more: ",\"kid\":\"a\"")),
            issuer: "https://other.example"),
    ])
    static let withoutAudience = TrustedIssuer(
        issuer: TokenForge.issuer, audiences: [], accountClaim: "account_id", keys: KeySet(TestKey.p256.publicPEM).keys)
    static let sharing = TokenForge.verifier(
        TokenForge.jwks(TokenForge.webKey(secret: TokenForge.secret)), algorithms: [.hs256])

    /// The 86th character of a 64-byte signature carries four bits that belong to nothing.
    static let withTrailingBits: [UInt8] = {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let last = alphabet.firstIndex(of: good.last!)!
        return good.dropLast() + [alphabet[last + 1]]
    }()

    static let swappedPayload: [UInt8] = {
        let parts = good.split(separator: dot)
        let payload = Array(TokenForge.encode(Array(TokenForge.claims(account: "\"PACC2\"").utf8)).utf8)
        return Array([Array(parts[0]), payload, Array(parts[2])].joined(separator: [dot]))
    }()

    static func signedHS(_ algorithm: SignatureAlgorithm, with secret: [UInt8]) -> [UInt8] {
        TokenForge.token(header: "{\"alg\":\"\(algorithm.rawValue)\"}", payload: TokenForge.claims()) {
            TestKey.hmac($0, secret: secret, algorithm)
        }
    }

    static func confused(_ algorithm: SignatureAlgorithm) -> [UInt8] {
        signedHS(algorithm, with: TestKey.rsa.publicPEM)
    }

    static func relabelled(_ real: SignatureAlgorithm, as label: SignatureAlgorithm) -> [UInt8] {
        TokenForge.token(header: "{\"alg\":\"\(label.rawValue)\"}", payload: TokenForge.claims()) {
            TestKey.rsa.sign($0, real)
        }
    }

    static func cut(_ algorithm: SignatureAlgorithm, by key: TestKey, from count: Int) -> [UInt8] {
        TokenForge.token(header: "{\"alg\":\"\(algorithm.rawValue)\"}", payload: TokenForge.claims()) {
            key.sign($0, algorithm).dropLast(count)
        }
    }

    static func es256(_ sign: ([UInt8]) -> [UInt8]) -> [UInt8] {
        TokenForge.token(header: #"{"alg":"ES256"}"#, payload: TokenForge.claims(), sign: sign)
    }

    static func hs(_ sign: ([UInt8]) -> [UInt8]) -> [UInt8] {
        TokenForge.token(header: #"{"alg":"HS256"}"#, payload: TokenForge.claims(), sign: sign)
    }
}
