import TLS

/// A signature algorithm of JWS, by its name in the header and in the settings (RFC 7518 §3.1).
///
/// `none` is not included: a token that names it, in upper or lower case, names no algorithm.
package enum SignatureAlgorithm: String, CaseIterable, Sendable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case hs256 = "HS256"
    case hs384 = "HS384"
    case hs512 = "HS512"

    /// The algorithms of an issuer whose settings name none: those whose keys can verify but not sign.
    package static let asymmetric: [SignatureAlgorithm] = [
        .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .es256, .es384, .es512,
    ]

    /// The algorithm of exactly this name. Bytes are compared, since header names are case-sensitive (RFC 7515 §4.1.1).
    package init?(name: [UInt8]) {
        guard let found = Self.allCases.first(where: { $0.rawValue.utf8.elementsEqual(name) }) else { return nil }
        self = found
    }

    /// The kind of key that the algorithm needs.
    package var family: KeyFamily {
        switch self {
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: .rsa
        case .es256: .ellipticCurve(.p256)
        case .es384: .ellipticCurve(.p384)
        case .es512: .ellipticCurve(.p521)
        case .hs256, .hs384, .hs512: .secret
        }
    }

    /// The length of the hash in bytes, and so the least that RFC 7518 §3.2 allows for an HS secret.
    package var hashBytes: Int {
        switch self {
        case .rs256, .ps256, .es256, .hs256: 32
        case .rs384, .ps384, .es384, .hs384: 48
        case .rs512, .ps512, .es512, .hs512: 64
        }
    }
}

/// A curve of RFC 7518 §6.2.1.1.
package enum KeyCurve: String, CaseIterable, Sendable {
    case p256 = "P-256"
    case p384 = "P-384"
    case p521 = "P-521"

    /// The length of a coordinate, and of each half of a signature, in bytes (RFC 7518 §3.4, §6.2.1.2).
    package var coordinateBytes: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        case .p521: 66
        }
    }

    /// The order of the base point, big-endian: `r` and `s` of a signature are from 1 to one below it (SEC 2 §2).
    package var order: [UInt8] {
        switch self {
        case .p256: Self.bytes("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        case .p384:
            Self.bytes(
                "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973")
        case .p521:
            Self.bytes(
                "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
                    + "fa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409")
        }
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        Hexadecimal.decode(hexadecimal) ?? []
    }
}

/// The kind of a key, and the curve of an elliptic-curve key. An algorithm fits exactly one kind.
package enum KeyFamily: Hashable, Sendable {
    case rsa
    case ellipticCurve(KeyCurve)
    case secret
}
