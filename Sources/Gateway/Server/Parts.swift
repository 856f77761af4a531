import Balancer
import GatewaySettings
import HTTP
import Kafka
import LiveUpdates
import TLS
import Tokens
import Transport
import WebSocket

extension GatewayServer {
    /// What a gateway is made of, loaded and checked.
    package struct Parts: Sendable {
        package var settings: Settings
        package var mapping: EventMapping
        package var verifier: TokenVerifier
        /// Nil: there are no tickets.
        package var ticketSeal: TicketSeal?
        /// Nil: plain text.
        package var tls: TLSContext?
        /// The token that is required on the address `admin`; nil: none.
        package var adminToken: AdminToken?
        /// Whether health and readiness are served on the address `admin`.
        package var servesAdmin: Bool

        package init(
            settings: Settings, mapping: EventMapping, verifier: TokenVerifier, ticketSeal: TicketSeal? = nil,
            tls: TLSContext? = nil, adminToken: AdminToken? = nil, servesAdmin: Bool = true
        ) {
            self.settings = settings
            self.mapping = mapping
            self.verifier = verifier
            self.ticketSeal = ticketSeal
            self.tls = tls
            self.adminToken = adminToken
            self.servesAdmin = servesAdmin
        }

        /// The parts with which a gateway continues that runs with these: the settings from now on, and what was loaded for
        /// those that count at once.
        func adopting(_ material: SettingsMaterial, _ settings: Settings) -> Parts {
            var parts = Parts(material)
            parts.settings = settings
            parts.mapping = mapping
            parts.verifier.takeKeys(from: verifier)
            parts.servesAdmin = servesAdmin
            // Another file counts after a restart; new contents of the same file count at once.
            if material.settings.adminTokenFile != settings.adminTokenFile { parts.adminToken = adminToken }
            return parts
        }

        package init(_ material: SettingsMaterial) {
            self.init(
                settings: material.settings, mapping: material.mapping, verifier: material.verifier,
                ticketSeal: material.ticketSeal, tls: material.tls, adminToken: material.adminToken)
        }
    }
}

// MARK: - Values of the settings, in the units of their use

extension ConnectionPolicy {
    /// From the first frame of a client's message to its last byte: as long as a request's head has. No message of a client
    /// needs longer, and one that never ends would occupy an inflater.
    static let messageMilliseconds: UInt64 = 10_000
    /// A `drain_window` of 0 s is for nodes that can go unnoticed. After a loss of revocations all nodes close their clients,
    /// and each of these asks the server of tokens: 20,000 clients of a node make 2,000 requests a second.
    static let minimumExpulsionMilliseconds: UInt64 = 10_000

    init(_ parts: GatewayServer.Parts) {
        let limits = parts.settings.limits
        var request = RequestLimits()
        request.maximumHeaderBytes = limits.maximumHeaderBytes
        request.maximumHeaders = limits.maximumHeaders
        requestLimits = request
        webSocketLimits = WebSocketLimits(
            maximumMessageBytes: limits.maximumMessageBytes, maximumFragments: limits.maximumFragments,
            maximumControlFramesPerSecond: limits.maximumControlFramesPerSecond,
            maximumMessagesPerSecond: limits.maximumMessagesPerSecond,
            maximumInboundBytesPerSecond: limits.maximumInboundBytesPerSecond,
            maximumMessageMilliseconds: Self.messageMilliseconds, turn: .shared)
        handshakeTimeoutMilliseconds = limits.handshakeTimeout.milliseconds
        pingIntervalMilliseconds = limits.pingInterval.milliseconds
        pongTimeoutMilliseconds = limits.pongTimeout.milliseconds
        maximumAgeMilliseconds = limits.maximumConnectionAge.milliseconds
        expulsionWindowMilliseconds = max(
            parts.settings.lifecycle.drainWindow.milliseconds, Self.minimumExpulsionMilliseconds)
        maximumRequestsPerConnection = limits.maximumRequestsPerConnection
        streams = StreamPolicy(parts.settings)
        security = parts.tls.map { .server($0) } ?? .plain
        balancer = BalancerPolicy(parts.settings.balancer)
    }
}

extension Admission {
    init(
        _ parts: GatewayServer.Parts, readiness: NodeReadiness, usedTickets: NodeTickets, revocations: NodeRevocations
    ) {
        self.init(
            verifier: parts.verifier, readiness: readiness, agreesToDeflate: parts.settings.websocket.deflate,
            syncLimits: SyncLimits(parts.settings.limits), browsers: BrowserPolicy(parts.settings.auth),
            tickets: parts.ticketSeal.map {
                TicketPolicy(
                    seal: $0, lifetimeSeconds: Int64(parts.settings.auth.tickets.lifetime.milliseconds / 1_000))
            }, archive: ArchivePolicy(parts.settings), usedTickets: usedTickets, revocations: revocations)
    }
}

extension ArchivePolicy {
    /// Nil: the settings name no archive.
    init?(_ settings: Settings) {
        guard settings.archive.store != .off else { return nil }
        self.init(maximumTimestampDelayMilliseconds: Int64(settings.history.maximumTimestampDelay.milliseconds))
    }
}

extension NodeLifecycle.Times {
    init(_ lifecycle: SettingValues<LifecycleTable>) {
        self.init(
            delay: lifecycle.drainDelay.milliseconds, window: lifecycle.drainWindow.milliseconds,
            retry: lifecycle.drainRetry.milliseconds)
    }
}

extension QuotaLimits {
    /// Descriptors that clients of any kind, silent ones too, leave to the node. It needs them for Kafka, the administration,
    /// listeners, files, and clients that are being refused.
    static let keptDescriptors = 128

    /// The greatest descriptor of a client. Of very few descriptors half are kept.
    static func highestDescriptor(of descriptors: Int) -> Int32 {
        Int32(clamping: descriptors - min(keptDescriptors, descriptors / 2))
    }

    /// How many clients can be connected. Of the possible descriptors the node itself has the first, and a 32nd is for clients
    /// that come and go. Without it a client beyond the limit could not be read, nor get the reason of its refusal.
    static func clients(of descriptors: Int, own: Int) -> Int {
        let room = Int(highestDescriptor(of: descriptors)) + 1 - own
        return max(1, room - max(1, room / 32))
    }

    /// - Parameters:
    ///   - descriptors: how many the process may open.
    ///   - own: how many of them the node itself has open.
    init(_ limits: SettingValues<LimitsTable>, descriptors: Int, own: Int) {
        maximumConnections = limits.maximumConnections
        if maximumConnections == 0 { maximumConnections = Self.clients(of: descriptors, own: own) }
        maximumConnectionsPerAccount = limits.maximumConnectionsPerAccount
        maximumConnectionsPerSubject = limits.maximumConnectionsPerSubject
        maximumConnectionsPerAddress = limits.maximumConnectionsPerAddress
        maximumHandshakesPerSecond = limits.maximumHandshakesPerSecond
    }
}

extension StreamPolicy {
    init(_ settings: Settings) {
        maximumPendingBytes = settings.limits.maximumPendingBytes
        maximumLagMilliseconds = settings.limits.maximumLag.milliseconds
        changedIntervalMilliseconds = settings.limits.changedInterval.milliseconds
        // The protocol promises that no cursor of a quiet account expires, nor one whose filter leaves out much.
        quietMilliseconds = max(5_000, settings.history.retention.milliseconds / 8)
        maximumPassedOver = max(1, settings.history.maximumEventsPerAccount / 2)
    }
}

extension SyncLimits {
    init(_ limits: SettingValues<LimitsTable>) {
        maximumEvents = limits.maximumSyncEvents
        maximumWaitMilliseconds = limits.maximumWait.milliseconds
    }
}

extension HistoryLimits {
    init(_ history: SettingValues<HistoryTable>) {
        self.init(
            retentionMilliseconds: Int64(history.retention.milliseconds),
            maximumEventsPerAccount: history.maximumEventsPerAccount, maximumLogBytes: history.maximumLogBytes,
            maximumTimestampDelayMilliseconds: Int64(history.maximumTimestampDelay.milliseconds))
    }
}

extension ConsumerSettings {
    init(_ kafka: SettingValues<KafkaTable>) {
        self.init(
            brokers: kafka.brokers, topics: kafka.topics, properties: kafka.settings.map { ($0.name, $0.value) })
    }
}

extension Duration {
    /// Settings hold no negative durations.
    var milliseconds: UInt64 { UInt64(self / .milliseconds(1)) }
}
