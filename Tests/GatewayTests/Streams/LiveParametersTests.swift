// Tests: ParameterReading.swift, RequestParameters.swift

import HTTP
import LiveUpdates
import Testing

@testable import Gateway

struct LiveParametersTests {
    private func parse(_ query: String, _ fields: String = "", isEventStream: Bool = false) throws -> LiveParameters {
        try LiveParameters.parse(requestHead("/live/v1?\(query)", fields), isEventStream: isEventStream)
    }

    @Test func `who asks for nothing is plain`() throws {
        for query in ["", "x=1&y", "Since=c&WITH=at", "limit=0&limit=x&wait=&wait=-1", "&&=5"] {
            #expect(try parse(query) == LiveParameters(), "\(query)")
        }
    }

    @Test func `a cursor is passed on as it was sent, and implies cursors`() throws {
        let rows: [(String, [UInt8])] = [
            ("since=AZaz-_", Array("AZaz-_".utf8)), ("since=%41b", Array("Ab".utf8)), ("since=a+b", Array("a+b".utf8)),
            ("since=%ff%00", [0xFF, 0]), ("since=a=b", Array("a=b".utf8)), ("since=", []), ("since", []),
            ("since=a%", []), ("since=a%4", []), ("since=%zz", []),
        ]
        for (query, since) in rows {
            #expect(try parse(query) == LiveParameters(since: since, wantsCursors: true), "\(query)")
        }
    }

    @Test func `the last id of an event stream counts instead of the cursor in its old address`() throws {
        let field = "Last-Event-ID: new\r\n"
        #expect(try parse("since=old", field, isEventStream: true).since == Array("new".utf8))
        #expect(try parse("", field, isEventStream: true).since == Array("new".utf8))
        #expect(try parse("since=old", "", isEventStream: true).since == Array("old".utf8))
        #expect(try parse("", "", isEventStream: true).since == nil)
        #expect(try parse("since=old", field).since == Array("old".utf8))
        #expect(try parse("since=%", field, isEventStream: true).since == Array("new".utf8))
        // An empty one is none, as browsers mean it; two of them too.
        let empty = "Last-Event-ID: \r\n"
        #expect(try parse("since=old", empty, isEventStream: true).since == Array("old".utf8))
        #expect(try parse("since=old", empty + empty, isEventStream: true).since == Array("old".utf8))
        #expect(try parse("", "Last-Event-ID:\r\n", isEventStream: true).since == nil)
        #expect(try parse("since=old", empty + field, isEventStream: true).since == [])
        #expect(try parse("since=old", field + field, isEventStream: true).since == [])
        #expect(throws: Refusal(.badParameter, "Parameter since given more than once.")) {
            try parse("since=a&since=b", field, isEventStream: true)
        }
    }

    @Test func `with says what each message carries`() throws {
        for (query, expected) in [
            ("with=at", LiveParameters(withAt: true, wantsCursors: true)), ("with=ts", LiveParameters(withTs: true)),
            ("with=at,ts", LiveParameters(withAt: true, withTs: true, wantsCursors: true)),
            ("with=ts,at", LiveParameters(withAt: true, withTs: true, wantsCursors: true)),
            ("with=at%2cts", LiveParameters(withAt: true, withTs: true, wantsCursors: true)),
            ("with=at,at", LiveParameters(withAt: true, wantsCursors: true)),
            ("w%69th=at", LiveParameters(withAt: true, wantsCursors: true)),
            // It sends no control messages by itself.
            ("with=aid", LiveParameters(withAid: true)), ("with=aid,ts", LiveParameters(withTs: true, withAid: true)),
            ("with=aid,at,aid", LiveParameters(withAt: true, withAid: true, wantsCursors: true)),
        ] {
            #expect(try parse(query) == expected, "\(query)")
        }
    }

    @Test func `each of cursor, beat, changes and event stream implies cursors, and none of them a field`() throws {
        #expect(try parse("beat=5") == LiveParameters(wantsCursors: true, beatSeconds: 5))
        #expect(try parse("mode=changed") == LiveParameters(wantsCursors: true, isChangedMode: true))
        #expect(try parse("", isEventStream: true) == LiveParameters(wantsCursors: true))
        #expect(try parse("with=ts", isEventStream: true) == LiveParameters(withTs: true, wantsCursors: true))
        #expect(try parse("ent=a").wantsCursors == false)
    }

    @Test func `entities are names, decoded, at most sixteen of at most 64 bytes`() throws {
        #expect(try parse("ent=incident,note").entities == EntityFilter(["note", "incident"]))
        #expect(try parse("ent=a%2Cb").entities == EntityFilter(["a", "b"]))
        #expect(try parse("ent=%C3%A9+%20").entities == EntityFilter(["é+ "]))
        #expect(try parse("ent=\(names(16))").entities != nil)
        #expect(try parse("ent=\(names(1, bytes: 64))").entities != nil)
        #expect(try parse("x=1").entities == nil)
    }

    @Test func `a beat lies between 5 and 300 seconds`() throws {
        for (text, seconds) in [("5", 5), ("300", 300), ("005", 5), ("%35", 5)] {
            #expect(try parse("beat=\(text)").beatSeconds == seconds, "\(text)")
        }
    }

    static let refused: [(query: String, name: String)] =
        refusedOfBoth + [
            ("mode=", "mode"), ("mode", "mode"), ("mode=all", "mode"), ("mode=changed,changed", "mode"),
            ("mode=Changed", "mode"), ("mode=changed%00", "mode"), ("mode=%", "mode"),
            ("mode=changed&mode=changed", "mode"), ("beat=4", "beat"), ("beat=301", "beat"), ("beat=0", "beat"),
            ("beat=", "beat"), ("beat", "beat"), ("beat=+5", "beat"), ("beat=-5", "beat"), ("beat=%205", "beat"),
            ("beat=5.0", "beat"), ("beat=5s", "beat"), ("beat=0x9", "beat"), ("beat=%D9%A5", "beat"),
            ("beat=5&beat=5", "beat"), ("beat=9223372036854775808", "beat"),
            ("beat=18446744073709551621", "beat"), ("beat=340282366920938463463374607431768211461", "beat"),
        ]

    @Test(arguments: refused.indices) func `what the table does not allow is refused by its name`(row: Int) throws {
        let (query, name) = Self.refused[row]
        for isEventStream in [false, true] {
            let error = #expect(throws: Refusal.self) { try parse(query, isEventStream: isEventStream) }
            #expect(error?.code == .badParameter && error?.names(name) == true, "\(query)")
        }
    }
}
