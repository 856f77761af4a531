import LiveUpdates
import TLS

/// Replaces a token for a short time, once: for clients that cannot set a header.
package struct Ticket: Sendable {
    /// The longest life that the settings may give a ticket.
    package static let maximumLifetimeSeconds: Int64 = 600

    /// Random; no two tickets have the same.
    package let id: ID
    /// The second since 1970 from which the ticket is refused.
    package let endsAt: Int64
    /// The identity of the caller, from the token.
    package let identity: Identity

    /// 16 bytes.
    package struct ID: Hashable, Sendable {
        static let byteCount = 16

        let high: UInt64
        let low: UInt64

        package static func random() -> ID {
            let bytes = Random.bytes(byteCount)
            return ID(high: bytes[..<8].bigEndianNumber, low: bytes[8...].bigEndianNumber)
        }

        package init(high: UInt64, low: UInt64) {
            self.high = high
            self.low = low
        }

        var bytes: [UInt8] { high.bigEndianBytes + low.bigEndianBytes }
    }

    /// A ticket for the rest of a token's life, or for the lifetime if that is shorter.
    ///
    /// - Parameters:
    ///   - lifetimeSeconds: at least 1.
    ///   - now: seconds since 1970, before the end of the identity.
    package init(_ identity: Identity, id: ID, lifetimeSeconds: Int64, now: Int64) {
        self.init(id: id, endsAt: min(now + lifetimeSeconds, identity.expiresAt ?? .max), identity: identity)
    }

    init(id: ID, endsAt: Int64, identity: Identity) {
        self.id = id
        self.endsAt = endsAt
        self.identity = identity
    }
}

/// Makes texts of tickets that no other program can make, read or change. Every node with the same secrets can read them.
///
/// A text is base64url of a version, the id, and the sealed rest. The key is derived from the secret and the id. So each key
/// seals one text, however many nodes make texts.
package struct TicketSeal: Sendable {
    /// The most bytes of a text, with any account, subject and name of a token.
    package static let maximumTextBytes = 1024
    /// Each secret is one more that admits callers, and one more try for a forged text.
    package static let maximumSecrets = 16
    package static let minimumSecretBytes = 32

    private static let version: UInt8 = 2
    private let keys: [[UInt8]]

    /// - Parameter secrets: 1 to ``maximumSecrets``. The first seals; all of them open.
    package init(secrets: [[UInt8]]) {
        precondition((1...Self.maximumSecrets).contains(secrets.count), "\(secrets.count) secrets")
        precondition(secrets.allSatisfy { $0.count >= Self.minimumSecretBytes }, "a secret that is too short")
        // If a secret is by mistake in several files, what else is derived from it is another key.
        keys = secrets.map { Digest.hmac(Array("livegate ticket".utf8), key: $0) }
    }

    /// Nil if OpenSSL has no memory.
    package func text(_ ticket: Ticket) -> String? {
        let open = [Self.version] + ticket.id.bytes
        let key = Self.key(keys[0], ticket.id)
        guard let sealed = Sealing.seal(TicketCoding.encode(ticket), key: key, associated: open) else { return nil }
        let text = Base64.encodeURL(open + sealed)
        precondition(text.utf8.count <= Self.maximumTextBytes, "a ticket of \(text.utf8.count) bytes")
        return text
    }

    /// The ticket of a text; nil if none of the secrets made it. This does not check whether it has expired or was used.
    package func ticket(_ text: [UInt8]) -> Ticket? {
        guard text.count <= Self.maximumTextBytes, let bytes = Base64.decodeURL(text), bytes.first == Self.version,
            bytes.count > 1 + Ticket.ID.byteCount + Sealing.tagBytes
        else { return nil }
        let open = Array(bytes[..<(1 + Ticket.ID.byteCount)])
        let id = Ticket.ID(high: open[1..<9].bigEndianNumber, low: open[9...].bigEndianNumber)
        let sealed = Array(bytes[open.count...])
        for key in keys {
            guard let inside = Sealing.open(sealed, key: Self.key(key, id), associated: open) else { continue }
            return TicketCoding.decode(inside, id: id)
        }
        return nil
    }

    private static func key(_ key: [UInt8], _ id: Ticket.ID) -> [UInt8] { Digest.hmac(id.bytes, key: key) }
}

extension Collection<UInt8> {
    fileprivate var bigEndianNumber: UInt64 { reduce(0) { $0 << 8 | UInt64($1) } }
}

extension UInt64 {
    fileprivate var bigEndianBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * UInt64($0))) } }
}

/// The sealed part: the end, then the members of the identity, each after a byte with its length; 0 means none. The end of a
/// token is a byte longer if it is only the end of a server's answer. The mark of a fetched key follows that of the voucher.
private enum TicketCoding {
    static func encode(_ ticket: Ticket) -> [UInt8] {
        let identity = ticket.identity
        var bytes = UInt64(bitPattern: ticket.endsAt).bigEndianBytes
        func append(_ text: [UInt8]) {
            precondition(text.count <= 255, "a text of \(text.count) bytes in a ticket")
            bytes.append(UInt8(text.count))
            bytes.append(contentsOf: text)
        }
        func append(_ second: Int64?) { append(second.map { UInt64(bitPattern: $0).bigEndianBytes } ?? []) }
        append(Array(identity.account.text.utf8))
        append(identity.subject.map { Array($0.utf8) } ?? [])
        let end = identity.expiresAt.map { UInt64(bitPattern: $0).bigEndianBytes } ?? []
        append(identity.isOpenEnded && !end.isEmpty ? end + [1] : end)
        append(identity.issuedAt)
        append(identity.tokenID.map { Array($0.utf8) } ?? [])
        append(identity.staticToken ?? [])
        append((identity.voucher?.mark.bigEndianBytes ?? []) + (identity.keyMark?.bigEndianBytes ?? []))
        return bytes
    }

    /// Nil for anything that ``encode(_:)`` does not write: only another version of this program could have sealed it.
    static func decode(_ bytes: [UInt8], id: Ticket.ID) -> Ticket? {
        guard bytes.count > 8 else { return nil }
        var rest = bytes[8...]
        func next() -> ArraySlice<UInt8>? {
            guard let count = rest.popFirst(), rest.count >= Int(count) else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return rest.prefix(Int(count))
        }
        guard let account = next(), let subject = next(), let expiresAt = next(), let issuedAt = next(),
            let tokenID = next(), let staticToken = next(), let voucher = next(), rest.isEmpty, !account.isEmpty,
            staticToken.isEmpty || staticToken.count == StaticTokens.digestBytes,
            issuedAt.isEmpty || issuedAt.count == 8, [0, 8, 16].contains(voucher.count),
            expiresAt.isEmpty || expiresAt.count == 8 || expiresAt.count == 9 && expiresAt.last == 1,
            let accountText = String(validating: account, as: UTF8.self),
            let subjectText = String(validating: subject, as: UTF8.self),
            let tokenIDText = String(validating: tokenID, as: UTF8.self)
        else { return nil }
        func second(_ bytes: ArraySlice<UInt8>) -> Int64? {
            bytes.isEmpty ? nil : Int64(bitPattern: bytes.bigEndianNumber)
        }
        let identity = Identity(
            account: Account(accountText), subject: subjectText.isEmpty ? nil : subjectText,
            expiresAt: second(expiresAt.prefix(8)), isOpenEnded: expiresAt.count == 9, issuedAt: second(issuedAt),
            tokenID: tokenIDText.isEmpty ? nil : tokenIDText,
            staticToken: staticToken.isEmpty ? nil : Array(staticToken),
            voucher: voucher.isEmpty ? nil : Voucher(mark: voucher.prefix(8).bigEndianNumber),
            keyMark: voucher.count == 16 ? voucher.suffix(8).bigEndianNumber : nil)
        return Ticket(id: id, endsAt: Int64(bitPattern: bytes[..<8].bigEndianNumber), identity: identity)
    }
}
