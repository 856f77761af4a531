import Kafka

extension GatewayServer.Parts {
    /// The parts that an operator's settings ask for.
    package init(_ settings: Settings, _ material: SettingsMaterial) {
        self.init(
            listen: settings.listen, admin: settings.admin, loops: settings.loops,
            consumer: ConsumerSettings(
                brokers: settings.kafka.brokers, topics: settings.kafka.topics,
                properties: settings.kafka.settings.map { ($0.name, $0.value) }),
            mapping: settings.events, verifier: material.verifier, tls: material.tls,
            limits: GatewayLimits(settings.limits), agreesToDeflate: settings.websocket.deflate)
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
        brokerGraceMilliseconds = limits.brokerGrace.milliseconds
    }
}

extension Duration {
    fileprivate var milliseconds: UInt64 { UInt64(self / .milliseconds(1)) }
}
