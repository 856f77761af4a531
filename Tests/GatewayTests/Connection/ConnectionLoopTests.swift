import GatewaySettings
import LiveUpdates
import Logging
import Reactor
import Testing
import Tokens

@testable import Gateway

struct ConnectionLoopTests {
    private func parts(_ text: String) throws -> GatewayServer.Parts {
        let settings = try #require(Settings.load(text: Array(text.utf8), file: "gate.yaml").settings)
        return GatewayServer.Parts(
            settings: settings, mapping: try EventMapping(.init(preset: "rails")),
            verifier: TokenVerifier(issuers: [], anonymous: settings.auth.anonymous))
    }

    @Test func `a loop goes on with another policy and admission as whole values`() async throws {
        let (old, new) = (try parts(""), try parts(Self.changed))
        let loop = try EventLoop(label: "test")
        let readiness = NodeReadiness(graceMilliseconds: nil)
        let (tickets, revocations) = (NodeTickets(), NodeRevocations())
        await loop.perform {
            let connections = ConnectionLoop(
                eventLoop: loop, index: 0, policy: ConnectionPolicy(old),
                admission: Admission(old, readiness: readiness, usedTickets: tickets, revocations: revocations),
                log: ConnectionLog(logger: Logger("test", to: SilentLog())), ingest: Mailbox(loop: loop) { _ in },
                lookups: Mailbox(loop: loop) { _ in }, quota: ConnectionQuota(QuotaLimits()), backlog: LoopBacklog(),
                topics: ["t"])
            #expect(connections.admission.verifier.letsNobodyIn)
            connections.adopt(
                ConnectionPolicy(new),
                Admission(new, readiness: readiness, usedTickets: tickets, revocations: revocations))
            #expect(!connections.admission.verifier.letsNobodyIn)
            #expect(connections.admission.syncLimits.maximumEvents == 7)
            #expect(connections.policy.handshakeTimeoutMilliseconds == 2_000)
            // What others keep of the policy follows.
            #expect(connections.transports.limits.handshakeMilliseconds == 2_000)
            #expect(connections.webSockets.limits.maximumMessageBytes == 99)
            #expect(connections.fanOut.policy.maximumLagMilliseconds == 3_000)
        }
        await loop.stopped()
    }

    @Test func `a gateway goes on with other parts, its readiness too`() async throws {
        let server = GatewayServer(
            try parts("kafka: {broker_grace: 1s}"), logger: Logger("test", to: SilentLog()), failure: { _ in })
        let readiness = await server.readiness
        _ = readiness.becomeReady()
        readiness.lose("the broker", now: 0)
        #expect(readiness.verdict(now: 1_000) != .ready)
        await server.adopt(try parts(Self.changed))
        #expect(readiness.verdict(now: 1_000) == .ready)
        #expect(await server.parts.settings.limits.maximumLag == .seconds(3))
        // The node's places too: newcomers are held to the new limit.
        let quota = await server.quota
        var first: ConnectionPermit?
        var second: ConnectionPermit?
        #expect(quota.enter(Account("A"), subject: nil, address: nil, &first) == nil)
        #expect(quota.enter(Account("A"), subject: nil, address: nil, &second)?.description == "max_connections 1")
        if let first = first.take() { quota.leave(first, of: Account("A")) }
        if let second = second.take() { quota.leave(second, of: nil) }
        #expect(quota.isEmpty)
    }

    static let changed = """
        limits: {handshake_timeout: 2s, max_message_bytes: 99, max_lag: 3s, max_sync_events: 7, max_connections: 1}
        kafka: {broker_grace: never}
        auth: {anonymous: A}
        """
}
