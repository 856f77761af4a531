// Tests: AdminAnswer.swift, AdminGate.swift, AdminRows.swift, AdminToken.swift

import HTTP
import Testing
import Tokens

@testable import Gateway

/// A request as its reader gives it.
func adminRequest(_ method: String, _ target: String, _ fields: [String], version: String = "HTTP/1.1") throws
    -> AdminRequest
{
    let text = "\(method) \(target) \(version)\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    var reader = AdminRequestReader()
    guard case .request(let request, _) = reader.consume(Array(text.utf8).span) else { throw MalformedHead(text: text) }
    return request
}

struct AdminGateTests {
    static let rows: [AdminRow] = [
        AdminRow("GET", "/probe", .probe, .atOnce { _, _ in AdminAnswer(200, "") }),
        AdminRow("GET", "/", .page, .atOnce { _, _ in AdminAnswer(200, "") }),
        AdminRow("GET", "/level", .protected, .atOnce { _, _ in AdminAnswer(200, "") }),
        AdminRow("PUT", "/level", .protected, .atOnce { _, _ in AdminAnswer(200, "") }),
        AdminRow("POST", "/do", .protected, .atOnce { _, _ in AdminAnswer(200, "") }),
        AdminRow("GET", "/of/", .protected, .atOnce { _, _ in AdminAnswer(200, "") }),
    ]
    static let open = AdminGate(hosts: ["gate.internal"])
    static let locked = AdminGate(token: AdminToken(Array("geheim\n".utf8)))

    /// The status of a refusal, or the path of the row that answers.
    static func outcome(_ gate: AdminGate, _ request: AdminRequest) -> String {
        do throws(AdminRefusal) {
            let (row, request) = try gate.admit(request, rows: rows)
            return request.name.isEmpty ? row.path : "\(row.path)|\(request.name)"
        } catch {
            return "\(error.answer.status)" + error.answer.fields.map { " \($0.0): \($0.1)" }.joined()
        }
    }

    static let hosts: [(host: String, outcome: String)] = [
        ("localhost", "/level"), ("localhost:9080", "/level"), ("LOCALHOST", "/level"), ("127.0.0.1", "/level"),
        ("10.1.2.3:9080", "/level"), ("[::1]", "/level"), ("[::1]:9080", "/level"), ("gate.internal", "/level"),
        ("Gate.Internal:80", "/level"), ("gate.internal:", "/level"),
        // Names that somebody else may have resolve to us.
        ("evil.example", "421"), ("evil.example:9080", "421"), ("localhost.evil.example", "421"),
        ("127.0.0.1.evil.example", "421"), ("xgate.internal", "421"), ("gate.internal.", "421"), ("1.2.3", "421"),
        ("0x7f.0.0.1", "421"), ("[127.0.0.1]", "421"), ("", "421"), ("localhost.", "421"),
    ]

    @Test(arguments: hosts.indices) func `a host is an address, localhost or one that the settings name`(row: Int)
        throws
    {
        let (host, outcome) = Self.hosts[row]
        #expect(Self.outcome(Self.open, try adminRequest("GET", "/level", ["Host: \(host)"])) == outcome, "\(host)")
        // Balancers ask under names of their own, and what changes nothing and tells nobody anything is for all.
        #expect(Self.outcome(Self.open, try adminRequest("GET", "/probe", ["Host: \(host)"])) == "/probe", "\(host)")
        let isRefused = outcome == "421"
        #expect(Self.outcome(Self.open, try adminRequest("GET", "/", ["Host: \(host)"])) == (isRefused ? "421" : "/"))
    }

    @Test func `a request of HTTP 1.0 needs no host, and a target in absolute form is one`() throws {
        #expect(Self.outcome(Self.open, try adminRequest("GET", "/level", [], version: "HTTP/1.0")) == "/level")
        let rows = [("http://localhost/level", "/level"), ("http://evil.example/level", "421")]
        for (target, outcome) in rows {
            for host in ["localhost", "evil.example"] {
                #expect(Self.outcome(Self.open, try adminRequest("GET", target, ["Host: \(host)"])) == outcome)
            }
        }
    }

    static let origins: [(method: String, fields: [String], outcome: String)] = [
        ("POST", [], "/do"), ("POST", ["Origin: http://localhost:9080"], "/do"),
        ("POST", ["Origin: HTTP://LOCALHOST:9080"], "/do"), ("POST", ["Origin: https://localhost:9080"], "/do"),
        ("POST", ["Origin: http://localhost:9081"], "403"), ("POST", ["Origin: http://localhost"], "403"),
        ("POST", ["Origin: http://127.0.0.1:9080"], "403"), ("POST", ["Origin: null"], "403"),
        ("POST", ["Origin: "], "403"), ("POST", ["Origin: localhost:9080"], "403"),
        ("POST", ["Origin: file://localhost:9080"], "403"),
        ("POST", ["Origin: http://localhost:9080", "Origin: http://localhost:9080"], "403"),
    ]

    @Test(arguments: origins.indices) func `what changes something is asked by no page of somebody else`(row: Int)
        throws
    {
        let (method, fields, outcome) = Self.origins[row]
        let all = ["Host: localhost:9080"] + fields
        #expect(Self.outcome(Self.open, try adminRequest(method, "/do", all)) == outcome, "\(fields)")
        // The same of the other method that changes something, and nothing of one that does not.
        let put = Self.outcome(Self.open, try adminRequest("PUT", "/level", all))
        #expect(put == (outcome == "/do" ? "/level" : outcome), "\(fields)")
        #expect(Self.outcome(Self.open, try adminRequest("GET", "/level", all)) == "/level")
    }

    @Test func `the default port of an origin is its scheme's`() throws {
        for (origin, host) in [
            ("http://localhost", "localhost"), ("http://localhost", "localhost:80"),
            ("https://localhost", "localhost:443"), ("https://localhost:443", "localhost"),
        ] {
            let request = try adminRequest("POST", "/do", ["Host: \(host)", "Origin: \(origin)"])
            #expect(Self.outcome(Self.open, request) == "/do", "\(origin)")
        }
        let other = try adminRequest("POST", "/do", ["Host: localhost:443", "Origin: http://localhost"])
        #expect(Self.outcome(Self.open, other) == "403")
    }

    static let wanted = "401 WWW-Authenticate: Bearer realm=\"livegate\""
    static let tokens: [(path: String, fields: [String], outcome: String)] = [
        ("/level", ["Authorization: Bearer geheim"], "/level"), ("/level", ["Authorization: bearer  geheim"], "/level"),
        ("/level", [], wanted), ("/level", ["Authorization: Bearer geheims"], wanted),
        ("/level", ["Authorization: Bearer gehei"], wanted), ("/level", ["Authorization: Basic geheim"], wanted),
        ("/level", ["Authorization: Bearer geheim", "Authorization: Bearer geheim"], wanted),
        ("/level?token=geheim", [], wanted), ("/of/a", [], wanted),
        // Nobody learns without it which paths there are.
        ("/nothing", [], wanted), ("/nothing", ["Authorization: Bearer geheim"], "404"),
        ("/probe", [], "/probe"), ("/", [], "/"), ("/probe", ["Authorization: Bearer x"], "/probe"),
    ]

    @Test(arguments: tokens.indices) func `with a token all but probes and the page ask for it`(row: Int) throws {
        let (path, fields, outcome) = Self.tokens[row]
        #expect(
            Self.outcome(Self.locked, try adminRequest("GET", path, ["Host: h.example"] + fields))
                == (path == "/probe" ? "/probe" : "421"))
        #expect(Self.outcome(Self.locked, try adminRequest("GET", path, ["Host: localhost"] + fields)) == outcome)
    }

    static let paths: [(method: String, path: String, outcome: String)] = [
        ("GET", "/level", "/level"), ("HEAD", "/level", "/level"), ("PUT", "/level", "/level"),
        ("POST", "/level", "405 Allow: GET, HEAD, PUT"), ("DELETE", "/level", "405 Allow: GET, HEAD, PUT"),
        ("GET", "/do", "405 Allow: POST"), ("HEAD", "/do", "405 Allow: POST"), ("POST", "/", "405 Allow: GET, HEAD"),
        ("OPTIONS", "/probe", "405 Allow: GET, HEAD"), ("get", "/probe", "405 Allow: GET, HEAD"),
        ("GET", "/levels", "404"), ("GET", "/level/", "404"), ("GET", "/LEVEL", "404"), ("GET", "//level", "404"),
        ("GET", "/of", "404"), ("GET", "/of/", "404"), ("GET", "/of/a", "/of/|a"), ("GET", "/of/a%2Fb", "/of/|a/b"),
        ("GET", "/of/%C3%A4?x=1", "/of/|ä"), ("GET", "/of/a/b", "404"), ("GET", "/of/%zz", "400"),
        ("GET", "/of/%FF", "400"), ("GET", "/level?limit=x", "/level"),
    ]

    @Test(arguments: paths.indices) func `a path answers its methods, and names them`(row: Int) throws {
        let (method, path, outcome) = Self.paths[row]
        #expect(Self.outcome(Self.open, try adminRequest(method, path, ["Host: localhost"])) == outcome)
    }

    @Test func `a method of a path stands once in the table, and what changes something is protected`() {
        let names = AdminRows.all.map { "\($0.method) \($0.path)" }
        #expect(Set(names).count == names.count)
        for row in AdminRows.all {
            #expect(["GET", "PUT", "POST"].contains(row.method) && row.path.hasPrefix("/"))
            if row.method != "GET" || row.path.hasPrefix("/admin/") { #expect(row.access == .protected, "\(row.path)") }
        }
    }

    @Test func `a token is a line of the characters that tokens have`() {
        let good = ["geheim", " geheim \r\n", "a", "A-._~+/9=="]
        let bad = ["", "\n", "two words", "two\nlines", "\"quoted\"", "ä"]
        for text in good { #expect(AdminToken(Array(text.utf8)) != nil, "\(text)") }
        for text in bad { #expect(AdminToken(Array(text.utf8)) == nil, "\(text)") }
    }
}
