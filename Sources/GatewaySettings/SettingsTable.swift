import Kafka
import LiveUpdates
import Logging
import Options

/// All settings: defaults, the output of `livegate config`, the names of variables and the manual page come from here.
package enum SettingsTable {
    static let listen = Setting(
        "listen", .list("a list of addresses", of: .address, atLeastOne: true), standard: "[127.0.0.1:8080]",
        flag: .init("listen", "ADDRESS"),
        """
        Where clients connect: 127.0.0.1:8080, [::1]:8080, :8080 (all addresses of the machine) or unix:/path. A stale \
        socket file is replaced, a live one is not.
        """)
    static let admin = Setting(
        "admin", .address, standard: "127.0.0.1:9080", flag: .init("admin", "ADDRESS"),
        "Where GET /livez and /readyz are answered. Keep it away from clients.")
    static let loops = Setting(
        "loops", .integer(0...1024), standard: "0",
        "Event loops; 0 is one for each core that the process may use.")

    static let certificate = Setting(
        "tls.certificate", .path, standard: "''",
        "A PEM file with our certificate and, behind it, its chain. With it, listeners speak TLS 1.2 and 1.3 alone.")
    static let key = Setting(
        "tls.key", .path, standard: "''", "A PEM file with the private key of the certificate, RSA or ECDSA.")

    static let brokers = Setting(
        "kafka.brokers", .brokers, standard: "127.0.0.1:9092", flag: .init("kafka-brokers", "HOST:PORT,…"),
        "Brokers to ask first, HOST:PORT, several by comma. The others are found through them.")
    static let topics = Setting(
        "kafka.topics", .list("a list of topics", of: .topic, atLeastOne: true), standard: "[incidents]",
        flag: .init("topics", "TOPIC,…"),
        "Topics with the events, all partitions of each. A topic that is missing is waited for, and never made.")
    static let kafkaSettings = Setting(
        "kafka.settings", .kafkaProperties, standard: "{}",
        """
        Properties of librdkafka: TLS (security.protocol, ssl.ca.location), logins (sasl.mechanism, sasl.username, \
        sasl.password) and the like. Each is also a variable: LIVEGATE_KAFKA_SETTINGS_SASL_PASSWORD is sasl.password. \
        Refused are those that our promises rest on, such as isolation.level, auto.offset.reset and group.id.
        """)

    static let preset = Setting(
        "events.preset", .choice(Preset.allCases.map(\.rawValue), orEmpty: true), standard: "rails",
        "Where account, entity, id and type stand in the records: \(presets). '' is none; then all four are named below."
    )
    static let account = Setting(
        "events.account", .sources, standard: "''",
        """
        Where the account stands: /pointer into the value, row:/pointer into the changed row (debezium presets), \
        header:NAME, key, key:/pointer or topic:N (the Nth part between dots, -1 is the last). Of a list, the first that \
        yields text counts. Empty: as in the preset.
        """)
    static let entity = Setting(
        "events.entity", .sources, standard: "''", "Where the name of the entity stands, by the same rules.")
    static let id = Setting(
        "events.id", .sources, standard: "''", "Where the id of the entity stands, by the same rules.")
    static let type = Setting(
        "events.type", .sources, standard: "''", "Where the type of the change stands, by the same rules.")
    static let rename = Setting(
        "events.rename", .translations, standard: "{}",
        "Entities by other names, {incidents: incident}. They add to the preset's own.")
    static let drop = Setting(
        "events.drop", .list("a list of entities", of: .text("an entity")), standard: "[]",
        "Entities that are left out, by their names before renaming. They add to the preset's own.")
    static let types = Setting(
        "events.types", .translations, standard: "{}", "Types by other names, {destroyed: deleted}.")

    static let jwt = Setting(
        "auth.jwt", .issuers, standard: "[]",
        "Whose tokens are taken. A token is tried with the keys of the issuer that it names, and with no others.")
    static let tokens = Setting(
        "auth.tokens", .path, standard: "''",
        "A file with fixed tokens for development, a YAML list of {sha256: HEX, account: PACC1, subject: dev}.")
    static let anonymous = Setting(
        "auth.anonymous", .account, standard: "''",
        "Lets callers without a token in, as this account. A bad token is refused all the same.")

    static let deflate = Setting(
        "websocket.deflate", .truth, standard: "false",
        "Agree to permessage-deflate (RFC 7692) with clients that offer it: fewer bytes for more CPU and memory.")

    private static let presets = Preset.allCases.map(\.rawValue).joined(separator: ", ")
}

extension SettingsTable {
    static let retention = Setting(
        "history.retention", .duration(milliseconds: 1_000...31_536_000_000), standard: "24h",
        """
        How far back clients can resume, by the records' time stamps. Longer than max_timestamp_delay. A start reads that \
        much of each partition before the node is ready.
        """)
    static let maxEventsPerAccount = Setting(
        "history.max_events_per_account", .integer(1...1_000_000), standard: "1000",
        "Events of an account that are kept to resume from. Who is further behind is told to resync.")
    static let maxLogBytes = Setting(
        "history.max_log_bytes", .size(4096...1_099_511_627_776), standard: "256MiB",
        "Bytes of the events kept of all accounts. Over it, the accounts give way first that were idle longest.")
    static let maxTimestampDelay = Setting(
        "history.max_timestamp_delay", .duration(milliseconds: 1...31_536_000_000), standard: "1h",
        """
        How far the time stamp of a record may lag behind those of the records before it. A longer lag can cost a client \
        an event that it missed.
        """)
    static let epoch = Setting(
        "history.epoch", .integer(0...4_294_967_295), standard: "1",
        "Another number makes all cursors worthless: every client resyncs. The same on every node.")

    static let maxHeaderBytes = Setting(
        "limits.max_header_bytes", .size(1024...1_048_576), standard: "16KiB",
        "Bytes of a request's head. More is refused with 431.")
    static let maxHeaders = Setting(
        "limits.max_headers", .integer(1...1000), standard: "100",
        "Header lines of a request. More is refused with 431.")
    static let handshakeTimeout = Setting(
        "limits.handshake_timeout", .duration(milliseconds: 10...600_000), standard: "10s",
        "From the first byte of a connection to the end of its request, TLS included.")
    static let maxMessageBytes = Setting(
        "limits.max_message_bytes", .size(1...67_108_864), standard: "4KiB",
        "Bytes of a message from a client. More is a close with 1009.")
    static let maxFragments = Setting(
        "limits.max_fragments", .integer(1...1_000_000), standard: "512",
        "Fragments of a message from a client, empty ones counted. More is a close with 1008.")
    static let maxControlFramesPerSecond = Setting(
        "limits.max_control_frames_per_second", .integer(1...1_000_000), standard: "100",
        "Control frames of a client in a second. More is a close with 1008.")
    static let maxPendingBytes = Setting(
        "limits.max_pending_bytes", .size(1024...1_073_741_824), standard: "64KiB",
        """
        Bytes handed to a client's socket before it has taken any of them. Beyond, the client is behind, and goes on from \
        its account's log once they have left.
        """)
    static let brokerGrace = Setting(
        "limits.broker_grace", .durationOrNever(milliseconds: 1...604_800_000), standard: "30s",
        """
        How long brokers may be out of reach before /readyz says so. Connections stay. never: it does not, for balancers \
        that would otherwise take every node out at once.
        """)
    static let maxLag = Setting(
        "limits.max_lag", .duration(milliseconds: 10...3_600_000), standard: "30s",
        "How long a client that does not read fast enough may stay behind. Longer is a close with 4409.")
    static let pingInterval = Setting(
        "limits.ping_interval", .duration(milliseconds: 10...3_600_000), standard: "25s",
        "How often a client is pinged, give or take a little. Event streams get a comment line instead.")
    static let pongTimeout = Setting(
        "limits.pong_timeout", .duration(milliseconds: 10...3_600_000), standard: "10s",
        "How long a pong may take. Longer is a close with 4408.")
    static let maxWait = Setting(
        "limits.max_wait", .duration(milliseconds: 10...3_600_000), standard: "55s",
        "The longest wait of /sync/v1. Keep it below the time after which proxies give up.")
    static let maxSyncEvents = Setting(
        "limits.max_sync_events", .integer(1...10_000), standard: "500", "Events in one answer of /sync/v1.")
    static let changedInterval = Setting(
        "limits.changed_interval", .duration(milliseconds: 10...3_600_000), standard: "1s",
        "With mode=changed, the least time between two messages to a client.")

    static let logLevel = Setting(
        "log.level", .choice(LogLevel.allCases.map(\.name)), standard: "info", flag: .init("log-level", "LEVEL"),
        "The least that is told: \(LogLevel.allCases.map(\.name).joined(separator: ", ")).")
    static let logFormat = Setting(
        "log.format", .choice(["auto", "text", "json"]), standard: "auto",
        "text for people, json for machines; auto is text on a terminal and json otherwise.")

    static let all: [any SettingDeclaration] = [
        listen, admin, loops, certificate, key, brokers, topics, kafkaSettings, preset, account, entity, id, type,
        rename, drop, types, jwt, tokens, anonymous, deflate, retention, maxEventsPerAccount, maxLogBytes,
        maxTimestampDelay,
        epoch, maxHeaderBytes, maxHeaders, handshakeTimeout, maxMessageBytes, maxFragments, maxControlFramesPerSecond,
        maxPendingBytes, brokerGrace, maxLag, pingInterval, pongTimeout, maxWait, maxSyncEvents, changedInterval,
        logLevel, logFormat,
    ]

    /// What is said of each setting, in the order of the file.
    package static let rows: [SettingRow] = all.map(\.row)

    /// What is said of each key of an entry of `auth.jwt`.
    package static let issuerRows: [SettingRow] = IssuerTable.all.map(\.row)

    /// The variable of a setting or of a section: its path in capitals with `_`.
    static func variable(_ path: String) -> String {
        variablePrefix + path.uppercased().replacing(".", with: "_")
    }

    static let variablePrefix = "LIVEGATE_"
}
