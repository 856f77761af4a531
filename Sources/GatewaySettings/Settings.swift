import LiveUpdates
import Logging
import Reactor

/// What an operator has set, checked for itself: every value lies within its limits, files are not opened yet.
package struct Settings: Sendable {
    package var listen: [SocketAddress]
    package var admin: SocketAddress
    /// 0: one for each core that the process may use.
    package var loops: Int
    /// Nil: plain text.
    package var tls: ServerCertificate?
    package var kafka: Kafka
    package var events: EventMapping
    package var auth: Auth
    package var websocket: WebSocket
    package var history: History
    package var limits: Limits
    package var log: Log
    /// Where each setting that somebody said stands, by its path.
    var places: [String: SettingsPlace]

    /// The two files of `tls`.
    package struct ServerCertificate: Equatable, Sendable {
        package var certificate: String
        package var key: String
    }

    package struct Kafka: Sendable {
        package var brokers: String
        package var topics: [String]
        package var settings: [KafkaProperty]
    }

    package struct Auth: Sendable {
        package var jwt: [IssuerSettings]
        /// The file of fixed tokens.
        package var tokens: String?
        package var anonymous: Account?
    }

    package struct WebSocket: Sendable {
        package var deflate: Bool
    }

    package struct History: Sendable {
        package var retention: Duration
        package var maximumEventsPerAccount: Int
        package var maximumLogBytes: Int
        package var maximumTimestampDelay: Duration
        package var epoch: Int
    }

    package struct Limits: Sendable {
        package var maximumHeaderBytes: Int
        package var maximumHeaders: Int
        package var handshakeTimeout: Duration
        package var maximumMessageBytes: Int
        package var maximumFragments: Int
        package var maximumControlFramesPerSecond: Int
        package var maximumPendingBytes: Int
        /// Nil: brokers out of reach never turn `/readyz` false.
        package var brokerGrace: Duration?
        package var maximumLag: Duration
        package var pingInterval: Duration
        package var pongTimeout: Duration
        package var maximumWait: Duration
        package var maximumSyncEvents: Int
        package var changedInterval: Duration
    }

    package struct Log: Sendable {
        package var level: LogLevel
        /// Nil: text on a terminal and JSON otherwise.
        package var format: LogFormat?
    }
}
