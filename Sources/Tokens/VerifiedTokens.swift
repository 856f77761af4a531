import Synchronization

/// The results of tokens whose signature was verified, for their next use. They are stored by SHA-256, never with the token.
///
/// A result is used again only if a check now would give the same: the token has not expired, the clock was not set back before
/// the check, and its issuer's keys are the same. Checks of each caller (origin, revocation, account) are not part of it. When
/// settings are reloaded, it begins empty.
///
/// Any thread may call it. O(1), except when at most ``maximumTokensOfHalf`` are removed at once.
package final class VerifiedTokens: Sendable {
    /// The 20,000 clients of a node that all reconnect at once, and half as many again.
    package static let maximumTokens = 32_768
    /// Of all entries, by ``Kept/bytes``. With names of usual length the number is reached first.
    package static let maximumBytes = 16 << 20

    /// A half has at most 256 entries: to free them, or to grow the table, occupies a loop for less than 0.1 ms.
    private static let parts = 64
    static var maximumTokensOfHalf: Int { maximumTokens / parts / 2 }
    static var maximumBytesOfHalf: Int { maximumBytes / parts / 2 }

    /// What is known of one token.
    struct Kept: Sendable {
        let identity: Identity
        /// The second since 1970 at which it was verified. `nbf` and `iat` were checked with it.
        let verifiedAt: Int64
        /// ``FetchedKeys/Snapshot/generation`` of the keys that verified it.
        let generation: UInt64

        /// An object, a digest and an entry of a table, about 350 bytes, and the texts.
        var bytes: Int {
            350 + identity.account.text.utf8.count + (identity.subject?.utf8.count ?? 0)
                + (identity.tokenID?.utf8.count ?? 0)
        }

        /// Whether a check at this second, with keys of this generation, could only give the same result.
        func counts(now: Int64, generation: UInt64?) -> Bool {
            guard let end = identity.expiresAt else { return false }
            return verifiedAt <= now && now < end && self.generation == generation
        }
    }

    /// The tokens whose digests begin alike. The newer half has the latest ones. When it is full, the older half is removed, with
    /// the tokens that were not used again since then.
    private struct Halves {
        var newer: [[UInt8]: Kept] = [:]
        var older: [[UInt8]: Kept] = [:]
        var newerBytes = 0

        mutating func add(_ digest: [UInt8], _ kept: Kept) {
            let bytes = newerBytes + kept.bytes
            if newer.count >= VerifiedTokens.maximumTokensOfHalf || bytes > VerifiedTokens.maximumBytesOfHalf {
                older = newer
                newer = [:]
                newerBytes = 0
            }
            newer[digest] = kept
            newerBytes += kept.bytes
        }

        mutating func remove(_ digest: [UInt8]) {
            if let before = newer.removeValue(forKey: digest) { newerBytes -= before.bytes }
            older[digest] = nil
        }
    }

    private let kept = Mutex([Halves](repeating: Halves(), count: VerifiedTokens.parts))

    /// How many are kept, and how many bytes they use.
    var size: (count: Int, bytes: Int) {
        kept.withLock { kept in
            let all = kept.lazy.flatMap { [$0.newer.values, $0.older.values].joined() }
            return (all.count { _ in true }, all.reduce(0) { $0 + $1.bytes })
        }
    }

    /// What is known of the token of this digest. The caller checks whether it still counts.
    func find(_ digest: [UInt8]) -> Kept? {
        kept.withLock { kept in
            let part = Self.part(digest)
            if let found = kept[part].newer[digest] { return found }
            guard let found = kept[part].older.removeValue(forKey: digest) else { return nil }
            kept[part].add(digest, found)
            return found
        }
    }

    /// Keeps the result of a check.
    func keep(_ digest: [UInt8], _ found: Kept) {
        kept.withLock { kept in
            let part = Self.part(digest)
            kept[part].remove(digest)
            kept[part].add(digest, found)
        }
    }

    /// It must be verified again.
    func forget(_ digest: [UInt8]) { kept.withLock { $0[Self.part(digest)].remove(digest) } }

    private static func part(_ digest: [UInt8]) -> Int { Int(digest[0]) % parts }
}
