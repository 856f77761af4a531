// Tests: JSONPointer.swift, JSONReader.swift

import LiveUpdates
import Testing

struct JSONDocumentTests {
    static func root(_ text: String) throws -> JSONValue {
        try JSONDocument(Array(text.utf8), limits: JSONLimits(maximumBytes: 1 << 16, maximumDepth: 16)).root
    }

    @Test func `members, elements and plain values are found`() throws {
        let root = try Self.root(#"{"alg":"ES256","list":["a",2,null,true,false],"empty":{},"n":{"m":[]}}"#)
        #expect(try root.member("alg")?.string == "ES256")
        #expect(try root.member("nothing") == nil)
        let list = try #require(try root.member("list")?.elements)
        #expect(list.map(\.kind) == [.string, .number, .null, .true, .false])
        #expect(list.map(\.bool) == [nil, nil, nil, true, false])
        #expect(list[2].isNull)
        #expect(try root.member("empty")?.members?.count == 0)
        #expect(try root.member("n")?.member("m")?.elements?.count == 0)
        #expect(root.members?.map(\.name) == ["alg", "list", "empty", "n"])
        #expect(try root.member("alg")?.member("x") == nil)
        #expect(root.elements == nil && root.string == nil && root.numberText == nil && root.integer == nil)
    }

    @Test(arguments: [
        ("0", "0"), ("-0", "0"), ("1", "1"), ("-1", "-1"), ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808"), ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", nil), ("-9223372036854775808", "-9223372036854775808"),
        ("-9223372036854775809", nil), ("99999999999999999999", nil), ("1.0", nil), ("1e2", nil), ("1e400", nil),
        ("9007199254740993", "9007199254740993"), ("0.0", nil), ("-0.0", nil),
    ]) func `integers are exact up to 64 bits and floats stay apart`(text: String, integer: String?) throws {
        let value = try Self.root(text)
        #expect(value.integer?.description == integer)
        #expect(value.numberText == text)
        #expect(value.string == nil)
    }

    @Test func `a doubled member is told, however it is spelt`() throws {
        let root = try Self.root(#"{"id":1,"\u0069d":2,"a":{"id":3},"b":[{"x":1,"x":1}]}"#)
        #expect(throws: JSONError.ambiguous(member: "id")) { try root.member("id") }
        #expect(root.repeatedMember == "id")
        #expect(try root.member("a")?.repeatedMember == nil)
        #expect(try root.member("b")?.elements?.first?.repeatedMember == "x")
    }

    @Test func `names are compared by bytes, not by what they look like`() throws {
        let root = try Self.root("{\"\u{E9}\":1,\"e\u{301}\":2}")
        #expect(root.repeatedMember == nil)
        #expect(try root.member("\u{E9}")?.integer == .positive(1))
        #expect(try root.member("e\u{301}")?.integer == .positive(2))
    }

    @Test func `strings are unescaped and half a pair is no text`() throws {
        let root = try Self.root(#"["P\"\\\/\n\u2028\u0000\u00e9\ud83d\udea8","\ud800","a\udc00b","\ud800\u0041"]"#)
        let elements = try #require(root.elements)
        #expect(elements[0].string.map { Array($0.utf8) } == Array("P\"\\/\n\u{2028}\u{0}\u{E9}\u{1F6A8}".utf8))
        #expect(elements[1...].allSatisfy { $0.kind == .string && $0.string == nil })
        #expect(elements[1].source == #""\ud800""#)
    }

    @Test func `every code point comes out of its escape`() throws {
        for point in UInt32(0)...0x10FFFF where point % 37 == 0 || point < 0x900 || point > 0x10FF00 {
            guard let scalar = Unicode.Scalar(point) else { continue }
            let escaped = String(scalar).utf16.map { unit in
                "\\u" + String(repeating: "0", count: 4 - String(unit, radix: 16).count) + String(unit, radix: 16)
            }
            #expect(try Self.root("\"\(escaped.joined())\"").string?.unicodeScalars.elementsEqual([scalar]) == true)
        }
    }

    @Test func `the source of a value is what stood there`() throws {
        let root = try Self.root(#"{"value": {"a" : [1, "x\n"]}, "s": "q\"\u00e9"}"#)
        #expect(try root.member("value")?.source == #"{"a" : [1, "x\n"]}"#)
        #expect(try root.member("s")?.source == #""q\"\u00e9""#)
    }
}
