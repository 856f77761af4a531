// Tests: Setting.swift, SettingKind+Gateway.swift, SettingKind+Kafka.swift, SettingKind.swift,
//   SettingReading.swift, SettingsDraft.swift, SettingsEnvironment.swift, SettingsLayer.swift,
//   SettingsResolution.swift

import LiveUpdates
import Logging
import Reactor
import TestTokens
import Testing
import Tokens

@testable import GatewaySettings

@Suite struct SettingsLoadingTests {
    @Test func `an empty file means the values of the documentation`() throws {
        for text in ["", "# only a comment\n", "{}\n"] {
            let outcome = load(text)
            #expect(outcome.lines.isEmpty)
            let settings = try #require(outcome.settings)
            #expect(settings.listen.map(\.description) == ["127.0.0.1:8080"])
            #expect(settings.admin.description == "127.0.0.1:9080")
            #expect(settings.adminTokenFile == nil && settings.adminHosts.isEmpty)
            #expect(
                settings.loops == 0 && settings.tls.certificate == nil && settings.tls.key == nil
                    && !settings.websocket.deflate)
            #expect(settings.kafka.brokers == "127.0.0.1:9092" && settings.kafka.topics == ["incidents"])
            #expect(settings.kafka.settings.isEmpty && settings.events.preset == .rails)
            #expect(settings.auth.jwt.isEmpty && settings.auth.tokens == nil && settings.auth.anonymous == nil)
            #expect(settings.limits.maximumHeaderBytes == 16_384 && settings.limits.maximumHeaders == 100)
            #expect(settings.limits.handshakeTimeout == .seconds(10) && settings.limits.maximumMessageBytes == 4096)
            #expect(settings.limits.maximumFragments == 512 && settings.limits.maximumControlFramesPerSecond == 100)
            #expect(settings.limits.maximumConnections == 0 && settings.limits.maximumConnectionsPerAccount == 0)
            #expect(settings.limits.maximumConnectionsPerSubject == 100)
            #expect(settings.limits.maximumConnectionsPerAddress == 0)
            #expect(settings.limits.maximumHandshakesPerSecond == 0)
            #expect(settings.limits.maximumMessagesPerSecond == 100)
            #expect(settings.limits.maximumInboundBytesPerSecond == 65_536)
            #expect(settings.limits.maximumRequestsPerConnection == 1000)
            #expect(settings.limits.maximumPendingBytes == 65_536 && settings.kafka.brokerGrace == nil)
            #expect(settings.limits.maximumLag == .seconds(30) && settings.limits.pingInterval == .seconds(25))
            #expect(settings.limits.pongTimeout == .seconds(10) && settings.limits.maximumWait == .seconds(55))
            #expect(settings.limits.maximumSyncEvents == 500 && settings.limits.changedInterval == .seconds(1))
            #expect(settings.history.retention == .seconds(86_400) && settings.history.epoch == 1)
            #expect(settings.history.maximumTimestampDelay == .seconds(3600))
            #expect(settings.history.maximumEventsPerAccount == 1000 && settings.history.maximumLogBytes == 256 << 20)
            #expect(settings.log.level == .notice && settings.log.format == nil)
        }
    }

    static let everything = """
        listen: [127.0.0.1:8080, '[::1]:8081', unix:/run/gate.sock]
        admin: 127.0.0.1:9081
        admin_token_file: admin-token
        admin_hosts: [gate.internal]
        loops: 3
        tls: {certificate: chain.pem, key: /keys/key.pem}
        kafka:
          brokers: k1:9092, k2:9092
          topics: [incidents, notes]
          settings: {security.protocol: ssl, ssl.ca.location: ca.pem, socket.timeout.ms: 7000}
          broker_grace: 2m
        events: {preset: debezium, account: [row:/account, key], id: row:/uuid, rename: {incidents: incident}, drop: [alerts], types: {c: made}}
        auth:
          jwt: [{issuer: x, audience: y, algorithms: [ES256], keys: keys.json, account_claim: account_id}]
          tokens: tokens.yaml
          anonymous: PACC1
          introspection: {url: 'https://id/i', client_id: me, client_secret_file: s, ca: c.pem, account_claim: acc, cache: 5s, timeout: 6s}
          tickets: {secret_file: ticket-secret}
        websocket: {deflate: true}
        history: {retention: 7d, max_events_per_account: 20, max_log_bytes: 1MiB, max_timestamp_delay: 2d, epoch: 4294967295}
        limits: {max_connections: 21, max_connections_per_account: 22, max_connections_per_subject: 23, max_connections_per_address: 24, max_handshakes_per_second: 25, max_header_bytes: 8KiB, max_headers: 50, handshake_timeout: 500ms, max_message_bytes: 2KiB, max_fragments: 7, max_control_frames_per_second: 8, max_messages_per_second: 9, max_inbound_bytes_per_second: 10KiB, max_requests_per_connection: 11, max_pending_bytes: 9KiB, max_lag: 4s, ping_interval: 300ms, pong_timeout: 5s, max_wait: 6s, max_sync_events: 7, changed_interval: 80ms}
        balancer: {trusted: [10.0.0.0/8, fd00::/8, 192.168.2.7, unix], proxy_protocol: true, client_address: x-forwarded-for}
        log: {level: debug, format: json}
        """

    @Test func `every key of the documentation is read`() throws {
        let outcome = load(Self.everything)
        #expect(outcome.lines == [])
        let settings = try #require(outcome.settings)
        #expect(settings.listen.map(\.description) == ["127.0.0.1:8080", "[::1]:8081", "unix:/run/gate.sock"])
        #expect(settings.admin.description == "127.0.0.1:9081" && settings.loops == 3)
        #expect(settings.adminTokenFile == "/etc/livegate/admin-token" && settings.adminHosts == ["gate.internal"])
        #expect(settings.tls.certificate == "/etc/livegate/chain.pem" && settings.tls.key == "/keys/key.pem")
        #expect(settings.kafka.brokers == "k1:9092, k2:9092" && settings.kafka.topics == ["incidents", "notes"])
        #expect(
            settings.kafka.settings == [
                .init(name: "security.protocol", value: "ssl"),
                .init(name: "ssl.ca.location", value: "/etc/livegate/ca.pem"),
                .init(name: "socket.timeout.ms", value: "7000"),
            ])
        #expect(settings.events.preset == .debezium)
        let issuer = try #require(settings.auth.jwt.first)
        #expect(issuer.issuer == "x" && issuer.audience == ["y"] && issuer.algorithms == [.es256])
        #expect(issuer.keys == "/etc/livegate/keys.json" && issuer.accountClaim == "account_id")
        #expect(settings.auth.tokens == "/etc/livegate/tokens.yaml" && settings.auth.anonymous == Account("PACC1"))
        let introspection = settings.auth.introspection
        #expect(introspection.url == "https://id/i" && introspection.clientId == "me")
        #expect(introspection.clientSecretFile == "/etc/livegate/s" && introspection.ca == "/etc/livegate/c.pem")
        #expect(introspection.accountClaim == "acc")
        #expect(introspection.cache == .seconds(5) && introspection.timeout == .seconds(6))
        #expect(settings.websocket.deflate)
        #expect(settings.limits.maximumHeaderBytes == 8192 && settings.limits.maximumHeaders == 50)
        #expect(settings.limits.handshakeTimeout == .milliseconds(500))
        #expect(settings.limits.maximumMessageBytes == 2048 && settings.limits.maximumFragments == 7)
        #expect(settings.limits.maximumControlFramesPerSecond == 8 && settings.limits.maximumPendingBytes == 9216)
        #expect(settings.limits.maximumMessagesPerSecond == 9 && settings.limits.maximumRequestsPerConnection == 11)
        #expect(settings.limits.maximumInboundBytesPerSecond == 10_240)
        #expect(settings.limits.maximumConnections == 21 && settings.limits.maximumConnectionsPerAccount == 22)
        #expect(settings.limits.maximumConnectionsPerSubject == 23)
        #expect(settings.limits.maximumConnectionsPerAddress == 24 && settings.limits.maximumHandshakesPerSecond == 25)
        #expect(settings.kafka.brokerGrace == .seconds(120) && settings.limits.maximumLag == .seconds(4))
        #expect(settings.limits.pingInterval == .milliseconds(300) && settings.limits.pongTimeout == .seconds(5))
        #expect(settings.limits.maximumWait == .seconds(6) && settings.limits.maximumSyncEvents == 7)
        #expect(settings.limits.changedInterval == .milliseconds(80))
        #expect(settings.history.retention == .seconds(7 * 86_400) && settings.history.epoch == 4_294_967_295)
        #expect(settings.history.maximumEventsPerAccount == 20 && settings.history.maximumLogBytes == 1 << 20)
        #expect(settings.history.maximumTimestampDelay == .seconds(2 * 86_400))
        #expect(settings.balancer.trusted.map(\.description) == ["10.0.0.0/8", "fd00::/8", "192.168.2.7", "unix"])
        #expect(settings.balancer.proxyProtocol && settings.balancer.clientAddress == .xForwardedFor)
        #expect(settings.log.level == .debug && settings.log.format == .json)
    }

    static let variables: [(String, String, @Sendable (Settings) -> Bool)] = [
        ("LIVEGATE_LISTEN", ":1, [::1]:2", { $0.listen.map(\.description) == [":1", "[::1]:2"] }),
        ("LIVEGATE_ADMIN", "127.0.0.1:3", { $0.admin.description == "127.0.0.1:3" }),
        ("LIVEGATE_ADMIN_TOKEN_FILE", "t", { $0.adminTokenFile == "/etc/livegate/t" }),
        ("LIVEGATE_ADMIN_HOSTS", "a.b,c", { $0.adminHosts == ["a.b", "c"] }),
        ("LIVEGATE_AUTH_INTROSPECTION_URL", "https://a/i", { $0.auth.introspection.url == "https://a/i" }),
        (
            "LIVEGATE_AUTH_INTROSPECTION_CLIENT_SECRET_FILE", "s",
            { $0.auth.introspection.clientSecretFile == "/etc/livegate/s" }
        ),
        ("LIVEGATE_AUTH_INTROSPECTION_CA", "/c.pem", { $0.auth.introspection.ca == "/c.pem" }),
        ("LIVEGATE_AUTH_INTROSPECTION_ACCOUNT_CLAIM", "acc", { $0.auth.introspection.accountClaim == "acc" }),
        ("LIVEGATE_AUTH_INTROSPECTION_CACHE", "5s", { $0.auth.introspection.cache == .seconds(5) }),
        ("LIVEGATE_AUTH_INTROSPECTION_TIMEOUT", "6s", { $0.auth.introspection.timeout == .seconds(6) }),
        ("LIVEGATE_AUTH_INTROSPECTION_CLIENT_ID", "me", { $0.auth.introspection.clientId == "me" }),
        ("LIVEGATE_AUTH_INTROSPECTION", "{client_id: me}", { $0.auth.introspection.clientId == "me" }),
        ("LIVEGATE_LOOPS", "5", { $0.loops == 5 }),
        ("LIVEGATE_RELOAD_INTERVAL", "0s", { $0.reloadInterval == .zero }),
        ("LIVEGATE_TLS_CERTIFICATE", "c.pem", { $0.tls.certificate == "/etc/livegate/c.pem" }),
        ("LIVEGATE_TLS_KEY", "/k.pem", { $0.tls.key == "/k.pem" }),
        ("LIVEGATE_TLS_TICKET_SECRET_FILE", "s", { $0.tls.ticketSecretFile == "/etc/livegate/s" }),
        ("LIVEGATE_TLS", "{key: /k.pem}", { $0.tls.key == "/k.pem" }),
        ("LIVEGATE_KAFKA_BROKERS", "a:1,b:2", { $0.kafka.brokers == "a:1,b:2" }),
        ("LIVEGATE_KAFKA_TOPICS", "a,b", { $0.kafka.topics == ["a", "b"] }),
        (
            "LIVEGATE_KAFKA_SETTINGS", "{client.id: x}",
            { $0.kafka.settings == [.init(name: "client.id", value: "x")] }
        ),
        ("LIVEGATE_KAFKA_SETTINGS_FILES", "{}", { $0.kafka.settingsFiles == [] }),
        (
            "LIVEGATE_KAFKA_SETTINGS_SASL_PASSWORD", "secret",
            {
                $0.kafka.settings.last == .init(name: "sasl.password", value: "secret")
                    && $0.kafka.settings.count == 4
            }
        ),
        (
            "LIVEGATE_KAFKA_SETTINGS_SSL_CA_LOCATION", "other.pem",
            {
                $0.kafka.settings.last == .init(name: "ssl.ca.location", value: "/etc/livegate/other.pem")
                    && $0.kafka.settings.count == 3
            }
        ),
        ("LIVEGATE_ARCHIVE_STORE", "postgres://db/a", { $0.archive.store == .postgresql(uri: "postgres://db/a") }),
        ("LIVEGATE_ARCHIVE_KEEP", "7d", { $0.archive.keep == .seconds(604_800) }),
        ("LIVEGATE_ARCHIVE_PASSWORD_FILE", "", { $0.archive.passwordFile == nil }),
        ("LIVEGATE_CONTROL_TOPIC", "", { $0.control.topic == nil }),
        ("LIVEGATE_CONTROL_RETENTION", "7d", { $0.control.retention == .seconds(604_800) }),
        ("LIVEGATE_EVENTS_PRESET", "debezium-flat", { $0.events.preset == .debeziumFlat }),
        ("LIVEGATE_EVENTS_ACCOUNT", "key,/x", { _ in true }), ("LIVEGATE_EVENTS_ENTITY", "topic:-1", { _ in true }),
        ("LIVEGATE_EVENTS_ID", "key", { _ in true }), ("LIVEGATE_EVENTS_TYPE", "header:type", { _ in true }),
        ("LIVEGATE_EVENTS_RENAME", "{a: b}", { _ in true }), ("LIVEGATE_EVENTS_DROP", "a,b", { _ in true }),
        ("LIVEGATE_EVENTS_TYPES", "{a: b}", { _ in true }),
        (
            "LIVEGATE_AUTH_JWT", "[{issuer: z, keys: z.pem}]",
            { $0.auth.jwt.map(\.issuer) == ["z"] && $0.auth.jwt[0].algorithms.count == 9 }
        ),
        ("LIVEGATE_AUTH_TOKENS", "", { $0.auth.tokens == nil }),
        ("LIVEGATE_AUTH_ANONYMOUS", "42", { $0.auth.anonymous == Account("42") }),
        (
            "LIVEGATE_AUTH_ORIGINS", "https://*.a.example, http://localhost:1",
            { $0.auth.origins.map(\.text) == ["https://*.a.example", "http://localhost:1"] }
        ),
        ("LIVEGATE_AUTH_COOKIE", "", { $0.auth.cookie == nil }),
        ("LIVEGATE_AUTH_TICKETS_SECRET_FILE", "", { $0.auth.tickets.secretFile == nil }),
        ("LIVEGATE_AUTH_TICKETS_LIFETIME", "45s", { $0.auth.tickets.lifetime == .seconds(45) }),
        ("LIVEGATE_AUTH_TICKETS", "{lifetime: 46s}", { $0.auth.tickets.lifetime == .seconds(46) }),
        ("LIVEGATE_AUTH", "{tickets: {lifetime: 47s}}", { $0.auth.tickets.lifetime == .seconds(47) }),
        ("LIVEGATE_WEBSOCKET_DEFLATE", "false", { !$0.websocket.deflate }),
        ("LIVEGATE_LIMITS_MAX_CONNECTIONS", "5", { $0.limits.maximumConnections == 5 }),
        ("LIVEGATE_LIMITS_MAX_CONNECTIONS_PER_ACCOUNT", "6", { $0.limits.maximumConnectionsPerAccount == 6 }),
        ("LIVEGATE_LIMITS_MAX_CONNECTIONS_PER_SUBJECT", "0", { $0.limits.maximumConnectionsPerSubject == 0 }),
        ("LIVEGATE_LIMITS_MAX_CONNECTIONS_PER_ADDRESS", "7", { $0.limits.maximumConnectionsPerAddress == 7 }),
        ("LIVEGATE_LIMITS_MAX_HANDSHAKES_PER_SECOND", "8", { $0.limits.maximumHandshakesPerSecond == 8 }),
        ("LIVEGATE_LIMITS_MAX_HEADER_BYTES", "2048", { $0.limits.maximumHeaderBytes == 2048 }),
        ("LIVEGATE_LIMITS_MAX_HEADERS", "9", { $0.limits.maximumHeaders == 9 }),
        ("LIVEGATE_LIMITS_HANDSHAKE_TIMEOUT", "3s", { $0.limits.handshakeTimeout == .seconds(3) }),
        ("LIVEGATE_LIMITS_MAX_MESSAGE_BYTES", "1KiB", { $0.limits.maximumMessageBytes == 1024 }),
        ("LIVEGATE_LIMITS_MAX_FRAGMENTS", "1", { $0.limits.maximumFragments == 1 }),
        (
            "LIVEGATE_LIMITS_MAX_CONTROL_FRAMES_PER_SECOND", "2",
            { $0.limits.maximumControlFramesPerSecond == 2 }
        ),
        ("LIVEGATE_LIMITS_MAX_MESSAGES_PER_SECOND", "3", { $0.limits.maximumMessagesPerSecond == 3 }),
        ("LIVEGATE_LIMITS_MAX_INBOUND_BYTES_PER_SECOND", "4KiB", { $0.limits.maximumInboundBytesPerSecond == 4096 }),
        ("LIVEGATE_LIMITS_MAX_REQUESTS_PER_CONNECTION", "5", { $0.limits.maximumRequestsPerConnection == 5 }),
        ("LIVEGATE_LIMITS_MAX_CONNECTION_AGE", "1s", { $0.limits.maximumConnectionAge == .seconds(1) }),
        ("LIVEGATE_LIMITS_MAX_CONNECTION_AGE", "0", { $0.limits.maximumConnectionAge == .zero }),
        ("LIVEGATE_LIMITS_MAX_CONNECTION_AGE", "0s", { $0.limits.maximumConnectionAge == .zero }),
        ("LIVEGATE_LIMITS_MAX_PENDING_BYTES", "2KiB", { $0.limits.maximumPendingBytes == 2048 }),
        ("LIVEGATE_KAFKA_BROKER_GRACE", "1ms", { $0.kafka.brokerGrace == .milliseconds(1) }),
        ("LIVEGATE_LIMITS_MAX_LAG", "7s", { $0.limits.maximumLag == .seconds(7) }),
        ("LIVEGATE_LIMITS_PING_INTERVAL", "1s", { $0.limits.pingInterval == .seconds(1) }),
        ("LIVEGATE_LIMITS_PONG_TIMEOUT", "2s", { $0.limits.pongTimeout == .seconds(2) }),
        ("LIVEGATE_LIMITS_MAX_WAIT", "3s", { $0.limits.maximumWait == .seconds(3) }),
        ("LIVEGATE_LIMITS_MAX_SYNC_EVENTS", "10000", { $0.limits.maximumSyncEvents == 10_000 }),
        ("LIVEGATE_BALANCER_TRUSTED", "unix,::1", { $0.balancer.trusted.map(\.description) == ["unix", "::1"] }),
        ("LIVEGATE_BALANCER_PROXY_PROTOCOL", "false", { !$0.balancer.proxyProtocol }),
        ("LIVEGATE_BALANCER_CLIENT_ADDRESS", "none", { $0.balancer.clientAddress == nil }),
        ("LIVEGATE_LIMITS_CHANGED_INTERVAL", "10ms", { $0.limits.changedInterval == .milliseconds(10) }),
        ("LIVEGATE_HISTORY_RETENTION", "49h", { $0.history.retention == .seconds(49 * 3600) }),
        ("LIVEGATE_HISTORY_MAX_EVENTS_PER_ACCOUNT", "1", { $0.history.maximumEventsPerAccount == 1 }),
        ("LIVEGATE_HISTORY_MAX_LOG_BYTES", "4KiB", { $0.history.maximumLogBytes == 4096 }),
        ("LIVEGATE_HISTORY_MAX_TIMESTAMP_DELAY", "1ms", { $0.history.maximumTimestampDelay == .milliseconds(1) }),
        ("LIVEGATE_HISTORY_EPOCH", "0", { $0.history.epoch == 0 }),
        ("LIVEGATE_LIFECYCLE_DRAIN_DELAY", "0s", { $0.lifecycle.drainDelay == .zero }),
        ("LIVEGATE_LIFECYCLE_DRAIN_WINDOW", "1h", { $0.lifecycle.drainWindow == .seconds(3600) }),
        ("LIVEGATE_LIFECYCLE_DRAIN_RETRY", "1ms", { $0.lifecycle.drainRetry == .milliseconds(1) }),
        ("LIVEGATE_LOG_LEVEL", "error", { $0.log.level == .error }),
        ("LIVEGATE_LOG_FORMAT", "auto", { $0.log.format == nil }),
    ]

    @Test func `every key has a variable that goes over the file`() throws {
        for (name, value, holds) in Self.variables {
            let outcome = load(Self.everything, [(name, value)])
            #expect(outcome.lines == [], "\(name)")
            #expect(outcome.settings.map(holds) == true, "\(name)")
        }
        // No key is without a row above.
        #expect(Set(SettingsTable.rows.map(\.variable)).subtracting(Self.variables.map(\.0)) == [])
    }

    @Test func `the variable of a topic goes over a file that names none`() {
        #expect(load("", [("LIVEGATE_CONTROL_TOPIC", "c")]).settings?.control.topic == "c")
        #expect(load("control: {topic: c}", []).settings?.control.topic == "c")
        #expect(load("control: {topic: c}", [("LIVEGATE_CONTROL_TOPIC", "")]).settings?.control.topic == nil)
    }

    @Test func `a flag goes over a variable, which goes over the file, and hides even a bad value`() throws {
        let text = "listen: 5\nadmin: nonsense\nlog: {level: loud}\nkafka: {topics: {}, brokers: []}\n"
        #expect(load(text).settings == nil)
        let outcome = load(
            text, [("LIVEGATE_ADMIN", "[::1]:1"), ("LIVEGATE_LOG_LEVEL", "louder"), ("LIVEGATE_KAFKA_BROKERS", ",")],
            [
                ("listen", [":2", "[::1]:3"]), ("log-level", ["error"]), ("topics", ["a,b", "c"]),
                ("kafka-brokers", ["k:1"]),
            ])
        #expect(outcome.lines == [])
        let settings = try #require(outcome.settings)
        #expect(settings.listen.map(\.description) == [":2", "[::1]:3"] && settings.admin.description == "[::1]:1")
        #expect(settings.log.level == .error && settings.kafka.topics == ["a", "b", "c"])
        #expect(settings.kafka.brokers == "k:1")
    }

    @Test func `a single property goes over the map of properties, and hides even a bad value there`() throws {
        let outcome = load(
            "kafka: {settings: {sasl.password: [x], client.id: a}}",
            [
                ("LIVEGATE_KAFKA_SETTINGS_SASL_PASSWORD", "p"),
                ("LIVEGATE_KAFKA_SETTINGS", "{client.id: b, sasl.password: {}}"),
            ])
        #expect(outcome.lines == [])
        #expect(
            outcome.settings?.kafka.settings == [
                .init(name: "client.id", value: "b"), .init(name: "sasl.password", value: "p"),
            ])
    }

    @Test func `relative paths start at the settings file, and those of flags where the program runs`() throws {
        let settings = try #require(
            load("admin: unix:run/admin.sock\n", [], [("listen", ["unix:gate.sock"])]).settings)
        #expect(settings.admin.description == "unix:/etc/livegate/run/admin.sock")
        #expect(settings.listen.map(\.description) == ["unix:gate.sock"])
    }

    @Test func `without a preset all four sources are needed, and an empty source leaves its row to the preset`() {
        #expect(
            load("events: {preset: '', account: key, entity: key, id: key, type: key}").settings?.events.preset
                == .some(nil))
        #expect(load("events: {preset: '', account: key}").lines.count == 3)
        #expect(load("events: {account: '', entity: [], id: '', type: ''}").lines == [])
    }

    @Test func `grace can be for ever`() throws {
        #expect(try #require(load("kafka: {broker_grace: never}").settings).kafka.brokerGrace == nil)
        #expect(try #require(load("", [("LIVEGATE_KAFKA_BROKER_GRACE", "never")]).settings).kafka.brokerGrace == nil)
    }

    @Test func `a list may be written as one value`() throws {
        let settings = try #require(
            load(
                "listen: ':8081'\nkafka: {topics: a}\nauth: {origins: 'https://a.example', jwt: {issuer: i, keys: k}}\n"
            ).settings)
        #expect(settings.listen.map(\.description) == [":8081"] && settings.kafka.topics == ["a"])
        #expect(settings.auth.origins.count == 1 && settings.auth.jwt.map(\.issuer) == ["i"])
        #expect(load("auth: {origins: ''}\nbalancer: {trusted: unix}\n").settings?.auth.origins == [])
    }

    @Test func `a byte order mark is passed over, also in the files that people write`() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let outcome = Settings.load(text: mark + Array("loops: 3\nlog: {level: info}\n".utf8), file: "gate.yaml")
        #expect(outcome.settings?.loops == 3 && outcome.settings?.log.level == .info && outcome.problems.isEmpty)
        let folder = try SettingsFolder([
            "admin": "\u{FEFF}token\n", "password": "\u{FEFF}word\n",
            "key.pem": "\u{FEFF}" + String(decoding: TestKey.p256.publicPEM, as: UTF8.self),
        ])
        let (material, lines) = try folder.check(
            """
            admin_token_file: admin
            archive: {store: 'postgresql://db/a', password_file: password}
            auth: {jwt: {issuer: a, keys: key.pem}}
            """)
        #expect(material != nil && lines == [], "\(lines)")
    }

    @Test func `what a file says of a variable is passed over where the variable is set`() {
        let text = "kafka:\n  settings:\n    sasl.password: ${SECRET}\n    client.id: a\n"
        #expect(
            load(text).lines == [
                """
                gate.yaml:3: warning: kafka.settings.sasl.password: holds ${…}, and variables are not filled in: set \
                LIVEGATE_KAFKA_SETTINGS_SASL_PASSWORD in the environment instead
                """
            ])
        #expect(load(text, [("LIVEGATE_KAFKA_SETTINGS_SASL_PASSWORD", "${x}")]).lines == [])
        #expect(load("kafka: {topics: ['${A}']}\n").lines.first?.contains("LIVEGATE_KAFKA_TOPICS ") == true)
    }

    @Test func `tickets that are turned off by their file may have a lifetime`() {
        #expect(load("auth: {tickets: {secret_file: '', lifetime: 10s}}\n").lines == [])
    }
}
