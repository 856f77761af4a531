/// Who may sign tokens, with which keys, for which audience. One entry of `auth.jwt`.
///
/// Keys belong to their issuer: a token is tried only with the keys of the issuer that it names.
package struct TrustedIssuer: Sendable {
    /// The most keys with which a token without a key name is tried, however many its issuer has. Each try costs the loop of its
    /// connection 0.03 to 1 ms, also for made-up tokens. It is more than a rotation ever needs.
    package static let maximumTries = 8

    /// The claim `iss`, byte by byte.
    package let issuer: String
    /// One of these must be in `aud`. If there are none, a token with `aud` is meant for another audience and is refused (RFC
    /// 7519 §4.1.3).
    package let audiences: [String]
    /// The algorithms that the issuer may sign with. HS only if the settings allow it.
    package let algorithms: [SignatureAlgorithm]
    /// The name of the claim that holds the account.
    package let accountClaim: String
    /// Keys from a file; empty if they are fetched.
    package let keys: [SignatureKey]
    /// Keys fetched from a server, if they are.
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

    /// Why no token of this issuer, or not every one, could be accepted; empty if there is no problem.
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

    /// The key that signed a token.
    func signer(
        of token: [UInt8], _ header: TokenHeader, _ signature: [UInt8], among known: FetchedKeys.Snapshot
    ) throws(TokenRefusal) -> SignatureKey {
        guard let keys = known.keys else { throw .unavailable }
        let candidates = Self.candidates(among: keys, header.algorithm, keyName: header.keyName)
        for key in candidates where key.verifies(token, algorithm: header.algorithm, signature: signature) {
            return key
        }
        // Its key may be new, or may replace one of the same name.
        if known.asksForUnknown { throw .undecided(.keys(issuer: issuer)) }
        throw candidates.isEmpty ? .unknownKey : .signature
    }

    /// The keys that may have signed a token with this algorithm and key name: the first ``maximumTries`` of them.
    ///
    /// A token that gives a name is tried with the key of that name. If there is none, it is tried with the keys without a name
    /// (from PEM files). A token that gives no name is tried with all keys.
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
