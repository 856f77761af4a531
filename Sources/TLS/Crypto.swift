import COpenSSL

/// Hashes of short messages, by OpenSSL.
package enum Digest {
    /// 20 bytes. For the accept value of RFC 6455 §4.2.2 and nothing that needs a sound hash.
    package static func sha1(_ message: [UInt8]) -> [UInt8] {
        unsafe digest(message, EVP_sha1())
    }

    /// 32 bytes.
    package static func sha256(_ message: [UInt8]) -> [UInt8] {
        unsafe digest(message, EVP_sha256())
    }

    private static func digest(_ message: [UInt8], _ algorithm: OpaquePointer?) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        let result = unsafe message.withUnsafeBytes { bytes in
            unsafe EVP_Digest(bytes.baseAddress, bytes.count, &output, &length, algorithm, nil)
        }
        // Fails only if a broken openssl.cnf takes the algorithm away; nothing works then.
        precondition(result == 1, "EVP_Digest failed: \(ErrorQueue.drain().text)")
        output.removeLast(output.count - Int(length))
        return output
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
