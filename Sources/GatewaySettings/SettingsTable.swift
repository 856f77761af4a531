import LiveUpdates
import Logging
import Options
import Reactor
import Tokens

/// All settings: defaults, the output of `livegate config`, the names of variables and the manual page come from here.
///
/// A new setting is a property here (or in the table of its section) and the line that uses it. The property has the
/// key's name in camel case, `maximum` for `max`; a test compares them.
package struct SettingsTable: SettingTable {
    package let listen = Setting(
        "listen", .list("a list of addresses", of: .address, atLeastOne: true), default: "[127.0.0.1:8080]",
        flag: .init("listen", "ADDRESS"),
        """
        Where clients connect: 127.0.0.1:8080, [::1]:8080, :8080 (all addresses of the machine) or unix:/path. A stale \
        socket file is replaced, a live one is not.
        """)
    package let admin = Setting(
        "admin", .address, default: "127.0.0.1:9080", flag: .init("admin", "ADDRESS"),
        "Where health, readiness and administration are answered. Keep it away from clients.")
    package let adminTokenFile = Setting(
        "admin_token_file", .path, default: "''",
        """
        A file with the token that the administration requires, except for /livez and /readyz. Required where admin is \
        neither on loopback nor a Unix socket.
        """)
    package let adminHosts = Setting(
        "admin_hosts", .list("a list of host names", of: .hostName), default: "[]",
        "Names under which the administration is asked, besides addresses and localhost; without ports.")
    package let loops = Setting(
        "loops", .integer(0...1024), default: "0",
        "Event loops; 0 is one for each core that the process may use.")

    package let reloadInterval = Setting(
        "reload_interval", .durationOrNone(milliseconds: 100...86_400_000), default: "10s",
        """
        How often this file and those that it names are checked for changes. A changed file is read again, as with SIGHUP, \
        once two checks have found the same content. 0s: never.
        """)

    package let tls = TLSTable()
    package let kafka = KafkaTable()
    package let control = ControlTable()
    package let events = EventsTable()
    package let auth = AuthTable()
    package let websocket = WebSocketTable()
    package let history = HistoryTable()
    package let archive = ArchiveTable()
    package let limits = LimitsTable()
    package let lifecycle = LifecycleTable()
    package let balancer = BalancerTable()
    package let log = LogTable()

    package init() {}
}

extension SettingsTable {
    /// The descriptions of the settings, in the order of the file.
    package static let rows: [SettingRow] = declarations.map(\.setting.row)

    /// The descriptions of the keys of an entry of `auth.jwt`.
    package static let issuerRows: [SettingRow] = IssuerTable.declarations.map(\.setting.row)

    /// The variable of a setting or of a section: its path in capitals with `_`.
    static func variable(_ path: String) -> String {
        variablePrefix + path.uppercased().replacing(".", with: "_")
    }

    /// The variable for a setting of which `path` is the whole or a part, as `kafka.topics[0]` is.
    static func environmentName(_ path: String) -> String {
        let properties = SettingsTable().kafka.settings.row
        if path.hasPrefix(properties.path + ".") { return variable(path) }
        return rows.first { path == $0.path || path.hasPrefix($0.path + "[") || path.hasPrefix($0.path + ".") }?
            .variable
            ?? variable(path)
    }

    static let variablePrefix = "LIVEGATE_"
}

package struct TLSTable: SettingTable {
    package static let effect: SettingEffect? = .atOnce

    package let certificate = Setting(
        "tls.certificate", .path, default: "''",
        "A PEM file with our certificate and, behind it, its chain. With it, listeners speak only TLS 1.2 and 1.3.")
    package let key = Setting(
        "tls.key", .path, default: "''", "A PEM file with the private key of the certificate, RSA or ECDSA.")
    package let ticketSecretFile = Setting(
        "tls.ticket_secret_file", .path, default: "''",
        """
        A file with a secret of 32 bytes or more, the same on every node: clients then resume their TLS sessions on any of \
        them, and after a restart. Without it only on the node that they know, until it restarts.
        """)

    package init() {}
}

package struct KafkaTable: SettingTable {
    package let brokers = Setting(
        "kafka.brokers", .brokers, default: "127.0.0.1:9092", flag: .init("kafka-brokers", "HOST:PORT,…"),
        "Brokers to ask first, HOST:PORT, several by comma. The others are found through them.")
    package let topics = Setting(
        "kafka.topics", .list("a list of topics", of: .topic, atLeastOne: true), default: "[incidents]",
        flag: .init("topics", "TOPIC,…"),
        "Topics with the events, all partitions of each. The node waits for a missing topic, and never creates it.")
    package let settings = Setting(
        "kafka.settings", .kafkaProperties, default: "{}",
        """
        Properties of librdkafka: TLS (security.protocol, ssl.ca.location), logins (sasl.mechanism, sasl.username, \
        sasl.password) and the like. Each is also a variable: LIVEGATE_KAFKA_SETTINGS_SASL_PASSWORD is sasl.password. \
        Properties that the gateway itself relies on are refused, such as isolation.level, auto.offset.reset and group.id.
        """)
    package let settingsFiles = Setting(
        "kafka.settings_files", .kafkaFiles, default: "{}",
        """
        Files with the values of properties of librdkafka, {sasl.password: FILE}, so that a secret is neither in this \
        file nor in the environment. They are read at the start; the end of the last line is not part of a value.
        """)
    package let brokerGrace = Setting(
        "kafka.broker_grace", .durationOrNever(milliseconds: 1...604_800_000), default: "never", effect: .atOnce,
        """
        How long brokers may be unreachable before /readyz reports it. Connections stay open. never: it does not, since all \
        nodes lose the same Kafka, and a balancer would remove every one of them at once.
        """)

    package init() {}
}

package struct EventsTable: SettingTable {
    package let preset = Setting(
        "events.preset", .choice(Preset.allCases.map { ($0.rawValue, $0) } + [("", nil)]), default: "rails",
        """
        Where account, entity, id and type are in the records: \
        \(Preset.allCases.map(\.rawValue).joined(separator: ", ")). '' is none; then all four are named below.
        """)
    package let account = Setting(
        "events.account", .sources, default: "''",
        """
        Where the account is: /pointer into the value, row:/pointer into the changed row (debezium presets), \
        header:NAME, key, key:/pointer or topic:N (the Nth part between dots, -1 is the last). Of a list, the first that \
        yields text counts. Empty: as in the preset. With the preset debezium, a row that moves to another account is reported \
        to both; a deletion needs a table with REPLICA IDENTITY FULL.
        """)
    package let entity = Setting(
        "events.entity", .sources, default: "''", "Where the name of the entity is, by the same rules.")
    package let id = Setting(
        "events.id", .sources, default: "''", "Where the id of the entity is, by the same rules.")
    package let type = Setting(
        "events.type", .sources, default: "''", "Where the type of the change is, by the same rules.")
    package let rename = Setting(
        "events.rename", .translations, default: "{}",
        "Other names for entities, {incidents: incident}, in addition to those of the preset.")
    package let drop = Setting(
        "events.drop", .list("a list of entities", of: .text("an entity")), default: "[]",
        "Entities that are left out, by their names before renaming, in addition to those of the preset.")
    package let types = Setting(
        "events.types", .translations, default: "{}", "Other names for types, {destroyed: deleted}.")

    package init() {}
}

package struct AuthTable: SettingTable {
    package static let effect: SettingEffect? = .atOnce

    package let jwt = Setting(
        "auth.jwt", .issuers, default: "[]",
        "The issuers whose tokens are accepted. A token is verified only with the keys of the issuer that it names.")
    package let tokens = Setting(
        "auth.tokens", .path, default: "''",
        "A file with fixed tokens for development, a YAML list of {sha256: HEX, account: PACC1, subject: dev}.")
    package let anonymous = Setting(
        "auth.anonymous", .account, default: "''",
        "Accepts callers without a token, as this account. An invalid token is still refused.")
    package let origins = Setting(
        "auth.origins", .list("a list of origins", of: .origin), default: "[]",
        """
        The pages that may connect: https://app.example.com, or https://*.example.com for all hosts below a name. A \
        request with any other Origin is refused with 403, one without is accepted. Empty: Origin is not checked.
        """)
    package let cookie = Setting(
        "auth.cookie", .cookieName, default: "''",
        """
        The cookie with the token of callers that send no other. It is used in requests from pages of auth.origins, and in \
        a browser's own GET of the same origin.
        """)
    package let introspection = IntrospectionTable()
    package let tickets = TicketsTable()

    package init() {}
}

package struct TicketsTable: SettingTable {
    package let secretFile = Setting(
        "auth.tickets.secret_file", .path, default: "''",
        """
        A file with a secret of 32 bytes or more a line, the same on every node: with it POST /ticket/v1 gives tickets, \
        which stand for a token in the address of a WebSocket or an event stream. The first secret makes them, all read them.
        """)
    package let lifetime = Setting(
        "auth.tickets.lifetime", .duration(milliseconds: 1_000...Ticket.maximumLifetimeSeconds * 1_000), default: "30s",
        "How long a ticket can be used, once on each node.")

    package init() {}
}

package struct WebSocketTable: SettingTable {
    package let deflate = Setting(
        "websocket.deflate", .truth, default: "false",
        "Agree to permessage-deflate (RFC 7692) with clients that offer it: fewer bytes for more CPU and memory.")

    package init() {}
}

package struct LifecycleTable: SettingTable {
    package static let effect: SettingEffect? = .atOnce
    private static let times: ClosedRange<Int64> = 0...3_600_000
    package static let expectedTime = SettingKind<Duration>.duration(milliseconds: times).expected

    package let drainDelay = Setting(
        "lifecycle.drain_delay", .duration(milliseconds: times), default: "5s",
        """
        Time from SIGTERM until new clients are refused. /readyz reports draining meanwhile; a balancer must notice in this time.
        """)
    package let drainWindow = Setting(
        "lifecycle.drain_window", .duration(milliseconds: times), default: "30s",
        """
        The time after drain_delay over which connections are closed one by one. The node stops 5 s later at the latest. After \
        a loss of revocations, clients have to fetch new tokens, spread over the same time, but over 10 s at least.
        """)
    package let drainRetry = Setting(
        "lifecycle.drain_retry", .duration(milliseconds: times), default: "5s",
        "Clients whose connection is closed are asked to reconnect after a random time of at most this.")

    package init() {}

    /// A time that these settings accept. Nil for any other.
    package static func time(_ text: String) -> Duration? {
        Quantity.milliseconds(text).flatMap { times.contains($0) ? .milliseconds($0) : nil }
    }
}

package struct LogTable: SettingTable {
    package static let effect: SettingEffect? = .atOnce

    package let level = Setting(
        "log.level", .choice(LogLevel.allCases.map { ($0.name, $0) }), default: "notice",
        flag: .init("log-level", "LEVEL"),
        """
        The lowest level that is written: \(LogLevel.allCases.map(\.name).joined(separator: ", ")). At info each connection \
        is two lines, and refusals have lines too.
        """)
    /// Nil: text on a terminal and JSON otherwise.
    package let format = Setting(
        "log.format", .choice([("auto", LogFormat?.none), ("text", .text), ("json", .json)]), default: "auto",
        """
        The log goes to standard error, wherever the service manager sends that: text for people, json for machines; auto is \
        text on a terminal and json otherwise.
        """)

    package init() {}
}
