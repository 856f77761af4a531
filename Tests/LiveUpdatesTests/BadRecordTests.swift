// Tests: EventMapper+Sources.swift, EventMapper.swift, MappingOutcome.swift

import LiveUpdates
import Testing

/// Records that yield no event, and records that look as if they should not but do.
struct BadRecordTests {
    static let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)

    /// One row a value for the preset rails.
    static let rows: [(value: String?, outcome: String)] = [
        (nil, "tombstone"), ("", "not_json"), (" ", "not_json"), ("null", "not_json"), ("[]", "not_json"),
        ("[{\"account_id\":\"P1\"}]", "not_json"), ("42", "not_json"), ("\"text\"", "not_json"), ("true", "not_json"),
        ("hello", "not_json"), ("NaN", "not_json"), ("\u{FEFF}" + record(), "P1 incident/I1/created"),
        ("\u{FEFF}", "not_json"), ("\u{FEFF}\u{FEFF}" + record(), "not_json"), (" \u{FEFF}" + record(), "not_json"),
        // A schema registry's five bytes.
        ("\u{0}\u{0}\u{0}\u{0}\u{7}" + record(), "P1 incident/I1/created"),
        ("\u{0}{\"\"}" + record(), "P1 incident/I1/created"),
        ("\u{0}\u{0}\u{0}\u{0}\u{7}\u{FEFF}" + record(), "P1 incident/I1/created"),
        ("\u{0}\u{0}\u{0}\u{7}" + record(), "not_json"), ("\u{0}\u{0}\u{0}\u{0}\u{7}", "not_json"),
        ("\u{0}\u{0}\u{0}\u{0}", "not_json"), ("\u{0}\u{0}\u{0}\u{0}\u{7}\u{2}H\u{4}P1", "not_json"),
        ("\u{1}\u{0}\u{0}\u{0}\u{7}" + record(), "not_json"),
        (record() + "x", "not_json"),
        (record() + record(), "not_json"), (record("\"x\":NaN"), "not_json"), (record("\"x\":Infinity"), "not_json"),
        (record("\"x\":01"), "not_json"), (record("\"x\":1."), "not_json"), (record("\"x\":[1,]"), "not_json"),
        (record("\"x\":\"\\q\""), "not_json"), (record("\"x\":\"\u{1}\""), "not_json"), (record("\"x\":"), "not_json"),
        (record("\"x\":\(deep)"), "not_json"), (deep, "not_json"), (record("x:1"), "not_json"),
        // Half a surrogate pair is no text where it is used, and nothing to us where it is not.
        (record(account: #""\ud800""#), "not_json"), (record(entity: #""a\udc00""#), "not_json"),
        (record(id: #""\ud800\ud800""#), "not_json"), (record(type: #""\ud800x""#), "not_json"),
        (record(#""x":"\ud800""#), "P1 incident/I1/created"), (record(#""\ud800":1"#), "P1 incident/I1/created"),
        (record(#""x":"\udc00\ud800","\udc00":"\udc00""#), "P1 incident/I1/created"),
        // Valid JSON that a stricter reader would lose.
        (record("\"x\":1e400"), "P1 incident/I1/created"), (record("\"x\":-1E+999"), "P1 incident/I1/created"),
        (record("\"x\":123456789012345678901234567890"), "P1 incident/I1/created"),
        (record("\"x\":\(String(repeating: "9", count: 5000))"), "P1 incident/I1/created"),
        (record("\"x\":1,\"x\":2"), "P1 incident/I1/created"),
        (record("\"x\":{\"id\":1,\"id\":2}"), "P1 incident/I1/created"),
        ("\n\t " + record() + "\r\n", "P1 incident/I1/created"),
        // Members on the way that stand twice.
        (record(#""account_id":"P2""#), "ambiguous"), (record(#""account_id":"P1""#), "ambiguous"),
        (record(#""\u0061ccount_id":"P2""#), "ambiguous"), (record(#""account\u005fid":null"#), "ambiguous"),
        (record(#""id":"I2""#), "ambiguous"), (record(#""\u0069d":"I2""#), "ambiguous"),
        (record(#""\u0069\u0064":2"#), "ambiguous"), (record(#""entity":"alerts::alert""#), "ambiguous"),
        (record(#""type":[]"#), "ambiguous"), (record(#""ID":1,"iD":2,"i":3,"idd":4"#), "P1 incident/I1/created"),
        (record(#""\u00e9":1,"e\u0301":1"#), "P1 incident/I1/created"),
        // Text and what is none.
        (record(account: "42"), "42 incident/I1/created"), (record(account: "-0"), "0 incident/I1/created"),
        (record(account: "\"42\""), "42 incident/I1/created"), (record(account: "-7"), "-7 incident/I1/created"),
        (record(id: "18446744073709551615"), "P1 incident/18446744073709551615/created"),
        (record(id: "18446744073709551616"), "no_id"), (record(id: "-9223372036854775809"), "no_id"),
        (record(id: "-9223372036854775808"), "P1 incident/-9223372036854775808/created"),
        (record(id: "9007199254740993"), "P1 incident/9007199254740993/created"), (record(id: "1.0"), "no_id"),
        (record(id: "1e2"), "no_id"), (record(id: "true"), "no_id"), (record(id: "null"), "no_id"),
        (record(id: "[]"), "no_id"), (record(id: "{\"id\":\"x\"}"), "no_id"), (record(id: "\"\""), "no_id"),
        (record(id: "\" \""), "P1 incident/ /created"), (record(account: "1e400"), "no_account"),
        (record(account: "false"), "no_account"), (record(account: "\"\""), "no_account"),
        // Bytes are kept: neither trimmed nor folded nor normalised.
        (record(account: "\" p1\""), " p1 incident/I1/created"),
        (record(entity: "\"Incidents::incident\""), "P1 Incidents::incident/I1/created"),
    ]

    static func record(
        _ more: String? = nil, account: String = "\"P1\"", entity: String = "\"incidents::incident\"",
        id: String = "\"I1\"", type: String = "\"created\""
    ) -> String {
        let members = #""account_id":\#(account),"entity":\#(entity),"id":\#(id),"type":\#(type)"#
        return "{" + members + (more.map { "," + $0 } ?? "") + "}"
    }

    @Test func `each bad record is skipped for its reason and each good one delivered`() throws {
        let mapper = try EventMapper.of("rails")
        for (value, outcome) in Self.rows {
            #expect(mapper.short(TestRecord(value)) == outcome, "\(value?.prefix(200) ?? "null")")
        }
    }

    @Test func `the bytes of an id come through as they are`() throws {
        let mapper = try EventMapper.of("rails")
        let value = Self.record(id: #""P\"\\\/\n\u2028\u0000\u00e9e\u0301\ud83d\udea8\u007f""#)
        guard case .event(_, let event) = mapper.map(TestRecord(value)) else {
            Issue.record("not delivered")
            return
        }
        #expect(Array(event.id.utf8) == Array("P\"\\/\n\u{2028}\u{0}\u{E9}e\u{301}\u{1F6A8}\u{7F}".utf8))
    }

    @Test func `broken UTF-8 anywhere in the value is not_json`() throws {
        let mapper = try EventMapper.of("rails")
        let good = Array(Self.record(#""x":"yz""#).utf8)
        #expect(mapper.short(TestRecord(bytes: good)) == "P1 incident/I1/created")
        for place in good.indices {
            for bad in [[0xFF], [0x80], [0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80]] as [[UInt8]] {
                let record = TestRecord(bytes: Array(good[..<place]) + bad + Array(good[place...]))
                #expect(mapper.short(record) == "not_json", "\(bad) at \(place)")
            }
        }
    }

    @Test func `every cut of a record is not_json`() throws {
        let mapper = try EventMapper.of("rails")
        let good = Array(Self.record(#""x":[1,{"y":null}]"#).utf8)
        for cut in good.indices {
            #expect(mapper.short(TestRecord(bytes: Array(good[..<cut]))) == "not_json", "cut at \(cut)")
        }
    }

    /// Several reasons at once: the first in the order of `SkipReason` is given.
    @Test(arguments: [
        ("{", "not_json"), (#"{"entity":"alerts::alert"}"#, "dropped"),
        (#"{"entity":"alerts::alert","id":1,"id":2}"#, "ambiguous"),
        (#"{"entity":"\ud800","id":1,"id":2}"#, "not_json"), ("{}", "no_entity"), (#"{"id":"I1"}"#, "no_entity"),
        (#"{"entity":"e"}"#, "no_account"), (#"{"entity":"e","account_id":"P1"}"#, "no_id"),
        (#"{"entity":"e","account_id":"P1","id":"I1"}"#, "no_type"),
        (#"{"account_id":"\#(String(repeating: "a", count: 256))","entity":"e","id":"I1"}"#, "no_type"),
    ]) func `the first of several reasons is given`(value: String, reason: String) throws {
        #expect(try EventMapper.of("rails").short(value) == reason)
    }

    @Test func `the order of reasons is that of the design`() {
        #expect(
            SkipReason.allCases.map(\.rawValue) == [
                "tombstone", "not_json", "ambiguous", "ignored", "dropped", "no_entity", "no_account", "no_id",
                "no_type", "too_long",
            ])
    }

    @Test func `every limit holds on both sides`() throws {
        let mapper = try EventMapper.of("rails")
        func text(_ count: Int) -> String { "\"" + String(repeating: "a", count: count) + "\"" }
        #expect(mapper.short(Self.record(account: text(255))).hasSuffix("a incident/I1/created"))
        #expect(mapper.short(Self.record(account: text(256))) == "too_long")
        #expect(mapper.short(Self.record(id: text(255))).hasSuffix("a/created"))
        #expect(mapper.short(Self.record(id: text(256))) == "too_long")
        #expect(mapper.short(Self.record(entity: text(64))).hasSuffix("a/I1/created"))
        #expect(mapper.short(Self.record(entity: text(65))) == "too_long")
        #expect(mapper.short(Self.record(type: text(64))).hasSuffix("/a" + String(repeating: "a", count: 63)))
        #expect(mapper.short(Self.record(type: text(65))) == "too_long")
        // Bytes count, not characters: 85 of three bytes each are 255.
        let wide = "\"" + String(repeating: "\u{2028}", count: 85)
        #expect(mapper.short(Self.record(id: wide + "\"")) != "too_long")
        #expect(mapper.short(Self.record(id: wide + "a\"")) == "too_long")
        // What is delivered is measured, not how it was written.
        let escaped = "\"" + String(repeating: "\\u0061", count: 255) + "\""
        #expect(mapper.short(Self.record(id: escaped)).hasSuffix("a/created"))
        let prefixed = "\"incidents::incident." + String(repeating: "a", count: 64) + "\""
        #expect(mapper.short(Self.record(type: prefixed)) != "too_long")
    }

    @Test func `a record of 10 MB is delivered and leaves no memory behind`() throws {
        let mapper = try EventMapper.of("rails")
        let rest = String(repeating: "x", count: 10 << 20)
        #expect(mapper.short(Self.record("\"x\":\"\(rest)\"")) == "P1 incident/I1/created")
        let many = "[" + String(repeating: "1,", count: 5 << 20) + "1]"
        #expect(mapper.short(Self.record("\"x\":\(many)")) == "P1 incident/I1/created")
        #expect(mapper.heldBytes < 8 << 20)
        #expect(mapper.short(Self.record()) == "P1 incident/I1/created")
    }

    @Test func `what a skip says names the place and the reason`() throws {
        let mapper = try EventMapper.of("rails")
        func why(_ value: String?) -> String {
            guard case .skip(_, let why) = mapper.map(TestRecord(value)) else { return "an event" }
            return "\(why)"
        }
        #expect(why(nil) == "the value is null")
        #expect(why("{]") == "no JSON: unexpected byte at offset 1")
        #expect(why("[]") == "the value is JSON, but not an object")
        #expect(why(Self.deep) == "JSON nested too deeply: over 1024 levels")
        #expect(why(Self.record(entity: "\"alerts::alert\"")) == "events.drop names the entity \"alerts::alert\"")
        #expect(why(Self.record(account: "1.5")) == "no text at /account_id for events.account")
        let avro = why("\u{0}\u{0}\u{0}\u{0}\u{7}\u{2}H")
        #expect(avro.contains("Avro and Protobuf are not read, have it written as JSON"), "\(avro)")
        #expect(why("x") == "no JSON: unexpected byte at offset 0")
        #expect(why(Self.record("\"id\":1")) == "duplicate key on the path to the id")
        #expect(why(Self.record(type: #""\ud800""#)) == "the type has half a surrogate pair, which is no text")
        #expect(
            why(Self.record(id: "\"" + String(repeating: "a", count: 300) + "\"")) == "id too long: 300 bytes, over 255"
        )
    }
}
