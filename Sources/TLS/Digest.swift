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
