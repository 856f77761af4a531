// Tests: RecordLine.swift

import LiveUpdates
import Testing

struct MapLinesTests {
    static func run(_ input: String, pieces: Int = .max, longest: Int = 1 << 20) throws -> [String] {
        let lines = MapLines(try EventMapping(EventMapping.Settings(preset: "rails")), maximumLineBytes: longest)
        var output: [UInt8] = []
        var rest = Array(input.utf8)[...]
        while !rest.isEmpty {
            lines.consume(Array(rest.prefix(pieces)).span, into: &output)
            rest = rest.dropFirst(pieces)
        }
        lines.finish(into: &output)
        return String(decoding: output, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .dropLast().map(String.init)
    }

    static let bare = #"{"account_id":"P1","entity":"incidents::incident","id":"I1","type":"created"}"#
    static let answer = #"{"account":"P1","message":{"ent":"incident","id":"I1","type":"created"}}"#

    static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        WireMessage.appendString(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `a row that moves to another account is one line with both events`() throws {
        let lines = MapLines(try EventMapping(EventMapping.Settings(preset: "debezium")), maximumLineBytes: 1 << 20)
        var output: [UInt8] = []
        let move =
            #"{"op":"u","source":{"table":"t"},"before":{"id":1,"account_id":"P0"},"after":{"id":1,"account_id":"P1"}}"#
        lines.consume(Array("\(move)\n{}\n".utf8).span, into: &output)
        let message = #""message":{"ent":"t","id":"1","type":"updated"}"#
        let expected = [
            #"{"account":"P1",\#(message),"left":{"account":"P0",\#(message)}}"#,
            #"{"skip":"no_entity","why":"no text at /source/table for events.entity"}"#, "",
        ]
        #expect(
            String(decoding: output, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
                == expected.map { $0[...] })
    }

    static let rows: [(line: String, answer: String)] = [
        (bare, answer), ("{\"topic\":\"t\",\"value\":\(quoted(bare))}", answer),
        ("{\"topic\":\"t\",\"value\":\(bare)}", answer),
        ("{\"topic\":\"t\",\"key\":{\"id\":1},\"headers\":null,\"value\":\(bare),\"timestamp\":1}", answer),
        ("", #"{"skip":"not_json","why":"no JSON: empty"}"#), (" \t\r", #"{"skip":"not_json","why":"no JSON: empty"}"#),
        ("null", #"{"skip":"not_json","why":"the value is JSON, but not an object"}"#),
        (#"{"topic":"t","value":null}"#, #"{"skip":"tombstone","why":"the value is null"}"#),
        (#"{"topic":"t","value":"null"}"#, #"{"skip":"not_json","why":"the value is JSON, but not an object"}"#),
        ("no json", #"{"skip":"not_json","why":"no JSON: unexpected byte at offset 0"}"#),
        (#"{"topic":"t"}"#, #"{"skip":"no_entity","why":"no text at /entity for events.entity"}"#),
        (#"{"topic":7,"value":null}"#, #"{"skip":"no_entity","why":"no text at /entity for events.entity"}"#),
        (
            #"{"topic":"t","value":null,"value":"x"}"#,
            #"{"skip":"not_json","why":"duplicate member value in the record"}"#
        ),
        (
            #"{"topic":"t","value":"\ud800"}"#,
            #"{"skip":"not_json","why":"the record's value has half a surrogate pair, which no bytes stand for"}"#
        ),
        (
            #"{"topic":"t","value":null,"headers":[["a"]]}"#,
            #"{"skip":"not_json","why":"the record's headers are not a list of [name, value] pairs"}"#
        ),
    ]

    @Test func `each line has its answer, however the input is cut`() throws {
        let input = Self.rows.map(\.line).joined(separator: "\n") + "\n"
        let answers = Self.rows.map(\.answer)
        #expect(try Self.run(input) == answers)
        for pieces in [1, 2, 3, 7, 64] { #expect(try Self.run(input, pieces: pieces) == answers) }
    }

    @Test func `a last line needs no end and an empty input has no line`() throws {
        #expect(try Self.run(Self.bare) == [Self.answer])
        #expect(try Self.run("") == [])
        #expect(try Self.run("\n").count == 1)
        #expect(try Self.run(Self.bare + "\r\n" + Self.bare) == [Self.answer, Self.answer])
    }

    @Test func `headers come as pairs or as an object`() throws {
        let settings = EventMapping.Settings(preset: "debezium-outbox")
        let lines = MapLines(try EventMapping(settings))
        for headers in [
            #"[["account_id","P1"],["x",null],["eventType","incident.opened"]]"#,
            #"{"account_id":"P1","x":null,"eventType":"incident.opened"}"#,
        ] {
            let line = #"{"topic":"o.incident","key":"I1","headers":\#(headers),"value":null}"#
            #expect(lines.outcome(of: Array(line.utf8)).short == "P1 incident/I1/opened")
        }
    }

    @Test func `a line of the limit is read and a longer one is answered and passed over`() throws {
        let longest = Self.bare.utf8.count
        #expect(try Self.run(Self.bare + "\n" + Self.bare, longest: longest) == [Self.answer, Self.answer])
        let tooLong = #"{"skip":"not_json","why":"line too long: over \#(longest) bytes"}"#
        let input = Self.bare + " \n" + Self.bare + "\n" + Self.bare + "   "
        #expect(try Self.run(input, longest: longest) == [tooLong, Self.answer, tooLong])
    }

    @Test func `a record of 10 MB goes through`() throws {
        let value = #"{"x":"\#(String(repeating: "\\\\", count: 5 << 20))",\#(Self.bare.dropFirst())"#
        let line = "{\"topic\":\"t\",\"value\":\(Self.quoted(value))}"
        #expect(try Self.run(line, longest: MapLines.maximumLineBytes) == [Self.answer])
    }
}
