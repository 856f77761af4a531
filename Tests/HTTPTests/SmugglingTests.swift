import Testing

@testable import HTTP

@Suite struct `Request heads that are refused` {
    struct Row: Sendable, CustomTestStringConvertible {
        let input: [UInt8]
        let code: RefusalCode

        var testDescription: String { text(input).debugDescription }

        init(_ input: String, _ code: RefusalCode = .badRequest) {
            self.input = Array(input.utf8)
            self.code = code
        }

        init(_ input: [UInt8]) {
            self.input = input
            code = .badRequest
        }
    }

    static let smuggling = [
        Row(request("Transfer-Encoding: chunked", "Content-Length: 4")),
        Row(request("Content-Length: 4", "Transfer-Encoding: chunked")),
        Row(request("Content-Length: 4", "Transfer-Encoding: identity")),
        Row(request("Content-Length: 4", "Content-Length: 4")),
        Row(request("Content-Length: 4", "Content-Length: 5")),
        Row(request("Content-Length: 4, 4")),
        Row(request("Content-Length: +4")),
        Row(request("Content-Length: -4")),
        Row(request("Content-Length: -0")),
        Row(request("Content-Length: 0x4")),
        Row(request("Content-Length: 4 4")),
        Row(request("Content-Length: 4.0")),
        Row(request("Content-Length: ")),
        Row(request("Content-Length: \u{0664}")),
        Row(request("Content-Length: 9223372036854775808")),
        Row(request("Content-Length: 99999999999999999999999")),
        Row(request("Transfer-Encoding: gzip, chunked")),
        Row(request("Transfer-Encoding: chunked, identity")),
        Row(request("Transfer-Encoding: xchunked")),
        Row(request("Transfer-Encoding: \u{0B}chunked")),
        Row(request("Transfer-Encoding: chunked", "Transfer-Encoding: chunked")),
        Row(request("Transfer-Encoding: chunked", first: "GET / HTTP/1.0")),
        Row(request("Transfer-Encoding : chunked")),
        Row("GET / HTTP/1.1\nHost: a\r\n\r\n"),
        Row("GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"),
        Row("GET / HTTP/1.1\r\nHost: a\r\n\n"),
        Row("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Row("GET / HTTP/1.1\rHost: a\r\n\r\n"),
        Row("GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n"),
        Row("GET / HTTP/1.1\r\nHost: a\r\n\r\r\n"),
        Row("GET / HTTP/1.1\r\r\nHost: a\r\n\r\n"),
        Row(request("X: a\0b")),
        Row(request("X\0: a")),
        Row(request("X: a\u{7F}")),
        Row(request("X: \u{1B}[31m")),
        Row(request(first: "GET /\0 HTTP/1.1")),
        Row(request(first: "GET /\u{7F} HTTP/1.1")),
        Row(request(first: "GET /\tx HTTP/1.1")),
        Row(request(first: "GET /\u{FC} HTTP/1.1")),
        Row(request(first: "G\u{C9}T / HTTP/1.1")),
        Row(request("X: a", " b")),
        Row(request("X: a", "\tb")),
        Row("GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
        Row(request("X : a")),
        Row(request("X\t: a")),
        Row(request(": a")),
        Row(request("a")),
        Row(request("X Y: a")),
        Row(request("X(: a")),
        Row(request("\u{FC}: a")),
        Row(request("Host: a")),
        Row(request("Host: b")),
        Row(request("Host: b", first: "GET / HTTP/1.0")),
        Row(request(host: nil)),
        Row(request(host: "Host: a b")),
        Row(request(host: "Host: u@a")),
        Row(request(host: "Host: a/b")),
        Row(request(host: "Host: a:b")),
        Row(request(host: "Host: a:70000")),
        Row(request(host: "Host: :80")),
        Row(request(host: "Host: [::1")),
        Row(request(host: "Host: [::1]x")),
    ]

    static let lines = [
        Row("\r\n\r\n\r\n" + request()),
        Row(request(first: "GET /")),
        Row(request(first: "GET  / HTTP/1.1")),
        Row(request(first: "GET / HTTP/1.1 ")),
        Row(request(first: " GET / HTTP/1.1")),
        Row(request(first: "GET / x HTTP/1.1")),
        Row(request(first: "G(T / HTTP/1.1")),
        Row(request(first: "GET / HTTP/1.10")),
        Row(request(first: "GET / HTTP/11")),
        Row(request(first: "GET / http/1.1")),
        Row(request(first: "GET / HTTP/1")),
        Row(request(first: "GET / HTTP/ 1.1")),
        Row(request(first: "GET / HTTP/2.0"), .version),
        Row(request(first: "GET / HTTP/0.9"), .version),
        Row("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .version),
        Row(request(first: "GET x HTTP/1.1")),
        Row(request(first: "GET * HTTP/1.1")),
        Row(request(first: "GET /#a HTTP/1.1")),
        Row(request(first: "GET a:443 HTTP/1.1")),
        Row(request(first: "GET ftp://a/ HTTP/1.1")),
        Row(request(first: "GET http:///x HTTP/1.1")),
        Row(request(first: "GET http:/a HTTP/1.1")),
        Row(request(first: "GET http://u@a/ HTTP/1.1")),
        Row(request(first: "CONNECT / HTTP/1.1")),
        Row(request(first: "CONNECT a HTTP/1.1")),
        // A TLS hello on a plain port, and an SSLv2 one.
        Row([0x16, 0x03, 0x01, 0x02, 0x00]),
        Row([0x80, 0x2E, 0x01, 0x00, 0x02]),
    ]

    @Test(arguments: smuggling + lines) func `are refused alike for every cut`(_ row: Row) throws {
        for pieces in cuts(of: row.input) {
            let parsed = parse(pieces)
            #expect(try #require(parsed.refusal).code == row.code)
            #expect(parsed.heads.isEmpty || row.input.starts(with: Array("PRI".utf8)))
            #expect(parsed.refusal == parse([row.input]).refusal)
        }
    }

    @Test func `stay refused`() {
        var parser = RequestParser()
        let bad = parser.consume(Array("\n".utf8).span)
        #expect(bad == .refused(Refusal(.badRequest, "A line ends with a bare LF.")))
        #expect(parser.consume(Array(request().utf8).span) == bad)
    }
}

@Suite struct `Limits of a request head` {
    static let limits = RequestLimits(maximumLineBytes: 20, maximumHeaderBytes: 40, maximumHeaders: 3)

    @Test func `the request line`() {
        let fits = request(first: "GET /12345678901234567 HTTP/1.1".replacing("567", with: ""))
        let limits = RequestLimits(maximumLineBytes: 28)
        #expect(parse(fits, limits: limits).heads.count == 1)
        let over = request(first: "GET /123456789012345 HTTP/1.1")
        #expect(parse(over, limits: limits).refusal?.code == .targetTooLong)
        // Known without the end of the line, and from garbage too.
        #expect(parse(String(repeating: "A", count: 28), limits: limits).refusal == nil)
        #expect(parse(String(repeating: "A", count: 29), limits: limits).refusal?.code == .targetTooLong)
    }

    @Test func `the bytes of the fields`() {
        // "Host: a" and its CRLF are 9 bytes.
        let fits = request("X: " + String(repeating: "v", count: 40 - 9 - 5))
        #expect(parse(fits, limits: Self.limits).heads.count == 1)
        let over = request("X: " + String(repeating: "v", count: 40 - 9 - 4))
        for pieces in cuts(of: Array(over.utf8)) {
            #expect(parse(pieces, limits: Self.limits).refusal?.code == .headerTooLarge)
        }
    }

    @Test func `the number of fields`() {
        #expect(parse(request("A:", "B:"), limits: Self.limits).heads.count == 1)
        #expect(parse(request("A:", "B:", "C:"), limits: Self.limits).refusal?.code == .headerTooLarge)
    }

    @Test func `as they stand by default`() {
        func head(_ pathBytes: Int, fields: Int, valueBytes: Int) -> String {
            var text = "GET /" + String(repeating: "p", count: pathBytes - 1) + " HTTP/1.1\r\nHost: a\r\n"
            for _ in 0..<fields { text += "X: " + String(repeating: "v", count: valueBytes) + "\r\n" }
            return text + "\r\n"
        }
        #expect(parse(head(8192 - 13, fields: 1, valueBytes: 1)).heads.count == 1)
        #expect(parse(head(8192 - 12, fields: 1, valueBytes: 1)).refusal?.status == 414)
        #expect(parse(head(1, fields: 99, valueBytes: 1)).heads.count == 1)
        #expect(parse(head(1, fields: 100, valueBytes: 1)).refusal?.status == 431)
        #expect(parse(head(1, fields: 1, valueBytes: 16384 - 9 - 5)).heads.count == 1)
        #expect(parse(head(1, fields: 1, valueBytes: 16384 - 9 - 4)).refusal?.status == 431)
    }

    @Test func `work is linear in the bytes however they are cut`() {
        let head = Array(request("X: " + String(repeating: "v", count: 16000)).utf8.dropLast(2))
        func work(piece: Int) -> Int {
            var parser = RequestParser()
            for start in stride(from: 0, to: head.count, by: piece) {
                #expect(parser.consume(Array(head[start..<min(start + piece, head.count)]).span) == .needMore)
            }
            return parser.examinedBytes
        }
        let whole = work(piece: head.count)
        #expect(whole <= 2 * head.count)
        for piece in [1, 2, 7, 1000] { #expect(work(piece: piece) == whole) }
    }
}
