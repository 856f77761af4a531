import HTTP
import LiveClient
import LiveState
import Testing

@testable import LiveClientURLSession

struct RequestChannelTests {
    final class Task: RequestTask {
        var calls: [String] = []
        func resume() { calls.append("resume") }
        func suspend() { calls.append("suspend") }
        func cancel() { calls.append("cancel") }
    }

    static let stream = Reports.head(200, ("Content-Type", "Text/Event-Stream; charset=utf-8"))
    static let live = "event: live\ndata: {\"at\":\"1\"}\n\n"
    static let bye = "event: bye\ndata: {\"code\":1012,\"why\":\"restart\",\"retry_ms\":20}\n\n"
    static let cut = TaskFailure(.networkConnectionLost, text: "cut")
    static let rows: [(form: StreamForm, events: [TaskEvent], reports: [String])] = [
        // A stream opens with the first byte of its body.
        (.eventStream, [stream], []),
        (.eventStream, [stream, Reports.bytes(":\n\n")], ["opened", "alive"]),
        (.eventStream, [stream, Reports.bytes(live)], ["opened", #"{"live":{"at":"1"}}"#]),
        (.eventStream, [stream, .completed(nil)], ["lost cut"]),
        (.eventStream, [stream, .completed(cut)], ["lost cut"]),
        (
            .eventStream, [stream, Reports.bytes(live + "data: {"), .completed(nil)],
            ["opened", #"{"live":{"at":"1"}}"#, "lost cut"]
        ),
        (
            .eventStream, [stream, Reports.bytes(bye), .completed(cut)],
            ["opened", #"{"bye":{"code":1012,"why":"restart","retry_ms":20}}"#, "closed 1012 restart retry_ms=20"]
        ),
        // An event of 64 bytes, and one of 65, with its field's name.
        (
            .eventStream, [stream, Reports.bytes("data: " + String(repeating: "a", count: 58) + "\n\n")],
            ["opened", String(repeating: "a", count: 58)]
        ),
        (.eventStream, [stream, Reports.bytes("data: " + String(repeating: "a", count: 59))], ["opened", "lost cut"]),
        // What is no stream is a refusal, as far as it came.
        (
            .eventStream, [Reports.head(200, ("Content-Type", "text/html")), Reports.bytes("<p>"), .completed(nil)],
            ["refused 200 <p>"]
        ),
        (.eventStream, [Reports.head(503), Reports.bytes("no"), .completed(cut)], ["refused 503 no"]),
        (.eventStream, [Reports.head(302), .completed(nil)], ["refused 302 "]),
        (
            .eventStream, [Reports.head(503), .received(Array(repeating: 1, count: 4_096)), .completed(nil)],
            ["refused 503 4096"]
        ),
        (.eventStream, [Reports.head(503), .received(Array(repeating: 1, count: 4_097))], ["refused 503 4096"]),
        // A document counts whole, whatever its status is, and half of one is none.
        (.document, [Reports.head(200), Reports.bytes("{"), Reports.bytes("}"), .completed(nil)], ["answered 200 {}"]),
        (.document, [Reports.head(410), Reports.bytes("gone"), .completed(nil)], ["answered 410 gone"]),
        (.document, [Reports.head(200), Reports.bytes("{"), .completed(cut)], ["lost cut"]),
        (.document, [stream, Reports.bytes(live), .completed(nil)], ["answered 200 \(live)"]),
        // No answer, and why.
        (.document, [.completed(TaskFailure(.timedOut, text: ""))], ["lost silent"]),
        (.document, [.completed(TaskFailure(.cannotFindHost, text: ""))], ["lost unreachable"]),
        (.document, [.completed(TaskFailure(.secureConnectionFailed, text: ""))], ["lost unreachable"]),
        (.document, [.completed(TaskFailure(.notConnectedToInternet, text: ""))], ["lost unreachable"]),
        (.document, [.completed(TaskFailure(.cannotParseResponse, text: ""))], ["lost broken"]),
        (.document, [.completed(TaskFailure(.badURL, text: ""))], ["invalid"]),
        (.document, [Reports.head(200), .completed(TaskFailure(.cannotFindHost, text: ""))], ["lost cut"]),
        (.document, [.completed(nil)], ["lost cut"]),
        // Of a task that was suspended: the request was sent again, and what came in between is not in it.
        (
            .eventStream, [stream, Reports.bytes(live), stream, Reports.bytes(live)],
            ["opened", #"{"live":{"at":"1"}}"#, "lost cut"]
        ),
        // Nothing follows an end.
        (.document, [.completed(cut), Reports.head(200), .completed(nil)], ["lost cut"]),
    ]

    @Test(arguments: rows.indices) func `what a task does is reported`(_ index: Int) throws {
        let (loop, task, reports, row) = (VirtualLoop(), Task(), Reports(), Self.rows[index])
        let channel = RequestChannel(try Reports.request(row.form), task, on: loop, reports.take)
        for event in row.events { channel.receive(event) }
        #expect(reports.all == row.reports)
        // What has ended waits for nothing, and its task is let go.
        let hasEnded =
            row.reports.last.map { !["opened", "alive"].contains($0) && !$0.hasPrefix("{") && !$0.hasPrefix("aaa") }
            ?? false
        #expect(task.calls == (hasEnded ? ["resume", "cancel"] : ["resume"]))
        #expect(!hasEnded || loop.waiting == 0)
    }

    @Test(
        arguments: [
            (StreamForm.eventStream, [], 10_000, ["lost silent"]), (.document, [], 11_000, ["lost silent"]),
            (.eventStream, [Reports.head(503), Reports.bytes("no")], 10_000, ["refused 503 no"]),
            (.document, [Reports.head(200), Reports.bytes("{")], 11_000, ["lost silent"]),
        ] as [(StreamForm, [TaskEvent], UInt64, [String])])
    func `an answer has a deadline, whole`(
        row: (form: StreamForm, events: [TaskEvent], limit: UInt64, reports: [String])
    ) throws {
        let (loop, task, reports) = (VirtualLoop(), Task(), Reports())
        let channel = RequestChannel(try Reports.request(row.form), task, on: loop, reports.take)
        for event in row.events { channel.receive(event) }
        loop.run(until: row.limit - 1)
        #expect(reports.all == [])
        loop.run(until: row.limit)
        #expect(reports.all == row.reports && task.calls == ["resume", "cancel"])
    }

    @Test func `a process that was suspended does not blame the network`() throws {
        for (late, report) in [(UInt64(1_000), "lost silent"), (1_001, "lost cut")] {
            let (loop, task, reports) = (VirtualLoop(), Task(), Reports())
            let channel = RequestChannel(try Reports.request(.document), task, on: loop, reports.take)
            loop.suspend(until: 11_000 + late)
            #expect(reports.all == [report])
            channel.receive(.completed(nil))
        }
    }

    @Test func `a stream that is open has no deadline`() throws {
        let (loop, task, reports) = (VirtualLoop(), Task(), Reports())
        let channel = RequestChannel(try Reports.request(.eventStream), task, on: loop, reports.take)
        channel.receive(Self.stream)
        loop.run(until: 1 << 40)
        channel.receive(Reports.bytes(Self.live))
        #expect(reports.all == ["opened", #"{"live":{"at":"1"}}"#])
    }

    @Test func `while reading is paused, little is held`() throws {
        let (loop, task, reports) = (VirtualLoop(), Task(), Reports())
        let channel = RequestChannel(try Reports.request(.eventStream), task, on: loop, reports.take)
        channel.receive(Self.stream)
        channel.pauseReading()
        channel.receive(Reports.bytes(Self.live))
        channel.receive(.completed(nil))
        #expect(reports.all == [])
        channel.resumeReading()
        #expect(reports.all == ["opened", #"{"live":{"at":"1"}}"#, "lost cut"])
        #expect(task.calls == ["resume", "suspend", "resume", "cancel"])
    }

    @Test func `who holds too much while paused is cut`() throws {
        for (bytes, isCut) in [(64, false), (65, true)] {
            let (loop, task, reports) = (VirtualLoop(), Task(), Reports())
            let channel = RequestChannel(try Reports.request(.eventStream), task, on: loop, reports.take)
            channel.receive(Self.stream)
            channel.pauseReading()
            channel.receive(.received(Array(repeating: UInt8(ascii: ":"), count: bytes)))
            #expect(reports.all == (isCut ? ["lost cut"] : []))
        }
    }

    @Test func `who ends it hears nothing more`() throws {
        let (loop, task, reports) = (VirtualLoop(), Task(), Reports())
        let channel = RequestChannel(try Reports.request(.eventStream), task, on: loop, reports.take)
        channel.receive(Self.stream)
        var isDone = false
        channel.end(withWord: true) { isDone = true }
        channel.receive(.completed(Self.cut))
        #expect(!isDone)
        loop.run()
        #expect(isDone && reports.all == [] && task.calls == ["resume", "cancel"] && loop.waiting == 0)
    }
}
