import GatewaySettings
import LiveUpdates
import Testing

@testable import Gateway

struct PartsTests {
    private func load(_ text: String) throws -> Settings {
        try #require(Settings.load(text: Array(text.utf8), file: "gate.yaml").settings)
    }

    @Test func `what the settings say is what the gateway is made with`() throws {
        let settings = try load(
            """
            history: {retention: 7d, max_events_per_account: 20, max_log_bytes: 1MiB, max_timestamp_delay: 48h}
            limits: {broker_grace: 2m, max_lag: 4s, ping_interval: 300ms, pong_timeout: 5s, max_wait: 6s, \
            max_sync_events: 7, changed_interval: 80ms}
            """)
        let limits = GatewayLimits(settings.limits)
        #expect(limits.maximumLagMilliseconds == 4000 && limits.pingIntervalMilliseconds == 300)
        #expect(limits.pongTimeoutMilliseconds == 5000 && limits.maximumWaitMilliseconds == 6000)
        #expect(limits.maximumSyncEvents == 7 && limits.changedIntervalMilliseconds == 80)
        #expect(limits.brokerGraceMilliseconds == 120_000)
        let history = HistoryLimits(settings.history)
        #expect(history.retentionMilliseconds == 604_800_000 && history.maximumEventsPerAccount == 20)
        #expect(history.maximumLogBytes == 1 << 20 && history.maximumTimestampDelayMilliseconds == 172_800_000)
        let without = try load("")
        #expect(GatewayLimits(without.limits).maximumLagMilliseconds == GatewayLimits().maximumLagMilliseconds)
        #expect(HistoryLimits(without.history).maximumLogBytes == HistoryLimits().maximumLogBytes)
    }
}
