import LiveUpdates
import TLS

/// Fixed tokens for development, stored as their SHA-256: the file of `auth.tokens`.
package struct StaticTokens: Sendable {
    /// Development needs a handful.
    package static let maximumTokens = 1000
    /// The length of a SHA-256 in bytes.
    package static let digestBytes = 32

    /// One token.
    package struct Entry: Sendable {
        package let digest: [UInt8]
        package let account: Account
        package let subject: String?
        /// The identity of all callers with this token.
        let identity: Identity

        package init(digest: [UInt8], account: Account, subject: String?) {
            self.digest = digest
            self.account = account
            self.subject = subject
            identity = Identity(account: account, subject: subject, expiresAt: nil, staticToken: digest)
        }
    }

    /// Entries by the first bytes of their digests. Of several with the same digest, the last counts.
    private let entries: [UInt64: [Entry]]

    package init(_ entries: [Entry] = []) {
        self.entries = Dictionary(grouping: entries) { Self.beginning($0.digest) }
    }

    package var isEmpty: Bool { entries.isEmpty }

    package var count: Int { entries.values.reduce(0) { $0 + $1.count } }

    /// The entry of a token, by its SHA-256. The time shows at most whether eight bytes of the digest match an entry, which no
    /// attacker can choose. The other bytes are compared in constant time.
    func entry(_ digest: [UInt8]) -> Entry? {
        guard !entries.isEmpty else { return nil }
        return entries[Self.beginning(digest)]?.last { constantTimeEquals($0.digest, digest) }
    }

    /// Whether the token of this digest exists, and means this account and subject.
    func means(_ digest: [UInt8], _ account: Account, _ subject: String?) -> Bool {
        guard let entry = entries[Self.beginning(digest)]?.last(where: { $0.digest == digest }) else { return false }
        return entry.account == account && entry.subject == subject
    }

    /// The tokens that mean the same among others, and the number of those that do not.
    package func stillIn(_ others: StaticTokens) -> (tokens: StaticTokens, lost: Int) {
        let all = entries.values.joined()
        let kept = all.filter { others.means($0.digest, $0.account, $0.subject) }
        return (StaticTokens(kept), all.count - kept.count)
    }

    private static func beginning(_ digest: [UInt8]) -> UInt64 {
        digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
