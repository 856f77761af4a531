// Tests: JSONNode.swift, JSONParser.swift
import LiveUpdates
import TestHarness
import Testing

@testable import LiveClient

/// The client's reader of JSON beside the gateway's: what one reads the other reads, and in the same way.
struct JSONNodeTests {
    static let valid = [
        "{}", "[]", "null", "true", "false", "0", "-0", "-1", "\"\"", " {} ", "\t\r\n[\n]\n", "1.5", "-0.0", "0e0",
        "1E+2", "1e-2",
        "1e400", "18446744073709551615", "18446744073709551616", "[[],{},[[]]]", #"{"a":1,"a":2}"#, #"{"":""}"#,
        #""\"\\\/\b\f\n\r\t\u0000\u00e9\uD83D\uDEA8""#, #""\ud800""#, #""\udc00\ud800""#, #""\ud800\u0041""#,
        #""\ud800\ud83d\udea8""#, "\"\u{7F}\u{2028}\u{10FFFF}\"", #"{"\u0065nt":1}"#, #"["\\","\\\\\""]"#,
    ]
    static let invalid = [
        "", " ", "NaN", "-Infinity", "True", "nul", "nulll", "null null", "{}x", "[1]]", "[1,]", "[,1]", "[1 2]", "{,}",
        #"{"a"}"#,
        #"{"a":}"#, #"{"a" 1}"#, #"{"a":1,}"#, "{a:1}", "{1:1}", #"{"a":1]"#, "[1}", "}", ",", "01", "-01", "00", "1.",
        ".5", "+1",
        "-", "1e", "1e+", "1.e1", "0x10", "1-", #""\a""#, #""\u12""#, #""\u12g4""#, #""\ud83d\uZZZZ""#, "\"a",
        "\"a\\\"", "[", "{",
        #"{"a":1"#, "\"a\nb\"", "\"\u{1F}\"", "\u{FEFF}{}", "{}\u{0}", "[1\u{A0}]", "{}//",
    ]

    /// Whether both see the same: kinds, texts, numbers, names, their order and where they stand.
    static func agree(_ mine: JSONNode, _ other: JSONValue) -> Bool {
        guard String(decoding: mine.source, as: UTF8.self) == other.source else { return false }
        switch mine.content {
        case .null: return other.isNull
        case .bool(let value): return other.bool == value
        case .number(let value):
            guard case .positive(let number) = other.integer else { return value == nil && other.kind == .number }
            return value == number
        case .string(let text): return other.kind == .string && text == other.string
        case .array(let elements):
            guard let others = other.elements, others.count == elements.count else { return false }
            return zip(elements, others).allSatisfy { agree($0, $1) }
        case .object(let members):
            guard let others = other.members, others.count == members.count else { return false }
            return zip(members, others).allSatisfy { $0.name == $1.name && agree($0.value, $1.value) }
        }
    }

    static func isReadAlike(_ bytes: [UInt8], depth: Int = 16) -> Bool {
        let other = try? JSONDocument(bytes, limits: JSONLimits(maximumBytes: 1 << 16, maximumDepth: depth))
        guard let mine = JSONNode(bytes, maximumBytes: 1 << 16, maximumDepth: depth) else { return other == nil }
        return other.map { agree(mine, $0.root) } ?? false
    }

    @Test(arguments: valid) func `what the grammar allows is read`(text: String) {
        #expect(JSONNode(Array(text.utf8), maximumBytes: 1 << 10) != nil && Self.isReadAlike(Array(text.utf8)))
    }

    @Test(arguments: invalid) func `what the grammar does not allow is refused`(text: String) {
        #expect(JSONNode(Array(text.utf8), maximumBytes: 1 << 10) == nil && Self.isReadAlike(Array(text.utf8)))
    }

    @Test(arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82]] as [[UInt8]])
    func `a string is UTF-8`(bytes: [UInt8]) {
        let text = [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
        #expect(JSONNode(text, maximumBytes: 1 << 10) == nil && Self.isReadAlike(text))
    }

    @Test func `limits are held to the byte and to the level`() {
        #expect(
            JSONNode(Array("[1]".utf8), maximumBytes: 3) != nil && JSONNode(Array("[1]".utf8), maximumBytes: 2) == nil)
        #expect(JSONNode(Array("[[]]".utf8), maximumBytes: 9, maximumDepth: 2) != nil)
        #expect(JSONNode(Array("[[]]".utf8), maximumBytes: 9, maximumDepth: 1) == nil)
        #expect(JSONNode([UInt8](repeating: UInt8(ascii: "["), count: 1 << 20), maximumBytes: 1 << 20) == nil)
    }

    @Test func `a doubled member is none, and names are their bytes`() {
        let root = JSONNode(Array("{\"a\":1,\"a\":2,\"\u{E9}\":3,\"b\":-1}".utf8), maximumBytes: 1 << 10)
        #expect(root?.has("a") == true && root?.member("a") == nil && root?.number("b") == nil)
        #expect(root?.number("\u{E9}") == 3 && root?.has("e\u{301}") == false)
    }

    /// A failure names the seed.
    @Test(arguments: UInt64(1)...20) func `both readers agree about any row of pieces`(seed: UInt64) {
        var numbers = SeededGenerator(seed: seed)
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"\\u00e9\"", "\\ud83d", "\\udea8", "1", "0", "-", ".", "e",
            "true", "null",
            " ", "\n", "\u{E9}", "{\"a\":", "[1,", "\\",
        ]
        for _ in 0..<2_000 {
            let text = (0..<1 + numbers.below(9)).map { _ in pieces.randomElement(using: &numbers)! }.joined()
            #expect(Self.isReadAlike(Array(text.utf8), depth: 4), "\(text)")
        }
    }

    @Test func `a text is written as the gateway writes it`() {
        let text = String(String.UnicodeScalarView((0...0x2100).compactMap(Unicode.Scalar.init)))
        var (mine, other): ([UInt8], [UInt8]) = ([], [])
        JSONWriting.append(text, to: &mine)
        WireMessage.appendString(text, to: &other)
        #expect(mine == other)
    }
}
