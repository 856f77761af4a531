// Tests: JSONValue.swift, LoopHeartbeat.swift, NodeWatch.swift

import Reactor
import Synchronization
import Testing

@testable import Gateway

struct LoopHeartbeatTests {
    @Test func `a loop is asked again when it has answered, and is stuck after ten seconds`() {
        var heartbeat = LoopHeartbeat(["loop 0", "ingest"])
        #expect(heartbeat.beat(now: 0) == [0, 1])
        heartbeat.answered(1)
        for second in 1...9 {
            #expect(heartbeat.beat(now: UInt64(second) * 1000) == [1])
            heartbeat.answered(1)
        }
        #expect(heartbeat.stuck == nil)
        #expect(heartbeat.beat(now: 10_000) == [1])
        #expect(heartbeat.stuck == "loop 0 has not turned for 10 s")
        heartbeat.answered(0)
        #expect(heartbeat.stuck == nil)
        #expect(heartbeat.beat(now: 11_000) == [0])
    }

    @Test func `a stop of the whole process is nobody's fault`() {
        var heartbeat = LoopHeartbeat(["loop 0"])
        _ = heartbeat.beat(now: 0)
        // Stopped for an hour: of this beat two seconds count, and the loop answers before there are five of them.
        for stop in 1...4 { _ = heartbeat.beat(now: UInt64(stop) * 3_600_000) }
        #expect(heartbeat.stuck == nil)
        _ = heartbeat.beat(now: 5 * 3_600_000)
        #expect(heartbeat.stuck == "loop 0 has not turned for 10 s")
    }

    @Test func `a clock that stands still lets nobody be stuck`() {
        var heartbeat = LoopHeartbeat(["loop 0"])
        for _ in 0..<100 { _ = heartbeat.beat(now: 7) }
        #expect(heartbeat.stuck == nil)
    }

    @Test func `a loop that came later is watched from then on`() {
        var heartbeat = LoopHeartbeat(["loop 0"])
        #expect(heartbeat.beat(now: 0) == [0])
        heartbeat.add("revocations")
        for second in 1...11 {
            heartbeat.answered(0)
            #expect(heartbeat.stuck == nil)
            #expect(heartbeat.beat(now: UInt64(second) * 1000) == (second == 1 ? [0, 1] : [0]))
        }
        #expect(heartbeat.stuck == "revocations has not turned for 10 s")
        heartbeat.answered(1)
        #expect(heartbeat.stuck == nil)
    }

    @Test func `loops that turn answer`() async throws {
        let (admin, worker) = (try EventLoop(label: "admin"), try EventLoop(label: "0"))
        let other = try EventLoop(label: "another")
        let readiness = NodeReadiness(graceMilliseconds: nil)
        let watch = await admin.perform {
            let watch = NodeWatch(loop: admin, watched: [("loop 0", worker)], readiness: readiness)
            watch.start()
            watch.add("another", other)
            return LoopBound(watch, loop: admin)
        }
        // The question is on the worker's queue before this, and the answer on the other before that.
        await worker.perform {}
        #expect(await admin.perform { watch.value.stuck } == nil)
        await worker.stopped()
        await other.stopped()
        await admin.stopped()
    }

    static let json: [(value: JSONValue, text: String)] = [
        (.null, "null"), (.truth(true), "true"), (.integer(-5), "-5"), (.integer(UInt64.max), "9223372036854775807"),
        (.decimal(0), "0"), (.decimal(1.5), "1.5"), (.decimal(0.0004), "0"), (.decimal(0.0005), "0.001"),
        (.decimal(-2.25), "-2.25"), (.decimal(.infinity), "null"), (.decimal(.nan), "null"), (.decimal(1e300), "null"),
        (.decimal(12.010), "12.01"), (.text("ä\"\\\u{7}\u{1f}\u{7f}\n"), #""ä\"\\\u0007\u001f\u007f\u000a""#),
        (.array([]), "[]"), (.array([.integer(1), .null]), "[1,null]"), (.object([]), "{}"),
        (.members(["a": .integer(1), "b": .members(["c": .array([.text("")])])]), #"{"a":1,"b":{"c":[""]}}"#),
        (.optional(Int?.none) { .integer($0) }, "null"),
    ]

    @Test(arguments: json.indices) func `JSON is written in one line`(row: Int) {
        #expect(String(decoding: Self.json[row].value.line, as: UTF8.self) == Self.json[row].text + "\n")
    }
}
