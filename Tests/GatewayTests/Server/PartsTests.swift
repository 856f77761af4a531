import GatewaySettings
import LiveUpdates
import Testing
import Tokens

@testable import Gateway

struct PartsTests {
    private func load(_ text: String) throws -> Settings {
        try #require(Settings.load(text: Array(text.utf8), file: "gate.yaml").settings)
    }

    @Test func `a reload goes on with the keys that were fetched, where they come from the same source`() throws {
        func material(_ url: String, _ refresh: String) throws -> SettingsMaterial {
            let text = """
                auth: {jwt: [{issuer: i, audience: a, algorithms: [ES256], keys_url: "\(url)", keys_refresh: \(refresh)}]}

                """
            return try #require(Settings.load(text: Array(text.utf8), file: "gate.yaml").check(now: 0).material)
        }
        let before = GatewayServer.Parts(try material("https://a/keys", "1h"))
        before.verifier.issuers[0].fetched?.publish(.init(keys: [], asksForUnknown: false))
        for (url, hasKeys) in [("https://a/keys", true), ("https://b/keys", false)] {
            let read = try material(url, "2h")
            let keys = before.adopting(read, read.settings).verifier.issuers[0].fetched
            #expect(keys?.source.url == url && (keys?.snapshot.keys != nil) == hasKeys)
        }
    }

    @Test func `what the settings say is what the gateway is made with`() throws {
        let settings = try load(
            """
            history: {retention: 7d, max_events_per_account: 20, max_log_bytes: 1MiB, max_timestamp_delay: 48h}
            kafka: {broker_grace: 2m}
            limits: {max_lag: 4s, ping_interval: 300ms, pong_timeout: 5s, max_wait: 6s, \
            max_sync_events: 7, changed_interval: 80ms, max_messages_per_second: 8, max_inbound_bytes_per_second: 9KiB, \
            max_requests_per_connection: 10}
            balancer: {trusted: [10.0.0.0/8], proxy_protocol: true, client_address: forwarded}
            """)
        let policy = ConnectionPolicy(
            GatewayServer.Parts(
                settings: settings, mapping: try EventMapping(.init(preset: "rails")),
                verifier: TokenVerifier(issuers: [])))
        #expect(policy.webSocketLimits.maximumMessageMilliseconds == 10_000)
        #expect(policy.webSocketLimits.maximumMessagesPerSecond == 8 && policy.maximumRequestsPerConnection == 10)
        #expect(policy.webSocketLimits.maximumInboundBytesPerSecond == 9216)
        #expect(policy.streams.maximumLagMilliseconds == 4000 && policy.pingIntervalMilliseconds == 300)
        #expect(policy.pongTimeoutMilliseconds == 5000 && policy.streams.changedIntervalMilliseconds == 80)
        #expect(policy.streams.quietMilliseconds == 604_800_000 / 8 && policy.streams.maximumPassedOver == 10)
        #expect(policy.balancer.expectsProxyHeader && policy.balancer.header == .forwarded)
        #expect(policy.balancer.trusted.contains(.ipv4(0x0A00_0001)) && !policy.balancer.trusted.contains(.unix))
        let sync = SyncLimits(settings.limits)
        #expect(sync.maximumWaitMilliseconds == 6000 && sync.maximumEvents == 7)
        let history = HistoryLimits(settings.history)
        #expect(history.retentionMilliseconds == 604_800_000 && history.maximumEventsPerAccount == 20)
        #expect(history.maximumLogBytes == 1 << 20 && history.maximumTimestampDelayMilliseconds == 172_800_000)
    }

    @Test(arguments: [("0s", 0, 10_000), ("9s", 9_000, 10_000), ("11s", 11_000, 11_000)] as [(String, UInt64, UInt64)])
    func `who is to fetch a new token is closed over the window of a drain, and never all at once`(
        window: String, drain: UInt64, expulsions: UInt64
    ) throws {
        let parts = GatewayServer.Parts(
            settings: try load("lifecycle: {drain_window: \(window)}"),
            mapping: try EventMapping(.init(preset: "rails")),
            verifier: TokenVerifier(issuers: []))
        #expect(ConnectionPolicy(parts).expulsionWindowMilliseconds == expulsions)
        #expect(NodeLifecycle.Times(parts.settings.lifecycle).window == drain)
    }
}
