// Tests: IntrospectionTable.swift, SettingsDraft+OpenSecrets.swift, StaticTokenFile.swift

import Foundation
import LiveUpdates
import TLS
import TestTokens
import Testing
import Tokens

@testable import GatewaySettings

@Suite struct SettingsCheckTests {
    @Test func `what is checked is what a start gets`() throws {
        let token = Array("a token of the tests".utf8)
        let folder = try SettingsFolder([
            "key.pem": String(decoding: TestKey.p256.publicPEM, as: UTF8.self),
            "tokens.yaml": "- {sha256: \(Self.digits(of: token)), account: 42, subject: dev}\n",
        ])
        let (material, lines) = try folder.check(
            """
            auth:
              jwt: [{issuer: '\(TokenForge.issuer)', audience: \(TokenForge.audience), keys: key.pem}]
              tokens: tokens.yaml
            """)
        #expect(lines == [])
        let verifier = try #require(material?.verifier)
        #expect(try verifier.verify(TokenForge.token(), now: TokenForge.now).get().account == Account("PACC1"))
        let identity = try verifier.verify(token, now: TokenForge.now).get()
        #expect(identity.account == Account("42") && identity.subject == "dev")
    }

    @Test func `a secret that everybody can read is warned of, and what is none is not`() throws {
        let secret = String(repeating: "s", count: 32)
        let folder = try SettingsFolder([
            "admin": "token\n", "tickets": secret + "\n", "tls-tickets": secret, "client": "s\n", "password": "p\n",
            "key.pem": String(decoding: TestKey.p256.publicPEM, as: UTF8.self),
            "own.pem": String(decoding: TestKey.p256.privatePEM, as: UTF8.self),
            "shared.json": #"{"keys":[{"kty":"oct","k":"\#(Base64.encodeURL(Array(secret.utf8)))"}]}"#,
            "gate.yaml": "kafka.settings",
        ])
        let text = """
            kafka: {settings: {sasl.password: geheim, sasl.mechanism: PLAIN, sasl.username: u, security.protocol: sasl_ssl}}
            admin_token_file: admin
            tls: {ticket_secret_file: tls-tickets}
            archive: {store: 'postgresql://u@localhost/d', password_file: password}
            auth:
              jwt:
              - {issuer: a, keys: key.pem}
              - {issuer: b, keys: own.pem}
              - {issuer: c, keys: shared.json, algorithms: [HS256]}
              introspection: {url: 'https://localhost:1/i', client_id: c, client_secret_file: client}
              tickets: {secret_file: tickets}
            """
        let before = try folder.check(text).lines
        #expect(!before.contains { $0.contains("all users") }, "\(before)")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
        let names = ["admin", "tickets", "tls-tickets", "client", "password", "own.pem", "shared.json", "gate.yaml"]
        let lines = try folder.check(text).lines.filter { $0.contains("all users") }
        #expect(lines.count == names.count, "\(lines)")
        for name in names {
            let shown = name == "gate.yaml" ? "kafka.settings.sasl.password: this file" : name
            #expect(lines.contains { $0.contains("warning: ") && $0.contains(": \(shown) is readable by all users") })
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder.path + name)
        }
        #expect(try folder.check(text).lines == before)
    }

    @Test func `keys at a URL are fetched by nobody who only checks, and their authorities are looked at`() throws {
        let whole = String(decoding: TestKey.p256.certificatePEM, as: UTF8.self)
        let folder = try SettingsFolder([
            "key.pem": String(decoding: TestKey.p256.publicPEM, as: UTF8.self), "whole.pem": whole,
            "half.pem": whole + whole.dropLast(100), "empty.pem": "",
        ])
        let (material, lines) = try folder.check(
            "auth: {jwt: [{issuer: a, keys_url: 'https://localhost:1/k', keys_refresh: 1s, keys_max_age: 1h}]}")
        #expect(lines == [])
        let source = try #require(material?.verifier.issuers.first?.fetched?.source)
        #expect(source.issuer == "a" && source.url == "https://localhost:1/k" && source.authorities == nil)
        #expect(
            source.timing
                == .init(
                    refreshMilliseconds: 1_000, cooldownMilliseconds: 30_000, maximumAgeMilliseconds: 3_600_000))
        func check(_ file: String) throws -> (SettingsMaterial?, [String]) {
            try folder.check("auth: {jwt: [{issuer: a, keys_url: 'https://localhost:1/k', keys_ca: \(file)}]}")
        }
        let trusting = try check("whole.pem").0
        #expect(trusting?.verifier.issuers.first?.fetched?.source.authorities == Array(whole.utf8))
        for file in ["none.pem", "key.pem", "half.pem", "empty.pem"] {
            let (material, lines) = try check(file)
            #expect(material == nil && lines.count == 1 && lines.first?.contains("auth.jwt[0].keys_ca: ") == true)
        }
    }

    @Test func `a server of tokens is asked with a name and a secret, or with nothing`() throws {
        let folder = try SettingsFolder(["secret": "s %\n", "two": "a\nb\n", "none": "\n"])
        func check(_ text: String) throws -> (source: IntrospectionSource?, lines: [String]) {
            let (material, lines) = try folder.check("auth: {introspection: {\(text)}}")
            return (
                material?.verifier.introspection,
                lines.map { $0.replacing("gate.yaml:1: auth.introspection.", with: "") }
            )
        }
        let url = "url: 'https://localhost:1/i'"
        let (source, lines) = try check("\(url), client_id: me, client_secret_file: secret, cache: 5s, timeout: 6s")
        #expect(lines == [] && source?.url == "https://localhost:1/i" && source?.accountClaim == "account_id")
        #expect(source?.authorization == Introspection.authorization(client: "me", secret: Array("s %".utf8)))
        #expect(source?.cacheMilliseconds == 5_000 && source?.timeoutMilliseconds == 6_000)
        let secret = "is missing: a file with our secret is expected"
        #expect(
            try check(url).lines
                == [
                    "client_id: is missing: the server requires a client id", "client_secret_file: \(secret)",
                ].map { "gate.yaml: auth.introspection.\($0)" })
        for file in ["two", "none"] {
            #expect(
                try check("\(url), client_id: me, client_secret_file: \(file)").lines == [
                    "client_secret_file: \(file) holds no secret: one line without control characters is expected"
                ])
        }
        #expect(try check("client_id: me").lines == ["client_id: is of no use without auth.introspection.url"])
    }

    @Test func `a password is one line of a file that can be read`() throws {
        let folder = try SettingsFolder(["good": "s %\n", "empty": "\n", "two": "a\nb\n"])
        for (file, problem) in [
            ("good", nil), ("empty", "empty holds no password: one line without control characters is expected"),
            ("two", "two holds no password: one line without control characters is expected"),
            ("none", "cannot read the file that is named here: No such file or directory"),
        ] {
            let (_, lines) = try folder.check(
                "{auth: {anonymous: A}, archive: {store: 'postgresql://db/a', password_file: \(file)}}")
            #expect(lines == (problem.map { ["gate.yaml:1: archive.password_file: \($0)"] } ?? []))
        }
    }

    @Test func `each issuer has the audience and the algorithms of its entry`() throws {
        let key = String(decoding: TestKey.p256.publicPEM, as: UTF8.self)
        let folder = try SettingsFolder(["key.pem": key])
        for (entry, isTaken) in [
            ("audience: [other, \(TokenForge.audience)]", true), ("audience: other", false),
            ("audience: \(TokenForge.audience), algorithms: [ES256, ES384]", true), ("algorithms: [ES256]", false),
            ("audience: \(TokenForge.audience), account_claim: sub", false),
        ] {
            let (material, _) = try folder.check(
                "auth: {jwt: [{issuer: '\(TokenForge.issuer)', keys: key.pem, \(entry)}]}")
            let answer = material?.verifier.verify(TokenForge.token(), now: TokenForge.now)
            #expect(((try? answer?.get()) != nil) == isTaken, "\(entry)")
        }
    }

    @Test func `a secret that is written where its file's name belongs is not shown`() throws {
        let secret = "geheim-0123456789"
        let folder = try SettingsFolder([:])
        for (path, text) in [
            ("admin_token_file", "admin_token_file: X"), ("tls.ticket_secret_file", "tls: {ticket_secret_file: X}"),
            ("tls.key", "tls: {certificate: c.pem, key: X}"), ("auth.tokens", "auth: {tokens: X}"),
            ("auth.tickets.secret_file", "auth: {tickets: {secret_file: X}}"),
            ("auth.jwt[0].keys", "auth: {jwt: [{issuer: a, keys: X, algorithms: [HS256]}]}"),
            (
                "auth.introspection.client_secret_file",
                "auth: {introspection: {url: 'https://localhost:1/', client_id: me, client_secret_file: X}}"
            ),
            ("archive.password_file", "archive: {store: 'postgresql://db/a', password_file: X}"),
            ("kafka.settings.ssl.key.location", "kafka: {settings: {ssl.key.location: X}}"),
        ] {
            // A name that is too long for a file is no other case.
            for written in [secret, String(repeating: secret, count: 20), "\(secret)/\(secret)"] {
                let (_, lines) = try folder.check(text.replacing("X", with: written))
                #expect(
                    lines.contains { $0.contains(" \(path): cannot read the file that is named here: ") }, "\(lines)")
                #expect(!lines.joined().contains(secret), "\(lines)")
            }
            let (_, lines) = try folder.check(text.replacing("X", with: "271828182845"))
            #expect(!lines.isEmpty && !lines.joined().contains("271828182845"), "\(lines)")
        }
    }

    @Test func `a file that is no key is refused at the setting that names it`() throws {
        let folder = try SettingsFolder(["key.pem": "nonsense"])
        let (material, lines) = try folder.check(
            "auth:\n  jwt:\n    - {issuer: a, keys: key.pem}\n    - {issuer: b, keys: c}\n")
        #expect(material == nil && lines.count == 2)
        #expect(lines[0].hasPrefix("gate.yaml:3: auth.jwt[0].keys: key.pem: "))
        #expect(
            lines[1]
                == "gate.yaml:4: auth.jwt[1].keys: cannot read the file that is named here: No such file or directory")
    }

    /// Each row: settings, and the beginning of each line, in order. Of files there is `key.pem`, a public key.
    static let togetherRows: [(text: String, lines: [String])] = [
        (
            "loops: x\nauth:\n  jwt:\n    - {issuer: a, keys: missing.pem}\n  tokens: missing.yaml\n",
            [
                "gate.yaml:1: loops: 'x' is not",
                "gate.yaml:4: auth.jwt[0].keys: cannot read the file that is named here",
                "gate.yaml:5: auth.tokens: cannot read the file that is named here",
            ]
        ),
        (
            "tls:\n  certificate: missing.pem\n  key: missing.key\nlog: {level: loud}\n",
            [
                "gate.yaml:2: tls.certificate: cannot read missing.pem",
                "gate.yaml:3: tls.key: cannot read the file that is named here",
                "gate.yaml:4: log.level: 'loud' is not one of",
                "gate.yaml: warning: auth: lets nobody in",
            ]
        ),
        (
            "auth: {anonymous: A}\ntls:\n  certificate: missing.pem\n",
            ["gate.yaml:3: tls.key: is missing", "gate.yaml:3: tls.certificate: cannot read missing.pem"]
        ),
        (
            "auth: {anonymous: A}\ntls: {certificate: both.pem, key: both.pem}\n",
            ["gate.yaml:2: tls.certificate: cannot read both.pem"]
        ),
        // A bad entry hides neither its own file nor the entry behind it.
        (
            "auth:\n  jwt:\n    - {issuer: '', keys: missing.pem}\n    - 5\n    - {issuer: a, keys: gone.pem}\n",
            [
                "gate.yaml:3: auth.jwt[0]: issuer is missing",
                "gate.yaml:3: auth.jwt[0].keys: cannot read the file that is named here",
                "gate.yaml:4: auth.jwt[1]: is not a map",
                "gate.yaml:5: auth.jwt[2].keys: cannot read the file that is named here",
            ]
        ),
        (
            "auth:\n  jwt:\n    - {issuer: a, keys: key.pem, algorithms: [RS256], audience: [5]}\n",
            [
                "gate.yaml:3: auth.jwt[0].audience[0]: '5' is not text",
                "gate.yaml:3: auth.jwt[0].keys: key.pem: no key fits the algorithms RS256",
            ]
        ),
        // Where the algorithms are not known, nothing is said of how the key fits them.
        (
            "auth:\n  jwt:\n    - {issuer: a, keys: key.pem, algorithms: [none]}\n",
            ["gate.yaml:3: auth.jwt[0].algorithms[0]: 'none' is not one of"]
        ),
        (
            "auth: {anonymous: A}\nkafka:\n  topics: [5]\n  settings:\n    ssl.ca.location: missing.pem\n    x: [1]\n",
            [
                "gate.yaml:3: kafka.topics[0]: '5' is not text",
                "gate.yaml:5: kafka.settings.ssl.ca.location: cannot read missing.pem",
                "gate.yaml:6: kafka.settings.x: is a list",
            ]
        ),
        // What stands behind a broken line is not known, so nothing is said of what is missing.
        ("loops: 1\nauth: [\n", ["gate.yaml:3: auth[0]: not YAML"]),
        (
            "auth: {jwt: 5}\nevents: {id: nowhere}\n",
            ["gate.yaml:1: auth.jwt: is not a list", "gate.yaml:2: events.id"]
        ),
    ]

    @Test(arguments: togetherRows.indices)
    func `what is wrong with values and with files is reported together`(row: Int) throws {
        let folder = try SettingsFolder(["key.pem": String(decoding: TestKey.p256.publicPEM, as: UTF8.self)])
        let (material, lines) = try folder.check(Self.togetherRows[row].text)
        let expected = Self.togetherRows[row].lines
        #expect(lines.count == expected.count && zip(lines, expected).allSatisfy { $0.hasPrefix($1) }, "\(lines)")
        #expect(material == nil)
    }

    /// Bounds of what a client sends, and the warning where a message that is allowed can never pass.
    static let messageRows: [(text: String, line: String?)] = [
        ("max_message_bytes: 64KiB", nil),
        (
            "max_message_bytes: 65537",
            "gate.yaml:2: warning: limits.max_message_bytes: max_message_bytes 65537 is over max_inbound_bytes_per_second "
                + "64KiB: a client that sends a message that long is closed with 4429. Lower the first, or raise the second"
        ),
        ("max_inbound_bytes_per_second: 4KiB", nil),
        (
            "max_inbound_bytes_per_second: 1KiB",
            "gate.yaml:2: warning: limits.max_inbound_bytes_per_second: max_message_bytes 4KiB is over "
                + "max_inbound_bytes_per_second 1KiB: a client that sends a message that long is closed with 4429. Lower "
                + "the first, or raise the second"
        ),
    ]

    @Test(arguments: messageRows.indices) func `a message that can never pass is warned of`(row: Int) throws {
        let (text, line) = Self.messageRows[row]
        let (material, lines) = try SettingsFolder([:]).check("auth: {anonymous: A}\nlimits: {\(text)}\n")
        #expect(lines == (line.map { [$0] } ?? []) && material != nil)
    }

    @Test func `a settings file that cannot be read hides nothing that a variable says`() {
        let check = Settings.load(
            file: "/nonexistent/gate.yaml",
            environment: SettingsEnvironment([("LIVEGATE_LOOPS", "x"), ("LIVEGATE_AUTH_TOKENS", "/nonexistent/tokens")])
        ).check(now: TokenForge.now)
        #expect(
            check.problems.map(\.description) == [
                "/nonexistent/gate.yaml: cannot be read: No such file or directory",
                "LIVEGATE_LOOPS: loops: 'x' is not a whole number from 0 to 1024",
                "LIVEGATE_AUTH_TOKENS: auth.tokens: cannot read the file that is named here: No such file or directory",
            ])
    }

    /// Each row: what the file of `tls.ticket_secret_file` holds (nil: it is not there), and the beginning of the problem.
    static let secretRows: [(secret: String?, problem: String?)] = [
        (String(repeating: "s", count: 32), nil), (String(repeating: "s", count: 32) + "\n", nil),
        (String(repeating: "s", count: 4096), nil), (nil, "cannot read the file that is named here: No such file"),
        ("", "secret holds 0 bytes"),
        (String(repeating: "s", count: 31), "secret holds 31 bytes, under the least of 32"),
        (String(repeating: "s", count: 4097), "cannot read the file that is named here: larger than the limit of 4096"),
    ]

    @Test(arguments: secretRows.indices) func `a secret of session tickets has 32 bytes to 4 KiB`(row: Int) throws {
        let (secret, problem) = Self.secretRows[row]
        let folder = try SettingsFolder(secret.map { ["secret": $0] } ?? [:])
        let (material, lines) = try folder.check("auth: {anonymous: A}\ntls: {ticket_secret_file: secret}\n")
        #expect((material == nil) == (problem != nil))
        guard let problem else { return #expect(lines == []) }
        #expect(lines.count == 1 && lines[0].hasPrefix("gate.yaml:2: tls.ticket_secret_file: \(problem)"), "\(lines)")
        #expect(!lines.joined().contains("sss"))
    }

    @Test func `fixed tokens are read up to their limit, and one more is refused`() {
        func file(_ count: Int) -> [UInt8] {
            Array(
                (0..<count).map { number in
                    let digits = String(number, radix: 16)
                    return "- {sha256: \(String(repeating: "0", count: 64 - digits.count))\(digits), account: A}\n"
                }.joined().utf8)
        }
        #expect(StaticTokenFile.read(file(StaticTokens.maximumTokens), path: "t").problems.isEmpty)
        #expect(StaticTokenFile.read(file(StaticTokens.maximumTokens + 1), path: "t").problems.count == 1)
        #expect(StaticTokenFile.read(Array("[]".utf8), path: "t").problems.isEmpty)
        for empty in ["", "\n", "# none\n"] {
            let lines = StaticTokenFile.read(Array(empty.utf8), path: "t").problems.map(\.description)
            #expect(lines == ["t: auth.tokens: is empty: a file without tokens holds []"])
        }
    }

    @Test func `a wrong entry among fixed tokens is told with its line and without its value`() {
        let (good, long) = (String(repeating: "0a", count: 32), String(repeating: "s", count: 256))
        let rows: [(String, String)] = [
            ("- {sha256: geheim, account: A}", "auth.tokens[0]: sha256 is not 64 hexadecimal digits"),
            ("- {sha256: \(good)0a, account: A}", "auth.tokens[0]: sha256 is not 64 hexadecimal digits"),
            ("- {sha256: \(good)}", "auth.tokens[0]: lacks an account"),
            ("- {sha256: \(good), account: ''}", "auth.tokens[0]: lacks an account"),
            ("- {sha256: \(good), account: A, subject: ''}", "auth.tokens[0]: has a subject that is not"),
            ("- {sha256: \(good), account: A, subject: \(long)}", "auth.tokens[0]: has a subject that is not"),
            ("- {sha256: \(good), account: \"a\\0b\"}", "auth.tokens[0]: lacks an account"),
            ("- {account: geheim}", "auth.tokens[0]: lacks sha256"),
            ("- {sha256: \(good), account: A, token: geheim}", "auth.tokens[0]: no such key"),
            ("- geheim", "auth.tokens[0]: is not a map"), ("geheim: 1", "auth.tokens: is a map"),
            ("- *geheim", "auth.tokens[0]: an alias"), ("[}", "auth.tokens[0]: not YAML"),
            ("a: [}", "auth.tokens: not YAML"),
        ]
        for (text, problem) in rows {
            let lines = StaticTokenFile.read(Array(text.utf8), path: "tokens.yaml").problems.map { "\($0)" }
            #expect(lines.count == 1 && lines[0].hasPrefix("tokens.yaml:1: \(problem)"), "\(lines)")
            #expect(!lines.joined().contains("geheim"))
        }
    }

    private static func digits(of token: [UInt8]) -> String {
        Digest.sha256(token).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
