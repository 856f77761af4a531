import LiveUpdates
import TLS

/// Turns a token into an account, or into a reason why not.
///
/// Immutable: every loop uses the same one, and a reload makes another. Nothing here logs, and no token or part of one
/// stands in a refusal.
package struct TokenVerifier: Sendable {
    /// Tokens with many claims have 2 to 4 KiB; the request head has room for 16 KiB by default.
    package static let maximumTokenBytes = 8192
    /// How far the clock of an issuer may be ahead of ours before its fresh tokens are refused.
    package static let notBeforeLeewaySeconds: Int64 = 30

    /// How far ahead of our clock `iat` may be: as much as a revocation may be (`before`).
    package static let issueLeewaySeconds: Int64 = 60

    package let issuers: [TrustedIssuer]
    /// The static tokens.
    package private(set) var tokens: StaticTokens
    private let anonymous: Identity?
    /// Who judges tokens that are no JWTs; nil: nobody.
    package let introspection: IntrospectionSource?
    /// What came of the JWTs that were verified, by the issuers of this one.
    private var verified = VerifiedTokens()

    /// - Parameter issuers: no two with the same `issuer` (`check` refuses them); the first would hide the second.
    /// - Parameter anonymous: the account of callers without a token; `nil` lets none of them in.
    package init(
        issuers: [TrustedIssuer], tokens: StaticTokens = StaticTokens(), anonymous: Account? = nil,
        introspection: IntrospectionSource? = nil
    ) {
        self.issuers = issuers
        self.tokens = tokens
        self.anonymous = anonymous.map { Identity(account: $0, subject: nil, expiresAt: nil) }
        self.introspection = introspection
    }

    /// Whether anybody at all could be let in. Warned about by `check`.
    package var letsNobodyIn: Bool {
        !issuers.contains(where: \.mayHaveKeys) && tokens.isEmpty && anonymous == nil && introspection == nil
    }

    /// Who a caller without a token is.
    package func withoutToken() -> Result<Identity, TokenRefusal> {
        guard let anonymous else { return .failure(.missing) }
        return .success(anonymous)
    }

    /// Judges one token: a static one, or a JWT.
    ///
    /// Costs one signature check for each key that may have signed the token: 0.03 to 0.2 ms, at most
    /// ``TrustedIssuer/maximumTries`` of them, and none for a token that was verified before, or whose issuer, audience or times
    /// are refused. Any loop may call it.
    ///
    /// - Parameter now: seconds since 1970.
    package func verify(_ token: [UInt8], now: Int64) -> Result<Identity, TokenRefusal> {
        guard token.count <= Self.maximumTokenBytes else { return .failure(.tooLarge) }
        let digest = Digest.sha256(token)
        if let entry = tokens.entry(digest) { return .success(entry.identity) }
        // Of nothing there is nothing to ask.
        if introspection != nil, !token.isEmpty, !Self.hasFormOfJWT(token) {
            return .failure(.undecided(.introspection(token: token)))
        }
        guard !issuers.isEmpty else { return .failure(.unknownToken) }
        if let identity = identity(verified: digest, now: now) { return .success(identity) }
        return Result { () throws(TokenRefusal) in try verifyJWT(token, digest, now: now) }
    }

    /// Who a token is for that was verified, where a check now could come to nothing else.
    private func identity(verified digest: [UInt8], now: Int64) -> Identity? {
        guard let kept = verified.find(digest) else { return nil }
        let generation = issuers.first { $0.voucher == kept.identity.voucher }?.known.generation
        guard kept.counts(now: now, generation: generation) else {
            verified.forget(digest)
            return nil
        }
        return kept.identity
    }

    /// Three parts with dots between (RFC 7515 §3.1). Whatever else is wrong with it, it is no other kind of token.
    private static func hasFormOfJWT(_ token: [UInt8]) -> Bool { token.count { $0 == UInt8(ascii: ".") } == 2 }

    /// The same with other static tokens. It has verified nothing yet.
    package func with(_ tokens: StaticTokens) -> TokenVerifier {
        var verifier = self
        verifier.tokens = tokens
        verifier.verified = VerifiedTokens()
        return verifier
    }

    /// Judges by the keys that another one has, where they come from the same places, until others are fetched. Called before it
    /// is used.
    package func takeKeys(from before: TokenVerifier) {
        for keys in issuers.compactMap(\.fetched) {
            let known = before.issuers.lazy.compactMap(\.fetched).first { $0.source.hasKeys(of: keys.source) }
            if let known { keys.publish(known.snapshot) }
        }
    }

    /// Whether somebody who was let in is still who they were: false once their static token is gone, or means another
    /// account or subject.
    package func stillKnows(_ identity: Identity) -> Bool {
        guard let digest = identity.staticToken else { return true }
        return tokens.means(digest, identity.account, identity.subject)
    }

    /// Whether the issuer has taken the key out of its set that has signed a token: whoever has that key may have signed it.
    /// False while no keys of the issuer count.
    package func hasWithdrawnKey(of identity: Identity) -> Bool {
        guard let key = identity.keyMark, let voucher = identity.voucher,
            let marks = issuers.first(where: { $0.voucher == voucher })?.fetched?.snapshot.marks
        else { return false }
        return !marks.contains(key)
    }

    /// What is to be asked before a ticket is refused for its key: the set that was fetched last may be older than the key, which
    /// another node knows already. Nil: nothing, or it was asked a moment ago.
    package func question(ofKeyOf identity: Identity) -> TokenQuestion? {
        guard hasWithdrawnKey(of: identity), let issuer = issuers.first(where: { $0.voucher == identity.voucher }),
            issuer.fetched?.snapshot.asksForUnknown == true
        else { return nil }
        return .keys(issuer: issuer.issuer)
    }

    /// Whether a ticket still stands for a token that could be believed: its static token means the same, or who has vouched
    /// for it is still in the settings, with the key that has signed it.
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
        // What its own words refuse is not worth a signature: whoever keeps an old token pays nothing with it.
        try claims.checkAudience(issuer.audiences)
        let expiry = try claims.checkTimes(now: now)
        let known = issuer.known
        let key = try issuer.signer(of: token, header, parts.signature, among: known)
        // From here on the claims are the issuer's word.
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
    /// The token after the scheme, whose case does not matter, and blanks; `nil` for another scheme, no token, or a
    /// character that no token has (RFC 9110 §11.2, `token68`).
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
