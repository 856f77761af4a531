// Tests: CatchUp.swift, SubscriberPort.swift

import LiveUpdates
import Testing

@testable import Gateway

/// What a stream says to each input, row by row: JSON is what the client reads, the rest are wishes.
struct LiveStreamTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        var target = "/live/v1"
        var carrier = StreamForm.Carrier.webSocket
        let steps: [(inputs: [StreamInput], says: [String])]

        var testDescription: String { name }
    }

    static let plain: [Row] = [
        Row(
            name: "a plain stream gets three keys and nothing else",
            steps: [
                ([], ["subscribe limit=256"]),
                ([.now("c0")], ["head"]),
                (
                    [.events([1, 2])],
                    [#"{"ent":"note","id":"1","type":"t"}"#, #"{"ent":"incident","id":"2","type":"t"}"#]
                ),
                ([.source(.stalled(since: 9)), .fresh("c2"), .time(10_000_000)], []),
                ([.end, .end], ["unsubscribe"]),
            ]),
        Row(
            name: "a filter passes its entities",
            target: "/live/v1?ent=note",
            steps: [
                ([.now("c0")], ["subscribe limit=256", "head"]),
                (
                    [.events([1, 2, 3]), .events([4])],
                    [
                        #"{"ent":"note","id":"1","type":"t"}"#, #"{"ent":"note","id":"3","type":"t"}"#,
                    ]
                ),
            ]),
        Row(
            name: "blocked, it goes on with what the others were given meanwhile",
            steps: [
                (
                    [.now("c0"), .events([1]), .blocked, .events([2]), .events([3])],
                    [
                        "subscribe limit=256", "head", #"{"ent":"note","id":"1","type":"t"}"#,
                    ]
                ),
                ([.drained], [#"{"ent":"incident","id":"2","type":"t"}"#, #"{"ent":"note","id":"3","type":"t"}"#]),
                ([.drained, .events([4])], [#"{"ent":"incident","id":"4","type":"t"}"#]),
            ]),
        Row(
            name: "blocked for long, it goes on from the log",
            steps: [
                (
                    [.now("c0"), .blocked, .events([1]), .time(2_001), .events([2]), .time(4_100), .events([3])],
                    [
                        "subscribe limit=256", "head",
                    ]
                ),
                ([.drained], ["read after 0 limit=256"]),
                // One page at a time, whatever the socket says.
                ([.drained, .blocked, .drained], []),
                (
                    [.page([1, 2], complete: false)],
                    [
                        #"{"ent":"note","id":"1","type":"t"}"#, #"{"ent":"incident","id":"2","type":"t"}"#,
                    ]
                ),
                ([.drained], ["read after 2 limit=256"]),
                (
                    [.page([3]), .events([4])],
                    [
                        #"{"ent":"note","id":"3","type":"t"}"#, #"{"ent":"incident","id":"4","type":"t"}"#,
                    ]
                ),
            ]),
        Row(
            name: "a client that stays behind is closed, and nothing but the close is written",
            steps: [
                (
                    [.now("c0"), .events([1]), .blocked, .time(29_999)],
                    [
                        "subscribe limit=256", "head", #"{"ent":"note","id":"1","type":"t"}"#,
                    ]
                ),
                (
                    [.time(30_000), .events([2]), .drained, .time(90_000)],
                    [
                        "unsubscribe", "close 4409: behind for longer than max_lag",
                    ]
                ),
            ]),
        Row(
            name: "without cursors what is missed cannot be given",
            steps: [
                (
                    [.now("c0"), .blocked, .events([1]), .time(3_000), .events([3]), .drained],
                    [
                        "subscribe limit=256", "head", "read after 0 limit=256",
                    ]
                ),
                ([.lost("c3")], ["unsubscribe", "close 4409: what it missed is no longer in the log"]),
            ]),
        Row(
            name: "without cursors positions that lost their meaning are the end",
            steps: [
                (
                    [.now("c0"), .drained, .reset("r1")],
                    [
                        "subscribe limit=256", "head", "unsubscribe", "close 4409: positions have lost their meaning",
                    ]
                )
            ]),
        Row(
            name: "without cursors records that were lost are the end",
            steps: [
                (
                    [.now("c0"), .drained, .reset("r1", .expired)],
                    [
                        "subscribe limit=256", "head", "unsubscribe",
                        "close 4409: what it missed is no longer in the log",
                    ]
                )
            ]),
        Row(
            name: "an event stream ends with a message",
            carrier: .eventStream,
            steps: [
                (
                    [.now("c0"), .blocked, .time(30_000)],
                    [
                        "subscribe with cursors limit=256", "head", #"live {"at":"c0"} id=c0"#,
                        #"bye {"code":4409,"why":"too slow"} id=c0"#, "unsubscribe with cursors",
                        "close 4409: behind for longer than max_lag",
                    ]
                )
            ]),
    ]

    @Test(arguments: plain + cursors + controls + changed) func `each input has its answer`(_ row: Row) throws {
        let rig = try StreamRig(row.target, row.carrier)
        for (index, step) in row.steps.enumerated() {
            #expect(rig.play(step.inputs) == step.says, "step \(index + 1)")
        }
    }

    @Test func `deflated messages say the same`() throws {
        let rig = try StreamRig("/live/v1?with=at", .deflated)
        #expect(
            rig.play([.now("c0"), .events([1])]).suffix(2) == [
                #"{"live":{"at":"c0"}}"#, #"{"ent":"note","id":"1","type":"t","at":"c1"}"#,
            ])
    }

    @Test func `a slice over max_pending_bytes makes it fall behind within the tick`() throws {
        var policy = StreamPolicy()
        policy.maximumPendingBytes = 50
        let rig = try StreamRig("/live/v1", policy: policy)
        let says = rig.play([.now("c0"), .events([1]), .events([2]), .events([3])])
        #expect(says.count == 4 && says.last == #"{"ent":"incident","id":"2","type":"t"}"#)
        #expect(rig.play([.drained]) == [#"{"ent":"note","id":"3","type":"t"}"#])
    }

    @Test func `a beat is due while a signal is owed: the cursor that the client has`() throws {
        var policy = StreamPolicy()
        policy.changedIntervalMilliseconds = 10_000
        let rig = try StreamRig("/live/v1?mode=changed&beat=5", policy: policy)
        _ = rig.play([.now("c0"), .events([1]), .events([2])])
        #expect(rig.play([.time(5_000)]) == [#"{"beat":{"at":"c1"}}"#])
        #expect(rig.play([.time(10_000)]) == [#"{"changed":true,"at":"c2"}"#])
    }

    @Test func `who was behind when its group was given a cursor is given one afterwards`() throws {
        var policy = StreamPolicy()
        policy.maximumPassedOver = 4
        let rig = try StreamRig("/live/v1?with=at&ent=note", policy: policy)
        _ = rig.play([.now("c0"), .drained, .blocked])
        #expect(rig.play([.events([2]), .events([4]), .events([6])]) == [])
        let says = rig.play([.drained])
        #expect(says.count == 1 && says.allSatisfy { $0.hasPrefix(#"{"beat":{"at":"c"#) }, "\(says)")
    }

    @Test func `a signal that is owed stands for what passed by meanwhile`() throws {
        var policy = StreamPolicy()
        policy.maximumPassedOver = 4
        let rig = try StreamRig("/live/v1?mode=changed&ent=note", policy: policy)
        #expect(rig.play([.now("c0"), .time(100), .events([1])]).last == #"{"changed":true,"at":"c1"}"#)
        // The second signal waits for the interval; what passes by until then would have been told by beats.
        #expect(rig.play([.events([3]), .events([4]), .events([6]), .events([8]), .events([10])]) == [])
        let says = rig.play([.time(1_100)])
        #expect(says == [#"{"changed":true,"at":"c10"}"#] || says == [#"{"changed":true,"at":"c8"}"#], "\(says)")
    }

    @Test func `who is passed over by many events is given a cursor`() throws {
        var policy = StreamPolicy()
        policy.maximumPassedOver = 10
        for target in ["/live/v1?with=at&ent=note", "/live/v1?mode=changed&ent=note"] {
            let rig = try StreamRig(target, policy: policy)
            _ = rig.play([.now("c0")])
            var passedOver = 0
            for number in stride(from: UInt64(2), through: 60, by: 2) {
                passedOver += 1
                guard rig.play([.events([number])]) == [#"{"beat":{"at":"c\#(number)"}}"#] else { continue }
                #expect(passedOver > 1 && passedOver <= 10)
                passedOver = 0
            }
            #expect(passedOver <= 10, "\(target)")
        }
    }
}
