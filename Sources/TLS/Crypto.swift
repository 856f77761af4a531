import COpenSSL

/// Hashes of short messages, by OpenSSL.
package enum Digest {
    /// 20 bytes. For the accept value of RFC 6455 §4.2.2 and nothing that needs a sound hash.
    package static func sha1(_ message: [UInt8]) -> [UInt8] { sha1Algorithm.digest(message) }

    /// 32 bytes.
    package static func sha256(_ message: [UInt8]) -> [UInt8] { sha256Algorithm.digest(message) }

    private static let sha1Algorithm = DigestAlgorithm("SHA1", bytes: 20)
    private static let sha256Algorithm = DigestAlgorithm("SHA256", bytes: 32)
}

/// An algorithm as its provider has it, looked up once. `EVP_sha1()` and its like only name one: each digest then looks
/// it up again, which for a handshake's few bytes costs more than the hash.
// SAFETY: an EVP_MD never changes after EVP_MD_fetch, and OpenSSL lets any thread use it (provider-digest(7)). It is
// never freed: there are two, as long as the process lives.
@safe
private struct DigestAlgorithm: @unchecked Sendable {
    private let algorithm: OpaquePointer
    private let bytes: Int

    init(_ name: StaticString, bytes: Int) {
        // Fails only if a broken openssl.cnf takes the algorithm away; nothing works then.
        guard let found = unsafe EVP_MD_fetch(nil, name.utf8Start, nil) else {
            preconditionFailure("EVP_MD_fetch failed: \(ErrorQueue.drain().text)")
        }
        unsafe algorithm = found
        self.bytes = bytes
        precondition(Int(unsafe EVP_MD_get_size(found)) == bytes, "a digest of another length than its name says")
    }

    func digest(_ message: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: bytes) { output, count in
            let result = unsafe message.withUnsafeBytes { input in
                unsafe EVP_Digest(input.baseAddress, input.count, output.baseAddress, nil, algorithm, nil)
            }
            // Fails only for want of memory.
            precondition(result == 1, "EVP_Digest failed: \(ErrorQueue.drain().text)")
            count = bytes
        }
    }
}

/// The OpenSSL that is loaded.
package enum TLSLibrary {
    /// As `3.0.17`.
    package static var version: String {
        unsafe OpenSSL_version(OPENSSL_VERSION_STRING).map { unsafe String(cString: $0) } ?? ""
    }
}

/// Compares secrets, or what is derived from them, in a time that depends on their length alone.
package func constantTimeEquals(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    guard a.count == b.count else { return false }
    return unsafe a.withUnsafeBytes { left in
        unsafe b.withUnsafeBytes { right in
            unsafe left.isEmpty || CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
        }
    }
}

/// Random bytes that nobody can foretell, from OpenSSL's generator.
package enum Random {
    /// - Parameter count: at most 1 MiB; keys and masks are a few bytes.
    package static func bytes(_ count: Int) -> [UInt8] {
        precondition((0...(1 << 20)).contains(count), "between 0 and 1 MiB of random bytes, not \(count)")
        var bytes = [UInt8](repeating: 0, count: count)
        guard count > 0 else { return bytes }
        let result = unsafe RAND_bytes(&bytes, Int32(count))
        // Without randomness there is no key, no mask and no session; going on would be worse than stopping.
        precondition(result == 1, "RAND_bytes failed: \(ErrorQueue.drain().text)")
        return bytes
    }

    /// Four bytes as a number: a frame's mask (RFC 6455 §5.3), jitter.
    package static func word() -> UInt32 {
        var word: UInt32 = 0
        let result = unsafe withUnsafeMutableBytes(of: &word) { unsafe RAND_bytes($0.baseAddress, Int32($0.count)) }
        precondition(result == 1, "RAND_bytes failed: \(ErrorQueue.drain().text)")
        return word
    }
}
