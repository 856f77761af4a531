import CJOSE

/// A key of JWS, public or secret, in cjose's form. A key on a curve is also in OpenSSL's form, which verifies with it.
///
/// Only this type calls cjose and OpenSSL for tokens. It first checks what they do not. The algorithm must fit the key's kind and
/// curve. The signature must have the algorithm's length (cjose 0.6 reads beyond the end of a short HMAC). And `r` and `s` must
/// be in range.
///
// SAFETY: nothing changes after `init`, and the pointers never leave. `cjose_jws_verify` and `cjose_jws_sign` receive the key as
// const and only read its fields. cjose's own reference count is not used (this object's is). What OpenSSL creates lazily inside
// a key at its first use, it creates under a lock of that key.
@safe
package final class SignatureKey: @unchecked Sendable {
    /// RFC 7518 §3.3 asks for at least this many bits of an RSA key.
    package static let minimumRSABits = 2048
    /// More than any key in use; a check with such a key occupies a loop for about 1 ms.
    package static let maximumRSABits = 8192

    /// The kind of the key. Algorithms of other kinds are never tried with it.
    package let family: KeyFamily
    /// The key's name in its set (`kid`); a key from a PEM file has none.
    package let name: [UInt8]?
    /// The one algorithm that a JWK may restrict its key to.
    package let onlyAlgorithm: SignatureAlgorithm?
    /// The length of an RSA modulus or of a secret in bits.
    package let sizeBits: Int
    /// Identifies the key, together with its name: another key with the same name has another mark.
    package let mark: UInt64

    private let key: OpaquePointer
    /// The point of a key on a curve; nil for other keys.
    private let point: OpaquePointer?

    /// Owns a key that cjose made, and its point if it is on a curve. `nil` if no algorithm uses this kind of key.
    init?(
        taking key: OpaquePointer, point: OpaquePointer? = nil, name: [UInt8]? = nil,
        onlyAlgorithm: SignatureAlgorithm? = nil
    ) {
        unsafe self.key = key
        unsafe self.point = point
        self.name = name
        self.onlyAlgorithm = onlyAlgorithm
        unsafe sizeBits = Int(cjose_jwk_get_keysize(key, nil))
        let bytes = name ?? []
        mark = unsafe livegate_jwk_mark(key, bytes, bytes.count)
        switch unsafe cjose_jwk_get_kty(key, nil) {
        case CJOSE_JWK_KTY_RSA: family = .rsa
        case CJOSE_JWK_KTY_OCT: family = .secret
        case CJOSE_JWK_KTY_EC:
            switch unsafe cjose_jwk_EC_get_curve(key, nil) {
            case CJOSE_JWK_EC_P_256: family = .ellipticCurve(.p256)
            case CJOSE_JWK_EC_P_384: family = .ellipticCurve(.p384)
            case CJOSE_JWK_EC_P_521: family = .ellipticCurve(.p521)
            default: return nil
            }
            guard unsafe point != nil else { return nil }
        default: return nil
        }
    }

    deinit {
        unsafe EVP_PKEY_free(point)
        unsafe _ = cjose_jwk_release(key)
    }

    /// Whether this key may be used with the algorithm.
    package func fits(_ algorithm: SignatureAlgorithm) -> Bool {
        guard family == algorithm.family, onlyAlgorithm == nil || onlyAlgorithm == algorithm else { return false }
        return family != .secret || sizeBits >= algorithm.hashBytes * 8
    }

    /// Whether a token could mean both keys: they have the same name, and some algorithm fits both.
    func isNamedLike(_ other: SignatureKey) -> Bool {
        guard let name, name == other.name, family == other.family else { return false }
        return onlyAlgorithm == nil || other.onlyAlgorithm == nil || onlyAlgorithm == other.onlyAlgorithm
    }

    /// Whether both are the same key, for the same tokens. A key without a mark, for lack of memory, equals only itself.
    func verifiesAs(_ other: SignatureKey) -> Bool {
        self === other || mark != 0 && mark == other.mark && onlyAlgorithm == other.onlyAlgorithm
    }

    /// Whether `token`, a whole compact JWS of which `signature` is the decoded third part, was signed by this key.
    ///
    /// Any loop may call it, several at the same time.
    package func verifies(_ token: [UInt8], algorithm: SignatureAlgorithm, signature: [UInt8]) -> Bool {
        guard fits(algorithm), hasRightForm(signature, algorithm) else { return false }
        guard let point = unsafe point else { return unsafe livegate_jws_verify(key, token, token.count) }
        // RFC 7515 §5.2: what is signed is all before the second dot, as it came.
        guard let end = token.lastIndex(of: UInt8(ascii: ".")) else { return false }
        return unsafe livegate_point_verify(point, algorithm.hashBytes, token, end, signature, signature.count)
    }

    /// A compact token of `payload`. `nil` if the key has no private half or does not fit the algorithm.
    package func sign(_ payload: [UInt8], algorithm: SignatureAlgorithm, keyName: String?) -> String? {
        guard fits(algorithm) else { return nil }
        guard let token = unsafe livegate_jws_sign(key, algorithm.rawValue, keyName, payload, payload.count) else {
            return nil
        }
        defer { unsafe free(token) }
        return unsafe String(cString: token)
    }

    private func hasRightForm(_ signature: [UInt8], _ algorithm: SignatureAlgorithm) -> Bool {
        switch family {
        case .rsa: return signature.count == (sizeBits + 7) / 8
        case .secret: return signature.count == algorithm.hashBytes
        case .ellipticCurve(let curve):
            // RFC 7518 §3.4: r and s one after the other, each as long as a coordinate. DER has another length, or fails here.
            guard signature.count == 2 * curve.coordinateBytes else { return false }
            let order = curve.order
            return [signature.prefix(curve.coordinateBytes), signature.suffix(curve.coordinateBytes)].allSatisfy {
                $0.contains { $0 != 0 } && $0.lexicographicallyPrecedes(order)
            }
        }
    }
}

extension SignatureKey {
    /// An RSA key of a JWK: modulus and exponent, big-endian. `nil` if they are no valid key.
    package static func rsa(
        modulus: [UInt8], exponent: [UInt8], name: [UInt8]?, onlyAlgorithm: SignatureAlgorithm?
    ) -> SignatureKey? {
        let made = unsafe livegate_jwk_rsa(modulus, modulus.count, exponent, exponent.count)
        return unsafe owned(made, nil, name, onlyAlgorithm)
    }

    /// A point of a curve, from a JWK. `nil` if it is not on the curve.
    package static func point(
        x: [UInt8], y: [UInt8], on curve: KeyCurve, name: [UInt8]?, onlyAlgorithm: SignatureAlgorithm?
    ) -> SignatureKey? {
        guard x.count == curve.coordinateBytes, y.count == curve.coordinateBytes else { return nil }
        let identifier =
            switch curve {
            case .p256: CJOSE_JWK_EC_P_256
            case .p384: CJOSE_JWK_EC_P_384
            case .p521: CJOSE_JWK_EC_P_521
            }
        let made = unsafe livegate_jwk_point(identifier, x, y, x.count)
        let point = unsafe livegate_point_key(identifier, x, x.count, y, y.count)
        return unsafe owned(made, point, name, onlyAlgorithm)
    }

    /// A shared secret, for HS algorithms. `nil` if it is empty.
    package static func secret(_ bytes: [UInt8], name: [UInt8]?, onlyAlgorithm: SignatureAlgorithm?) -> SignatureKey? {
        guard !bytes.isEmpty else { return nil }
        return unsafe owned(cjose_jwk_create_oct_spec(bytes, bytes.count, nil), nil, name, onlyAlgorithm)
    }

    private static func owned(
        _ made: OpaquePointer?, _ point: OpaquePointer?, _ name: [UInt8]?, _ onlyAlgorithm: SignatureAlgorithm?
    ) -> SignatureKey? {
        guard let made = unsafe made else {
            unsafe EVP_PKEY_free(point)
            return nil
        }
        return unsafe SignatureKey(taking: made, point: point, name: name, onlyAlgorithm: onlyAlgorithm)
    }
}
