import Synchronization

/// The source of an issuer's keys, and how often they are fetched.
package struct KeySource: Hashable, Sendable {
    /// The claim `iss`.
    package let issuer: String
    package let url: String
    /// The authorities that may vouch for the server, as PEM; nil: those of the system.
    package let authorities: [UInt8]?
    package let algorithms: [SignatureAlgorithm]
    package let timing: KeySchedule.Timing

    package init(
        issuer: String, url: String, authorities: [UInt8]?, algorithms: [SignatureAlgorithm], timing: KeySchedule.Timing
    ) {
        self.issuer = issuer
        self.url = url
        self.authorities = authorities
        self.algorithms = algorithms
        self.timing = timing
    }

    /// Whether keys from one source are valid for the other. How and how often they are fetched does not matter.
    package func hasKeys(of other: KeySource) -> Bool { issuer == other.issuer && url == other.url }
}

/// The latest fetched keys of an issuer, for all verifiers. The code that fetches keys publishes them here.
package final class FetchedKeys: Sendable {
    /// The present keys.
    package struct Snapshot: Sendable {
        /// Nil: there are no keys, or they no longer count.
        package let keys: [SignatureKey]?
        /// Their marks; nil if no keys count.
        package let marks: Set<UInt64>?
        /// Whether a token that no key verifies is worth a fetch, because its key may be new or may replace one of the same name.
        /// It is false for a moment after such a fetch. So a flood of these tokens costs no more than other bad tokens.
        package let asksForUnknown: Bool
        /// It increases with each publication of other keys. A verification by earlier keys then proves nothing.
        package fileprivate(set) var generation: UInt64 = 0

        package init(keys: [SignatureKey]?, asksForUnknown: Bool) {
            self.keys = keys
            marks = keys.map { Set($0.lazy.map(\.mark)) }
            self.asksForUnknown = asksForUnknown
        }

        /// Whether both verify the same tokens, by the same keys in the same order.
        fileprivate func verifiesAs(_ other: Snapshot) -> Bool {
            guard let keys, let others = other.keys else { return self.keys == nil && other.keys == nil }
            return keys.elementsEqual(others) { $0.verifiesAs($1) }
        }
    }

    package let source: KeySource
    private let stored = Mutex(Snapshot(keys: nil, asksForUnknown: false))

    package init(_ source: KeySource) { self.source = source }

    package var snapshot: Snapshot { stored.withLock { $0 } }

    package func publish(_ snapshot: Snapshot) {
        stored.withLock { stored in
            var next = snapshot
            next.generation = stored.generation + (stored.verifiesAs(snapshot) ? 0 : 1)
            stored = next
        }
    }
}

/// A key set from an issuer's server.
package enum FetchedKeySet {
    /// More than any provider publishes. A larger set is refused as a whole.
    package static let maximumBytes = KeySet.maximumFileBytes
    /// Keys with names cost nothing until a token names them. ``TrustedIssuer/maximumTries`` limits how many keys one token is
    /// tried with.
    package static let maximumKeys = 100

    package enum Problem: Error, Hashable, Sendable {
        case notJWKS
        case tooMany(Int)
        case noneUsable(of: Int)
    }

    /// The keys of a JWKS that can verify tokens. Other keys are skipped (RFC 7517 §5), and so is a key with the name of an
    /// earlier one. So a set that repeats a name makes no token cost more.
    package static func read(
        _ text: [UInt8], algorithms: [SignatureAlgorithm]
    ) throws(Problem) -> [SignatureKey] {
        guard text.count <= maximumBytes, let document = JOSEObject(text), case .list(let entries)? = document["keys"]
        else { throw .notJWKS }
        guard entries.count <= maximumKeys else { throw .tooMany(entries.count) }
        let usable = entries.compactMap { entry -> SignatureKey? in
            guard let members = JOSEObject(entry), case .key(let key, _) = JSONWebKey.read(members) else { return nil }
            if key.family == .rsa, !(SignatureKey.minimumRSABits...SignatureKey.maximumRSABits).contains(key.sizeBits) {
                return nil
            }
            return algorithms.contains { key.fits($0) } ? key : nil
        }
        guard !usable.isEmpty else { throw .noneUsable(of: entries.count) }
        return usable.reduce(into: []) { keys, key in
            if !keys.contains(where: key.isNamedLike) { keys.append(key) }
        }
    }
}

extension FetchedKeySet.Problem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notJWKS: "the answer is no JWKS: one JSON object with a list \"keys\" and no member twice is expected"
        case .tooMany(let count): "\(count) keys, over the limit of \(FetchedKeySet.maximumKeys)"
        case .noneUsable(let count):
            "none of its \(count) keys can be used: RSA from 2048 bits or EC on P-256, P-384, P-521 is expected, for the "
                + "algorithms in the settings"
        }
    }
}
