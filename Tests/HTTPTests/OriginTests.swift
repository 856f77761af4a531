// Tests: CrossOrigin.swift, OriginPattern.swift

import Testing

@testable import HTTP

@Suite struct `Origins` {
    static let long = String(repeating: "a", count: 63)

    @Test(arguments: [
        "https://app.example.com", "http://localhost", "http://localhost:3000", "https://app.example.com:8443",
        "https://*.example.com", "https://*.example.com:8443", "https://*.localhost", "http://127.0.0.1:8080",
        "http://[::1]:3000", "https://[2001:db8::1]", "capacitor://localhost", "https://xn--bcher-kva.example",
        "https://a_b.example.com", "https://\(long).example", "http://x:65535", "http://x:1", "https://x:80",
        "http://x:443",
    ])
    func `in their canonical form are entries`(_ text: String) throws {
        #expect(try OriginPattern(text).text == text)
    }

    static let refused: [(String, OriginFault)] = [
        ("", .noScheme), ("app.example.com", .noScheme), ("//app.example.com", .noScheme), ("null", .noScheme),
        ("*", .noScheme), ("https:app.example.com", .noScheme), ("1s://x", .noScheme), ("h t://x", .noScheme),
        ("\(String(repeating: "s", count: 33))://x", .noScheme),
        ("wss://app.example.com", .socketScheme), ("ws://app.example.com", .socketScheme),
        ("HTTPS://app.example.com", .upperCase), ("https://App.example.com", .upperCase),
        ("https://app.example.com/", .slash), ("https://app.example.com/path", .slash),
        ("https://app.example.com:443", .defaultPort), ("http://app.example.com:80", .defaultPort),
        ("https://*.example.com:443", .defaultPort),
        ("https://app.example.com:", .port), ("https://app.example.com:0", .port), ("https://x:08", .port),
        ("https://x:65536", .port), ("https://x:+1", .port), ("https://x:1:2", .port),
        ("https://", .host), ("https://.example.com", .host), ("https://example.com.", .host), ("https://a..b", .host),
        ("https://b\u{fc}cher.example", .host), ("https://user@example.com", .host), ("https://a b", .host),
        ("https://x?y", .host), ("https://x#y", .host), ("https://a\\b", .host), ("https://\(long)a.example", .host),
        ("http://127.0.0.01", .host), ("http://127.0.1", .host), ("http://1.2.3.256", .host), ("http://[::1", .port),
        ("http://[::g]", .host), ("http://[]", .host),
        ("https://*", .wildcard), ("https://*.", .wildcard), ("https://*example.com", .wildcard),
        ("https://app.*.com", .wildcard), ("https://*.*.com", .wildcard), ("https://*.0.0.1", .wildcard),
        ("https://*.[::1]", .wildcard),
    ]

    @Test(arguments: refused) func `in any other form are refused with the reason`(_ text: String, _ fault: OriginFault)
    {
        #expect(throws: fault) { try OriginPattern(text) }
        #expect(!"\(fault)".isEmpty)
    }

    static let listed = [
        "https://app.example.com", "https://*.example.org", "http://localhost:3000", "http://*.test:81",
        "http://[::1]:8",
    ]

    static let rows: [(origin: String, isListed: Bool)] = [
        ("https://app.example.com", true), ("http://app.example.com", false), ("https://app.example.com:443", false),
        ("https://app.example.com:8443", false), ("https://APP.example.com", false), ("HTTPS://app.example.com", false),
        ("https://app.example.com/", false), ("https://app.example.com.", false), ("https://example.com", false),
        ("https://app.example.com.evil.example", false), ("https://xapp.example.com", false),
        ("app.example.com", false),
        ("https://a.example.org", true), ("https://a.b.example.org", true), ("https://example.org", false),
        ("https://.example.org", false), ("https://a..example.org", false), ("https://xexample.org", false),
        ("https://a.example.org:8443", false), ("http://a.example.org", false), ("https://A.example.org", false),
        ("https://evil.example/.example.org", false), ("https://evil.example:1.example.org", false),
        ("https://evil@a.example.org", false), ("https://evil.example#.example.org", false),
        ("https://*.example.org", false), ("https://a.example.org.evil.example", false),
        ("http://localhost:3000", true), ("http://localhost", false), ("http://localhost:30000", false),
        ("http://a.test:81", true), ("http://a.test:8", false), ("http://a.test", false), ("http://a.test:811", false),
        ("http://[::1]:8", true), ("http://[::1]", false), ("null", false), ("", false), ("*", false),
        ("https://app.example.com https://a.example.org", false), ("https://app.example.com,null", false),
    ]

    private func headers(_ fields: [(String, String)]) -> HeaderFields {
        var headers = HeaderFields()
        for (name, value) in fields { headers.append(name, value) }
        return headers
    }

    private func crossOrigin(credentials: Bool = false) throws -> CrossOrigin {
        CrossOrigin(try Self.listed.map { try OriginPattern($0) }, allowsCredentials: credentials)
    }

    @Test(arguments: rows) func `are compared by scheme, host and port`(_ origin: String, _ isListed: Bool) throws {
        let caller = try crossOrigin().caller(headers([("Origin", origin)]))
        #expect(caller == (isListed ? .listed(origin) : .refused))
    }

    @Test func `are looked at only where some are listed, and two in one request are none`() throws {
        let one = ("Origin", "https://app.example.com")
        #expect(CrossOrigin().caller(headers([("Origin", "https://evil.example")])) == .noOrigin)
        #expect(try crossOrigin().caller(headers([])) == .noOrigin)
        #expect(try crossOrigin().caller(headers([("ORIGIN", one.1)])) == .listed(one.1))
        #expect(try crossOrigin().caller(headers([one, one])) == .refused)
    }

    private func names(_ fields: CrossOrigin.Fields) -> [String] { fields.map { "\($0.0): \($0.1)" } }

    @Test func `that are listed get what lets their page read the answer`() throws {
        let caller = CrossOrigin.Caller.listed("https://app.example.com")
        #expect(
            names(try crossOrigin().fields(caller)) == [
                "Access-Control-Allow-Origin: https://app.example.com", "Access-Control-Expose-Headers: Retry-After",
                "Vary: Origin",
            ])
        #expect(
            names(try crossOrigin(credentials: true).fields(caller)) == [
                "Access-Control-Allow-Origin: https://app.example.com", "Access-Control-Allow-Credentials: true",
                "Access-Control-Expose-Headers: Retry-After", "Vary: Origin",
            ])
        for caller in [CrossOrigin.Caller.noOrigin, .refused] {
            #expect(names(try crossOrigin(credentials: true).fields(caller)) == ["Vary: Origin"])
        }
        #expect(CrossOrigin().fields(.noOrigin).isEmpty)
        // A page that is not listed can read its refusal, but with no cookie.
        let foreign = names(try crossOrigin(credentials: true).foreignFields)
        #expect(foreign == ["Access-Control-Allow-Origin: *", "Vary: Origin"])
    }

    @Test func `let a browser ask beforehand`() throws {
        let fields = try crossOrigin().fields(.listed("https://app.example.com"))
        #expect(
            text(CrossOrigin.preflightAnswer(date: Refusals.date, fields: fields, keepsAlive: true)) == """
                HTTP/1.1 204 No Content\r
                Date: Sun, 06 Nov 1994 08:49:37 GMT\r
                Access-Control-Allow-Methods: GET, POST\r
                Access-Control-Allow-Headers: Authorization, Last-Event-ID, Content-Type\r
                Access-Control-Max-Age: 600\r
                Access-Control-Allow-Origin: https://app.example.com\r
                Access-Control-Expose-Headers: Retry-After\r
                Vary: Origin\r
                \r\n
                """)
        let closing = text(CrossOrigin.preflightAnswer(date: nil, fields: [], keepsAlive: false))
        #expect(closing.hasSuffix("Connection: close\r\n\r\n"))
    }

    @Test func `of the longest name leave a refusal below 1 KB`() throws {
        let host = (0..<4).map { _ in String(repeating: "h", count: 62) }.joined(separator: ".")
        let origin = "\(String(repeating: "s", count: 32))://\(host):65535"
        let list = CrossOrigin([try OriginPattern(origin)], allowsCredentials: true)
        let fields = list.fields(list.caller(headers([("Origin", origin)])))
        for code in RefusalCode.allCases where code != .resync {
            let refusal = Refusal(code, String(repeating: "\"", count: 900), retryAfterSeconds: 86_400, allow: "GET")
            let bytes = refusal.serialized(date: Refusals.date, isStorable: false, fields: fields)
            #expect(bytes.count <= Refusal.maximumBytes)
            #expect(text(bytes).contains("\r\nAccess-Control-Allow-Origin: \(origin)\r\n"))
            #expect(text(bytes).hasSuffix("\"}"))
        }
    }
}
