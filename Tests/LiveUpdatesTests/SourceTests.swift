import Testing

@testable import LiveUpdates

/// Mappings of one's own: sources, lists of them, names and types.
struct SourceTests {
    /// What the id becomes in a mapping without a preset when it stands at `sources`.
    static func id(_ sources: [String], _ record: TestRecord) throws -> String {
        let mapper = try EventMapper.of(nil) {
            $0.account = ["header:account"]
            $0.entity = ["topic:0"]
            $0.id = sources
            $0.type = ["topic:-1"]
        }
        var record = record
        record.headers.append(("account", Array("P1".utf8)))
        record.topic = "things.changed"
        guard case .event(_, let event) = mapper.map(record) else { return mapper.short(record) }
        return event.id
    }

    @Test(arguments: [
        ("/a", #"{"a":"x"}"#, "x"), ("/a/b", #"{"a":{"b":"x"}}"#, "x"), ("/a/0", #"{"a":["x","y"]}"#, "x"),
        ("/a/1", #"{"a":["x","y"]}"#, "y"), ("/a/2", #"{"a":["x","y"]}"#, "no_id"),
        ("/a/-", #"{"a":["x"]}"#, "no_id"), ("/a/01", #"{"a":["x","y"]}"#, "no_id"),
        ("/a/00", #"{"a":["x"]}"#, "no_id"), ("/a/-1", #"{"a":["x"]}"#, "no_id"), ("/a/+0", #"{"a":["x"]}"#, "no_id"),
        ("/a/99999999999999999999", #"{"a":["x"]}"#, "no_id"), ("/a/", #"{"a":["x"]}"#, "no_id"),
        ("/a/0", #"{"a":{"0":"x"}}"#, "x"), ("/a/01", #"{"a":{"01":"x"}}"#, "x"),
        ("/a/1/b", #"{"a":[[1,2,{"c":3}],{"b":"x"}]}"#, "x"), ("/a/b", #"{"a":"b"}"#, "no_id"),
        ("/", #"{"":"x"}"#, "x"), ("//", #"{"":{"":"x"}}"#, "x"), ("/a~1b", #"{"a/b":"x"}"#, "x"),
        ("/m~0n", #"{"m~n":"x"}"#, "x"), ("/~01", #"{"~1":"x"}"#, "x"), ("/a b", #"{"a b":"x"}"#, "x"),
        ("/c%d", #"{"c%d":"x"}"#, "x"), (#"/k"l"#, #"{"k\"l":"x"}"#, "x"), (#"/i\j"#, #"{"i\\j":"x"}"#, "x"),
        ("/\u{E9}", "{\"\u{E9}\":\"x\"}", "x"), ("/\u{E9}", #"{"\u00e9":"x"}"#, "x"),
        ("/\u{E9}", "{\"e\u{301}\":\"x\"}", "no_id"), ("/\u{1F6A8}", #"{"\uD83D\uDEA8":"x"}"#, "x"),
        ("/a/b", #"{"a":{"b":"x"},"a":{"b":"x"}}"#, "ambiguous"), ("/a/b", #"{"a":{"b":1,"b":1}}"#, "ambiguous"),
        ("/a/b", #"{"a":{"b":"x","c":1,"c":2},"d":1,"d":2}"#, "x"), ("/a/b", #"{"a":1,"a":2}"#, "ambiguous"),
        ("/a/b", #"{"c":{"b":1,"b":1}}"#, "no_id"),
    ]) func `a pointer finds what RFC 6901 says`(pointer: String, value: String, id: String) throws {
        #expect(try Self.id([pointer], TestRecord(value)) == id)
    }

    @Test func `a pointer of 1024 bytes is followed and one byte more is refused`() throws {
        let name = String(repeating: "n", count: 1023)
        #expect(try Self.id(["/" + name], TestRecord("{\"\(name)\":\"x\"}")) == "x")
        #expect(throws: MappingError.self) { try Self.id(["/n" + name], TestRecord("{}")) }
        let deep = String(repeating: "/a", count: 512)
        let value = String(repeating: "{\"a\":", count: 512) + "\"x\"" + String(repeating: "}", count: 512)
        #expect(try Self.id([deep], TestRecord(value)) == "x")
    }

    @Test func `of a list the first that yields text counts`() throws {
        let list = ["/a", "header:h", "key", "/b"]
        #expect(try Self.id(list, TestRecord(#"{"a":"1","b":"4"}"#, key: "3", headers: [("h", "2")])) == "1")
        #expect(try Self.id(list, TestRecord(#"{"a":null,"b":"4"}"#, key: "3", headers: [("h", "2")])) == "2")
        #expect(try Self.id(list, TestRecord(#"{"a":"","b":"4"}"#, key: "3", headers: [("h", "")])) == "3")
        #expect(try Self.id(list, TestRecord(#"{"a":1.5,"b":"4"}"#)) == "4")
        #expect(try Self.id(list, TestRecord(#"{"a":"1","b":"4","b":"5"}"#)) == "1")
        #expect(try Self.id(list, TestRecord(#"{"a":"1","a":"1","b":"4"}"#)) == "ambiguous")
        #expect(try Self.id(list, TestRecord(#"{"b":"4","b":"5"}"#)) == "ambiguous")
    }

    @Test func `headers and keys that are not UTF-8 yield nothing`() throws {
        var record = TestRecord("{}")
        record.headers = [("h", [0xFF])]
        record.key = [0xC3, 0x28]
        #expect(try Self.id(["header:h"], record) == "no_id")
        #expect(try Self.id(["key"], record) == "no_id")
        #expect(try Self.id(["key:/id"], record) == "no_id")
        record.headers = [("h", nil), ("h", Array("second".utf8))]
        record.key = nil
        #expect(try Self.id(["key"], record) == "no_id")
        record.headers = [("h", Array("first".utf8)), ("h", Array("second".utf8)), ("H", Array("other".utf8))]
        #expect(try Self.id(["header:h"], record) == "first")
        #expect(try Self.id(["header:H"], record) == "other")
    }

    @Test(arguments: [
        // Plain text, as most keys are, and JSON that is no text by itself.
        ("I1", "I1"), ("7", "7"), ("7.0", "7.0"), ("null", "null"), ("[1]", "[1]"), (#"{"id":7}"#, #"{"id":7}"#),
        (" x", " x"), (#"a"b"#, #"a"b"#), (#""x"#, #""x"#), ("{", "{"), (#"{"payload":"x"}"#, #"{"payload":"x"}"#),
        // A JSON string.
        (#""7""#, "7"), (#""a\u0062\"c""#, #"ab"c"#), (#"" x ""#, " x "), (#""""#, "no_id"), (#""\ud800""#, "no_id"),
        // A key with its schema.
        (#"{"schema":{"type":"string","optional":false},"payload":"I1"}"#, "I1"),
        (#"{"schema":{"type":"int64"},"payload":7}"#, "7"), (#"{"payload":"I1","schema":null}"#, "I1"),
        (#"{"schema":{},"payload":{"id":7}}"#, "no_id"), (#"{"schema":{},"payload":null}"#, "no_id"),
        (#"{"schema":{},"payload":"a","payload":"b"}"#, "ambiguous"),
        // A schema registry's five bytes, and a mark of UTF-8.
        ("\u{0}\u{0}\u{0}\u{0}\u{7}\"I1\"", "I1"), ("\u{0}\u{0}\u{0}\u{0}\u{7}42", "42"),
        ("\u{0}\u{0}\u{0}\u{0}\u{7}\u{4}I1", "no_id"), ("\u{0}\u{0}\u{0}\u{0}\u{7}{\"id\":7}", "no_id"),
        ("\u{FEFF}\"I1\"", "I1"), ("\u{FEFF}I1", "\u{FEFF}I1"), ("\u{0}\u{0}\u{0}\u{0}", "\u{0}\u{0}\u{0}\u{0}"),
    ]) func `a key is its text, of a JSON string what it says`(key: String, id: String) throws {
        #expect(try Self.id(["key"], TestRecord("{}", key: key)) == id)
        // Also where another source has read it as JSON before.
        #expect(try Self.id(["key:/nowhere", "key"], TestRecord("{}", key: key)) == id)
    }

    @Test(arguments: [
        ("\u{0}\u{0}\u{0}\u{0}\u{7}{\"id\":7}", "7"), ("\u{FEFF}{\"id\":7}", "7"),
        (#"{"id":7}"#, "7"), (#"{"id":"x","id":"y"}"#, "ambiguous"), ("x", "no_id"), ("", "no_id"), ("[]", "no_id"),
        (#"{"id":"\ud800"}"#, "no_id"), (#"{"id":"x""#, "no_id"), (#"{"id":true}"#, "no_id"),
    ]) func `a pointer into the key reads it as JSON`(key: String, id: String) throws {
        #expect(try Self.id(["key:/id"], TestRecord("{}", key: key)) == id)
    }

    @Test(arguments: [
        (0, "a.b.c", "a"), (1, "a.b.c", "b"), (2, "a.b.c", "c"), (3, "a.b.c", "no_id"), (-1, "a.b.c", "c"),
        (-3, "a.b.c", "a"), (-4, "a.b.c", "no_id"), (0, "plain", "plain"), (-1, "plain", "plain"), (1, "a..c", "no_id"),
        (-1, "a.", "no_id"), (249, "a", "no_id"), (-249, "a", "no_id"),
    ]) func `a part of the topic is found from both ends`(part: Int, topic: String, id: String) throws {
        let mapper = try EventMapper.of(nil) {
            $0.account = ["key"]
            $0.entity = ["key"]
            $0.id = ["topic:\(part)"]
            $0.type = ["key"]
        }
        let outcome = mapper.short(TestRecord("{}", topic: topic, key: "k"))
        #expect(outcome == (id == "no_id" ? id : "k k/\(id)/k"))
    }

    @Test func `a value that no source reads may be anything`() throws {
        let mapper = try EventMapper.of(nil) {
            $0.account = ["header:account"]
            $0.entity = ["topic:0"]
            $0.id = ["key"]
            $0.type = ["header:type"]
        }
        let headers = [("account", "P1"), ("type", "changed")]
        for value in ["{}", "", "no json", "null", nil] {
            #expect(mapper.short(TestRecord(value, topic: "t", key: "k", headers: headers)) == "P1 t/k/changed")
        }
        #expect(mapper.short(TestRecord(nil, topic: "t", key: "k")) == "tombstone")
        #expect(mapper.short(TestRecord("", topic: "t", key: "k")) == "no_account")
    }

    @Test func `entities are dropped by their name before renaming and renamed otherwise`() throws {
        let mapper = try EventMapper.of("rails") {
            $0.rename = [
                EventMapping.Translation(from: "notes::note", to: "note"),
                EventMapping.Translation(from: "a", to: "b"), EventMapping.Translation(from: "b", to: "c"),
                EventMapping.Translation(from: "\u{E9}", to: "composed"),
                EventMapping.Translation(from: "e\u{301}", to: "combining"),
            ]
            $0.drop = ["secret", "note"]
        }
        func entity(_ name: String) -> String {
            mapper.short(BadRecordTests.record(entity: "\"\(name)\""))
        }
        #expect(entity("incidents::incident") == "P1 incident/I1/created")
        #expect(entity("notes::note") == "P1 note/I1/created")
        #expect(entity("note") == "dropped")
        #expect(entity("secret") == "dropped")
        #expect(entity("alerts::alert") == "dropped")
        #expect(entity("alert") == "P1 alert/I1/created")
        #expect(entity("a") == "P1 b/I1/created")
        #expect(entity("b") == "P1 c/I1/created")
        #expect(entity("\u{E9}") == "P1 composed/I1/created")
        #expect(entity("e\u{301}") == "P1 combining/I1/created")
        #expect(entity("Secret") == "P1 Secret/I1/created")
    }

    @Test(arguments: [
        ("incidents::incident.created", "created"), ("incident.created", "created"), ("incident", "incident"),
        ("incidents::incident", "incidents::incident"), ("incident.", "incident."), ("incident..x", ".x"),
        ("incidents::incident.", "incidents::incident."), ("incidents::incident..", "."), ("emptied", "incident."),
        ("incident.emptied", "incident."),
        ("incident.incident.x", "incident.x"), ("incidentx.created", "incidentx.created"),
        ("Incident.created", "Incident.created"), (".created", ".created"), ("triggered", "opened"),
        ("incident.triggered", "opened"), ("incident.snoozed", "paused"), ("snoozed", "snoozed"), ("long", "short"),
    ]) func `a type loses its entity once and is translated`(type: String, delivered: String) throws {
        let mapper = try EventMapper.of("rails") {
            $0.types = [
                EventMapping.Translation(from: "triggered", to: "opened"),
                EventMapping.Translation(from: "incident.snoozed", to: "paused"),
                EventMapping.Translation(from: "long", to: "incident.short"),
                EventMapping.Translation(from: "emptied", to: "incident."),
            ]
        }
        #expect(mapper.short(BadRecordTests.record(type: "\"\(type)\"")) == "P1 incident/I1/\(delivered)")
    }
}
