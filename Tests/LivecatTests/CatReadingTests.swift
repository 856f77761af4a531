// Tests: CatReading.swift, Notices.swift

import HTTP
import LiveState
import Options
import Testing
import WebSocket

@testable import LiveClient
@testable import LiveClientReactor
@testable import livecat

/// A step as a row writes it: `= text` is a message, `~ text` a control message of `--json`, `! text` a notice, `!! text` one
/// of something wrong, `@ cursor` where to go on.
private func written(_ steps: [CatReading.Step]) -> [String] {
    steps.map { step in
        switch step {
        case .message(_, let payload): "= " + String(decoding: payload, as: UTF8.self)
        case .control(let payload): "~ " + String(decoding: payload, as: UTF8.self)
        case .notice(let text, let tone): (tone == .error ? "!! " : "! ") + text
        case .reached(let cursor): "@ " + cursor.text
        case .renewToken: "renew"
        case .enough: "enough"
        }
    }
}

private func event(_ id: String, _ cursor: String? = nil) -> String {
    #"{"ent":"incident","id":"\#(id)","type":"created"\#(cursor.map { #","at":"\#($0)""# } ?? "")}"#
}

/// livecat with these options, and what has been done with what came.
private struct Run {
    var reading: CatReading
    var steps: [String] = []
    var next = AfterAnswer.done

    init(_ options: String...) throws { reading = CatReading(try Words(options + ["ws://a"]).settings()) }

    mutating func take(_ messages: String...) {
        for message in messages { steps += written(reading.take(.text, Array(message.utf8))) }
    }

    mutating func answer(_ status: Int, _ body: String, after milliseconds: UInt64 = 5000) {
        let answer = ServerAnswer(
            status: status, reason: [], headers: HeaderFields(), body: Array(body.utf8), isTruncated: false)
        let result = reading.take(answer, afterMilliseconds: milliseconds)
        steps += written(result.steps)
        next = result.next
    }

    var end: [String] {
        let (notice, status) = reading.end(.success)
        return written(notice.map { [$0] } ?? []) + ["\(status.code)"]
    }
}

@Suite struct `What comes of a stream` {
    @Test func `with cursors is events, and notices of the protocol`() throws {
        var run = try Run("--with", "at")
        run.take(
            #"{"live":{"at":"1"}}"#, event("a", "2"), #"{"resync":{"why":"expired","at":"3"}}"#,
            #"{"source":{"state":"stalled","ts":1795240000000}}"#, #"{"beat":{"at":"4"}}"#,
            #"{"changed":true,"at":"5"}"#,
            #"{"bye":{"code":1012,"why":"restart","retry_ms":7}}"#, #"{"new":{}}"#, "text")
        #expect(
            run.steps == [
                "! live: everything before was delivered", "@ 1", "= " + event("a", "2"), "@ 2",
                "!! resync (expired): what was missed cannot be given", "@ 3",
                "!! source stalled since 2026-11-21T05:46:40.000Z", "! beat: nothing new", "@ 4",
                #"= {"changed":true,"at":"5"}"#, "@ 5", #"!! bye (code: 1012, reason: "restart", retry_ms: 7)"#,
                "! a control message that this version does not know", "= text",
            ])
        #expect(run.reading.cursor?.text == "5" && run.end == ["0"])
    }

    @Test func `without cursors is messages alone`() throws {
        var run = try Run()
        run.take(#"{"live":{"at":"x"}}"#, event("a-1", "one"))
        #expect(run.steps == [#"= {"live":{"at":"x"}}"#, "= " + event("a-1", "one")] && run.reading.cursor == nil)
    }

    @Test func `is all messages with --json`() throws {
        var run = try Run("--json", "--since", "0")
        run.take(#"{"live":{"at":"1"}}"#, event("a", "2"))
        #expect(run.steps == [#"~ {"live":{"at":"1"}}"#, "@ 1", "= " + event("a", "2"), "@ 2"])
    }

    @Test func `is counted by its events, and nothing behind the last is shown or kept`() throws {
        var run = try Run("--with", "at", "--count", "2", "--cursor-file", "/nowhere/none")
        run.take(#"{"live":{"at":"1"}}"#, event("a", "2"), #"{"beat":{"at":"3"}}"#, event("b", "4"), event("c", "5"))
        #expect(
            run.steps.filter { !$0.hasPrefix("!") } == [
                "@ 1", "= " + event("a", "2"), "@ 2", "@ 3", "= " + event("b", "4"), "@ 4", "enough",
            ])
        #expect(run.reading.cursor?.text == "4")
    }

    @Test func `tells of a token that ends, and of the next`() throws {
        var run = try Run("--with", "at")
        run.take(#"{"expiring":{"exp":1795243600}}"#, #"{"token":{"exp":1795247200}}"#)
        #expect(
            run.steps == [
                "! expiring: the token ends at 2026-11-21T06:46:40.000Z", "renew",
                "! the next token is accepted, it ends at 2026-11-21T07:46:40.000Z",
            ])
    }

    @Test func `is verified over resyncs, and the status says what is missing`() throws {
        var run = try Run("--verify", "--with", "at")
        run.take(event("x-1", "1"), event("x-2", "2"), event("x-2", "2"), event("x-5", "5"))
        #expect(run.steps.contains("!! missing: incident x-3 to x-4"))
        #expect(run.end == ["!! verified: 4 events, 2 missing, 1 doubled, 0 resyncs", "3"])
        #expect(run.reading.end(.refused).status == .refused)
        run = try Run("--verify", "--since", "0")
        run.take(event("x-1", "1"), #"{"resync":{"why":"expired","at":"8"}}"#, event("x-9", "9"))
        #expect(run.end == ["! verified: 2 events, 0 missing, 0 doubled, 1 resyncs", "0"])
        run = try Run("--verify")
        run.take(event("x-1"), event("x-3"))
        #expect(run.steps.count == 3 && run.end == ["!! verified: 2 events, 1 missing, 0 doubled, 0 resyncs", "3"])
    }
}

@Suite struct `Pages of the sync endpoint` {
    private static func page(_ at: String, _ events: String..., more: Bool = false) -> String {
        #"{"events":[\#(events.joined(separator: ","))],"at":"\#(at)","more":\#(more)}"#
    }

    @Test func `follow one another until there is no more`() throws {
        var run = try Run("--sync", "--since", "0")
        run.answer(200, Self.page("2", event("a", "1"), event("b"), more: true))
        #expect(run.steps == ["= " + event("a", "1"), "@ 1", "= " + event("b"), "@ 2"])
        #expect(run.next == .again(afterMilliseconds: 0))
        run.answer(200, Self.page("3"))
        #expect(run.next == .done && run.reading.cursor?.text == "3")
    }

    @Test func `go on until the node has read as far as another one, but not without a pause`() throws {
        var run = try Run("--sync", "--since", "0", "--upto", "9")
        for (took, pause) in [(UInt64(0), UInt64(1000)), (2_000, 0)] {
            run.answer(200, Self.page("1", more: true), after: took)
            #expect(run.next == .again(afterMilliseconds: pause), "after \(took) ms")
        }
        run.answer(200, Self.page("9"))
        #expect(run.next == .done)
    }

    @Test func `go on with a wait, but not without a pause where nobody waited`() throws {
        var run = try Run("--sync", "--wait", "20", "--count", "3")
        run.answer(200, Self.page("1", event("a", "1")), after: 0)
        #expect(run.next == .again(afterMilliseconds: 0))
        for (took, pause) in [(UInt64(0), UInt64(1000)), (999, 1000), (1000, 0)] {
            run.answer(200, Self.page("1"), after: took)
            #expect(run.next == .again(afterMilliseconds: pause), "after \(took) ms")
        }
        run.answer(200, Self.page("5", event("b", "2"), event("c", "3"), event("d", "4")))
        #expect(run.next == .done && run.steps.last == "@ 3" && run.reading.cursor?.text == "3")
    }

    @Test func `go on with the cursor of a resync, the second time after a pause`() throws {
        let resync = #"{"status":410,"code":"resync","why":"expired","at":"5","detail":"d"}"#
        var run = try Run("--sync", "--verify", "--since", "1")
        run.answer(410, resync)
        #expect(run.steps == ["!! resync (expired): what was missed cannot be given", "@ 5"])
        #expect(run.next == .again(afterMilliseconds: 0))
        run.answer(410, resync)
        #expect(run.next == .again(afterMilliseconds: 1000))
        run.answer(200, Self.page("6", event("a-1", "6")))
        run.answer(410, resync)
        #expect(run.next == .again(afterMilliseconds: 0))
        #expect(run.end == ["! verified: 1 events, 0 missing, 0 doubled, 3 resyncs", "0"])
        run = try Run("--sync", "--json")
        run.answer(410, resync)
        #expect(run.steps == [#"~ {"resync":{"why":"expired","at":"5"}}"#, "@ 5"])
    }

    @Test(arguments: [(400, #"{"code":"bad_cursor"}"#), (503, "{}"), (200, #"{"code":"bad_cursor"}"#), (404, "")])
    func `are none where the server refuses`(_ status: Int, _ body: String) throws {
        var run = try Run("--sync")
        run.answer(status, body)
        #expect(run.steps.isEmpty && run.next == .refused)
    }
}

@Suite struct `Pages of the past` {
    private static func line(_ id: String, _ aid: String, _ more: String = "") -> String {
        #"{"ent":"incident","id":"\#(id)","type":"created","ts":1795240000000,"aid":"\#(aid)"\#(more)}"#
    }

    private static func past(_ lines: String, more: Bool = false, at: String = "", gaps: String = "") -> String {
        #"{"events":[\#(lines)],"more":\#(more)\#(at),"gaps":[\#(gaps)]}"#
    }

    @Test func `are an event a line, and the rest is told`() throws {
        let lines = [Self.line("b", "-b"), Self.line("a\u{E9}", "-a")]
        var run = try Run("--archive")
        run.answer(
            200,
            Self.past(
                lines.joined(separator: ","), more: true, at: #","at":"here""#,
                gaps: #"{"from":1795240000000,"to":1795240001000},{"from":1}"#))
        #expect(
            run.steps == lines.map { "= " + $0 } + [
                "! more: --before -a",
                "!! gap from 2026-11-21T05:46:40.000Z to 2026-11-21T05:46:41.000Z: the archive may lack what happened then",
                "!! gap from 1970-01-01T00:00:00.001Z on: the archive may lack what happened then",
                "! live from here on: --since here",
            ])
        #expect(run.next == .done)
        run = try Run("--archive")
        run.answer(200, Self.past(lines[0]))
        #expect(run.steps == ["= " + lines[0]] && run.next == .done)
    }

    @Test func `of an inbox are a thing a line`() throws {
        let lines = [Self.line("b", "-b", #","unread":3"#), Self.line("a", "-a", #","unread":0"#)]
        func inbox(_ lines: [String], more: Bool) -> String {
            #"{"things":[\#(lines.joined(separator: ","))],"unread_things":17,"more":\#(more),"at":"here"}"#
        }
        let rest = ["! things with something unread: 17", "! live from here on: --since here"]
        var run = try Run("--inbox")
        run.answer(200, inbox(lines, more: true))
        #expect(run.steps == lines.map { "= " + $0 } + ["! more: --before -a"] + rest && run.next == .done)
        run = try Run("--inbox")
        run.answer(200, inbox([], more: false))
        #expect(run.steps == rest && run.next == .done)
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"events":[],"more":false}"#, #"{"events":[{}],"more":false,"gaps":[]}"#,
        #"{"events":[{"ent":"a","id":"b","type":"c"}],"more":false,"gaps":[]}"#,
        #"{"events":1,"more":false,"gaps":[]}"#, #"{"events":[],"more":1,"gaps":[]}"#,
    ]) func `are none where the answer is another`(_ text: String) throws {
        var run = try Run("--archive")
        run.answer(200, text)
        #expect(run.steps.isEmpty && run.next == .refused)
    }

    @Test func `are none, and nothing is marked, where the server refuses`() throws {
        for options in [["--archive"], ["--inbox"], ["--mark-read", "m"]] {
            var reading = CatReading(try Words(options + ["ws://a"]).settings())
            let answer = ServerAnswer(
                status: 403, reason: [], headers: HeaderFields(), body: Array(#"{"code":"forbidden"}"#.utf8),
                isTruncated: false)
            let (steps, next) = reading.take(answer, afterMilliseconds: 0)
            #expect(steps.isEmpty && next == .refused, "\(options)")
        }
        var run = try Run("--mark-read", "m")
        run.answer(204, "")
        #expect(run.steps == ["! marked as read"] && run.next == .done)
    }
}
