import Synchronization

/// Where the keys of an issuer are fetched, and how often.
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

    /// Whether keys that were fetched for one are those of the other: how and how often they are fetched does not matter.
    package func hasKeys(of other: KeySource) -> Bool { issuer == other.issuer && url == other.url }
}

/// The keys of an issuer that were fetched last, for all who verify. Who fetches them publishes them here.
package final class FetchedKeys: Sendable {
    /// What there is now.
    package struct Snapshot: Sendable {
        /// Nil: none, or none that count any more.
        package let keys: [SignatureKey]?
        /// Their marks; nil where there are none that count.
        package let marks: Set<UInt64>?
        /// Whether a token that no key verifies is worth a question, since its key may be new, or have replaced another one of
        /// its name; false while such a question was answered a moment ago, so that a flood of them costs what other bad tokens
        /// cost.
        package let asksForUnknown: Bool
        /// Another one, and a higher, with each publication of other keys: what earlier ones have verified proves nothing then.
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

/// A key set that came from an issuer's server.
package enum FetchedKeySet {
    /// More than any provider publishes. What is larger is refused whole.
    package static let maximumBytes = KeySet.maximumFileBytes
    /// Keys with names cost nothing until a token names them; how many one token is tried with,
    /// ``TrustedIssuer/maximumTries`` says.
    package static let maximumKeys = 100

    package enum Problem: Error, Hashable, Sendable {
        case notJWKS
        case tooMany(Int)
        case noneUsable(of: Int)
    }

    /// The keys of a JWKS that tokens can be verified with; the others are passed over (RFC 7517 §5), and so are those with the
    /// name of one before: a set that repeats a name makes no token cost more.
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
