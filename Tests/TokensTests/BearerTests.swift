// Tests: StaticTokens.swift

import LiveUpdates
import TLS
import TestTokens
import Testing

@testable import Tokens

/// The value of the header, static tokens, and callers without a token.
@Suite struct BearerTests {
    static let open = TokenVerifier(
        issuers: [],
        tokens: StaticTokens([
            .init(digest: Digest.sha256(Array("s3cret".utf8)), account: Account("DEV"), subject: "dev")
        ]),
        anonymous: Account("PUBLIC"))

    @Test(arguments: [
        "Bearer s3cret", "bearer s3cret", "BEARER   s3cret",
    ])
    func `the scheme is read in any case and with several blanks`(_ value: String) throws {
        let token = try #require(BearerToken.read(Array(value.utf8)[...]))
        let identity = try Self.open.verify(token, now: 0).get()
        #expect(identity.account == Account("DEV") && identity.subject == "dev" && identity.expiresAt == nil)
    }

    @Test(arguments: [
        "", "Bearer", "Bearer ", "Bearers3cret", "Basic s3cret", "Bearer s3cret x", "Bearer s3cret,",
        "Bearer \"s3cret\"",
        "Bearer\ts3cret", "Bearer s3cr\u{e9}t", "Token s3cret", "s3cret",
    ])
    func `anything but one token behind the scheme is none`(_ value: String) {
        #expect(BearerToken.read(Array(value.utf8)[...]) == nil)
    }

    @Test func `a caller without a token gets the anonymous account if there is one`() throws {
        #expect(try Self.open.withoutToken().get().account == Account("PUBLIC"))
        #expect(TokenForge.verifier().withoutToken().refusal == .missing)
    }

    @Test func `a bad token is refused though anonymous callers are let in`() {
        #expect(Self.open.verify(Array("s3cret2".utf8), now: 0).refusal == .unknownToken)
    }

    @Test func `a static token is found among several and beside issuers`() throws {
        let tokens = ["one", "two", "three"].map {
            StaticTokens.Entry(digest: Digest.sha256(Array($0.utf8)), account: Account($0), subject: nil)
        }
        let verifier = TokenVerifier(
            issuers: [TokenForge.trusted(TestKey.p256.publicPEM)], tokens: StaticTokens(tokens))
        #expect(try verifier.verify(Array("two".utf8), now: 0).get().account == Account("two"))
        #expect(try verifier.verify(TokenForge.token(), now: TokenForge.now).get().account == Account("PACC1"))
        #expect(verifier.verify(Array("four".utf8), now: 0).refusal == .malformed(.token))
    }

    @Test func `each of a thousand static tokens is its own account's, and what only begins like one is nobody's`()
        throws
    {
        func entry(_ digest: [UInt8], _ name: String) -> StaticTokens.Entry {
            StaticTokens.Entry(digest: digest, account: Account(name), subject: nil)
        }
        let digests = (0..<1_000).map { Digest.sha256(Array("token \($0)".utf8)) }
        var cousin = digests[7]
        cousin[8] ^= 1
        let tokens = StaticTokens(
            [entry(digests[5], "earlier")] + digests.enumerated().map { entry($1, "A\($0)") } + [
                entry(cousin, "cousin")
            ])
        for number in 0..<1_000 {
            #expect(tokens.entry(digests[number])?.account == Account("A\(number)"))
        }
        #expect(tokens.entry(Digest.sha256(Array("token 1000".utf8))) == nil)
        cousin[9] ^= 1
        #expect(StaticTokens([entry(cousin, "cousin")]).entry(digests[7]) == nil)
    }

    @Test func `each reason fits a header and says nothing of the token`() {
        let parts: [TokenRefusal] = [TokenPart.token, .header, .payload, .signature].map { .malformed($0) }
        let others: [TokenRefusal] = [
            .missing, .notBearer, .notBase64, .ticket, .ticketForTicket, .tooLarge, .criticalHeader, .keyName,
            .unknownKey, .algorithm, .issuer,
            .signature,
            .audience,
            .claim(.exp), .claim(.nbf), .expired(at: .max), .notYetValid(before: .min), .account, .unknownToken,
        ]
        for refusal in parts + others {
            let text = Array(refusal.description.utf8)
            // RFC 6750 §3: %x20-21 / %x23-5B / %x5D-7E.
            #expect(text.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
            #expect((1...128).contains(text.count))
            #expect(refusal.challenge.hasPrefix("Bearer error=\"invalid_token\", error_description=\""))
        }
    }
}
