// Tests: AdminRequest.swift

import HTTP
import Testing

@testable import Gateway

struct AdminRequestTests {
    /// What a reader makes of bytes: `METHOD path body` of each request, `100`, or the status of a refusal, after which
    /// nothing is read.
    static func read(_ pieces: [[UInt8]]) -> [String] {
        var reader = AdminRequestReader()
        var words: [String] = []
        for piece in pieces {
            var rest = piece
            while !rest.isEmpty {
                let progress = reader.consume(rest.span)
                if reader.owesContinue {
                    reader.owesContinue = false
                    words.append("100")
                }
                switch progress {
                case .needMore: rest = []
                case .refused(let refusal): return words + ["\(refusal.answer.status)"]
                case .request(let request, let consumed):
                    let body = String(decoding: request.body, as: UTF8.self)
                    words.append("\(request.head.method) \(request.head.path) \(body)")
                    rest.removeFirst(consumed)
                }
            }
        }
        return words + (reader.hasBegun ? ["begun"] : [])
    }

    static let put = "PUT /l HTTP/1.1\r\nHost: h\r\n"
    static let rows: [(bytes: String, words: [String])] = [
        ("GET /a HTTP/1.1\r\nHost: h\r\n\r\n", ["GET /a "]),
        ("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n", ["GET /a ", "GET /b "]),
        (put + "Content-Length: 5\r\n\r\ndebugGET /b HTTP/1.1\r\nHost: h\r\n\r\n", ["PUT /l debug", "GET /b "]),
        (put + "Content-Length: 0\r\n\r\n", ["PUT /l "]), (put + "Content-Length: 5\r\n\r\ndebu", ["begun"]),
        (
            put
                + "Transfer-Encoding: chunked\r\n\r\n3\r\ndeb\r\n2;x=y\r\nug\r\n0\r\nTrailer: x\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n",
            ["PUT /l debug", "GET /b "]
        ),
        (put + "Transfer-Encoding: chunked\r\n\r\nx", ["400"]),
        (
            put + "Content-Length: 4096\r\n\r\n" + String(repeating: "x", count: 4096),
            ["PUT /l " + String(repeating: "x", count: 4096)]
        ),
        (put + "Content-Length: 4097\r\n\r\n", ["413"]),
        (put + "Content-Length: 99999999999999999999\r\n\r\n", ["400"]),
        (put + "Transfer-Encoding: chunked\r\n\r\n1001\r\n" + String(repeating: "x", count: 4097), ["413"]),
        (put + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", ["400"]),
        ("GET /a HTTP/1.1\r\n\r\n", ["400"]), ("GET  /a HTTP/1.1\r\n", ["400"]), ("GET /a HTTP/2.0\r\n", ["505"]),
        ("GET /a HTTP/1.1\nHost: h\n\n", ["400"]), ("GET /a", ["begun"]), ("", []),
        (put + "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n", ["PUT /l "]),
    ]

    @Test(arguments: rows.indices) func `requests are read the same wherever the bytes are cut`(row: Int) {
        let (text, words) = Self.rows[row]
        let bytes = Array(text.utf8)
        #expect(Self.read([bytes]) == words)
        #expect(Self.read(bytes.map { [$0] }) == words)
        for cut in bytes.indices.prefix(300) {
            #expect(Self.read([Array(bytes[..<cut]), Array(bytes[cut...])]) == words)
        }
    }

    @Test func `who waits with a body is asked for it, once`() {
        let head = Array((Self.put + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n").utf8)
        #expect(Self.read([head, Array("a".utf8), Array("b".utf8)]) == ["100", "PUT /l ab"])
        // Who does not wait needs no word.
        #expect(Self.read([head + Array("ab".utf8)]) == ["PUT /l ab"])
    }

    static let parameters: [(query: String, text: String)] = [
        ("a=1", "1"), ("", "nil"), ("b=1", "nil"), ("a=", "400"), ("a", "400"), ("a=1&a=1", "400"), ("a=%", "400"),
        ("a=%FF", "400"), ("a=%C3%A4&b=%", "ä"),
    ]

    @Test(arguments: parameters.indices) func `a parameter stands once, and is text`(row: Int) throws {
        let (query, text) = Self.parameters[row]
        let request = try adminRequest("GET", "/a?\(query)", ["Host: h"])
        do throws(AdminRefusal) {
            #expect(try request.text("a") ?? "nil" == text, "\(query)")
        } catch {
            #expect("\(error.answer.status)" == text, "\(query)")
        }
        #expect(throws: AdminRefusal.self) { try request.needed("missing") }
    }

    @Test func `a limit is a whole number of its range`() throws {
        let rows: [(String, Int?)] = [
            ("1", 1), ("100000", 100_000), ("007", 7), ("0", nil), ("100001", nil), ("-1", nil), ("%2B1", nil),
            ("+1", nil),
            ("1%20", nil), ("x", nil), ("", nil), ("99999999999999999999", nil), ("1.0", nil),
        ]
        for (text, number) in rows {
            let request = try adminRequest("GET", "/a?limit=\(text)", ["Host: h"])
            if let number {
                #expect(try request.number("limit", in: 1...100_000) == number)
            } else {
                #expect(throws: AdminRefusal.self, "\(text)") { try request.number("limit", in: 1...100_000) }
            }
        }
        #expect(try adminRequest("GET", "/a", ["Host: h"]).number("limit", in: 1...2) == nil)
    }
}
