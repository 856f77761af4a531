import TLS

/// Reads one key of a JWKS (RFC 7517 §4, RFC 7518 §6).
enum JSONWebKey {
    enum Reading {
        case key(SignatureKey, isPrivate: Bool)
        /// The key does not verify tokens here, but the set is valid: RFC 7517 §5 requires readers to ignore such keys.
        case other(String)
        case malformed(String)
    }

    static func read(_ members: JOSEObject) -> Reading {
        guard let kind = members.text("kty") else { return .malformed("no kty") }
        if let use = members["use"] {
            guard case .text(let bytes) = use else { return .malformed("its use is no text") }
            if bytes != Array("sig".utf8) { return .other("its use is not sig") }
        }
        if let operations = members["key_ops"], !verifies(operations) { return .other("its key_ops have no verify") }
        var onlyAlgorithm: SignatureAlgorithm?
        if let algorithm = members["alg"] {
            guard case .text(let name) = algorithm else { return .malformed("its alg is no text") }
            onlyAlgorithm = SignatureAlgorithm(name: name)
            if onlyAlgorithm == nil { return .other("its alg is none that tokens are signed with here") }
        }
        var name: [UInt8]?
        if let kid = members["kid"] {
            guard case .text(let bytes) = kid, KeyName.isUsable(bytes) else {
                return .malformed("its kid is not 1 to \(KeyName.maximumBytes) letters, digits and signs of URLs")
            }
            name = bytes
        }
        switch String(decoding: kind, as: UTF8.self) {
        case "RSA": return rsa(members, name, onlyAlgorithm)
        case "EC": return point(members, name, onlyAlgorithm)
        case "oct":
            guard let secret = number(members, "k"),
                let key = SignatureKey.secret(secret, name: name, onlyAlgorithm: onlyAlgorithm)
            else { return .malformed("its k is missing or not base64url") }
            return .key(key, isPrivate: false)
        default: return .other("its kty is none that tokens are signed with here")
        }
    }

    private static func verifies(_ operations: JOSEObject.Value) -> Bool {
        guard case .list(let list) = operations else { return false }
        return list.contains { $0.string.map { Array($0.utf8) } == Array("verify".utf8) }
    }

    private static func rsa(_ members: JOSEObject, _ name: [UInt8]?, _ onlyAlgorithm: SignatureAlgorithm?) -> Reading {
        guard let modulus = number(members, "n"), let exponent = number(members, "e") else {
            return .malformed("its n or e is missing or not base64url")
        }
        guard RSAExponent.isUsable(RSAExponent.number(exponent)) else {
            return .malformed("its e is not \(RSAExponent.rule)")
        }
        guard let key = SignatureKey.rsa(modulus: modulus, exponent: exponent, name: name, onlyAlgorithm: onlyAlgorithm)
        else { return .malformed("its n and e are no RSA key") }
        return .key(key, isPrivate: members.has("d"))
    }

    private static func point(_ members: JOSEObject, _ name: [UInt8]?, _ onlyAlgorithm: SignatureAlgorithm?) -> Reading
    {
        guard let curveName = members.text("crv") else { return .malformed("no crv") }
        guard let curve = KeyCurve(rawValue: String(decoding: curveName, as: UTF8.self)) else {
            return .other("its crv is none that tokens are signed with here")
        }
        guard let x = number(members, "x"), let y = number(members, "y"),
            let key = SignatureKey.point(x: x, y: y, on: curve, name: name, onlyAlgorithm: onlyAlgorithm)
        else { return .malformed("its x and y are no point of \(curve.rawValue) in base64url") }
        return .key(key, isPrivate: members.has("d"))
    }

    private static func number(_ members: JOSEObject, _ name: String) -> [UInt8]? {
        members.text(name).flatMap { Base64.decodeURL($0) }
    }
}

/// Which public exponents an RSA key may have, from any source.
///
/// With the exponent 1 anyone could forge a signature, and an even exponent has no private half. A check costs one multiplication
/// for each bit: with 3,071 bits 11 ms instead of 0.03. Usual keys have 65537. NIST allows 256 bits (FIPS 186-5 §5.1), which no
/// real key has.
enum RSAExponent {
    static let maximumBits = 64
    /// The rule, for the end of a sentence.
    static let rule = "an odd number from 3 of at most \(maximumBits) bits"

    /// - Parameter exponent: 0 if it is too large.
    static func isUsable(_ exponent: UInt64) -> Bool { exponent >= 3 && exponent % 2 == 1 }

    /// The number in these bytes, big-endian; 0 if it has too many bits.
    static func number(_ bytes: [UInt8]) -> UInt64 {
        let digits = bytes.drop { $0 == 0 }
        return digits.count * 8 <= maximumBits ? digits.reduce(0) { $0 << 8 | UInt64($1) } : 0
    }
}

/// The name of a key (`kid`): its bytes identify a key of one issuer, and it is used for nothing else.
enum KeyName {
    /// Thumbprints have 43 characters, a few providers use URLs.
    static let maximumBytes = 256

    /// Whether a key's name may have this form: printable ASCII without blanks, quotes, backslash and angle brackets, and without
    /// `..`. Real keys have no such name, so the keys are not searched for a token that gives one.
    static func isUsable(_ name: [UInt8]) -> Bool {
        guard (1...maximumBytes).contains(name.count) else { return false }
        let refused = Set("\"'`\\<>".utf8)
        guard name.allSatisfy({ (0x21...0x7E).contains($0) && !refused.contains($0) }) else { return false }
        return !zip(name, name.dropFirst()).contains { $0 == UInt8(ascii: ".") && $1 == UInt8(ascii: ".") }
    }
}
