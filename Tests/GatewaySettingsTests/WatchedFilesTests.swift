// Tests: SettingsReading.swift

import Foundation
import TestHarness
import Testing

@testable import GatewaySettings

@Suite struct WatchedFilesTests {
    @Test func `the files are those that settings name, also in an entry`() {
        let settings = load(
            """
            tls: {certificate: c.pem, key: /k.pem}
            auth: {tokens: t.yaml, jwt: [{issuer: a, keys: a.json}, {issuer: b, keys: b.json}]}
            """
        ).draft.settings
        #expect(
            settings.files.map { "\($0.setting) \($0.path)" } == [
                "tls.certificate /etc/livegate/c.pem", "tls.key /k.pem", "auth.jwt[0].keys /etc/livegate/a.json",
                "auth.jwt[1].keys /etc/livegate/b.json", "auth.tokens /etc/livegate/t.yaml",
            ])
        #expect(Settings().files.isEmpty)
    }

    @Test func `every setting that holds the name of a file is watched`() {
        for row in SettingsTable.rows + SettingsTable.issuerRows where row.expected == "the name of a file" {
            var values = HeldValues()
            let setting = (SettingsTable.declarations + IssuerTable.declarations).first {
                $0.setting.row.path == row.path
            }
            guard let setting = setting?.setting as? Setting<String?> else {
                Issue.record("\(row.path) holds no name")
                continue
            }
            values[setting] = "/f"
            #expect(setting.files(in: values) == [NamedFile(setting: row.path, path: "/f")])
        }
    }

    @Test func `a file is known by what it holds, through a link too`() throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        let files = FileManager.default
        func write(_ text: String, _ name: String) throws {
            try text.write(toFile: folder.path(name), atomically: false, encoding: .utf8)
        }
        try write("one", "a")
        try write("two", "b")
        try files.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: "a")
        let (a, b) = (FileMark(of: folder.path("a")), FileMark(of: folder.path("b")))
        #expect(a != b && a == FileMark(of: folder.path("link")))
        try files.removeItem(atPath: folder.path("link"))
        try files.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: "b")
        #expect(FileMark(of: folder.path("link")) == b)
        try write("one", "c")
        #expect(FileMark(of: folder.path("c")) == a)
        #expect(FileMark(of: folder.path("none")) == .unreadable("No such file or directory"))
        #expect(FileMark(of: "/dev/null") == .unwatched)
        try Data(count: FileMark.maximumBytes).write(to: URL(fileURLWithPath: folder.path("large")))
        if case .holds = FileMark(of: folder.path("large")) {} else { Issue.record("a file at the limit is refused") }
        try Data(count: FileMark.maximumBytes + 1).write(to: URL(fileURLWithPath: folder.path("large")))
        if case .unreadable = FileMark(of: folder.path("large")) {
        } else {
            Issue.record("a file over the limit is read")
        }
    }

    /// Each row: the settings file, with `t.yaml` beside it, and how many static tokens there are; nil: not known.
    static let tokenRows: [(text: String, tokens: String, count: Int?)] = [
        ("auth: {tokens: t.yaml}", "[]", 0), ("auth: {tokens: t.yaml}", "- {sha256: \(digest), account: A}", 1),
        ("auth: {anonymous: A}", "[]", 0), ("", "[]", 0),
        // Whatever else is wrong.
        ("loops: x\nauth: {tokens: t.yaml}", "- {sha256: \(digest), account: A}", 1),
        ("auth: {tokens: t.yaml}", "", nil), ("auth: {tokens: t.yaml}", "- {sha256: \(digest)}", nil),
        ("auth: {tokens: none.yaml}", "[]", nil), ("auth: {tokens: 5}", "[]", nil),
        ("auth: {tokens: t.yaml", "[]", nil),
        // What is wrong, or half written, names no file: nothing follows of its tokens.
        ("auth:", "[]", nil), ("auth:\n", "[]", nil), ("auth: []", "[]", nil), ("auth: {}\nloops: x", "[]", nil),
        ("atuh: {tokens: t.yaml}", "[]", nil), ("auth: {token: t.yaml}", "[]", nil), ("auth: {tokens:}", "[]", nil),
        ("auth: {anonymous: A}\nauth: {tokens: t.yaml}", "[]", nil), ("auth:\nauth: {tokens: t.yaml}", "[]", nil),
        ("auth: {tokens: t.yaml}\nauth: {anonymous: A}", "[]", nil), ("loops: x", "[]", nil),
    ]
    static let digest = String(repeating: "0a", count: 32)

    @Test(arguments: tokenRows.indices) func `static tokens are known where nothing about them is wrong`(row: Int)
        throws
    {
        let (text, tokens, count) = Self.tokenRows[row]
        let folder = TemporaryFolder()
        defer { folder.remove() }
        try tokens.write(toFile: folder.path("t.yaml"), atomically: false, encoding: .utf8)
        let reading = Settings.load(text: Array(text.utf8), file: folder.path("gate.yaml")).reading(now: 0)
        #expect(reading.tokens?.count == count)
    }

    @Test func `what came through a pipe is not read again`() throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        #expect(unsafe mkfifo(folder.path("pipe"), 0o600) == 0)
        let outcome = Settings.load(
            text: Array("auth: {tokens: pipe}".utf8), file: folder.path("gate.yaml"))
        let reading = outcome.readingAgain(now: 0)
        #expect(reading.material == nil && reading.tokens == nil)
        #expect(reading.problems.map(\.key) == ["auth.tokens"])
    }
}
