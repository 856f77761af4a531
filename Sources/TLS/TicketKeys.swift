import COpenSSL
import Glibc
import Synchronization

/// The keys that seal session tickets. They are derived from a secret and the time; there is a new one every six hours.
///
/// Every process with the secret derives the same keys, so that a client resumes on any node and after a restart. The key
/// of a period seals during that period, and opens during it and the two that follow. The secret opens all tickets that
/// were ever made with it, and with TLS 1.2 the sessions behind them.
package final class TicketKeys: Sendable {
    /// Six hours: a stolen key opens little, and a phone needs two or three keys a day.
    package static let periodSeconds: Int64 = 21_600
    /// The newest key, which seals, and the two before it.
    package static let acceptedPeriods = 3
    /// The longest life of a ticket: as long as its key opens.
    static let lifetimeSeconds = Int(periodSeconds) * acceptedPeriods
    /// As long as the keys that are derived from it.
    package static let minimumSecretBytes = 32

    /// Keys of a random secret that only this process has: tickets are valid only for this process.
    package static let ofProcess = TicketKeys(secret: Random.bytes(minimumSecretBytes))

    struct Key: Sendable {
        /// Public: it is at the beginning of each ticket (RFC 5077 §4).
        let name: [UInt8]
        let cipher: [UInt8]
        let mac: [UInt8]
    }

    private struct Derived: Sendable {
        var period: Int64
        /// The newest is first.
        var keys: [Key]
    }

    private let secret: [UInt8]
    private let now: @Sendable () -> Int64
    private let derived = Mutex<Derived?>(nil)

    /// - Parameters:
    ///   - secret: at least ``minimumSecretBytes`` that cannot be guessed.
    ///   - now: seconds since 1970.
    package init(secret: [UInt8], now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }) {
        precondition(secret.count >= Self.minimumSecretBytes, "a secret of \(secret.count) bytes")
        self.secret = secret
        self.now = now
    }

    /// The secret in the bytes of a file: all of them, without a line break at the end if enough bytes are left then.
    /// Nil where there are too few.
    package static func secret(inFile bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= minimumSecretBytes else { return nil }
        var end = bytes.count
        if bytes[end - 1] == UInt8(ascii: "\n") { end -= 1 }
        if end < bytes.count, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        return end >= minimumSecretBytes ? Array(bytes[..<end]) : bytes
    }

    /// The keys that open tickets now, beginning with the one that seals. From any thread.
    /// Nil where OpenSSL has no memory to derive them: then no ticket is issued or accepted.
    var keys: [Key]? {
        // A clock before 1970 is wrong, but not a reason to stop.
        let period = max(0, now()) / Self.periodSeconds
        return derived.withLock { kept in
            if let kept, kept.period == period { return kept.keys }
            let keys = (0..<Int64(Self.acceptedPeriods)).compactMap { derive(period - $0) }
            guard keys.count == Self.acceptedPeriods else { return nil }
            kept = Derived(period: period, keys: keys)
            return keys
        }
    }

    private func derive(_ period: Int64) -> Key? {
        let info = Array("livegate tls ticket 1 ".utf8) + Array("\(period)".utf8)
        let count = 16 + 32 + 32
        var bytes = [UInt8](repeating: 0, count: count)
        ErrorQueue.clear()
        guard unsafe livegate_hkdf_sha256(secret, secret.count, info, info.count, &bytes, count) == 1 else {
            ErrorQueue.clear()
            return nil
        }
        return Key(name: Array(bytes[..<16]), cipher: Array(bytes[16..<48]), mac: Array(bytes[48...]))
    }

    // MARK: - In a context

    /// The index at which a context stores its keys. They are released with the `SSL_CTX`, which sessions may hold longer than
    /// its owner does.
    private static let index: Int32 = unsafe livegate_ctx_new_index { _, keys, _, _, _, _ in
        if let keys = unsafe keys { unsafe Unmanaged<TicketKeys>.fromOpaque(keys).release() }
    }

    /// Makes a context seal and open its tickets with these keys.
    func seal(ticketsOf context: OpaquePointer) throws(TLSError) {
        ErrorQueue.clear()
        let held = unsafe Unmanaged.passRetained(self)
        guard unsafe SSL_CTX_set_ex_data(context, Self.index, held.toOpaque()) == 1 else {
            unsafe held.release()
            throw .openSSL(call: "SSL_CTX_set_ex_data", cause: ErrorQueue.drain().text)
        }
        guard unsafe SSL_CTX_set_tlsext_ticket_key_evp_cb(context, chooseTicketKey) == 1 else {
            throw .openSSL(call: "SSL_CTX_set_tlsext_ticket_key_evp_cb", cause: ErrorQueue.drain().text)
        }
    }

    fileprivate static func keys(of ssl: OpaquePointer) -> TicketKeys? {
        guard let keys = unsafe SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), index) else { return nil }
        return unsafe Unmanaged<TicketKeys>.fromOpaque(keys).takeUnretainedValue()
    }
}

/// The result for `SSL_CTX_set_tlsext_ticket_key_evp_cb`. 0: no ticket is issued, or the given one is refused and a full
/// handshake follows. 1: the key is set. 2: the key is set, and the client should get a newer ticket.
private func chooseTicketKey(
    _ ssl: OpaquePointer?, _ name: UnsafeMutablePointer<UInt8>?, _ iv: UnsafeMutablePointer<UInt8>?,
    _ cipher: OpaquePointer?, _ mac: OpaquePointer?, _ seals: Int32
) -> Int32 {
    guard let ssl = unsafe ssl, let name = unsafe name, let iv = unsafe iv,
        let keys = unsafe TicketKeys.keys(of: ssl)?.keys
    else { return 0 }
    let index: Int
    if seals == 1 {
        index = 0
        unsafe name.update(from: keys[0].name, count: keys[0].name.count)
        guard unsafe RAND_bytes(iv, 16) == 1 else { return 0 }
    } else {
        let given = unsafe UnsafeBufferPointer(start: name, count: 16)
        guard let found = keys.firstIndex(where: { unsafe given.elementsEqual($0.name) }) else { return 0 }
        index = found
    }
    let key = keys[index]
    guard unsafe livegate_set_ticket_key(cipher, mac, key.cipher, key.mac, iv, seals) == 1 else { return 0 }
    return index == 0 ? 1 : 2
}
