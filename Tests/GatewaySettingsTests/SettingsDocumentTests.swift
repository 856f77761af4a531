// Tests: LimitsTable.swift, SettingsTable.swift

import Options
import Testing
import YAML

@testable import GatewaySettings

@Suite struct SettingsDocumentTests {
    @Test func `the printed settings are accepted and say what holds without them`() throws {
        let outcome = load(SettingsDocument.text)
        #expect(outcome.lines == [])
        let root = try #require(YAMLDocument.read(Array(SettingsDocument.text.utf8)).root)
        #expect(paths(of: root, under: "") == SettingsTable.rows.map(\.path))
    }

    private func paths(of element: YAMLElement, under path: String) -> [String] {
        guard case .map(let entries) = element.content, !SettingsTable.rows.contains(where: { $0.path == path }) else {
            return [path]
        }
        return entries.flatMap { paths(of: $0.value, under: path.isEmpty ? $0.key : "\(path).\($0.key)") }
    }

    /// Section 6 of the interface that operators rely on.
    static let names = [
        "listen", "admin", "admin_token_file", "admin_hosts", "loops", "reload_interval", "tls.certificate", "tls.key",
        "tls.ticket_secret_file", "kafka.brokers", "kafka.topics", "kafka.settings",
        "kafka.settings_files", "kafka.broker_grace",
        "control.topic", "control.retention",
        "events.preset", "events.account", "events.entity", "events.id", "events.type", "events.rename", "events.drop",
        "events.types", "auth.jwt", "auth.tokens", "auth.anonymous", "auth.origins",
        "auth.cookie", "auth.introspection.url", "auth.introspection.client_id",
        "auth.introspection.client_secret_file", "auth.introspection.ca", "auth.introspection.account_claim",
        "auth.introspection.cache", "auth.introspection.timeout",
        "auth.tickets.secret_file", "auth.tickets.lifetime", "websocket.deflate", "history.retention",
        "history.max_events_per_account", "history.max_log_bytes", "history.max_timestamp_delay", "history.epoch",
        "archive.store", "archive.keep", "archive.password_file",
        "limits.max_connections", "limits.max_connections_per_account", "limits.max_connections_per_subject",
        "limits.max_connections_per_address", "limits.max_handshakes_per_second",
        "limits.max_header_bytes", "limits.max_headers", "limits.handshake_timeout", "limits.max_message_bytes",
        "limits.max_fragments", "limits.max_control_frames_per_second",
        "limits.max_messages_per_second", "limits.max_inbound_bytes_per_second", "limits.max_requests_per_connection",
        "limits.max_connection_age", "limits.max_pending_bytes",
        "limits.max_lag", "limits.ping_interval", "limits.pong_timeout", "limits.max_wait",
        "limits.max_sync_events", "limits.changed_interval", "lifecycle.drain_delay",
        "lifecycle.drain_window", "lifecycle.drain_retry",
        "balancer.trusted", "balancer.proxy_protocol", "balancer.client_address", "log.level", "log.format",
    ]

    @Test func `the printed settings say which sections count at once`() {
        let words = SettingsDocument.text.split(separator: "\n").prefix { $0.hasPrefix("#") }
            .map { $0.dropFirst(2) }.joined(separator: " ")
        let named = words.firstMatch(of: /changes of ([a-z_., ]+) apply at once/)?.1.replacing(", ", with: " ")
        let sections = Set(SettingsTable.rows.map { String($0.path.prefix { $0 != "." }) })
        #expect(
            Set(named?.split(separator: " ").map(String.init) ?? [])
                == sections.intersection(SettingEffectTests.sectionsAtOnce).union(SettingEffectTests.settingsAtOnce))
    }

    @Test func `the keys are those that operators know`() {
        #expect(SettingsTable.rows.map(\.path) == Self.names)
        #expect(
            SettingsTable.issuerRows.map(\.path) == [
                "issuer", "audience", "algorithms", "keys", "keys_url", "keys_ca", "keys_refresh", "keys_cooldown",
                "keys_max_age", "account_claim",
            ])
    }

    @Test func `a setting has the name of its key, with maximum for max`() {
        for (name, setting) in SettingsTable.declarations + IssuerTable.declarations {
            let key = setting.row.path.split(separator: ".").last ?? ""
            let words = name.replacing(/[A-Z]/) { "_\($0.output.lowercased())" }
            #expect(words.replacing(/^maximum_/, with: "max_") == key)
        }
    }

    @Test func `a value that is set is found by its name, and the others stay`() {
        var settings = Settings()
        settings.limits.maximumLag = .seconds(1)
        settings.kafka.brokerGrace = nil
        #expect(settings.limits.maximumLag == .seconds(1) && settings.kafka.brokerGrace == nil)
        #expect(settings.limits.pingInterval == .seconds(25) && settings.history.epoch == 1)
    }

    @Test func `every key is explained in sentences, and no line is too wide`() {
        for row in SettingsTable.rows + SettingsTable.issuerRows {
            #expect(row.explanation.count > 20 && row.explanation.hasSuffix("."), "\(row.path)")
            #expect(!row.explanation.contains("\n") && !row.expected.isEmpty, "\(row.path)")
        }
        #expect(SettingsDocument.text.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test func `every variable belongs to one key`() {
        let variables = SettingsTable.rows.map(\.variable)
        #expect(Set(variables).count == variables.count)
    }

    @Test func `the flags of serve are those that operators know`() {
        #expect(
            SettingsTable.rows.compactMap { row in row.flag.map { "\(row.path) --\($0.name)" } } == [
                "listen --listen", "admin --admin", "kafka.brokers --kafka-brokers", "kafka.topics --topics",
                "log.level --log-level",
            ])
    }
}
