/// Who may sign tokens, with what, for whom. One entry of `auth.jwt`.
///
/// Keys belong to their issuer: a token is tried with the keys of the issuer that it names and with no others.
package struct TrustedIssuer: Sendable {
    /// With so many keys a token is tried at most that names none of them, however many its issuer has: each try costs the loop
    /// of its connection 0.03 to 1 ms, for whoever makes up tokens too. More than a rotation ever needs.
    package static let maximumTries = 8

    /// The claim `iss`, byte by byte.
    package let issuer: String
    /// One of these must stand in `aud`. Without any, a token that has `aud` is meant for somebody else and refused
    /// (RFC 7519 §4.1.3).
    package let audiences: [String]
    /// What the issuer may sign with. HS only if the settings say so.
    package let algorithms: [SignatureAlgorithm]
    /// The name of the claim that holds the account.
    package let accountClaim: String
    /// Those of a file; none where they are fetched.
    package let keys: [SignatureKey]
    /// Where they are fetched from a server.
    package let fetched: FetchedKeys?
    let voucher: Voucher
    private let filed: FetchedKeys.Snapshot

    package init(
        issuer: String, audiences: [String], algorithms: [SignatureAlgorithm] = SignatureAlgorithm.asymmetric,
        accountClaim: String, keys: [SignatureKey] = [], fetched: FetchedKeys? = nil
    ) {
        self.issuer = issuer
        self.audiences = audiences
        self.algorithms = algorithms
        self.accountClaim = accountClaim
        self.keys = keys
        self.fetched = fetched
        voucher = .issuer(issuer)
        filed = FetchedKeys.Snapshot(keys: keys, asksForUnknown: false)
    }

    /// Whether tokens of this issuer could ever be accepted.
    package var mayHaveKeys: Bool { !keys.isEmpty || fetched != nil }

    /// Why no token of this issuer, or not every one, could be accepted; empty when all is well.
    package var problems: [KeySet.Problem] {
        var problems: [KeySet.Problem] = []
        func add(_ text: String) { problems.append(KeySet.Problem(text: text, isWarning: false)) }
        for algorithm in algorithms where algorithm.family == .secret {
            for key in keys where key.family == .secret && (key.onlyAlgorithm ?? algorithm) == algorithm {
                guard key.sizeBits / 8 < algorithm.hashBytes else { continue }
                add(
                    "a secret of \(key.sizeBits / 8) bytes is too short for \(algorithm.rawValue): "
                        + "at least \(algorithm.hashBytes) are needed")
            }
        }
        if problems.isEmpty, !keys.isEmpty,
            !algorithms.contains(where: { algorithm in keys.contains { $0.fits(algorithm) } })
        {
            let names = algorithms.map(\.rawValue).joined(separator: ", ")
            add("no key fits the algorithms \(names): give a key of their kind, or name the algorithms of the keys")
        }
        return problems
    }

    /// The keys that count now.
    var known: FetchedKeys.Snapshot { fetched?.snapshot ?? filed }

    /// The key that has signed a token.
    func signer(
        of token: [UInt8], _ header: TokenHeader, _ signature: [UInt8], among known: FetchedKeys.Snapshot
    ) throws(TokenRefusal) -> SignatureKey {
        guard let keys = known.keys else { throw .unavailable }
        let candidates = Self.candidates(among: keys, header.algorithm, keyName: header.keyName)
        for key in candidates where key.verifies(token, algorithm: header.algorithm, signature: signature) {
            return key
        }
        // Its key may be new, or another one under the same name.
        if known.asksForUnknown { throw .undecided(.keys(issuer: issuer)) }
        throw candidates.isEmpty ? .unknownKey : .signature
    }

    /// The keys that may have signed a token with this algorithm and key name: the first ``maximumTries`` of them.
    ///
    /// A token that gives a name is tried with the key of that name, and with those without one (from PEM files) where there is
    /// none; a token that gives none is tried with all of them.
    static func candidates(
        among keys: [SignatureKey], _ algorithm: SignatureAlgorithm, keyName: [UInt8]?
    ) -> [SignatureKey] {
        var candidates = keys
        if let keyName {
            candidates = keys.filter { $0.name == keyName }
            if candidates.isEmpty { candidates = keys.filter { $0.name == nil } }
        }
        return Array(candidates.lazy.filter { $0.fits(algorithm) }.prefix(maximumTries))
    }
}
