import LiveUpdates
import TLS

/// Fixed tokens for development, known by their SHA-256: the file of `auth.tokens`.
package struct StaticTokens: Sendable {
    /// Development has a handful; each attempt to come in compares with all of them.
    package static let maximumTokens = 1000
    /// The length of a SHA-256 in bytes.
    package static let digestBytes = 32

    /// One token.
    package struct Entry: Sendable {
        package let digest: [UInt8]
        package let account: Account
        package let subject: String?

        package init(digest: [UInt8], account: Account, subject: String?) {
            self.digest = digest
            self.account = account
            self.subject = subject
        }
    }

    private let entries: [Entry]

    package init(_ entries: [Entry] = []) {
        self.entries = entries
    }

    package var isEmpty: Bool { entries.isEmpty }

    /// The entry of a token. Every entry is compared whole, found or not, so that the time shows nothing.
    func entry(_ token: [UInt8]) -> Entry? {
        guard !entries.isEmpty else { return nil }
        let digest = Digest.sha256(token)
        var found: Entry?
        for entry in entries where constantTimeEquals(entry.digest, digest) { found = entry }
        return found
    }
}
