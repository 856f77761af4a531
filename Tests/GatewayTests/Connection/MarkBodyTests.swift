import Archive
import HTTP
import LiveUpdates
import Testing

@testable import Gateway

struct MarkBodyTests {
    private static let aid = ArchiveParametersTests.aid

    @Test func `a mark is of one thing or of everything`() throws {
        let id = ArchiveParametersTests.id
        for (text, thing) in [
            ("{\"aid\":\"\(Self.aid)\"}", nil), (" {\"x\":[{}],\"aid\":\"\(Self.aid)\",\"x\":1}\r\n", nil),
            (
                "{\"id\":\"N'1\",\"aid\":\"\(Self.aid)\",\"ent\":\"n\\u006fte\"}",
                ReadMark.Thing(entity: "note", id: "N'1")
            ),
        ] {
            #expect(try MarkBody.read(Array(text.utf8)) == MarkBody(thing: thing, upTo: id), "\(text)")
        }
    }

    @Test(
        arguments: [
            "", " ", "null", "[]", "\"\"", "{}", "{\"aid\":1}", "{\"aid\":null}", "{\"aid\":\"\"}", "{\"aid\":\"x\"}",
            "{\"aid\":\"\(aid.dropLast())\"}", "{\"aid\":\"\(aid)\"", "{\"aid\":\"\(aid)\"}x",
            "{\"aid\":\"\(aid)\",\"aid\":\"\(aid)\"}", "{\"aid\":\"\(aid)\",\"ent\":\"note\"}",
            "{\"aid\":\"\(aid)\",\"id\":\"N\"}", "{\"ent\":\"note\",\"id\":\"N\"}",
            "{\"aid\":\"\(aid)\",\"ent\":\"\",\"id\":\"N\"}", "{\"aid\":\"\(aid)\",\"ent\":\"note\",\"id\":7}",
            "{\"aid\":\"\(aid)\",\"ent\":null,\"id\":null}", "{\"aid\":\"\(aid)\",\"ent\":\"note\",\"id\":\"\\ud800\"}",
            "{\"aid\":\"\(aid)\",\"ent\":\"\(String(repeating: "e", count: 65))\",\"id\":\"N\"}",
            "{\"aid\":\"\(aid)\",\"ent\":\"note\",\"id\":\"\(String(repeating: "i", count: 256))\"}",
            "{\"aid\":\"\(aid)\",\"x\":\(String(repeating: "[", count: 40))\(String(repeating: "]", count: 40))}",
        ])
    func `what is no mark is refused`(text: String) {
        let refusal = #expect(throws: Refusal.self) { _ = try MarkBody.read(Array(text.utf8)) }
        #expect(refusal?.code == .badRequest)
    }

    @Test func `bytes that are no UTF-8 are refused`() {
        #expect(throws: Refusal.self) {
            _ = try MarkBody.read(Array("{\"aid\":\"\(Self.aid)\",\"x\":\"".utf8) + [0xFF, 0x22, 0x7D])
        }
    }

    /// Each row: the fields of the request, and whether its body is read.
    @Test(
        arguments: [
            ("Content-Type: application/json\r\nContent-Length: 4096\r\n", true),
            ("Content-Type: Application/JSON ; charset=utf-8\r\nContent-Length: 2\r\n", true),
            ("Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", true),
            ("Content-Type: application/json\r\nContent-Length: 4097\r\n", false),
            ("Content-Type: application/json\r\nContent-Length: 0\r\n", false),
            ("Content-Type: application/json\r\n", false),
            ("Content-Length: 2\r\n", false), ("Content-Type: text/plain\r\nContent-Length: 2\r\n", false),
            ("Content-Type: application/json5\r\nContent-Length: 2\r\n", false),
            ("Content-Type: application/json, text/plain\r\nContent-Length: 2\r\n", false),
            ("Content-Type: application/json\r\nContent-Type: application/json\r\nContent-Length: 2\r\n", false),
        ])
    func `a body is read that may be a mark`(fields: String, isRead: Bool) throws {
        let head = try requestHead("/inbox/v1/read", fields)
        #expect(((try? MarkBody.check(head)) != nil) == isRead)
    }

    @Test(arguments: [1, 2, 3, 7, 1_000]) func `a body ends where it ends, however it is cut`(size: Int) throws {
        for (framing, sent) in [
            (BodyFraming.length(5), "abcdeGET /"), (.chunked, "2\r\nab\r\n3;x=y\r\ncde\r\n0\r\nT: x\r\n\r\nGET /"),
        ] {
            var reader = MarkReader(framing)
            var early = EarlyBytes()
            var body: [UInt8]?
            var rest = Array(sent.utf8)[...]
            while body == nil {
                early.append(Array(rest.prefix(size)).span)
                rest = rest.dropFirst(size)
                body = try reader.read(&early)
            }
            #expect(body == Array("abcde".utf8))
            let left = early.consume { bytes in bytes.indices.map { bytes[$0] } } + rest
            #expect(left == Array("GET /".utf8))
        }
    }

    @Test(arguments: [
        "1001\r\n", "x\r\n", "2\r\nabc", "2\r\nab\n", "1000\r\n\(String(repeating: "a", count: 4096))\r\n1\r\na",
    ])
    func `chunks that are none, or too many, are refused`(text: String) {
        var reader = MarkReader(.chunked)
        var early = EarlyBytes()
        early.append(Array((text + String(repeating: "a", count: 4097)).utf8).span)
        #expect(throws: Refusal.self) { while try reader.read(&early) == nil, early.count > 0 {} }
    }
}
