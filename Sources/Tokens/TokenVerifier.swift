import LiveUpdates
import TLS

/// Turns a token into an account, or into a reason for a refusal.
///
/// It is immutable: every loop uses the same one, and a reload makes another. Nothing here logs, and a refusal contains no token
/// or part of one.
package struct TokenVerifier: Sendable {
    /// Tokens with many claims have 2 to 4 KiB. The request head may have 16 KiB by default.
    package static let maximumTokenBytes = 8192
    /// How far the clock of an issuer may be ahead of ours before its fresh tokens are refused.
    package static let notBeforeLeewaySeconds: Int64 = 30

    /// How far `iat` may be ahead of our clock: as far as a revocation may be (`before`).
    package static let issueLeewaySeconds: Int64 = 60

    package let issuers: [TrustedIssuer]
    /// The static tokens.
    package private(set) var tokens: StaticTokens
    private let anonymous: Identity?
    /// The server that decides about tokens that are not JWTs; nil: none.
    package let introspection: IntrospectionSource?
    /// The results of the JWTs that were verified, by the issuers of this verifier.
    private var verified = VerifiedTokens()

    /// - Parameter issuers: no two with the same `issuer` (`check` refuses them): the first would hide the second.
    /// - Parameter anonymous: the account of callers without a token; `nil` refuses them.
    package init(
        issuers: [TrustedIssuer], tokens: StaticTokens = StaticTokens(), anonymous: Account? = nil,
        introspection: IntrospectionSource? = nil
    ) {
        self.issuers = issuers
        self.tokens = tokens
        self.anonymous = anonymous.map { Identity(account: $0, subject: nil, expiresAt: nil) }
        self.introspection = introspection
    }

    /// Whether no caller can ever be admitted. `check` warns about that.
    package var letsNobodyIn: Bool {
        !issuers.contains(where: \.mayHaveKeys) && tokens.isEmpty && anonymous == nil && introspection == nil
    }

    /// The identity of a caller without a token.
    package func withoutToken() -> Result<Identity, TokenRefusal> {
        guard let anonymous else { return .failure(.missing) }
        return .success(anonymous)
    }

    /// Verifies one token: a static one, or a JWT.
    ///
    /// Costs one signature check for each key that may have signed the token: 0.03 to 0.2 ms, at most
    /// ``TrustedIssuer/maximumTries`` of them. It costs none if the token was verified before, or if its issuer, audience or
    /// times are refused. Any loop may call it.
    ///
    /// - Parameter now: seconds since 1970.
    package func verify(_ token: [UInt8], now: Int64) -> Result<Identity, TokenRefusal> {
        guard token.count <= Self.maximumTokenBytes else { return .failure(.tooLarge) }
        let digest = Digest.sha256(token)
        if let entry = tokens.entry(digest) { return .success(entry.identity) }
        // An empty token is not worth a question.
        if introspection != nil, !token.isEmpty, !Self.hasFormOfJWT(token) {
            return .failure(.undecided(.introspection(token: token)))
        }
        guard !issuers.isEmpty else { return .failure(.unknownToken) }
        if let identity = identity(verified: digest, now: now) { return .success(identity) }
        return Result { () throws(TokenRefusal) in try verifyJWT(token, digest, now: now) }
    }

    /// The identity of a token that was verified before, if a check now would give the same result.
    private func identity(verified digest: [UInt8], now: Int64) -> Identity? {
        guard let kept = verified.find(digest) else { return nil }
        let generation = issuers.first { $0.voucher == kept.identity.voucher }?.known.generation
        guard kept.counts(now: now, generation: generation) else {
            verified.forget(digest)
            return nil
        }
        return kept.identity
    }

    /// Three parts with dots between them (RFC 7515 §3.1). Whatever else is wrong, it is no other kind of token.
    private static func hasFormOfJWT(_ token: [UInt8]) -> Bool { token.count { $0 == UInt8(ascii: ".") } == 2 }

    /// The same with other static tokens. It has verified nothing yet.
    package func with(_ tokens: StaticTokens) -> TokenVerifier {
        var verifier = self
        verifier.tokens = tokens
        verifier.verified = VerifiedTokens()
        return verifier
    }

    /// Uses the keys of another verifier that have the same source, until new ones are fetched. Call it before this verifier is
    /// used.
    package func takeKeys(from before: TokenVerifier) {
        for keys in issuers.compactMap(\.fetched) {
            let known = before.issuers.lazy.compactMap(\.fetched).first { $0.source.hasKeys(of: keys.source) }
            if let known { keys.publish(known.snapshot) }
        }
    }

    /// Whether an admitted caller still has the same identity: false if its static token is gone, or means another account or
    /// subject.
    package func stillKnows(_ identity: Identity) -> Bool {
        guard let digest = identity.staticToken else { return true }
        return tokens.means(digest, identity.account, identity.subject)
    }

    /// Whether the issuer has withdrawn the key that signed a token: another holder of that key may have signed it. False while
    /// no keys of the issuer count.
    package func hasWithdrawnKey(of identity: Identity) -> Bool {
        guard let key = identity.keyMark, let voucher = identity.voucher,
            let marks = issuers.first(where: { $0.voucher == voucher })?.fetched?.snapshot.marks
        else { return false }
        return !marks.contains(key)
    }

    /// The question before a ticket is refused for its key: the set fetched last may be older than the key, which another node
    /// knows already. Nil: no question is needed, or it was asked a moment ago.
    package func question(ofKeyOf identity: Identity) -> TokenQuestion? {
        guard hasWithdrawnKey(of: identity), let issuer = issuers.first(where: { $0.voucher == identity.voucher }),
            issuer.fetched?.snapshot.asksForUnknown == true
        else { return nil }
        return .keys(issuer: issuer.issuer)
    }

    /// Whether a ticket still represents a valid token: its static token means the same, or its voucher is still in the settings,
    /// with the key that signed it.
    package func stillVouches(for identity: Identity) -> Bool {
        guard let voucher = identity.voucher else { return identity.staticToken != nil && stillKnows(identity) }
        if hasWithdrawnKey(of: identity) { return false }
        return introspection?.voucher == voucher || issuers.contains { $0.voucher == voucher }
    }

    private func verifyJWT(_ token: [UInt8], _ digest: [UInt8], now: Int64) throws(TokenRefusal) -> Identity {
        let parts = try CompactToken(token)
        let header = try TokenHeader(parts.header)
        let claims = try TokenClaims(parts.payload)
        guard let name = claims.issuer, let issuer = issuers.first(where: { $0.issuer.utf8.elementsEqual(name) }) else {
            throw .issuer
        }
        guard issuer.algorithms.contains(header.algorithm) else { throw .algorithm }
        // A token that its own claims refuse is not worth a signature check: an old token costs almost nothing.
        try claims.checkAudience(issuer.audiences)
        let expiry = try claims.checkTimes(now: now)
        let known = issuer.known
        let key = try issuer.signer(of: token, header, parts.signature, among: known)
        // From here on the claims are verified statements of the issuer.
        let identity = Identity(
            account: try claims.account(claim: issuer.accountClaim), subject: claims.subject, expiresAt: expiry,
            issuedAt: claims.issuedAt(now: now), tokenID: claims.tokenID, voucher: issuer.voucher,
            keyMark: issuer.fetched == nil ? nil : key.mark)
        // An `iat` ahead of our clock is left out of the identity now, and is in it later.
        if !claims.isIssuedAhead(of: now) {
            let kept = VerifiedTokens.Kept(identity: identity, verifiedAt: now, generation: known.generation)
            verified.keep(digest, kept)
        }
        return identity
    }
}

/// The token in the value of an `Authorization` header (RFC 6750 §2.1).
enum BearerToken {
    /// The token after the scheme, in any case, and blanks. `nil` for another scheme, no token, or a character that tokens cannot
    /// have (RFC 9110 §11.2, `token68`).
    static func read(_ value: ArraySlice<UInt8>) -> [UInt8]? {
        let scheme = "bearer".utf8
        guard value.count > scheme.count, zip(value, scheme).allSatisfy({ $0 | 0x20 == $1 }) else { return nil }
        let rest = value.dropFirst(scheme.count)
        let token = rest.drop { $0 == 0x20 }
        guard token.startIndex > rest.startIndex, !token.isEmpty, token.allSatisfy(isTokenCharacter) else { return nil }
        return Array(token)
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-._~+/=".utf8.contains(byte)
        }
    }
}
