import COpenSSL

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
