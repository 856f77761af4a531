// Tests: ConnectionLoop+Expulsions.swift

import LiveUpdates
import Reactor
import TestHarness
import TestTokens
import Testing
import Tokens

@testable import Gateway

/// Those who are closed although perhaps nobody meant them.
@Suite struct ExpulsionTests {
    typealias Expulsions = ConnectionLoop.Expulsions

    @Test(arguments: [1, 2, 7, 100]) func `each ends once, evenly over the window`(count: Int) {
        var (expulsions, generator) = (Expulsions(), SpreadGenerator())
        let ids = (0..<count).map { ConnectionID(number: UInt64($0)) }
        for id in ids + ids { expulsions.add(id) }
        #expect(expulsions.count == count && expulsions.hasFound)
        expulsions.begin(at: 5_000, windowMilliseconds: 30_000, &generator)
        #expect(!expulsions.hasFound && expulsions.next(now: 4_999, &generator) == nil)
        var ended: [ConnectionID] = []
        for time in stride(from: UInt64(5_000), through: 35_000, by: 300) {
            while let id = expulsions.next(now: time, &generator) { ended.append(id) }
            let share = Double(time - 5_000) / 30_000 * Double(count)
            #expect(abs(Double(ended.count) - share) <= 1, "\(time)")
        }
        #expect(Set(ended) == Set(ids) && ended.count == count)
        #expect(expulsions.nextMoment == nil && expulsions.count == 0)
    }

    @Test func `what is found meanwhile puts nobody's moment off`() {
        var (expulsions, generator) = (Expulsions(), SpreadGenerator())
        for number in 0..<10 { expulsions.add(ConnectionID(number: UInt64(number))) }
        expulsions.begin(at: 0, windowMilliseconds: 1_000, &generator)
        // A second loss, by which all of them are found again, and two more.
        for number in 0..<12 { expulsions.add(ConnectionID(number: UInt64(number))) }
        expulsions.begin(at: 50_000, windowMilliseconds: 1_000, &generator)
        var ended: Set<ConnectionID> = []
        while let id = expulsions.next(now: 1_000, &generator) { ended.insert(id) }
        #expect(ended == Set((0..<10).map { ConnectionID(number: $0) }))
        #expect(expulsions.nextMoment == 50_250)
        // Who has come back since with nothing better is found once more.
        expulsions.add(ConnectionID(number: 3))
        #expect(expulsions.hasFound && expulsions.count == 3)
    }

    @Test func `whose token is older than what was lost is not closed with the others at once, but in its turn`()
        async throws
    {
        // The first of four moments is an eighth of the window away: nobody waits for it.
        let request = "GET /live/v1 HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n"
        let rig = try await ConnectionRig.start(request, clients: 8, drainWindow: "1h")
        #expect(try await eventually { await rig.openStreams == 8 })
        let second = WallClock.milliseconds / 1000
        await rig.loop.perform { [rig] in
            let node = rig.rig.value.node
            for (number, connection) in rig.rig.value.connections.enumerated() {
                guard case .open(let open) = connection.phase else { continue }
                // Half of them have a token of afterwards.
                open.identity = Identity(
                    account: Account("PACC1"), subject: nil, expiresAt: nil, issuedAt: second - (number < 4 ? 601 : 600)
                )
            }
            #expect(node.admission.revocations.lose(before: second - 600))
            node.visitAllConnections()
        }
        #expect(try await eventually { await rig.expelled == 4 })
        #expect(await rig.closes == [:])
        // Their moments lie within the window, and the client of one of them has sent a new token meanwhile.
        await rig.loop.perform { [rig] in
            let node = rig.rig.value.node
            if case .open(let open)? = rig.rig.value.connections.first?.phase {
                open.identity = Identity(
                    account: Account("PACC1"), subject: nil, expiresAt: nil, issuedAt: second)
            }
            let begin = node.eventLoop.now
            let last = node.expulsions.nextMoment ?? 0
            #expect(last > begin && last <= begin + node.policy.expulsionWindowMilliseconds)
            node.expelAll()
        }
        #expect(await rig.closes == ["4401": 3])
        await rig.loop.stopped()
    }

    @Test func `whose key its issuer has withdrawn is closed in its turn, to come back with another token`()
        async throws
    {
        let request = "GET /live/v1 HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n"
        let rig = try await ConnectionRig.start(request, clients: 6, drainWindow: "1h")
        #expect(try await eventually { await rig.openStreams == 6 })
        let keys = try FetchedKeySet.read(TokenForge.jwks(TokenForge.webKey(.p256, .p256)), algorithms: [.es256])
        let fetched = FetchedKeys(
            KeySource(
                issuer: "id", url: "https://a", authorities: nil, algorithms: [.es256],
                timing: .init(refreshMilliseconds: 1, cooldownMilliseconds: 1, maximumAgeMilliseconds: 2)))
        fetched.publish(.init(keys: keys, asksForUnknown: false))
        await rig.loop.perform { [rig] in
            let node = rig.rig.value.node
            for (number, connection) in rig.rig.value.connections.enumerated() {
                guard case .open(let open) = connection.phase else { continue }
                // Two have a token of the key that is left.
                open.identity = Identity(
                    account: Account("PACC1"), subject: nil, expiresAt: nil, voucher: .issuer("id"),
                    keyMark: number < 4 ? keys[0].mark &+ 1 : keys[0].mark)
            }
            var admission = node.admission
            admission.verifier = TokenVerifier(issuers: [
                TrustedIssuer(issuer: "id", audiences: [], accountClaim: "account_id", fetched: fetched)
            ])
            node.adopt(node.policy, admission)
        }
        #expect(try await eventually { await rig.expelled == 4 })
        #expect(await rig.closes == [:])
        await rig.loop.perform { [rig] in rig.rig.value.node.expelAll() }
        #expect(await rig.closes == ["4401": 4])
        await rig.loop.stopped()
    }

    @Test func `who is revoked by name is closed as soon as the loop has gone over all, at no moment of its own`()
        async throws
    {
        let request = "GET /live/v1 HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n"
        let rig = try await ConnectionRig.start(request, clients: 8)
        #expect(try await eventually { await rig.openStreams == 8 })
        await rig.loop.perform { [rig] in
            let node = rig.rig.value.node
            node.admission.revocations.add(Revocation(.account(Account("PACC1")), before: 0, recordedAt: .max / 8))
            node.visitAllConnections()
        }
        // Two ticks: the way itself takes place in the next one.
        for _ in 0..<2 { await rig.loop.perform {} }
        #expect(await rig.closes == ["4403": 8])
        #expect(await rig.expelled == 0)
        await rig.loop.stopped()
    }
}

extension ConnectionRig.Started {
    fileprivate var openStreams: Int {
        get async { await loop.perform { [self] in rig.value.node.counters.open.reduce(0, +) } }
    }
    fileprivate var expelled: Int {
        get async { await loop.perform { [self] in rig.value.node.expulsions.count } }
    }
    fileprivate var closes: [String: UInt64] {
        get async { await loop.perform { [self] in rig.value.node.counters.closes } }
    }
}

extension ConnectionLoop {
    /// As if the window were over.
    fileprivate func expelAll() {
        while let id = expulsions.next(now: .max, &spread) {
            if let connection = connections.connection(of: id) { expel(connection) }
        }
    }
}
