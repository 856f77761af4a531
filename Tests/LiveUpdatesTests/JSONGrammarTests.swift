import LiveUpdates
import Testing

/// What RFC 8259 calls JSON and what it does not, row by row.
struct JSONGrammarTests {
    static let limits = JSONLimits(maximumBytes: 1 << 20, maximumDepth: 1024)

    static let valid: [String] = [
        "{}", "[]", "null", "true", "false", "0", "-0", "1", "-1", "\"\"", "\"a\"", " {} ", "\t\r\n[\n]\n",
        "1.5", "-0.0", "0e0", "1E+2", "1e-2", "1e400", "-1e400", "123456789012345678901234567890",
        "18446744073709551616", "[1,2,3]", "[[],{},[[]]]", #"{"a":1,"a":2}"#, #"{"":""}"#, #"{"a":{"b":[null]}}"#,
        #""\"\\\/\b\f\n\r\t\u0000\u00e9\uD83D\uDEA8""#, #""\ud800""#, #""\udc00\ud800""#, #""\ud800\u0041""#,
        "\"\u{7F}\u{2028}\u{10FFFF}\"", "[ 1 , 2 ]", "{ \"a\" : 1 , \"b\" : 2 }", #"["\\","\\\\\""]"#,
    ]

    static let invalid: [(text: String, error: JSONError)] = [
        ("", .empty), (" ", .empty), ("\n\t ", .empty),
        ("NaN", .syntax(offset: 0)), ("nan", .syntax(offset: 0)), ("Infinity", .syntax(offset: 0)),
        ("-Infinity", .badNumber(offset: 0)), ("True", .syntax(offset: 0)), ("nul", .syntax(offset: 0)),
        ("nulll", .syntax(offset: 4)), ("truefalse", .syntax(offset: 4)), ("null null", .syntax(offset: 5)),
        ("{} {}", .syntax(offset: 3)), ("{}x", .syntax(offset: 2)), ("[1]]", .syntax(offset: 3)),
        ("[1,]", .syntax(offset: 3)), ("[,1]", .syntax(offset: 1)), ("[1 2]", .syntax(offset: 3)),
        ("[1,,2]", .syntax(offset: 3)), ("{\"a\":1,}", .syntax(offset: 7)), ("{,}", .syntax(offset: 1)),
        ("{\"a\"}", .syntax(offset: 4)), ("{\"a\":}", .syntax(offset: 5)), ("{\"a\" 1}", .syntax(offset: 5)),
        ("{\"a\":1 \"b\":2}", .syntax(offset: 7)), ("{a:1}", .syntax(offset: 1)), ("{1:1}", .syntax(offset: 1)),
        ("{'a':1}", .syntax(offset: 1)), ("{\"a\":1]", .syntax(offset: 6)), ("[1}", .syntax(offset: 2)),
        ("}", .syntax(offset: 0)), (",", .syntax(offset: 0)), (":", .syntax(offset: 0)),
        ("\"a\":1", .syntax(offset: 3)), ("[\"a\":1]", .syntax(offset: 4)), ("\"a\"\"b\"", .syntax(offset: 3)),
        ("01", .badNumber(offset: 0)), ("-01", .badNumber(offset: 0)), ("00", .badNumber(offset: 0)),
        ("1.", .badNumber(offset: 0)), (".5", .syntax(offset: 0)), ("+1", .syntax(offset: 0)),
        ("-", .badNumber(offset: 0)), ("1e", .badNumber(offset: 0)), ("1e+", .badNumber(offset: 0)),
        ("1.e1", .badNumber(offset: 0)), ("0x10", .syntax(offset: 1)), ("1_000", .syntax(offset: 1)),
        ("1a", .syntax(offset: 1)), ("--1", .badNumber(offset: 0)), ("1-", .syntax(offset: 1)),
        (#""\a""#, .badEscape(offset: 1)), (#""\x41""#, .badEscape(offset: 1)), (#""\u12""#, .badEscape(offset: 1)),
        (#""\u12g4""#, .badEscape(offset: 1)), (#""\U0041""#, .badEscape(offset: 1)),
        (#""\ud83d\uZZZZ""#, .badEscape(offset: 7)), ("\"a", .unclosed), ("\"a\\\"", .unclosed), ("\"", .unclosed),
        ("[\"", .unclosed), ("[", .unclosed), ("{", .unclosed), ("[1", .unclosed), ("[1,", .unclosed),
        ("{\"a\"", .unclosed), ("{\"a\":", .unclosed), ("{\"a\":1", .unclosed), ("{\"a\":1,", .unclosed),
        ("\"a\nb\"", .controlCharacter), ("\"\u{0}\"", .controlCharacter), ("\"\u{1F}\"", .controlCharacter),
        ("\u{FEFF}{}", .syntax(offset: 0)), ("{}\u{0}", .syntax(offset: 2)), ("\u{0}{}", .syntax(offset: 0)),
        ("[1\u{0B}]", .syntax(offset: 2)), ("[1\u{0C},2]", .syntax(offset: 2)), ("[1\u{A0}]", .syntax(offset: 2)),
        ("[\u{1A}1]", .syntax(offset: 1)), ("/* */{}", .syntax(offset: 0)), ("{}//", .syntax(offset: 2)),
    ]

    static func parse(_ bytes: [UInt8]) -> JSONError? {
        do throws(JSONError) {
            _ = try JSONDocument(bytes, limits: limits)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: valid) func `what the grammar allows is read`(text: String) {
        #expect(Self.parse(Array(text.utf8)) == nil)
    }

    @Test(arguments: invalid) func `what the grammar does not allow is refused`(text: String, error: JSONError) {
        #expect(Self.parse(Array(text.utf8)) == error)
    }

    /// Every row once more at each place within the 64-byte blocks that simdjson works in.
    @Test func `the verdict is the same wherever a document stands in its block`() {
        for shift in 1...130 {
            let blanks = [UInt8](repeating: UInt8(ascii: " "), count: shift)
            for text in Self.valid {
                #expect(Self.parse(blanks + Array(text.utf8)) == nil, "\(text) after \(shift) blanks")
            }
            for (text, _) in Self.invalid {
                #expect(Self.parse(blanks + Array(text.utf8)) != nil, "\(text) after \(shift) blanks")
            }
        }
    }

    static let brokenUTF8: [[UInt8]] = [
        [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xE0, 0x80, 0x80], [0xE2, 0x82], [0xED, 0xA0, 0x80],
        [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE],
        [0xFF],
    ]

    @Test(arguments: brokenUTF8) func `broken UTF-8 is refused in names, in values and outside`(bytes: [UInt8]) {
        func document(_ before: String, _ after: String) -> [UInt8] { Array(before.utf8) + bytes + Array(after.utf8) }
        #expect(Self.parse(document("{\"", "\":1}")) == .invalidUTF8)
        #expect(Self.parse(document("{\"unused\":\"", "\"}")) == .invalidUTF8)
        #expect(Self.parse(document("{\"unused\":[\"abc", "\"]}")) == .invalidUTF8)
        #expect(Self.parse(document("{}", "")) != nil)
        #expect(Self.parse(document("", "{}")) != nil)
    }

    @Test func `every cut of a document is refused`() {
        let text = Array(#"{"a":[1,-2.5e3,true,"x\u00e9\\"],"b":{"c":null}}"#.utf8)
        for cut in 0..<text.count {
            #expect(Self.parse(Array(text[..<cut])) != nil, "cut at \(cut)")
        }
        #expect(Self.parse(text) == nil)
    }

    static func nested(_ depth: Int, _ open: String, _ close: String) -> [UInt8] {
        Array((String(repeating: open, count: depth) + String(repeating: close, count: depth)).utf8)
    }

    @Test func `1024 levels are read and one more is refused`() {
        #expect(Self.parse(Self.nested(1024, "[", "]")) == nil)
        #expect(Self.parse(Self.nested(1025, "[", "]")) == .tooDeep(limit: 1024))
        #expect(Self.parse(Array("{\"a\":".utf8) + Self.nested(1023, "[", "]") + Array("}".utf8)) == nil)
        #expect(
            Self.parse(Array("{\"a\":".utf8) + Self.nested(1024, "[", "]") + Array("}".utf8))
                == .tooDeep(limit: 1024))
    }

    @Test func `a depth of 100000 is refused, closed or not`() {
        #expect(Self.parse(Self.nested(100_000, "[", "]")) == .tooDeep(limit: 1024))
        #expect(Self.parse([UInt8](repeating: UInt8(ascii: "["), count: 100_000)) == .tooDeep(limit: 1024))
        let objects = String(repeating: "{\"a\":", count: 100_000) + "1" + String(repeating: "}", count: 100_000)
        #expect(Self.parse(Array(objects.utf8)) == .tooDeep(limit: 1024))
    }

    @Test func `a document of exactly the limit is read and one byte more is refused`() throws {
        let limits = JSONLimits(maximumBytes: 8, maximumDepth: 2)
        _ = try JSONDocument(Array("[[1234]]".utf8), limits: limits)
        #expect(throws: JSONError.tooLarge(bytes: 9, limit: 8)) {
            try JSONDocument(Array("[[12345]]".utf8), limits: limits)
        }
        #expect(throws: JSONError.tooDeep(limit: 2)) { try JSONDocument(Array("[[[]]]".utf8), limits: limits) }
    }
}
