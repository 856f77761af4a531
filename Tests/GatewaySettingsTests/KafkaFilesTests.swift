// Tests: SettingsDraft+KafkaFiles.swift

import Foundation
import Testing

@testable import GatewaySettings

struct KafkaFilesTests {
    static let login = "security.protocol: sasl_ssl, sasl.mechanism: PLAIN, sasl.username: u"

    /// What stands in a file, and the value of its property; nil where there is none.
    static let files: [(text: String, value: String?)] = [
        ("geheim", "geheim"), ("geheim\n", "geheim"), ("geheim\r\n", "geheim"), (" ge heim \n", " ge heim "),
        ("a\nb\n", "a\nb"), ("", nil), ("\n", nil), ("a\0b", nil),
    ]

    @Test(arguments: files.indices) func `the value of a property is the text of its file`(row: Int) throws {
        let (text, value) = Self.files[row]
        let folder = try SettingsFolder(["password": text])
        let (material, lines) = try folder.check(
            "kafka: {settings: {\(Self.login)}, settings_files: {sasl.password: password}}\nauth: {anonymous: A}")
        let found = material?.settings.kafka.settings.first { $0.name == "sasl.password" }?.value
        #expect(found == value)
        #expect(
            lines.contains { $0.contains("settings_files.sasl.password: ") && $0.contains("holds no value") }
                == (value == nil))
        #expect(!lines.contains { $0.contains("geheim") }, "\(lines)")
    }

    @Test func `what is there twice, missing or no file is refused, each with its key`() throws {
        let folder = try SettingsFolder(["password": "geheim\n"])
        let rows = [
            ("{settings: {sasl.password: p}, settings_files: {sasl.password: password}}", "is in kafka.settings too"),
            ("{settings_files: {sasl.password: nowhere}}", "cannot read"),
            ("{settings_files: {sasl.password: ''}}", "is empty"),
            ("{settings_files: {sasl.password: [a]}}", "is a list"),
        ]
        for (kafka, problem) in rows {
            let (material, lines) = try folder.check("kafka: \(kafka)\nauth: {anonymous: A}")
            #expect(material == nil, "\(kafka)")
            #expect(
                lines.contains { $0.contains("kafka.settings_files.sasl.password: ") && $0.contains(problem) },
                "\(lines)")
        }
        // What librdkafka is not to be given is refused from a file too.
        let (material, _) = try folder.check("kafka: {settings_files: {group.id: password}}\nauth: {anonymous: A}")
        #expect(material == nil)
    }

    @Test func `a file that everybody can read is warned of, and so is a secret in the environment`() throws {
        let folder = try SettingsFolder(["password": "geheim\n"])
        let text = "kafka: {settings: {\(Self.login)}, settings_files: {sasl.password: password}}\nauth: {anonymous: A}"
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.path + "password")
        #expect(
            try folder.check(text).lines.contains {
                $0.contains("warning: ") && $0.contains("is readable by all users")
            })
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder.path + "password")
        #expect(try !folder.check(text).lines.contains { $0.contains("password can be read") })
        let variable = "LIVEGATE_KAFKA_SETTINGS_SASL_PASSWORD"
        for (name, value, isWarned) in [
            (variable, "geheim", true), ("LIVEGATE_KAFKA_SETTINGS_CLIENT_ID", "c", false),
            ("LIVEGATE_KAFKA_SETTINGS_FILES", "{sasl.password: \(folder.path)password}", false),
        ] {
            let outcome = Settings.load(
                text: Array("kafka: {settings: {\(Self.login)}}\nauth: {anonymous: A}".utf8),
                file: folder.path + "gate.yaml",
                environment: SettingsEnvironment([(name, value)]))
            let lines = outcome.check(now: 0).problems.map { "\($0)" }
            #expect(lines.contains { $0.contains("is a secret in the environment") } == isWarned, "\(lines)")
            #expect(!lines.contains { $0.contains("geheim") || $0.contains("error") }, "\(lines)")
        }
    }
}
