import CLinux
import COpenSSL

/// Hashes of short messages, by OpenSSL. They use only stack memory. If OpenSSL has no memory, only the new connection is
/// refused, and no other is affected.
package enum Digest {
    /// 20 bytes. Only for the accept value of RFC 6455 §4.2.2, never where a secure hash is needed.
    package static func sha1(_ message: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 20) { output, count in
            unsafe livegate_sha1(message, message.count, output.baseAddress)
            count = 20
        }
    }

    /// 32 bytes.
    package static func sha256(_ message: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
            unsafe livegate_sha256(message, message.count, output.baseAddress)
            count = 32
        }
    }

    /// HMAC with SHA-256 (RFC 2104): 32 bytes. Also derives a key from a secret and the purpose of the key.
    package static func hmac(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        let blockBytes = 64
        let short = key.count > blockBytes ? sha256(key) : key
        let block = short + [UInt8](repeating: 0, count: blockBytes - short.count)
        return sha256(block.map { $0 ^ 0x5C } + sha256(block.map { $0 ^ 0x36 } + message))
    }
}

/// The OpenSSL that is loaded.
package enum TLSLibrary {
    /// For example `3.0.17`.
    package static var version: String {
        unsafe OpenSSL_version(OPENSSL_VERSION_STRING).map { unsafe String(cString: $0) } ?? ""
    }
}

/// Compares secrets, or values derived from them. The time depends only on their length.
package func constantTimeEquals(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    guard a.count == b.count else { return false }
    return unsafe a.withUnsafeBytes { left in
        unsafe b.withUnsafeBytes { right in
            unsafe left.isEmpty || CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
        }
    }
}

/// Unpredictable random bytes. They come from the kernel: OpenSSL's generator allocates memory on each thread that it
/// serves first, and the threads of a loop change.
package enum Random {
    /// - Parameter count: at most 1 MiB; keys and masks are a few bytes.
    package static func bytes(_ count: Int) -> [UInt8] {
        precondition((0...(1 << 20)).contains(count), "between 0 and 1 MiB of random bytes, not \(count)")
        var bytes = [UInt8](repeating: 0, count: count)
        unsafe bytes.withUnsafeMutableBytes { unsafe fill($0) }
        return bytes
    }

    /// Four bytes as a number: a frame's mask (RFC 6455 §5.3), jitter.
    package static func word() -> UInt32 {
        var word: UInt32 = 0
        unsafe withUnsafeMutableBytes(of: &word) { unsafe fill($0) }
        return word
    }

    private static func fill(_ room: UnsafeMutableRawBufferPointer) {
        let answer = unsafe linux_random(room.baseAddress, UInt64(room.count))
        // Without randomness there is no key, no mask and no session. To continue would be worse than to stop.
        precondition(answer == 0, "no random bytes: error \(-answer)")
    }
}
