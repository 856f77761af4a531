import CJOSE
import Tokens

/// A private key made for the tests, signing by OpenSSL directly: what cjose verifies here, cjose did not make.
///
// SAFETY: OpenSSL keys may be used by several threads as long as nobody changes them; nothing does after `init`.
@safe
package final class TestKey: @unchecked Sendable {
    private let key: OpaquePointer

    package static let rsa = TestKey(bits: 2048)
    package static let otherRSA = TestKey(bits: 2048)
    package static let smallRSA = TestKey(bits: 1024)
    package static let p256 = TestKey(group: "P-256")
    package static let otherP256 = TestKey(group: "P-256")
    package static let p384 = TestKey(group: "P-384")
    package static let p521 = TestKey(group: "P-521")
    package static let secp256k1 = TestKey(group: "secp256k1")
    package static let ed25519 = TestKey(kind: "ED25519")

    private init(kind: String = "RSA", bits: Int32? = nil, group: String? = nil) {
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, group == nil ? kind : "EC", nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        unsafe EVP_PKEY_keygen_init(context)
        if let bits { unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits) }
        if let group { unsafe EVP_PKEY_CTX_set_group_name(context, group) }
        var made: OpaquePointer?
        unsafe EVP_PKEY_generate(context, &made)
        unsafe key = made!
    }

    /// A key on P-256 of which this coordinate begins with a zero, as one of 256 does.
    package static func p256(withZeroAtBeginOf coordinate: String) -> TestKey {
        while true {
            let key = TestKey(group: "P-256")
            if key.parameter(coordinate).count < 32 { return key }
        }
    }

    /// The public half of an RSA key of 2,048 bits with another exponent, big-endian: nobody could sign with it.
    package static func rsa(exponent: [UInt8]) -> TestKey {
        func coded(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
            let count = content.count
            let length = count < 128 ? [UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 255)]
            return [tag] + length + content
        }
        // RFC 8017 §A.1.1 within RFC 5280 §4.1: a zero before each number keeps it positive.
        let numbers = coded(0x30, coded(2, [0] + rsa.parameter("n")) + coded(2, [0] + exponent))
        let algorithm: [UInt8] = [0x30, 13, 6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 13, 1, 1, 1, 5, 0]
        return TestKey(coded(0x30, algorithm + coded(3, [0] + numbers)))
    }

    private init(_ subjectPublicKeyInfo: [UInt8]) {
        var made: OpaquePointer?
        unsafe subjectPublicKeyInfo.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            unsafe made = d2i_PUBKEY(nil, &start, bytes.count)
        }
        unsafe key = made!
    }

    deinit { unsafe EVP_PKEY_free(key) }

    package var publicPEM: [UInt8] { unsafe Self.text { unsafe PEM_write_bio_PUBKEY($0, key) } }
    package var privatePEM: [UInt8] {
        unsafe Self.text { unsafe PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
    }
    package var encryptedPEM: [UInt8] {
        unsafe Self.text { unsafe PEM_write_bio_PrivateKey($0, key, EVP_aes_128_cbc(), "pw", 2, nil, nil) }
    }

    /// A certificate over the key, signed by itself.
    package var certificatePEM: [UInt8] { certificatePEM(signedBy: self) }

    package func certificatePEM(signedBy signer: TestKey) -> [UInt8] {
        let certificate = unsafe X509_new()
        defer { unsafe X509_free(certificate) }
        unsafe X509_gmtime_adj(X509_getm_notBefore(certificate), 0)
        unsafe X509_gmtime_adj(X509_getm_notAfter(certificate), 3600)
        unsafe X509_set_pubkey(certificate, key)
        unsafe X509_sign(certificate, signer.key, EVP_sha256())
        return unsafe Self.text { unsafe PEM_write_bio_X509($0, certificate) }
    }

    /// A parameter of the key, big-endian.
    package func parameter(_ name: String, paddedTo count: Int? = nil) -> [UInt8] {
        let octets = unsafe livegate_key_parameter(key, name)
        defer { unsafe livegate_octets_free(octets) }
        let bytes = unsafe Array(UnsafeBufferPointer(start: octets.bytes, count: octets.count))
        return Array(repeating: 0, count: max(0, (count ?? 0) - bytes.count)) + bytes
    }

    /// A signature as OpenSSL has it: for a curve the DER form.
    package func signDER(_ message: [UInt8], hash: String, isPSS: Bool = false) -> [UInt8] {
        let context = unsafe EVP_MD_CTX_new()
        defer { unsafe EVP_MD_CTX_free(context) }
        var choice: OpaquePointer?
        unsafe EVP_DigestSignInit(context, &choice, EVP_get_digestbyname(hash), nil, key)
        if isPSS {
            unsafe EVP_PKEY_CTX_set_rsa_padding(choice, RSA_PKCS1_PSS_PADDING)
            unsafe EVP_PKEY_CTX_set_rsa_pss_saltlen(choice, RSA_PSS_SALTLEN_DIGEST)
        }
        var signature = [UInt8](repeating: 0, count: 1024)
        var count = signature.count
        unsafe EVP_DigestSign(context, &signature, &count, message, message.count)
        return Array(signature.prefix(count))
    }

    /// A signature by an RS, PS or ES algorithm as JWS has it, by the algorithm's hash; ES halves as long as `half`.
    package func sign(_ message: [UInt8], _ algorithm: SignatureAlgorithm) -> [UInt8] {
        let signature = signDER(
            message, hash: "SHA\(algorithm.hashBytes * 8)", isPSS: algorithm.rawValue.hasPrefix("PS"))
        guard case .ellipticCurve(let curve) = algorithm.family else { return signature }
        return Self.raw(signature, half: curve.coordinateBytes)
    }

    /// The two numbers of a DER signature side by side, each `half` bytes long (RFC 7518 §3.4).
    package static func raw(_ der: [UInt8], half: Int) -> [UInt8] {
        var start: UnsafePointer<UInt8>?
        return unsafe der.withUnsafeBufferPointer { bytes in
            unsafe start = bytes.baseAddress
            let pair = unsafe d2i_ECDSA_SIG(nil, &start, bytes.count)
            defer { unsafe ECDSA_SIG_free(pair) }
            var raw = [UInt8](repeating: 0, count: 2 * half)
            unsafe raw.withUnsafeMutableBufferPointer {
                unsafe _ = BN_bn2binpad(ECDSA_SIG_get0_r(pair), $0.baseAddress, Int32(half))
                unsafe _ = BN_bn2binpad(ECDSA_SIG_get0_s(pair), $0.baseAddress! + half, Int32(half))
            }
            return raw
        }
    }

    package static func hmac(_ message: [UInt8], secret: [UInt8], _ algorithm: SignatureAlgorithm) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: algorithm.hashBytes)
        var count = 0
        unsafe _ = EVP_Q_mac(
            nil, "HMAC", nil, "SHA\(algorithm.hashBytes * 8)", nil, secret, secret.count, message, message.count,
            &result,
            result.count, &count)
        return result
    }

    private static func text(_ write: (OpaquePointer?) -> Int32) -> [UInt8] {
        let memory = unsafe BIO_new(BIO_s_mem())
        defer { unsafe _ = BIO_free(memory) }
        precondition(unsafe write(memory) == 1, "OpenSSL writes no PEM")
        var text = [UInt8](repeating: 0, count: 16384)
        let count = unsafe BIO_read(memory, &text, Int32(text.count))
        return Array(text.prefix(Int(count)))
    }
}
