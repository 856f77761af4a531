import GatewaySettings
import HTTP
import Kafka
import LiveUpdates
import Transport
import WebSocket

extension GatewayServer.Parts {
    /// The parts that an operator's settings ask for.
    package init(_ settings: Settings, _ material: SettingsMaterial) {
        self.init(
            listen: settings.listen, admin: settings.admin, loops: settings.loops,
            consumer: ConsumerSettings(
                brokers: settings.kafka.brokers, topics: settings.kafka.topics,
                properties: settings.kafka.settings.map { ($0.name, $0.value) }),
            mapping: settings.events, verifier: material.verifier, tls: material.tls,
            limits: GatewayLimits(settings.limits), agreesToDeflate: settings.websocket.deflate,
            history: HistoryLimits(settings.history), epochNumber: UInt32(clamping: settings.history.epoch))
    }
}

extension GatewayLimits {
    init(_ limits: Settings.Limits) {
        self.init()
        maximumHeaderBytes = limits.maximumHeaderBytes
        maximumHeaders = limits.maximumHeaders
        handshakeTimeoutMilliseconds = limits.handshakeTimeout.milliseconds
        maximumMessageBytes = limits.maximumMessageBytes
        maximumFragments = limits.maximumFragments
        maximumControlFramesPerSecond = limits.maximumControlFramesPerSecond
        maximumPendingBytes = limits.maximumPendingBytes
        brokerGraceMilliseconds = limits.brokerGrace?.milliseconds
        maximumLagMilliseconds = limits.maximumLag.milliseconds
        pingIntervalMilliseconds = limits.pingInterval.milliseconds
        pongTimeoutMilliseconds = limits.pongTimeout.milliseconds
        maximumWaitMilliseconds = limits.maximumWait.milliseconds
        maximumSyncEvents = limits.maximumSyncEvents
        changedIntervalMilliseconds = limits.changedInterval.milliseconds
    }
}

extension ConnectionPolicy {
    init(_ parts: GatewayServer.Parts) {
        let limits = parts.limits
        var request = RequestLimits()
        request.maximumHeaderBytes = limits.maximumHeaderBytes
        request.maximumHeaders = limits.maximumHeaders
        requestLimits = request
        webSocketLimits = WebSocketLimits(
            maximumMessageBytes: limits.maximumMessageBytes, maximumFragments: limits.maximumFragments,
            maximumControlFramesPerSecond: limits.maximumControlFramesPerSecond)
        handshakeTimeoutMilliseconds = limits.handshakeTimeoutMilliseconds
        maximumPendingBytes = limits.maximumPendingBytes
        maximumLagMilliseconds = limits.maximumLagMilliseconds
        pingIntervalMilliseconds = limits.pingIntervalMilliseconds
        pongTimeoutMilliseconds = limits.pongTimeoutMilliseconds
        changedIntervalMilliseconds = limits.changedIntervalMilliseconds
        // The protocol's promise to quiet accounts: silence does not expire their cursor.
        quietMilliseconds = UInt64(clamping: max(1, parts.history.retentionMilliseconds / 8))
        security = parts.tls.map { .server($0) } ?? .plain
    }
}

extension HistoryLimits {
    init(_ history: Settings.History) {
        self.init()
        retentionMilliseconds = Int64(history.retention.milliseconds)
        maximumEventsPerAccount = history.maximumEventsPerAccount
        maximumLogBytes = history.maximumLogBytes
        maximumTimestampDelayMilliseconds = Int64(history.maximumTimestampDelay.milliseconds)
    }
}

extension Duration {
    fileprivate var milliseconds: UInt64 { UInt64(self / .milliseconds(1)) }
}
