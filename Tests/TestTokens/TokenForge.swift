import TLS
import Tokens

/// Writes tokens by hand, honest and forged: header and payload are the very texts that are given.
package enum TokenForge {
    package static let issuer = "https://issuer.example"
    package static let audience = "livegate"
    /// The moment of all these tests.
    package static let now: Int64 = 1_795_240_000
    package static let secret = Array("a secret of the tests that has enough bytes for HS512, all 64 of them".utf8)

    /// An honest payload, with claims added before its end or the whole of it replaced member by member.
    package static func claims(
        iss: String? = "\"\(issuer)\"", aud: String? = "\"\(audience)\"", exp: String? = "1795243600",
        account: String? = "\"PACC1\"", more: String = ""
    ) -> String {
        let members = [("iss", iss), ("aud", aud), ("exp", exp), ("account_id", account)]
        let written = members.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }
        return "{\(written.joined(separator: ","))\(more)}"
    }

    package static func token(header: String, payload: String, sign: ([UInt8]) -> [UInt8]) -> [UInt8] {
        let input = encode(Array(header.utf8)) + "." + encode(Array(payload.utf8))
        return Array((input + "." + encode(sign(Array(input.utf8)))).utf8)
    }

    /// A token that is honestly signed; `header` replaces the ordinary one of the algorithm.
    package static func token(
        _ algorithm: SignatureAlgorithm = .es256, by key: TestKey = .p256, header: String? = nil,
        payload: String = claims()
    ) -> [UInt8] {
        token(header: header ?? "{\"alg\":\"\(algorithm.rawValue)\"}", payload: payload) { key.sign($0, algorithm) }
    }

    /// An honest token of exactly this many bytes; blanks in the header make up for lengths that base64 has not.
    package static func sized(_ count: Int) -> [UInt8] {
        for filler in (count * 3 / 4 - 400)..<(count * 3 / 4) {
            for blanks in ["", " ", "  "] {
                let payload = claims(more: ",\"f\":\"\(String(repeating: "f", count: filler))\"")
                let length = [payload.utf8.count, 15 + blanks.utf8.count, 64].map { ($0 * 4 + 2) / 3 }.reduce(2, +)
                if length == count { return token(header: "{\"alg\":\"ES256\"\(blanks)}", payload: payload) }
            }
        }
        preconditionFailure("no token has \(count) bytes")
    }

    /// A verifier of one issuer with these keys.
    package static func verifier(
        _ keys: [UInt8] = TestKey.p256.publicPEM, algorithms: [SignatureAlgorithm] = SignatureAlgorithm.asymmetric
    ) -> TokenVerifier {
        TokenVerifier(issuers: [trusted(keys, algorithms: algorithms)])
    }

    package static func trusted(
        _ keys: [UInt8], issuer: String = issuer, algorithms: [SignatureAlgorithm] = SignatureAlgorithm.asymmetric
    ) -> TrustedIssuer {
        TrustedIssuer(
            issuer: issuer, audiences: [audience], algorithms: algorithms, accountClaim: "account_id",
            keys: KeySet(keys).keys)
    }

    /// A JWKS of a P-256 and an RSA key, or others, each with more members at will.
    package static func jwks(_ keys: String...) -> [UInt8] {
        Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8)
    }

    package static func webKey(_ key: TestKey, _ curve: KeyCurve, more: String = "") -> String {
        let x = encode(key.parameter("qx", paddedTo: curve.coordinateBytes))
        let y = encode(key.parameter("qy", paddedTo: curve.coordinateBytes))
        return "{\"kty\":\"EC\",\"crv\":\"\(curve.rawValue)\",\"x\":\"\(x)\",\"y\":\"\(y)\"\(more)}"
    }

    package static func webKey(rsa key: TestKey, exponent: String? = nil, more: String = "") -> String {
        "{\"kty\":\"RSA\",\"n\":\"\(encode(key.parameter("n")))\",\"e\":\"\(exponent ?? encode(key.parameter("e")))\"\(more)}"
    }

    package static func webKey(secret: [UInt8], more: String = "") -> String {
        "{\"kty\":\"oct\",\"k\":\"\(encode(secret))\"\(more)}"
    }

    package static func encode(_ bytes: [UInt8]) -> String { Base64.encodeURL(bytes) }
}

extension Result where Success == Identity, Failure == TokenRefusal {
    package var refusal: TokenRefusal? {
        if case .failure(let refusal) = self { refusal } else { nil }
    }
}
