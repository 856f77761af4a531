import COpenSSL
import Glibc
import Synchronization

/// The keys under which session tickets are sealed: derived from a secret and the time, a new one every six hours.
///
/// Whoever has the secret derives the same keys, so that a client resumes on any node and after a restart. The key of a
/// period seals during that period, and opens during it and the two that follow. The secret opens all tickets that were
/// ever made with it, and with TLS 1.2 the sessions behind them.
package final class TicketKeys: Sendable {
    /// Six hours: of each key there is little to be had, and of a phone's day two or three keys.
    package static let periodSeconds: Int64 = 21_600
    /// The newest, which seals, and the two before.
    package static let acceptedPeriods = 3
    /// So long a ticket may be good at most: as long as its key opens.
    static let lifetimeSeconds = Int(periodSeconds) * acceptedPeriods
    /// As long as the keys that are made of it.
    package static let minimumSecretBytes = 32

    /// Keys of a random secret that nobody else has: tickets are good for this process alone.
    package static let ofProcess = TicketKeys(secret: Random.bytes(minimumSecretBytes))

    struct Key: Sendable {
        /// Public: stands in front of each ticket (RFC 5077 §4).
        let name: [UInt8]
        let cipher: [UInt8]
        let mac: [UInt8]
    }

    private struct Derived: Sendable {
        var period: Int64
        /// The newest first.
        var keys: [Key]
    }

    private let secret: [UInt8]
    private let now: @Sendable () -> Int64
    private let derived = Mutex<Derived?>(nil)

    /// - Parameters:
    ///   - secret: at least ``minimumSecretBytes`` that nobody can guess.
    ///   - now: seconds since 1970.
    package init(secret: [UInt8], now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }) {
        precondition(secret.count >= Self.minimumSecretBytes, "a secret of \(secret.count) bytes")
        self.secret = secret
        self.now = now
    }

    /// The secret in the bytes of a file: all of them, but for a line break at the end where enough is left without it.
    /// Nil where they are too few.
    package static func secret(inFile bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= minimumSecretBytes else { return nil }
        var end = bytes.count
        if bytes[end - 1] == UInt8(ascii: "\n") { end -= 1 }
        if end < bytes.count, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        return end >= minimumSecretBytes ? Array(bytes[..<end]) : bytes
    }

    /// Those that open tickets now, the one that seals first. Any thread may ask.
    /// Nil where OpenSSL finds no memory to derive them: no ticket is given or taken then.
    var keys: [Key]? {
        // A clock before 1970 is wrong, and no reason to stop.
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

    /// Where a context keeps its keys. They are let go with the `SSL_CTX`, which sessions may hold longer than its owner
    /// does.
    private static let index: Int32 = unsafe livegate_ctx_new_index { _, keys, _, _, _, _ in
        if let keys = unsafe keys { unsafe Unmanaged<TicketKeys>.fromOpaque(keys).release() }
    }

    /// Has the tickets of a context made and opened with these keys.
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

/// What `SSL_CTX_set_tlsext_ticket_key_evp_cb` asks for: 0, no ticket is made, or the one at hand is not taken and the
/// handshake goes on in full; 1, the key is set; 2, it is, and the client should get a newer ticket.
private func chooseTicketKey(
    _ ssl: OpaquePointer?, _ name: UnsafeMutablePointer<UInt8>?, _ iv: UnsafeMutablePointer<UInt8>?,
    _ cipher: OpaquePointer?, _ mac: OpaquePointer?, _ seals: Int32
) -> Int32 {
    guard let ssl = unsafe ssl, let name = unsafe name, let iv = unsafe iv,
        let keys = unsafe TicketKeys.keys(of: ssl)?.keys
    else { return 0 }
    let place: Int
    if seals == 1 {
        place = 0
        unsafe name.update(from: keys[0].name, count: keys[0].name.count)
        guard unsafe RAND_bytes(iv, 16) == 1 else { return 0 }
    } else {
        let given = unsafe UnsafeBufferPointer(start: name, count: 16)
        guard let found = keys.firstIndex(where: { unsafe given.elementsEqual($0.name) }) else { return 0 }
        place = found
    }
    let key = keys[place]
    guard unsafe livegate_set_ticket_key(cipher, mac, key.cipher, key.mac, iv, seals) == 1 else { return 0 }
    return place == 0 ? 1 : 2
}
