// Tests: SettingsCheck.swift

import TestTokens
import Testing

@testable import GatewaySettings

/// The lines of `livegate check`, for what YAML, librdkafka and the files refuse.
@Suite struct SettingsLinesTests {
    private static let anybody = "auth: {anonymous: A}\n"

    /// Settings, and the beginning of the one line that they get.
    static let rows: [(text: String, line: String)] = [
        (
            "kafka: {brokers: &b 'k:1'}",
            "2: kafka.brokers: an anchor (&): anchors and aliases are not read, write it out"
        ),
        ("---\nb: 1", "2: a second document: settings are one document"),
        ("log: {level: [}", "2: log.level[0]: not YAML: did not find expected node content"),
        (
            "kafka: {settings: {isolation.level: read_uncommitted}}",
            "2: kafka.settings.isolation.level: cannot be set: "
        ),
        ("kafka: {settings: {auto.offset.reset: latest}}", "2: kafka.settings.auto.offset.reset: cannot be set: "),
        ("kafka: {settings: {enable.auto.commit: true}}", "2: kafka.settings.enable.auto.commit: cannot be set: "),
        ("kafka: {settings: {group.id: x}}", "2: kafka.settings.group.id: cannot be set: "),
        ("kafka: {settings: {enable.partition.eof: false}}", "2: kafka.settings.enable.partition.eof: cannot be set: "),
        (
            "kafka: {settings: {bootstrap.servers: x}}",
            "2: kafka.settings.bootstrap.servers: cannot be set: is set by kafka.brokers"
        ),
        ("kafka: {settings: {metadata.broker.list: x}}", "2: kafka.settings.metadata.broker.list: cannot"),
        ("kafka: {settings: {no.such.property: 1}}", "2: kafka.settings.no.such.property: librdkafka "),
        ("kafka:\n  settings:\n    socket.timeout.ms: soon", "4: kafka.settings.socket.timeout.ms: "),
        (
            "kafka: {settings: {ssl.ca.location: missing.pem}}",
            "2: kafka.settings.ssl.ca.location: cannot read missing.pem: No such file or directory"
        ),
        ("kafka: {settings: {ssl.key.location: .}}", "2: kafka.settings.ssl.key.location: cannot read "),
        (
            "kafka: {settings: {security.protocol: sasl_plaintext, sasl.mechanism: PLAIN}}",
            "2: kafka.settings: librdkafka refuses them together: "
        ),
    ]

    @Test(arguments: rows.indices) func `a problem is told with file, line and key`(row: Int) throws {
        let (text, line) = Self.rows[row]
        let (material, lines) = try SettingsFolder([:]).check(Self.anybody + text + "\n")
        #expect(material == nil && lines.count == 1 && lines[0].hasPrefix("gate.yaml:" + line), "\(lines)")
    }

    @Test func `bytes that are no text are told with their line`() {
        let check = Settings.load(text: Array("log: {level: ".utf8) + [0xFF, 0x7D, 0x0A], file: "gate.yaml")
            .check(now: TokenForge.now)
        #expect(check.problems.map { "\($0)" } == ["gate.yaml:1: log: bytes that are not UTF-8"])
    }

    @Test func `a refused password is not shown`() throws {
        let text = "kafka: {settings: {ssl.key.password: [geheim], sasl.passwort: geheim}}\n"
        let (material, lines) = try SettingsFolder([:]).check(Self.anybody + text)
        #expect(material == nil && !lines.isEmpty && !lines.joined().contains("geheim"), "\(lines)")
    }

    @Test func `SCRAM with an old librdkafka is a warning`() throws {
        let (material, lines) = try SettingsFolder([:]).check(
            Self.anybody
                + """
                kafka:
                  settings:
                    security.protocol: sasl_plaintext
                    sasl.mechanism: SCRAM-SHA-512
                    sasl.username: u
                    sasl.password: geheim

                """)
        #expect(material != nil && !lines.joined().contains("geheim"))
        // Debian's librdkafka is 2.0.2; the promise is about versions below 2.6.1.
        #expect(
            lines.allSatisfy { $0.hasPrefix("gate.yaml:5: warning: kafka.settings.sasl.mechanism: SCRAM of ") }
                && lines.count <= 1, "\(lines)")
    }

    private static let digits = String(repeating: "0", count: 64)

    /// What `tokens.yaml` holds, and the beginning of the first line.
    static let tokenRows: [(tokens: String?, line: String)] = [
        ("- {sha256: geheim, account: A}\n", "tokens.yaml:1: auth.tokens[0]: sha256 is not 64 hexadecimal digits"),
        ("- {sha256: \(digits)}\n", "tokens.yaml:1: auth.tokens[0]: lacks an account"),
        ("- {sha256: \(digits), acount: A}\n", "tokens.yaml:1: auth.tokens[0]: no such key"),
        (
            "- {sha256: \(digits), account: A}\n- {sha256: \(digits), account: B}\n",
            "tokens.yaml:2: auth.tokens: a duplicate token"
        ),
        ("a: b\n", "tokens.yaml:1: auth.tokens: is a map: a list of tokens"),
        (nil, "gate.yaml:1: auth.tokens: cannot read"),
    ]

    @Test(arguments: tokenRows.indices) func `the file of tokens is looked at`(row: Int) throws {
        let (tokens, line) = Self.tokenRows[row]
        let folder = try SettingsFolder(tokens.map { ["tokens.yaml": $0] } ?? [:])
        let (material, lines) = try folder.check("auth: {tokens: tokens.yaml}\n")
        #expect(material == nil && lines.first?.hasPrefix(line) == true, "\(lines)")
        #expect(!lines.joined().contains("geheim"))
    }

    @Test func `an empty file of tokens lets nobody in`() throws {
        let folder = try SettingsFolder(["tokens.yaml": "[] # none yet\n"])
        let (material, lines) = try folder.check("auth: {tokens: tokens.yaml}\n")
        #expect(material != nil && lines.count == 1 && lines[0].contains("warning: auth: lets nobody in"), "\(lines)")
    }
}
