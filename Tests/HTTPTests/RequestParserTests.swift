// Tests: ASCII.swift, HeadScanner.swift, HeaderFields.swift, RequestHead.swift, RequestLine.swift

import Testing

@testable import HTTP

@Suite struct `Request heads that are taken` {
    struct Row: Sendable, CustomTestStringConvertible {
        let input: String
        let method: String
        let form: TargetForm
        let path: String
        let query: String?
        let version: HTTPVersion
        let body: BodyFraming
        let fields: Int

        var testDescription: String { input.debugDescription }

        init(
            _ input: String, method: String = "GET", form: TargetForm = .origin, path: String = "/",
            query: String? = nil, version: HTTPVersion = .http11, body: BodyFraming = .none, fields: Int = 1
        ) {
            self.input = input
            self.method = method
            self.form = form
            self.path = path
            self.query = query
            self.version = version
            self.body = body
            self.fields = fields
        }
    }

    static let rows = [
        Row(request()),
        Row(request(first: "GET /live/v1 HTTP/1.1"), path: "/live/v1"),
        Row(request(first: "GET /live/v1?ent=a&with=at HTTP/1.1"), path: "/live/v1", query: "ent=a&with=at"),
        Row(request(first: "GET /? HTTP/1.1"), query: ""),
        Row(request(first: "GET /a?b?c HTTP/1.1"), path: "/a", query: "b?c"),
        Row(request(first: "GET /%00 HTTP/1.1"), path: "/%00"),
        Row(request(first: "GET //a HTTP/1.1"), path: "//a"),
        Row("\r\n\r\n" + request()),
        Row(request(first: "get / HTTP/1.1"), method: "get"),
        Row(request(first: "M-SEARCH * HTTP/1.1".replacing("*", with: "/")), method: "M-SEARCH"),
        Row(request(first: "GET / HTTP/1.0"), version: .http10),
        Row(request(first: "GET / HTTP/1.0", host: nil), version: .http10, fields: 0),
        Row(request(first: "GET / HTTP/1.7")),
        Row(request(first: "GET http://b.example:8080/x?y HTTP/1.1"), form: .absolute, path: "/x", query: "y"),
        Row(request(first: "GET WS://b HTTP/1.1"), form: .absolute),
        Row(request(first: "GET http://[::1]:80?y HTTP/1.1"), form: .absolute, query: "y"),
        Row(request(first: "OPTIONS * HTTP/1.1"), method: "OPTIONS", form: .asterisk, path: "*"),
        Row(request(first: "CONNECT a:443 HTTP/1.1"), method: "CONNECT", form: .authority, path: "a:443"),
        Row(request(host: "Host:")),
        Row(request(host: "Host: [::1]:8080")),
        Row(request(host: "Host: a.example:")),
        Row(request("Content-Length: 0"), body: .length(0), fields: 2),
        Row(request("content-length:\t 17 \t"), body: .length(17), fields: 2),
        Row(request("Transfer-Encoding: Chunked"), body: .chunked, fields: 2),
        Row(request("X:", "X: \u{FC}\tb", "!#$%&'*+-.^_`|~9: c"), fields: 4),
    ]

    @Test(arguments: rows) func `give the same parts for every cut`(_ row: Row) throws {
        let bytes = Array(row.input.utf8)
        for pieces in cuts(of: bytes + Array("rest".utf8)) {
            let parsed = parse(pieces)
            #expect(parsed.refusal == nil)
            let head = try #require(parsed.heads.first)
            #expect(head.method == row.method && head.form == row.form && head.path == row.path)
            #expect(head.query == row.query && head.version == row.version && head.body == row.body)
            #expect(head.headers.count == row.fields)
            #expect(text(parsed.rest) == "rest")
        }
    }

    @Test func `keep field values byte by byte, without the blanks around them`() throws {
        let parsed = parse([
            Array("GET / HTTP/1.1\r\nHost: a\r\nX-A: \t b\tc \t\r\nx-a:".utf8) + [0xFF, 0x80] + Array("\r\n\r\n".utf8)
        ])
        let headers = try #require(parsed.heads.first).headers
        #expect(headers.all("X-a").map(Array.init) == [Array("b\tc".utf8), [0xFF, 0x80]])
        #expect(headers.first("absent") == nil)
        #expect(headers.text("x-a") == "b\tc")
        #expect(headers.only("x-a") == nil)
        #expect(text(headers[1].name) == "X-A")
    }

    @Test func `come one after the other from one read`() {
        let parsed = parse(request(first: "GET /1 HTTP/1.1") + request(first: "GET /2 HTTP/1.1") + "GET")
        #expect(parsed.heads.map(\.path) == ["/1", "/2"])
        #expect(text(parsed.rest) == "GET")
    }

    @Test func `say whether the connection may be used again`() throws {
        func keeps(_ input: String) throws -> Bool { try #require(parse(input).heads.first).keepsAlive }
        #expect(try keeps(request()))
        #expect(try !keeps(request("Connection: x, Close")))
        #expect(try !keeps(request(first: "GET / HTTP/1.0")))
        #expect(try keeps(request("Connection: keep-alive", first: "GET / HTTP/1.0")))
    }

    @Test func `find tokens in lists over several fields`() {
        var headers = HeaderFields()
        headers.append("Connection", "keep-alive ,, ")
        headers.append("connection", "\tUpgrade")
        #expect(headers.containsToken("upgrade", in: "Connection"))
        #expect(headers.containsToken("Keep-Alive", in: "Connection"))
        #expect(!headers.containsToken("keep", in: "Connection"))
        #expect(!headers.containsToken("", in: "Connection"))
    }

    @Test func `tell a request that has begun from a connection that waits`() {
        var parser = RequestParser()
        #expect(!parser.isInsideHead)
        _ = parser.consume(Array("G".utf8).span)
        #expect(parser.isInsideHead)
        _ = parser.consume(Array(request().dropFirst().utf8).span)
        #expect(!parser.isInsideHead)
    }
}
