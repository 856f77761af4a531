import LiveUpdates
import Testing

struct WireMessageTests {
    static func plain(_ entity: String, _ id: String, _ type: String) -> String {
        var bytes: [UInt8] = []
        WireMessage.appendPlain(ThinEvent(entity: entity, id: id, type: type), to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `a message has its three keys and no blanks`() {
        #expect(
            Self.plain("incident", "PAM4FGS", "created") == #"{"ent":"incident","id":"PAM4FGS","type":"created"}"#)
    }

    @Test func `what was there before stays`() {
        var bytes = Array("x".utf8)
        WireMessage.appendPlain(ThinEvent(entity: "e", id: "i", type: "t"), to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == #"x{"ent":"e","id":"i","type":"t"}"#)
    }

    @Test(arguments: [
        ("\"", #"\""#), ("\\", #"\\"#), ("/", "/"), ("\n", #"\n"#), ("\r", #"\r"#), ("\t", #"\t"#), ("\u{8}", #"\b"#),
        ("\u{C}", #"\f"#), ("\u{0}", #"\u0000"#), ("\u{1F}", #"\u001f"#), ("\u{B}", #"\u000b"#), ("\u{7F}", "\u{7F}"),
        ("\u{2028}\u{2029}", "\u{2028}\u{2029}"), ("\u{E9}", "\u{E9}"), ("\u{1F6A8}", "\u{1F6A8}"), ("\r\n", #"\r\n"#),
    ]) func `escaped is what JSON asks for and nothing else`(text: String, escaped: String) {
        let expected = "{\"ent\":\"\(escaped)\",\"id\":\"\(escaped)\",\"type\":\"\(escaped)\"}"
        #expect(Array(Self.plain(text, text, text).utf8) == Array(expected.utf8))
    }

    @Test func `every code point below U+3000 and some beyond come back from the message`() throws {
        for point in Array(UInt32(0)..<0x3000) + [0xD7FF, 0xE000, 0xFEFF, 0xFFFE, 0xFFFF, 0x10000, 0x10FFFF] {
            let text = String(try #require(Unicode.Scalar(point)))
            let message = Array(Self.plain("e", text, "t").utf8)
            let root = try JSONDocument(message, limits: .record).root
            #expect(try root.member("id")?.string?.isBytewiseEqual(to: text) == true, "U+\(String(point, radix: 16))")
        }
    }
}
