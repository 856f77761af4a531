// Tests: QuotaCounts.swift, ConnectionQuota.swift

import Balancer
import GatewaySettings
import LiveUpdates
import TestHarness
import Testing

@testable import Gateway

struct QuotaCountsTests {
    @Test(
        arguments: [(1_048_576, 1_048_448), (1024, 896), (257, 129), (256, 128), (100, 50), (1, 1), (.max, .max)]
            as [(Int, Int32)])
    func `clients leave descriptors to the node`(_ descriptors: Int, _ highest: Int32) {
        #expect(QuotaLimits.highestDescriptor(of: descriptors) == highest)
    }

    private static let account = Account("A")

    /// One who comes: its account, its subject, its address.
    private typealias Client = (account: String, subject: String?, address: String)

    private func address(_ text: String) throws -> AddressKey? {
        AddressKey(text == "unix" ? .unix : try #require(ClientAddress(text)))
    }

    /// Lets all come that may, and returns the limit in the way of the last one.
    private func last(of clients: [Client], _ limits: QuotaLimits) throws -> ConnectionLimit? {
        var counts = QuotaCounts()
        var limit: ConnectionLimit?
        for client in clients {
            let account = Account(client.account)
            limit = counts.enter(
                account, SubjectKey(account, client.subject), try address(client.address), arrived: nil, limits)
        }
        return limit
    }

    /// Two who came, and a third; with the limit that is in its way, of 2.
    private static let thirds: [(clients: [Client], limits: QuotaLimits, reached: ConnectionLimit.Name?)] = [
        ([("A", "s", "::1"), ("B", "t", "::2"), ("C", "u", "::3")], QuotaLimits(), nil),
        ([("A", "s", "::1"), ("B", "t", "::2"), ("C", "u", "::3")], QuotaLimits(maximumConnections: 2), .node),
        ([("A", "s", "::1"), ("B", "t", "::2"), ("C", "u", "::3")], QuotaLimits(maximumConnections: 3), nil),
        (
            [("A", "s", "::1"), ("A", "t", "::2"), ("A", "u", "::3")], QuotaLimits(maximumConnectionsPerAccount: 2),
            .account
        ),
        ([("A", "s", "::1"), ("A", "s", "::2"), ("B", "s", "::3")], QuotaLimits(maximumConnectionsPerAccount: 2), nil),
        (
            [("A", "s", "::1"), ("A", "s", "::2"), ("A", "s", "::3")], QuotaLimits(maximumConnectionsPerSubject: 2),
            .subject
        ),
        // A subject is one of its account, and who has none is no subject.
        ([("A", "s", "::1"), ("B", "s", "::2"), ("C", "s", "::3")], QuotaLimits(maximumConnectionsPerSubject: 2), nil),
        ([("A", nil, "::1"), ("A", nil, "::2"), ("A", nil, "::3")], QuotaLimits(maximumConnectionsPerSubject: 2), nil),
        (
            [("A", "", "::1"), ("A", "", "::2"), ("A", "", "::3")], QuotaLimits(maximumConnectionsPerSubject: 2),
            .subject
        ),
        // Equal to Unicode, and not the same bytes.
        (
            [("A", "\u{E9}", "::1"), ("A", "\u{E9}", "::2"), ("A", "e\u{301}", "::3")],
            QuotaLimits(maximumConnectionsPerSubject: 2), nil
        ),
        // Account and subject are told apart from others that read the same side by side.
        (
            [("AB", "C", "::1"), ("AB", "C", "::2"), ("A", "BC", "::3")], QuotaLimits(maximumConnectionsPerSubject: 2),
            nil
        ),
        // Addresses: IPv4 each, mapped or not; IPv6 by its first 64 bits; Unix sockets not at all.
        (
            [("A", nil, "192.0.2.1"), ("B", nil, "::ffff:192.0.2.1"), ("C", nil, "192.0.2.1")],
            QuotaLimits(maximumConnectionsPerAddress: 2), .address
        ),
        (
            [("A", nil, "192.0.2.1"), ("B", nil, "192.0.2.1"), ("C", nil, "192.0.2.2")],
            QuotaLimits(maximumConnectionsPerAddress: 2), nil
        ),
        (
            [("A", nil, "2001:db8:1:2::1"), ("B", nil, "2001:db8:1:2:ffff::"), ("C", nil, "2001:db8:1:2::2")],
            QuotaLimits(maximumConnectionsPerAddress: 2), .address
        ),
        (
            [("A", nil, "2001:db8:1:2::1"), ("B", nil, "2001:db8:1:2::1"), ("C", nil, "2001:db8:1:3::1")],
            QuotaLimits(maximumConnectionsPerAddress: 2), nil
        ),
        (
            [("A", nil, "::1"), ("B", nil, "::1"), ("C", nil, "0.0.0.0")], QuotaLimits(maximumConnectionsPerAddress: 2),
            nil
        ),
        (
            [("A", nil, "unix"), ("B", nil, "unix"), ("C", nil, "unix")], QuotaLimits(maximumConnectionsPerAddress: 2),
            nil
        ),
        // What concerns the client alone is told before what concerns the node.
        (
            [("A", "s", "::1"), ("A", "s", "::1"), ("A", "s", "::1")],
            QuotaLimits(
                maximumConnections: 2, maximumConnectionsPerAccount: 2, maximumConnectionsPerSubject: 2,
                maximumConnectionsPerAddress: 2), .subject
        ),
    ]

    @Test(arguments: thirds.indices)
    func `the third is refused by the limit that it is over, and by no other`(row: Int) throws {
        let (clients, limits, reached) = Self.thirds[row]
        #expect(try last(of: clients, limits) == reached.map { ConnectionLimit(name: $0, value: 2) })
    }

    @Test func `an address counts a connection until its first answer, and its stream afterwards`() throws {
        let limits = QuotaLimits(maximumConnectionsPerAddress: 2)
        let key = try address("::1")
        var counts = QuotaCounts()
        #expect(counts.arrive(key, limits) == nil && counts.arrive(key, limits) == nil)
        #expect(counts.arrive(key, limits) == ConnectionLimit(name: .address, value: 2))
        // One becomes a stream: it has a place already. The other one is answered.
        #expect(counts.enter(Self.account, nil, key, arrived: key, limits) == nil)
        #expect(counts.arrive(key, limits)?.name == .address)
        counts.leave(key)
        // The connection that was answered asks for a stream later, and another one comes first.
        #expect(counts.arrive(key, limits) == nil)
        #expect(counts.enter(Self.account, nil, key, arrived: nil, limits)?.name == .address)
        counts.leave(Self.account, nil, key)
        counts.leave(key)
        #expect(counts.addresses.isEmpty && counts.accounts.isEmpty && counts.total == 0)
    }

    @Test func `a stream behind a balancer counts for its own address, and the connection's is given back`() throws {
        let limits = QuotaLimits(maximumConnectionsPerAddress: 1)
        let (balancer, phone) = (try address("10.0.0.1"), try address("192.0.2.1"))
        var counts = QuotaCounts()
        #expect(counts.arrive(balancer, limits) == nil)
        #expect(counts.enter(Self.account, nil, phone, arrived: balancer, limits) == nil)
        #expect(counts.addresses == [try #require(phone): 1])
        #expect(counts.enter(Self.account, nil, phone, arrived: nil, limits)?.name == .address)
    }

    @Test func `a refusal counts nothing`() throws {
        for limits in [
            QuotaLimits(maximumConnections: 1), QuotaLimits(maximumConnectionsPerAccount: 1),
            QuotaLimits(maximumConnectionsPerSubject: 1), QuotaLimits(maximumConnectionsPerAddress: 1),
        ] {
            let (subject, key) = (SubjectKey(Self.account, "s"), try address("::1"))
            var counts = QuotaCounts()
            #expect(counts.enter(Self.account, subject, key, arrived: nil, limits) == nil)
            #expect(counts.enter(Self.account, subject, key, arrived: nil, limits) != nil)
            #expect(counts.total == 1 && counts.accounts == [Self.account: 1])
            #expect(counts.subjects.map(\.value) == [1] && counts.addresses.map(\.value) == [1])
        }
    }

    @Test func `a stream that goes on as another subject is counted under that one, up to its limit`() throws {
        let quota = ConnectionQuota(QuotaLimits(maximumConnectionsPerSubject: 2))
        func isRefused(_ subject: String) throws -> Bool {
            var permit: ConnectionPermit? = try quota.arrive(nil)
            let limit = quota.enter(Self.account, subject: subject, address: nil, &permit)
            if let permit = permit.take() { quota.leave(permit, of: Self.account) }
            return limit?.name == .subject
        }
        func move(_ permit: inout ConnectionPermit?, _ subject: String?) -> ConnectionLimit.Name? {
            quota.move(&permit, of: Self.account, to: subject)?.name
        }
        var first: ConnectionPermit? = try quota.arrive(nil)
        var second: ConnectionPermit? = try quota.arrive(nil)
        for index in 0..<2 {
            let limit =
                index == 0
                ? quota.enter(Self.account, subject: "a", address: nil, &first)
                : quota.enter(Self.account, subject: "a", address: nil, &second)
            #expect(limit == nil)
        }
        #expect(try isRefused("a") && !isRefused("b"))
        let same = move(&first, "a")
        let other = move(&first, "b")
        #expect(try same == nil && other == nil && !isRefused("a") && !isRefused("b"))
        let full = move(&second, "b")
        #expect(try full == nil && isRefused("b") && !isRefused("a"))
        // At its limit it stays where it is counted; who has no subject has no limit.
        var third: ConnectionPermit? = try quota.arrive(nil)
        let entered = quota.enter(Self.account, subject: "a", address: nil, &third)
        let late = move(&third, "b")
        let none = move(&second, nil)
        let next = move(&third, "b")
        let again = move(&second, "b")
        #expect(entered == nil && late == .subject && none == nil && next == nil && again == .subject)
        for index in [0, 1, 2] {
            var left = index == 0 ? first.take() : index == 1 ? second.take() : third.take()
            if let held = left.take() { quota.leave(held, of: Self.account) }
        }
        #expect(quota.isEmpty)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `whoever comes, goes and is refused, the counts are those who are there`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let limits = QuotaLimits(
            maximumConnections: random.below(30), maximumConnectionsPerAccount: random.below(8),
            maximumConnectionsPerSubject: random.below(4), maximumConnectionsPerAddress: random.below(6))
        var counts = QuotaCounts()
        var arrived: [AddressKey] = []
        var inside: [(account: Account, subject: SubjectKey?, address: AddressKey?)] = []
        for step in 0..<2000 {
            // Towards the end they only go.
            let comes = step < 1500 && random.below(5) < 3
            if comes {
                let account = Account("A\(random.below(4))")
                let subject = SubjectKey(account, random.isOne(in: 4) ? nil : "s\(random.below(3))")
                let key = try address(random.isOne(in: 6) ? "unix" : "10.0.0.\(random.below(4))")
                let held = arrived.isEmpty || random.isOne(in: 2) ? nil : arrived.removeLast()
                if random.isOne(in: 3), held == nil, let key {
                    if counts.arrive(key, limits) == nil { arrived.append(key) }
                } else if counts.enter(account, subject, key, arrived: held, limits) == nil {
                    inside.append((account, subject, key))
                } else if let held {
                    arrived.append(held)
                }
            } else if random.isOne(in: 3), !arrived.isEmpty {
                counts.leave(arrived.remove(at: random.below(arrived.count)))
            } else if !inside.isEmpty {
                let one = inside.remove(at: random.below(inside.count))
                counts.leave(one.account, one.subject, one.address)
            } else if !arrived.isEmpty {
                counts.leave(arrived.removeLast())
            }
            #expect(counts.total == inside.count, "seed \(seed)")
            #expect(counts.accounts == Dictionary(grouping: inside, by: \.account).mapValues(\.count), "seed \(seed)")
            let addresses = Dictionary(grouping: inside.compactMap(\.address) + arrived) { $0 }
            #expect(counts.addresses == addresses.mapValues { UInt32($0.count) }, "seed \(seed)")
            let subjects = Dictionary(grouping: inside.compactMap(\.subject)) { $0 }
            #expect(counts.subjects == subjects.mapValues { UInt32($0.count) }, "seed \(seed)")
        }
        #expect(inside.isEmpty && arrived.isEmpty && counts.total == 0 && counts.addresses.isEmpty)
    }

    // MARK: - Handshakes

    /// How many of 100 that come at each of these milliseconds are let in.
    private static let storms: [(limit: Int, at: [UInt64], passed: [Int])] = [
        (0, [0], [100]),
        (1, [0, 999, 1000, 1001, 2000], [1, 0, 1, 0, 1]),
        (3, [5000, 5333, 5334, 5667, 6000], [3, 0, 1, 1, 1]),
        (7, [10, 1010, 1010, 5000], [7, 7, 0, 7]),
        (10, [0, 50, 100, 150, 1150], [10, 0, 1, 0, 10]),
        (99, [0, 1000], [99, 99]), (100, [0, 500, 1000], [100, 50, 50]), (101, [0], [100]),
        // Another loop's clock is a little behind.
        (10, [100, 90, 200], [10, 0, 1]),
    ]

    @Test(arguments: storms.indices)
    func `a second's worth of handshakes comes at once, then as many as the rate`(row: Int) {
        let (limit, at, passed) = Self.storms[row]
        var rate = HandshakeRate()
        let limits = QuotaLimits(maximumHandshakesPerSecond: limit)
        let found = at.map { now in (0..<100).count { _ in rate.take(limits, now: now) == nil } }
        #expect(found == passed)
    }

    @Test func `a rate that is lowered counts from then on`() {
        var rate = HandshakeRate()
        #expect((0..<100).count { _ in rate.take(QuotaLimits(maximumHandshakesPerSecond: 100), now: 0) == nil } == 100)
        let low = QuotaLimits(maximumHandshakesPerSecond: 2)
        #expect(rate.take(low, now: 400) == ConnectionLimit(name: .handshakes, value: 2))
        #expect(rate.take(low, now: 500) == nil && rate.take(low, now: 500) != nil)
    }

    // MARK: - Owners

    @Test func `a permit gives back what it counts, in whatever state it is`() throws {
        let quota = ConnectionQuota(QuotaLimits(maximumConnectionsPerSubject: 1, maximumConnectionsPerAddress: 1))
        let key = try address("192.0.2.1")
        var permit: ConnectionPermit? = try quota.arrive(key)
        #expect(throws: ConnectionLimit(name: .address, value: 1)) { quota.leave(try quota.arrive(key), of: nil) }
        #expect(quota.enter(Self.account, subject: "s", address: key, &permit) == nil)
        #expect(quota.total == 1 && quota.accounts == [Self.account: 1])
        // Who is refused keeps what it had, which here is nothing.
        var second: ConnectionPermit?
        #expect(quota.enter(Self.account, subject: "s", address: nil, &second)?.name == .subject)
        if let second = second.take() { quota.leave(second, of: nil) }
        if let permit = permit.take() { quota.leave(permit, of: Self.account) }
        #expect(quota.isEmpty)
    }

    @Test(arguments: [(0, 5), (1, 1), (2, 2)])
    func `of one user as many connections are idle as it may have, beside its streams`(_ limit: Int, _ kept: Int) throws
    {
        let quota = ConnectionQuota(QuotaLimits(maximumConnectionsPerSubject: limit))
        let (user, other) = (try #require(SubjectKey(Self.account, "a")), try #require(SubjectKey(Self.account, "b")))
        var stream: ConnectionPermit?
        #expect(quota.enter(Self.account, subject: "a", address: nil, &stream) == nil)
        let found = (0..<5).count { _ in quota.rest(user) }
        #expect(found == kept && quota.rest(other))
        // One asks again, and is idle again.
        quota.endRest(user)
        #expect(quota.rest(user) && quota.rest(user) == (limit == 0))
        for _ in 0..<(limit == 0 ? 6 : kept) { quota.endRest(user) }
        quota.endRest(other)
        if let stream = stream.take() { quota.leave(stream, of: Self.account) }
        #expect(quota.isEmpty)
    }

    @Test func `an open connection is hardly larger for its permit`() {
        #expect(MemoryLayout<ConnectionPermit?>.size <= 20)
    }

    @Test func `a limit that is lowered drops nobody and refuses the next`() throws {
        let quota = ConnectionQuota(QuotaLimits(maximumConnections: 3))
        var first: ConnectionPermit?
        var second: ConnectionPermit?
        #expect(quota.enter(Self.account, subject: nil, address: nil, &first) == nil)
        quota.change(to: QuotaLimits(maximumConnections: 1))
        #expect(quota.enter(Self.account, subject: nil, address: nil, &second)?.description == "max_connections 1")
        #expect(quota.total == 1)
        if let second = second.take() { quota.leave(second, of: nil) }
        if let first = first.take() { quota.leave(first, of: Self.account) }
        #expect(quota.enter(Self.account, subject: nil, address: nil, &first) == nil)
        if let first = first.take() { quota.leave(first, of: Self.account) }
        #expect(quota.isEmpty)
    }

    @Test func `the names of limits are keys of the settings, and 0 connections are what descriptors allow`() throws {
        let keys = SettingsTable.rows.map(\.path)
        for name in ConnectionLimit.Name.allCases { #expect(keys.contains("limits.\(name.rawValue)")) }
        var settings = Settings()
        // Numbers 0 to 896 are for clients, but for those that the node has.
        for (descriptors, own, clients) in [
            (1024, 0, 869), (1024, 60, 811), (1_048_576, 100, 1_015_589), (257, 128, 1), (129, 100, 1), (20, 5, 5),
        ] {
            settings.limits.maximumConnections = 0
            #expect(QuotaLimits(settings.limits, descriptors: descriptors, own: own).maximumConnections == clients)
            settings.limits.maximumConnections = 5
            #expect(QuotaLimits(settings.limits, descriptors: descriptors, own: own).maximumConnections == 5)
        }
    }
}
