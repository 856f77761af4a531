// Tests: Identity.swift, Ticket.swift, UsedTickets.swift

import LiveUpdates
import TLS
import Testing

@testable import Tokens

@Suite struct TicketTests {
    static let now: Int64 = 1_800_000_000
    static let secrets = (0..<3).map { number in [UInt8](repeating: UInt8(number), count: 32) }
    static let seal = TicketSeal(secrets: [secrets[0]])

    private func ticket(_ number: UInt64 = 1, endsAt: Int64 = now + 30, _ identity: Identity? = nil) -> Ticket {
        let identity = identity ?? Identity(account: Account("PACC1"), subject: nil, expiresAt: nil)
        return Ticket(id: Ticket.ID(high: 7, low: number), endsAt: endsAt, identity: identity)
    }

    private func of(_ account: String) -> Identity { Identity(account: Account(account), subject: nil, expiresAt: nil) }

    private func isSame(_ left: Identity, _ right: Identity) -> Bool {
        left.account == right.account && left.subject == right.subject && left.expiresAt == right.expiresAt
            && left.issuedAt == right.issuedAt && left.tokenID == right.tokenID && left.staticToken == right.staticToken
            && left.voucher == right.voucher && left.isOpenEnded == right.isOpenEnded
            && left.keyMark == right.keyMark
    }

    static let identities = [
        Identity(account: Account("PACC1"), subject: nil, expiresAt: nil),
        Identity(account: Account("\u{e4} \"1\""), subject: "dev", expiresAt: 5, issuedAt: 0, tokenID: "x"),
        Identity(account: Account("e\u{301}"), subject: "\u{1F600}", expiresAt: 9, issuedAt: nil, tokenID: nil),
        Identity(account: Account("1"), subject: nil, expiresAt: nil, issuedAt: 1, tokenID: "jti"),
        Identity(
            account: Account("3"), subject: "s", expiresAt: 7, issuedAt: 1, voucher: .issuer("a"), keyMark: .max - 1),
        Identity(
            account: Account("2"), subject: nil, expiresAt: 7, isOpenEnded: true, voucher: .server("a", client: "b")),
        Identity(
            account: Account(String(repeating: "a", count: 255)), subject: String(repeating: "s", count: 255),
            expiresAt: .max, issuedAt: .max,
            tokenID: String(repeating: "t", count: TokenClaims.maximumTokenIDBytes),
            staticToken: [UInt8](repeating: 7, count: StaticTokens.digestBytes), voucher: .issuer("https://id.example"),
            keyMark: .max),
    ]

    @Test func `a ticket says what its token said, in at most 1,024 characters that a URL carries`() throws {
        for identity in Self.identities {
            let text = Self.seal.text(ticket(endsAt: Self.now + 9, identity))!
            #expect(text.utf8.count <= 1024)
            #expect(text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
            let read = try #require(Self.seal.ticket(Array(text.utf8)))
            #expect(read.endsAt == Self.now + 9 && read.id == Ticket.ID(high: 7, low: 1))
            #expect(isSame(read.identity, identity))
        }
    }

    @Test func `a text that was changed in any character, cut or made longer is none`() {
        let text = Array(Self.seal.text(ticket())!.utf8)
        for index in text.indices {
            for byte in Array("A_0-=".utf8) where byte != text[index] {
                var changed = text
                changed[index] = byte
                #expect(Self.seal.ticket(changed) == nil, "\(index)")
            }
        }
        for count in text.indices { #expect(Self.seal.ticket(Array(text[..<count])) == nil) }
        for more in ["A", "=", "AAAA", " "] { #expect(Self.seal.ticket(text + Array(more.utf8)) == nil) }
        #expect(Self.seal.ticket([UInt8](repeating: 0x41, count: 1_000_000)) == nil)
    }

    @Test func `the first secret makes tickets, all read them, and no other does`() {
        let old = TicketSeal(secrets: [Self.secrets[0]])
        let both = TicketSeal(secrets: [Self.secrets[1], Self.secrets[0]])
        let new = TicketSeal(secrets: [Self.secrets[1]])
        func reads(_ reader: TicketSeal, _ maker: TicketSeal) -> Bool {
            reader.ticket(Array(maker.text(ticket())!.utf8)) != nil
        }
        #expect(reads(both, old) && reads(both, new) && reads(new, both) && reads(old, old))
        #expect(!reads(old, both) && !reads(old, new) && !reads(TicketSeal(secrets: [Self.secrets[2]]), both))
    }

    @Test func `a ticket lives as long as the settings say, and never longer than its token`() {
        for (expiresAt, seconds) in [(nil, 30), (Self.now + 31, 30), (Self.now + 30, 30), (Self.now + 29, 29)]
            as [(Int64?, Int64)]
        {
            let identity = Identity(account: Account("A"), subject: nil, expiresAt: expiresAt)
            let made = Ticket(identity, id: .random(), lifetimeSeconds: 30, now: Self.now)
            #expect(made.endsAt == Self.now + seconds)
        }
        #expect(Ticket.ID.random() != Ticket.ID.random())
    }

    // MARK: - What was used

    @Test func `a ticket is used once, until its end`() {
        var used = UsedTickets()
        func use(_ number: UInt64, endsAt: Int64, now: Int64) -> UsedTickets.Use {
            used.use(ticket(number, endsAt: endsAt), lifetimeSeconds: 30, now: now)
        }
        #expect(use(1, endsAt: 100, now: 70) == .first)
        #expect(use(1, endsAt: 100, now: 70) == .refused)
        #expect(use(2, endsAt: 100, now: 99) == .first)
        #expect(use(1, endsAt: 100, now: 99) == .refused)
        #expect(use(3, endsAt: 100, now: 100) == .refused)
        #expect(use(1, endsAt: 101, now: 100) == .first)
    }

    @Test func `a clock that is set back makes no ticket good again, and one that was far ahead is forgotten soon`() {
        var used = UsedTickets()
        func use(_ number: UInt64, endsAt: Int64, now: Int64) -> UsedTickets.Use {
            used.use(ticket(number, endsAt: endsAt), lifetimeSeconds: 30, now: now)
        }
        #expect(use(1, endsAt: 100, now: 80) == .first)
        #expect(use(2, endsAt: 130, now: 110) == .first)
        #expect(use(1, endsAt: 100, now: 90) == .refused)
        #expect(use(3, endsAt: 111, now: 90) == .first)
        #expect(use(4, endsAt: 100_020, now: 100_000) == .first)
        #expect(use(5, endsAt: 150, now: 121) == .refused)
        #expect(use(6, endsAt: 151, now: 121) == .refused)
        #expect(use(7, endsAt: 182, now: 152) == .first)
        #expect(use(7, endsAt: 182, now: 152) == .refused)
    }

    @Test func `at its bound the table lets nobody in, until tickets have ended`() {
        var used = UsedTickets(maximumTickets: 3)
        // Each of another account.
        func use(_ number: UInt64, endsAt: Int64, now: Int64) -> UsedTickets.Use {
            used.use(ticket(number, endsAt: endsAt, of("\(number)")), lifetimeSeconds: 30, now: now)
        }
        #expect(use(1, endsAt: 10, now: 0) == .first)
        #expect(use(2, endsAt: 10, now: 0) == .first)
        #expect(use(3, endsAt: 20, now: 0) == .first)
        #expect(use(4, endsAt: 20, now: 9) == .full)
        // What was used stays used, full or not.
        #expect(use(3, endsAt: 20, now: 9) == .refused)
        #expect(use(4, endsAt: 20, now: 10) == .first)
        #expect(use(5, endsAt: 20, now: 10) == .first)
        #expect(use(6, endsAt: 20, now: 10) == .full)
    }

    @Test func `one account uses as many as are left for others, and gets its share back when they end`() {
        var used = UsedTickets(maximumTickets: 12)
        var number: UInt64 = 0
        func use(_ account: String, _ times: Int, endsAt: Int64 = 30, now: Int64 = 0) -> [UsedTickets.Use] {
            (0..<times).map { _ in
                number += 1
                return used.use(ticket(number, endsAt: endsAt, of(account)), lifetimeSeconds: 30, now: now)
            }
        }
        #expect(use("A", 7) == Array(repeating: .first, count: 6) + [.overShare])
        #expect(use("B", 4) == Array(repeating: .first, count: 3) + [.overShare])
        #expect(use("C", 3, endsAt: 31) == [.first, .first, .overShare])
        #expect(use("D", 2) == [.first, .full])
        #expect(use("A", 1, endsAt: 40, now: 29) == [.full])
        // All but those of C have ended.
        #expect(use("A", 6, endsAt: 60, now: 30) == Array(repeating: .first, count: 5) + [.overShare])
        #expect(use("C", 3, endsAt: 60, now: 30) == [.first, .first, .overShare])
        #expect(use("C", 2, endsAt: 61, now: 31) == [.first, .first])
    }
}
