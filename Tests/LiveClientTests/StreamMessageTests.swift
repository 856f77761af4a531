// Tests: EventStreamMessages.swift

import HTTP
import LiveState
import Testing
import WebSocket

@testable import LiveClient
@testable import LiveClientReactor

@Suite struct `Messages of the protocol` {
    static let place = LiveCursor("c")

    @Test(arguments: [
        (#"{"ent":"a","id":"b","type":"c"}"#, StreamMessage.event(LiveEvent(entity: "a", id: "b", type: "c"))),
        (
            #"{"ent":"a","id":"b","type":"c","at":"c","ts":1,"new":{}}"#,
            .event(LiveEvent(entity: "a", id: "b", type: "c", cursor: place))
        ),
        (#"{"changed":true,"at":"c"}"#, .changed(place)), (#"{"live":{"at":"c"}}"#, .live(place)),
        (#"{"beat":{"at":"c","new":1}}"#, .beat(place)),
        (#"{"resync":{"why":"expired","at":"c"}}"#, .resync(.expired, place)),
        (#"{"resync":{"why":"new","at":"c"}}"#, .resync(.other("new"), place)),
        (#"{"source":{"state":"stalled","ts":1795240000000}}"#, .source(.stalled(since: 1_795_240_000_000))),
        (#"{"source":{"state":"live"}}"#, .source(.live(since: nil))),
        (
            #"{"bye":{"code":1012,"why":"restart","retry_ms":8123}}"#,
            .bye(.restart, why: "restart", retryMilliseconds: 8123)
        ),
        (#"{"bye":{"code":4403,"why":"revoked"}}"#, .bye(.revoked, why: "revoked", retryMilliseconds: nil)),
        (#"{"expiring":{"exp":1795243600}}"#, .expiring(at: 1_795_243_600)),
        (#"{"expiring":{}}"#, .expiring(at: nil)),
        (#"{"token":{"exp":1795247200}}"#, .token(endsAt: 1_795_247_200)),
        (#"{"token":{}}"#, .token(endsAt: nil)),
        (
            #"{"read":{"ent":"a","id":"b","aid":"m"}}"#,
            .read(ReadMark(of: Thing(entity: "a", id: "b"), upTo: EventID("m")))
        ),
        (#"{"read":{"aid":"m","new":1}}"#, .read(ReadMark(of: nil, upTo: EventID("m")))),
        // A mark that is not understood is never taken for one of everything.
        (#"{"read":{"ent":"a","aid":"m"}}"#, .unknownControl), (#"{"read":{"id":"b","aid":"m"}}"#, .unknownControl),
        (#"{"read":{"ent":7,"id":8,"aid":"m"}}"#, .unknownControl),
        (#"{"read":{"ent":"a","ent":"b","id":null,"aid":"m"}}"#, .unknownControl),
        (#"{"read":{"ent":"a","id":"b"}}"#, .unknownControl), (#"{"read":{"aid":7}}"#, .unknownControl),
        // A doubled member is none.
        (#"{"changed":true,"changed":true,"at":"c"}"#, .other),
        (#"{"token":"t"}"#, .other), (#"{"bye":{"code":70000}}"#, .unknownControl),
        (#"{"news":{"at":"c"}}"#, .unknownControl),
        (#"{"live":{}}"#, .unknownControl), (#"{"source":{"state":"new"}}"#, .unknownControl),
        (#"{"live":1}"#, .other), ("{}", .other), ("[1]", .other), ("no", .other), ("", .other),
        (#"{"ent":"a","id":1,"type":"c"}"#, .other), (#"{"live":{"at":"c"},"beat":{"at":"c"}}"#, .other),
    ]) func `are read`(_ text: String, _ expected: StreamMessage) {
        let message = StreamMessage(Array(text.utf8))
        #expect(message == expected && message.cursor == expected.cursor)
    }

    @Test(arguments: [
        (#","ts":1795240000000"#, 1_795_240_000_000), ("", nil), (#","ts":-1"#, nil), (#","ts":"1""#, nil),
    ])
    func `say when an event was written, where they say so`(_ member: String, _ ts: Milliseconds?) {
        let message = StreamMessage(Array(#"{"ent":"a","id":"b","type":"c","at":"c"\#(member)}"#.utf8))
        guard case .event(let event) = message else {
            Issue.record("\(message)")
            return
        }
        #expect(event.ts == ts)
    }

    @Test func `with a token are as long as a server takes them, and hold nothing else`() {
        #expect(NextToken.message("a.b-_~+/=") == Array(#"{"token":"a.b-_~+/="}"#.utf8))
        for strange in ["", "a b", "a\"b", "a\\b", "a\nb", "\u{E4}", "a\u{7F}"] {
            #expect(NextToken.message(strange) == nil)
        }
        let room = 16 * 1024 - #"{"token":""}"#.utf8.count
        #expect(NextToken.message(String(repeating: "x", count: room))?.count == 16 * 1024)
        #expect(NextToken.message(String(repeating: "x", count: room + 1)) == nil)
    }

    @Test func `with a token are sent at once, and then with a pause`() {
        var pace = RenewalPace()
        #expect(pace.wait(now: 0) == 0)
        pace.sent(now: 5_000)
        for (now, wait) in [(5_000, 30_000), (34_999, 1), (35_000, 0), (99_000, 0)] as [(UInt64, UInt64)] {
            #expect(pace.wait(now: now) == wait)
        }
        pace.sent(now: 99_000)
        #expect(pace.wait(now: 99_001) == 29_999)
    }

    static func answer(_ status: Int, _ body: String, isTruncated: Bool = false) -> SyncAnswer? {
        SyncAnswer(
            ServerAnswer(
                status: status, reason: [], headers: HeaderFields(), body: Array(body.utf8), isTruncated: isTruncated))
    }

    @Test func `of a page are given as they stand`() {
        let event = #"{"ent":"a","id":"\u0062","type":"c","at":"x"}"#
        let page = Self.answer(200, #"{"events":[\#(event)],"at":"c","more":true}"#)
        let read = LiveEvent(entity: "a", id: "b", type: "c")
        #expect(page == .page([SyncAnswer.Line(json: Array(event.utf8), event: read)], at: Self.place, more: true))
        #expect(Self.answer(410, #"{"code":"resync","why":"ahead","at":"c"}"#) == .resync(.ahead, at: Self.place))
    }

    @Test(arguments: [
        (200, #"{"events":[],"more":false}"#), (200, #"{"events":[{}],"at":"c","more":false}"#), (200, "no"),
        (410, #"{"code":"gone","at":"c"}"#), (503, #"{"events":[],"at":"c","more":false}"#),
    ]) func `of no page are none`(_ status: Int, _ body: String) {
        #expect(Self.answer(status, body) == nil)
    }

    @Test func `of half a page are none`() {
        let body = #"{"events":[],"at":"c","more":false}"#
        #expect(Self.answer(200, body) != nil && Self.answer(200, body, isTruncated: true) == nil)
    }
}

@Suite struct `An event stream` {
    static func read(_ text: String) throws -> (messages: [String], cursors: [String?], ending: ConnectionEnding?) {
        var reading = EventStreamReading(.untilClose, maximumMessageBytes: 1000)
        let bytes = Array(text.utf8)
        let messages = try reading.receive(bytes.span)
        return (
            messages.map { String(decoding: $0.payload, as: UTF8.self) }, messages.map { $0.cursor?.text },
            reading.goodbye
        )
    }

    @Test func `brings what a WebSocket would`() throws {
        let (messages, cursors, ending) = try Self.read(
            """
            retry: 1000

            : a comment

            event: live
            id: 1
            data: {"at":"1"}

            id: 2
            data: {"ent":"a","id":"b","type":"c"}

            event: changed
            id: 3
            data: {"at":"3"}

            event: source
            data: {"state":"stalled","ts":1}


            """)
        #expect(
            messages == [
                #"{"live":{"at":"1"}}"#, #"{"ent":"a","id":"b","type":"c"}"#, #"{"changed":true,"at":"3"}"#,
                #"{"source":{"state":"stalled","ts":1}}"#,
            ])
        #expect(cursors == ["1", "2", "3", "3"] && ending == nil)
    }

    @Test func `ends as its last word says`() throws {
        let text = "event: bye\ndata: {\"code\":1012,\"why\":\"restart\",\"retry_ms\":20}\n\n"
        #expect(try Self.read(text).ending == .closed(.restart, reason: "restart retry_ms=20"))
        // A message that looks like it is none.
        #expect(try Self.read("data: {\"bye\":{\"code\":1012}}\n\n").ending == nil)
    }

    @Test func `with an event that is too large is given up`() {
        #expect(throws: EventStreamReading.Fault.self) {
            try Self.read("data: " + String(repeating: "a", count: 1000) + "\n\n")
        }
    }
}
