import COpenSSL
import Synchronization
import TestHarness
import Testing

@testable import TLS

/// A clock that a test sets, in seconds since 1970.
private final class SetClock: Sendable {
    private let seconds: Atomic<Int64>

    init(_ seconds: Int64) { self.seconds = Atomic(seconds) }

    func set(_ seconds: Int64) { self.seconds.store(seconds, ordering: .relaxed) }
    var now: @Sendable () -> Int64 { { self.seconds.load(ordering: .relaxed) } }
}

@Suite struct `A session ticket` {
    private let authority = Authority.shared
    private static let secret = Array("a secret of the tests, long enough".utf8)
    /// The start of a period, in 2026.
    private static let start = TicketKeys.periodSeconds * 82_000

    private func server(_ keys: TicketKeys, rsa: Bool = false) throws -> TLSContext {
        rsa
            ? try TLSContext.server(certificate: authority.rsaChain, key: authority.rsaKey, tickets: keys)
            : try TLSContext.server(certificate: authority.chain, key: authority.key, tickets: keys)
    }

    private func client(_ version: String) throws -> TLSContext {
        let client = try TLSContext.client(TLSClientSettings(authorities: authority.root))
        let number = version == "TLSv1.2" ? TLS1_2_VERSION : TLS1_3_VERSION
        #expect(unsafe livegate_ctx_set_versions(client.pointer, number, number) == 1)
        return client
    }

    /// Shakes hands, with a ticket where there is one; whether it was resumed, and the ticket for the next time.
    private func visit(
        _ server: TLSContext, _ client: TLSContext, _ ticket: TLSTicket? = nil
    ) throws -> (isResumed: Bool, ticket: TLSTicket?) {
        let pair = try MemoryPair(server: server, client: client)
        if let ticket { pair.client.resume(ticket) }
        pair.pump()
        let agreement = try #require(pair.server.agreement)
        #expect(pair.client.agreement?.isResumed == agreement.isResumed)
        return (agreement.isResumed, pair.client.ticket)
    }

    static let versions = ["TLSv1.2", "TLSv1.3"]

    /// Each row: when the ticket is made and when it is shown, both in seconds from the start of a period, and whether it
    /// is taken.
    static let times: [(made: Int64, shown: Int64, isTaken: Bool)] = [
        (0, 0, true), (0, 21_599, true), (0, 21_600, true), (0, 43_200, true), (0, 64_799, true), (0, 64_800, false),
        (21_599, 21_600, true), (21_599, 64_799, true), (21_599, 64_800, false), (21_600, 64_800, true),
        (21_600, 86_399, true), (21_600, 86_400, false),
        // A node whose clock is behind does not know what comes.
        (0, -1, false), (21_600, 21_599, false),
    ]

    @Test(arguments: versions, times.indices)
    func `is taken in the period of its key and the two that follow`(version: String, row: Int) throws {
        let (made, shown, isTaken) = Self.times[row]
        let clock = SetClock(Self.start + made)
        let (issuing, taking) = (
            try server(TicketKeys(secret: Self.secret, now: clock.now)),
            try server(TicketKeys(secret: Self.secret, now: clock.now))
        )
        let client = try client(version)
        let first = try visit(issuing, client)
        #expect(!first.isResumed)
        clock.set(Self.start + shown)
        // On the node that made it, and on another one with the secret.
        #expect(try visit(taking, client, first.ticket).isResumed == isTaken)
        #expect(try visit(issuing, client, first.ticket).isResumed == isTaken)
    }

    @Test(arguments: versions) func `under an older key is replaced by one under the newest`(version: String) throws {
        let clock = SetClock(Self.start)
        let node = try server(TicketKeys(secret: Self.secret, now: clock.now))
        let client = try client(version)
        var ticket = try visit(node, client).ticket
        for period in 1...5 {
            clock.set(Self.start + Int64(period) * TicketKeys.periodSeconds)
            let visit = try visit(node, client, ticket)
            #expect(visit.isResumed, "period \(period)")
            ticket = visit.ticket
        }
    }

    @Test(arguments: versions) func `of another secret, or of another process without one, is not taken`(
        version: String
    ) throws {
        let client = try client(version)
        let ticket = try visit(server(TicketKeys(secret: Self.secret)), client).ticket
        #expect(try !visit(server(TicketKeys(secret: Self.secret.reversed())), client, ticket).isResumed)
        #expect(try !visit(server(.ofProcess), client, ticket).isResumed)
        let other = TicketKeys(secret: Random.bytes(TicketKeys.minimumSecretBytes))
        #expect(try !visit(server(other), client, visit(server(.ofProcess), client).ticket).isResumed)
    }

    @Test(arguments: versions) func `outlives its context: another certificate takes it`(version: String) throws {
        let client = try client(version)
        for keys in [TicketKeys(secret: Self.secret), .ofProcess] {
            let ticket = try visit(server(keys), client).ticket
            let next = try visit(server(keys, rsa: true), client, ticket)
            #expect(next.isResumed)
            // And one that was made with a context that is gone stays good.
            #expect(try visit(server(keys), client, next.ticket).isResumed)
        }
    }

    @Test func `has keys that differ in each part, and stay the same within a period`() {
        let clock = SetClock(Self.start)
        let keys = TicketKeys(secret: Self.secret, now: clock.now)
        let first = keys.keys!
        #expect(first.allSatisfy { $0.name.count == 16 && $0.cipher.count == 32 && $0.mac.count == 32 })
        #expect(Set(first.flatMap { [$0.name, $0.cipher, $0.mac] }).count == 9)
        clock.set(Self.start + TicketKeys.periodSeconds - 1)
        #expect(keys.keys!.map(\.name) == first.map(\.name))
        // The clock may be set back, too.
        clock.set(Self.start - 1)
        #expect(keys.keys!.prefix(2).map(\.name) == first.dropFirst().map(\.name))
        clock.set(-1)
        #expect(keys.keys!.count == TicketKeys.acceptedPeriods)
    }

    @Test func `has the keys that were laid down: nodes of different versions share them`() throws {
        let keys = TicketKeys(secret: [UInt8](repeating: 7, count: 32), now: { Self.start + 5 }).keys!
        #expect(keys.map { Array($0.name.prefix(4)) } == Self.names.map { Hexadecimal.decode($0) })
    }

    /// By `openssl kdf -keylen 80 -kdfopt digest:SHA256 -kdfopt hexkey:0707… -kdfopt info:'livegate tls ticket 1 82000' HKDF`
    /// and the two numbers below.
    static let names = ["fd76fa1b", "b7997a2f", "feae9ded"]

    /// Each row: the bytes of a file, and how many of them are the secret; nil: too few.
    static let files: [(file: [UInt8], count: Int?)] = [
        ([], nil), ([UInt8](repeating: 1, count: 31), nil), ([UInt8](repeating: 1, count: 32), 32),
        ([UInt8](repeating: 1, count: 32) + [10], 32), ([UInt8](repeating: 1, count: 32) + [13, 10], 32),
        // A secret of random bytes may end with what looks like the end of a line.
        ([UInt8](repeating: 1, count: 31) + [10], 32), ([UInt8](repeating: 1, count: 31) + [13, 10], 33),
        ([UInt8](repeating: 1, count: 32) + [10, 10], 33), ([UInt8](repeating: 1, count: 4096), 4096),
    ]

    @Test(arguments: files.indices) func `has a secret of 32 bytes or more, without the end of its line`(row: Int) {
        #expect(TicketKeys.secret(inFile: Self.files[row].file)?.count == Self.files[row].count)
    }
}
