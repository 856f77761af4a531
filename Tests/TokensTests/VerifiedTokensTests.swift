// Tests: VerifiedTokens.swift, TokenVerifier.swift, FetchedKeys.swift, TokenClaims.swift

import LiveUpdates
import TLS
import TestTokens
import Testing

@testable import Tokens

/// A token that comes again: by what came of it before, only where a check could come to nothing else.
@Suite struct VerifiedTokensTests {
    private static let now = TokenForge.now
    private static let end = TokenForge.now + 3600
    private static let key = TokenForge.webKey(.p256, .p256, more: #","kid":"a""#)
    private static let other = TokenForge.webKey(.otherP256, .p256, more: #","kid":"b""#)
    private static let issued = claims("")

    private static func claims(_ more: String) -> [UInt8] {
        TokenForge.token(header: #"{"alg":"ES256","kid":"a"}"#, payload: TokenForge.claims(more: more))
    }

    private static func read(_ keys: [String]) -> [SignatureKey] {
        let text = Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8)
        return (try? FetchedKeySet.read(text, algorithms: SignatureAlgorithm.asymmetric)) ?? []
    }

    /// What has happened since a token was verified, and what comes of it now.
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var token = issued
        var second = now
        var keys: [String]? = [key]
        var audience = TokenForge.audience
        var isNewVerifier = false
        let outcome: Outcome

        init(
            _ name: String, _ outcome: Outcome, _ token: [UInt8] = issued, at second: Int64 = now,
            keys: [String]? = [key], audience: String = TokenForge.audience, isNewVerifier: Bool = false
        ) {
            (testDescription, self.outcome, self.token, self.second) = (name, outcome, token, second)
            (self.keys, self.audience, self.isNewVerifier) = (keys, audience, isNewVerifier)
        }
    }

    enum Outcome: Equatable {
        /// The very identity of before: nothing was verified.
        case known
        case verifiedAgain
        case refused(TokenRefusal)
    }

    static let rows: [Row] = [
        Row("nothing", .known),
        Row("its last second", .known, at: end - 1),
        Row("its end", .refused(.expired(at: end)), at: end),
        Row("a clock set back by a second", .verifiedAgain, at: now - 1),
        Row(
            "a clock set back before its beginning", .refused(.notYetValid(before: now)), claims(",\"nbf\":\(now)"),
            at: now - 31),
        Row("the same second of a token with a beginning", .known, claims(",\"nbf\":\(now + 30)")),
        Row("its second of issue, which was ahead", .verifiedAgain, claims(",\"iat\":\(now + 61)"), at: now + 1),
        Row("nothing, with a second of issue as far ahead as clocks may be", .known, claims(",\"iat\":\(now + 60)")),
        Row("nothing, with a second of issue that is none", .known, claims(#","iat":"soon""#)),
        Row("the same keys, fetched again", .known, keys: [key]),
        Row("a key more", .verifiedAgain, keys: [key, other]),
        Row("a key for this algorithm alone", .verifiedAgain, keys: [String(key.dropLast()) + #","alg":"ES256"}"#]),
        Row(
            "another key under its name", .refused(.signature),
            keys: [TokenForge.webKey(.otherP256, .p256, more: #","kid":"a""#)]),
        Row("its key withdrawn", .refused(.unknownKey), keys: [other]),
        Row("keys too old to count", .refused(.unavailable), keys: nil),
        Row("settings read again", .verifiedAgain, isNewVerifier: true),
        Row("settings read again, for others", .refused(.audience), audience: "others", isNewVerifier: true),
    ]

    @Test(arguments: rows)
    func `a token that comes again is verified again where something has changed`(_ row: Row) throws {
        let (before, keys) = Self.verifier(TokenForge.audience)
        keys.publish(.init(keys: Self.read([Self.key]), asksForUnknown: true))
        let first = try before.verify(row.token, now: Self.now).get()
        var verifier = before
        if row.isNewVerifier {
            (verifier, _) = Self.verifier(row.audience)
            verifier.takeKeys(from: before)
        } else {
            keys.publish(.init(keys: row.keys.map(Self.read), asksForUnknown: false))
        }
        switch verifier.verify(row.token, now: row.second) {
        case .success(let identity): #expect((identity === first ? Outcome.known : .verifiedAgain) == row.outcome)
        case .failure(let refusal): #expect(.refused(refusal) == row.outcome)
        }
        // Whatever it was, a check of the same by one who never saw the token comes to the same.
        let (stranger, strangerKeys) = Self.verifier(row.audience)
        strangerKeys.publish(.init(keys: row.keys.map(Self.read), asksForUnknown: false))
        let (again, fresh) = (
            verifier.verify(row.token, now: row.second), stranger.verify(row.token, now: row.second)
        )
        #expect(again.refusal == fresh.refusal)
        #expect((try? again.get())?.issuedAt == (try? fresh.get())?.issuedAt)
    }

    private static func verifier(_ audience: String) -> (TokenVerifier, FetchedKeys) {
        let keys = FetchedKeys(
            KeySource(
                issuer: TokenForge.issuer, url: "https://a", authorities: nil, algorithms: [.es256],
                timing: .init(refreshMilliseconds: 1, cooldownMilliseconds: 1, maximumAgeMilliseconds: 2)))
        let issuer = TrustedIssuer(
            issuer: TokenForge.issuer, audiences: [audience], accountClaim: "account_id", fetched: keys)
        return (TokenVerifier(issuers: [issuer]), keys)
    }

    @Test func `a token by a key of a file is verified once, and again by settings that are read again`() throws {
        let verifier = TokenForge.verifier()
        let token = TokenForge.token()
        let first = try verifier.verify(token, now: Self.now).get()
        #expect(try verifier.verify(token, now: Self.now).get() === first)
        #expect(try verifier.with(StaticTokens()).verify(token, now: Self.now).get() !== first)
        #expect(try TokenForge.verifier().verify(token, now: Self.now).get() !== first)
        // A static token of the same text goes first.
        let entry = StaticTokens.Entry(digest: Digest.sha256(token), account: Account("B"), subject: nil)
        #expect(try verifier.with(StaticTokens([entry])).verify(token, now: Self.now).get().account == Account("B"))
    }

    @Test func `of a token that was verified no byte may change`() throws {
        let verifier = TokenForge.verifier()
        let token = TokenForge.token()
        _ = try verifier.verify(token, now: Self.now).get()
        for index in token.indices {
            var changed = token
            changed[index] ^= 1
            #expect(verifier.verify(changed, now: Self.now).refusal != nil, "byte \(index)")
        }
    }

    @Test func `what was refused is refused again by its own check`() {
        let verifier = TokenForge.verifier()
        let token = TokenForge.token(by: .otherP256)
        for _ in 0..<2 { #expect(verifier.verify(token, now: Self.now).refusal == .signature) }
    }

    // MARK: - How many

    private static func kept(_ account: String = "A", at second: Int64 = 0) -> VerifiedTokens.Kept {
        let identity = Identity(account: Account(account), subject: nil, expiresAt: 10, voucher: .issuer("i"))
        return VerifiedTokens.Kept(identity: identity, verifiedAt: second, generation: 0)
    }

    /// Digests that begin alike.
    private static func digest(_ number: Int) -> [UInt8] { [7, UInt8(number >> 8), UInt8(number & 255)] }

    @Test func `those that come again stay, and of the others the last`() {
        let half = VerifiedTokens.maximumTokensOfHalf
        let tokens = VerifiedTokens()
        for number in 0..<half { tokens.keep(Self.digest(number), Self.kept()) }
        for number in half..<(2 * half - 1) {
            tokens.keep(Self.digest(number), Self.kept())
            #expect(tokens.find(Self.digest(0)) != nil)
        }
        #expect(tokens.size.count == 2 * half - 1)
        #expect(tokens.find(Self.digest(1)) != nil, "the newer half is full, and the older one goes")
        #expect(tokens.find(Self.digest(2)) == nil)
        #expect(tokens.find(Self.digest(0)) != nil)
        #expect(tokens.size.count == half + 1)
    }

    @Test func `they are bounded in number and in bytes, however they come`() {
        let (few, many) = (VerifiedTokens(), VerifiedTokens())
        let long = Self.kept(String(repeating: "x", count: 255))
        for number in 0..<(3 * VerifiedTokens.maximumTokens) {
            let digest = [UInt8(number % 251), UInt8(number >> 16), UInt8(number >> 8 & 255), UInt8(number & 255)]
            many.keep(digest, Self.kept())
            few.keep(digest, long)
            if number.isMultiple(of: 3) { _ = few.find(digest) }
        }
        #expect((VerifiedTokens.maximumTokens / 2...VerifiedTokens.maximumTokens).contains(many.size.count))
        #expect(few.size.bytes <= VerifiedTokens.maximumBytes && few.size.count < many.size.count)
    }

    @Test func `one that is forgotten, or replaced, takes no room`() {
        let tokens = VerifiedTokens()
        for second in 0..<10 as Range<Int64> {
            tokens.keep(Self.digest(1), Self.kept(at: second))
            #expect(tokens.find(Self.digest(1))?.verifiedAt == second)
        }
        #expect(tokens.size == (1, Self.kept().bytes))
        tokens.forget(Self.digest(1))
        #expect(tokens.size == (0, 0) && tokens.find(Self.digest(1)) == nil)
    }
}
