import HTTP
import LiveUpdates
import Reactor
import TestTokens
import Testing
import Tokens

@testable import Gateway

/// What is revoked, as whoever is let in or may stay meets it.
struct NodeRevocationsTests {
    private static let now = TokenForge.now
    private static let upgrade = AdmissionTests.upgrade
    private static let policy = AdmissionTests.policy

    private func admission(_ revocations: NodeRevocations, anonymous: String? = nil) -> Admission {
        let readiness = NodeReadiness(graceMilliseconds: nil)
        _ = readiness.becomeReady()
        return Admission(
            verifier: TokenVerifier(
                issuers: [TrustedIssuer(issuer: "id", audiences: [], accountClaim: "account_id")],
                anonymous: anonymous.map { Account($0) }),
            readiness: readiness, agreesToDeflate: false,
            syncLimits: SyncLimits(maximumEvents: 500, maximumWaitMilliseconds: 55_000), tickets: Self.policy,
            revocations: revocations)
    }

    private func isAdmitted(_ text: String, _ admission: Admission, finding: TokenLookupResult? = nil) throws -> Bool {
        var parser = RequestParser()
        guard case .head(let head, _) = parser.consume(Array((text + "\r\n").utf8).span) else {
            throw Malformed()
        }
        switch admission.decide(head, epochSeconds: Self.now, finding: finding) {
        case .admit: return true
        case .refuse(let refusal):
            #expect(refusal.code == .invalidToken && refusal.detail == "\(TokenRefusal.revoked)")
            return false
        case .ticket, .plainGet, .preflight, .ask: throw Malformed()
        }
    }

    private struct Malformed: Error {}

    private func revoking(_ target: Revocation.Target, before: Int64) -> NodeRevocations {
        let revocations = NodeRevocations(retention: .seconds(3600))
        revocations.add(Revocation(target, before: before, recordedAt: .max / 8))
        return revocations
    }

    private static let person = Identity(
        account: Account("PACC2"), subject: "s", expiresAt: now + 100, issuedAt: 5, tokenID: "t", voucher: .issuer("id")
    )

    static let targets: [Revocation.Target] = [
        .account(Account("PACC2")), .subject(Account("PACC2"), .init(text: "s")), .token(.init(text: "t")),
    ]

    @Test(arguments: targets, [(Int64(5), true), (6, false)])
    func `a revoked token is refused, whatever brings it, and one that was issued later is welcome`(
        target: Revocation.Target, row: (before: Int64, isAdmitted: Bool)
    ) throws {
        let admission = admission(revoking(target, before: row.before))
        let ticket = try #require(
            Self.policy.seal.text(Ticket(Self.person, id: .random(), lifetimeSeconds: 30, now: Self.now)))
        let target = "GET /sync/v1?ticket=\(ticket) HTTP/1.1\r\nHost: h\r\n"
        #expect(try isAdmitted(target, admission) == row.isAdmitted)
        // What another server has said of it, now or before.
        #expect(try isAdmitted(Self.upgrade, admission, finding: .checked(.success(Self.person))) == row.isAdmitted)
        #expect(admission.refusal(of: Self.person) == (row.isAdmitted ? nil : .revoked))
    }

    @Test(arguments: targets)
    func `a token that was verified before is asked about each time`(target: Revocation.Target) throws {
        let revocations = NodeRevocations(retention: .seconds(3600))
        var admission = admission(revocations)
        admission.verifier = TokenForge.verifier()
        let claims = TokenForge.claims(account: #""PACC2""#, more: #","sub":"s","jti":"t","iat":5"#)
        let token = TokenForge.token(payload: claims)
        let text = Self.upgrade + "Authorization: Bearer \(String(decoding: token, as: UTF8.self))\r\n"
        for _ in 0..<2 { #expect(try isAdmitted(text, admission)) }
        revocations.add(Revocation(target, before: 6, recordedAt: .max / 8))
        for _ in 0..<2 { #expect(try !isAdmitted(text, admission)) }
    }

    @Test func `callers without a token are refused while their account is revoked`() throws {
        let own = admission(revoking(.account(Account("PACC2")), before: 0), anonymous: "PACC2")
        let other = admission(revoking(.account(Account("PACC1")), before: Self.now), anonymous: "PACC2")
        for text in [Self.upgrade, "GET /sync/v1 HTTP/1.1\r\nHost: h\r\n"] {
            #expect(try !isAdmitted(text, own))
            #expect(try isAdmitted(text, other))
        }
    }

    @Test func `who is judged before a revocation is known is found when loops are told, and later ones are refused`()
        throws
    {
        let revocations = NodeRevocations(retention: .seconds(3600))
        let admission = admission(revocations, anonymous: "PACC1")
        #expect(try isAdmitted(Self.upgrade, admission))
        let identity = Identity(account: Account("PACC1"), subject: nil, expiresAt: nil)
        #expect(admission.refusal(of: identity) == nil)
        revocations.add(Revocation(.account(Account("PACC1")), before: 0, recordedAt: .max / 8))
        // The loop is told now, and asks this of each connection.
        #expect(admission.refusal(of: identity) == .revoked)
        #expect(try !isAdmitted(Self.upgrade, admission))
    }

    @Test func `records are counted by what they revoke, and what has ended is let go`() {
        let revocations = NodeRevocations(retention: .seconds(3600))
        for target in Self.targets + [.account(Account("PACC9"))] {
            // Long ago: counted, and over.
            revocations.add(Revocation(target, before: 0, recordedAt: 0))
        }
        revocations.countRejected()
        #expect(revocations.counts == .init(byKind: [.account: 2, .subject: 1, .token: 1], rejected: 1, kept: 0))
        #expect(revocations.count == 0 && revocations.room == .enough && revocations.refusal(of: Self.person) == nil)
        revocations.add(Revocation(Self.targets[0], before: 6, recordedAt: .max / 8))
        revocations.sweep()
        #expect(revocations.counts.kept == 1 && revocations.refusal(of: Self.person) == .revoked)
    }

    private static func refusal(
        _ revocations: NodeRevocations, _ account: String, issuedAt: Int64?
    ) -> TokenRefusal? {
        revocations.refusal(of: Identity(account: Account(account), subject: nil, expiresAt: nil, issuedAt: issuedAt))
    }

    @Test func `what has no room shuts out whoever has an older token, and only until a new one is fetched`() {
        let revocations = NodeRevocations(retention: .seconds(3600), maximumEntries: 1)
        for (account, before) in [("PACC9", 6), ("PACC8", 7)] as [(String, Int64)] {
            revocations.add(Revocation(.account(Account(account)), before: before, recordedAt: .max / 8))
        }
        #expect(revocations.room == .none && revocations.counts.kept == 1)
        #expect(revocations.counts.allTokens == [.noRoom: 6])
        #expect(Self.refusal(revocations, "PACC8", issuedAt: 6) == .revoked)
        for account in ["PACC9", "PACC2"] {
            #expect(Self.refusal(revocations, account, issuedAt: 5) == .olderThanRevoked)
            #expect(Self.refusal(revocations, account, issuedAt: nil) == .undated)
            #expect(Self.refusal(revocations, account, issuedAt: 6) == nil)
        }
        #expect(revocations.millisecondsUntilSettled == 0)
    }

    @Test func `records that were lost shut out every older token, one from the future only for a while`() {
        let revocations = NodeRevocations(retention: .seconds(3600))
        let second = WallClock.milliseconds / 1000
        #expect(!revocations.lose(before: second - 3_700) && revocations.counts.allTokens.isEmpty)
        #expect(Self.refusal(revocations, "PACC1", issuedAt: 5) == nil)
        #expect(revocations.lose(before: second - 600))
        #expect(revocations.counts.allTokens == [.lost: second - 600] && revocations.counts.kept == 0)
        #expect(Self.refusal(revocations, "PACC1", issuedAt: second - 601) == .olderThanRevoked)
        #expect(Self.refusal(revocations, "PACC1", issuedAt: nil) == .undated)
        #expect(Self.refusal(revocations, "PACC1", issuedAt: second - 600) == nil)
        // As long as a token that is fetched now could be refused as well, nobody is sent to fetch one.
        #expect(revocations.lose(before: second + 60))
        #expect(Self.refusal(revocations, "PACC1", issuedAt: second + 59) == .unsettled)
        #expect(Self.refusal(revocations, "PACC1", issuedAt: second + 60) == nil)
        #expect((1...90_000).contains(revocations.millisecondsUntilSettled))
        revocations.sweep()
        #expect(Self.refusal(revocations, "PACC1", issuedAt: 5) == .unsettled)
    }

    @Test(
        arguments: [
            (1_000, 1_005_000, 0), (1_000, 1_004_999, 1), (1_000, 1_000_000, 5_000), (1_000, 999_000, 6_000),
            (1_000, 2_000_000, 0), (.max, 0, .max), (.max / 1000, 0, .max), (0, -1, 5_001),
        ] as [(Int64, Int64, UInt64)])
    func `a token that is fetched five seconds later is good, though its issuer's clock is behind`(
        before: Int64, wall: Int64, milliseconds: UInt64
    ) {
        #expect(NodeRevocations.millisecondsUntilSettled(before, wall: wall) == milliseconds)
    }

    @Test(
        arguments: [
            (.revoked, 401, nil), (.olderThanRevoked, 401, nil), (.unknownToken, 401, nil), (.unsettled, 503, nil),
            (.undated, 503, 30),
        ] as [(TokenRefusal, Int, Int?)])
    func `who would be refused with a new token too is asked to come again`(
        why: TokenRefusal, status: Int, seconds: Int?
    ) {
        let refusal = Refusal(why)
        #expect(refusal.status == status && refusal.retryAfterSeconds == seconds && refusal.detail == "\(why)")
    }
}
