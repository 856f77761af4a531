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

    static let cursors: [Row] = [
        Row(
            name: "a stream with cursors says where it begins",
            target: "/live/v1?with=at,ts",
            steps: [
                (
                    [.now("c0"), .events([1])],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#,
                        #"{"ent":"note","id":"1","type":"t","at":"c1","ts":1001}"#,
                    ]
                )
            ]),
        Row(
            name: "a cursor implies cursors, and the first page rides on the answer",
            target: "/live/v1?since=c3",
            steps: [
                (
                    [.resumed([4, 5], fresh: "c5"), .events([6])],
                    [
                        "subscribe since=c3 with cursors limit=256", "head",
                        #"{"ent":"incident","id":"4","type":"t","at":"c4"}"#,
                        #"{"ent":"note","id":"5","type":"t","at":"c5"}"#,
                        #"{"live":{"at":"c5"}}"#, #"{"ent":"incident","id":"6","type":"t","at":"c6"}"#,
                    ]
                )
            ]),
        Row(
            name: "a replay goes on page after page, each when the one before has left",
            target: "/live/v1?since=c3",
            steps: [
                (
                    [.resumed([4], complete: false)],
                    [
                        "subscribe since=c3 with cursors limit=256", "head",
                        #"{"ent":"incident","id":"4","type":"t","at":"c4"}"#,
                    ]
                ),
                // What is live meanwhile stands in the log.
                ([.events([5])], []),
                ([.drained], ["read after 4 limit=256"]),
                (
                    [.page([5], fresh: "c5"), .events([6])],
                    [
                        #"{"ent":"note","id":"5","type":"t","at":"c5"}"#, #"{"live":{"at":"c5"}}"#,
                        #"{"ent":"incident","id":"6","type":"t","at":"c6"}"#,
                    ]
                ),
            ]),
        Row(
            name: "a cursor that cannot be served is a resync, and live follows",
            target: "/live/v1?since=cX",
            steps: [
                (
                    [.refused(.expired, "c9"), .events([10])],
                    [
                        "subscribe since=cX with cursors limit=256", "head", #"{"resync":{"why":"expired","at":"c9"}}"#,
                        #"{"live":{"at":"c9"}}"#, #"{"ent":"incident","id":"10","type":"t","at":"c10"}"#,
                    ]
                )
            ]),
        Row(
            name: "what a node that was ahead has given is left out, until its end is reached",
            target: "/live/v1?since=c3",
            steps: [
                (
                    [.resumed([], fresh: "c3", floor: 6)],
                    [
                        "subscribe since=c3 with cursors limit=256", "head", #"{"live":{"at":"c3"}}"#,
                    ]
                ),
                (
                    [.events([4, 5]), .events([6]), .events([7])],
                    [
                        #"{"ent":"incident","id":"6","type":"t","at":"c6"}"#,
                        #"{"ent":"note","id":"7","type":"t","at":"c7"}"#,
                    ]
                ),
            ]),
        Row(
            name: "a log that is gone under a stream that is behind is a resync, then live",
            target: "/live/v1?with=at",
            steps: [
                (
                    [.now("c0"), .blocked, .events([1]), .time(3_000), .events([2]), .drained],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#, "read after 0 limit=256",
                    ]
                ),
                ([.lost("c2")], [#"{"resync":{"why":"expired","at":"c2"}}"#]),
                ([.events([3]), .drained], ["read after 2 limit=256"]),
                (
                    [.page([3], fresh: "c3")],
                    [
                        #"{"ent":"note","id":"3","type":"t","at":"c3"}"#, #"{"live":{"at":"c3"}}"#,
                    ]
                ),
            ]),
        Row(
            name: "a reset is told at once where the socket takes it",
            target: "/live/v1?with=at",
            steps: [
                (
                    [.now("c0"), .drained, .reset("r1"), .events([3])],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#,
                        #"{"resync":{"why":"epoch","at":"r1"}}"#, #"{"live":{"at":"r1"}}"#,
                        #"{"ent":"note","id":"3","type":"t","at":"c3"}"#,
                    ]
                )
            ]),
        Row(
            name: "a reset waits behind what has not left, and a page of the old log is nobody's",
            target: "/live/v1?with=at",
            steps: [
                (
                    [.now("c0"), .blocked, .events([1]), .time(3_000), .events([2]), .drained],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#, "read after 0 limit=256",
                    ]
                ),
                ([.reset("r1"), .lost("c9")], [#"{"resync":{"why":"epoch","at":"r1"}}"#]),
                ([.drained], ["read after 3 limit=256"]),
                ([.page([], fresh: "r2")], [#"{"live":{"at":"r2"}}"#]),
            ]),
        Row(
            name: "nothing that did not pass the filter makes a stream read the log",
            target: "/live/v1?with=at&ent=note",
            steps: [
                (
                    [.now("c0"), .blocked, .events([2]), .time(9_000), .events([4, 6]), .drained],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#,
                    ]
                ),
                ([.events([7])], [#"{"ent":"note","id":"7","type":"t","at":"c7"}"#]),
            ]),
    ]

    static let controls: [Row] = [
        Row(
            name: "the source is told when it changes, and to those who come meanwhile",
            target: "/live/v1?with=at",
            steps: [
                (
                    [.source(.stalled(since: 7)), .now("c0")],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#,
                        #"{"source":{"state":"stalled","ts":7}}"#,
                    ]
                ),
                (
                    [.source(.stalled(since: 7)), .source(.live(since: 8)), .source(.live(since: 8))],
                    [
                        #"{"source":{"state":"live","ts":8}}"#
                    ]
                ),
            ]),
        Row(
            name: "a stream that is behind is told of the source when that is over",
            target: "/live/v1?with=at",
            steps: [
                (
                    [.now("c0"), .blocked, .source(.stalled(since: 7)), .drained],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#,
                        #"{"source":{"state":"stalled","ts":7}}"#,
                    ]
                )
            ]),
        Row(
            name: "a beat after so long without a message",
            target: "/live/v1?beat=5",
            steps: [
                (
                    [.now("c0"), .time(4_999)],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#,
                    ]
                ),
                ([.time(5_000)], ["ask fresh"]),
                (
                    [.fresh("c0b"), .time(7_000), .events([1]), .time(11_999)],
                    [
                        #"{"beat":{"at":"c0b"}}"#, #"{"ent":"note","id":"1","type":"t","at":"c1"}"#,
                    ]
                ),
                ([.time(12_000)], ["ask fresh"]),
            ]),
        Row(
            name: "unasked, a quiet stream with cursors gets one in an eighth of the retention",
            target: "/live/v1?with=at",
            steps: [
                // What is told of the source brings no cursor, and puts nothing off.
                (
                    [.now("c0"), .time(449_000), .source(.stalled(since: 7)), .time(449_999)],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#,
                        #"{"source":{"state":"stalled","ts":7}}"#,
                    ]
                ),
                ([.time(450_000), .fresh("c0b")], ["ask fresh", #"{"beat":{"at":"c0b"}}"#]),
            ]),
        Row(
            name: "a stream that is behind gets no beat",
            target: "/live/v1?beat=5",
            steps: [
                (
                    [.now("c0"), .time(5_000), .blocked, .fresh("c0b")],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#, "ask fresh",
                    ]
                ),
                ([.time(20_000), .drained, .time(25_000)], ["ask fresh"]),
            ]),
    ]

    static let changed: [Row] = [
        Row(
            name: "the first change is told at once, what follows in the interval as one more at its end",
            target: "/live/v1?mode=changed",
            steps: [
                (
                    [.now("c0"), .events([1]), .time(200), .events([2]), .time(600), .events([3]), .time(999)],
                    [
                        "subscribe with cursors limit=1", "head", #"{"live":{"at":"c0"}}"#,
                        #"{"changed":true,"at":"c1"}"#,
                    ]
                ),
                (
                    [.time(1_000), .time(2_500), .events([4])],
                    [
                        #"{"changed":true,"at":"c3"}"#, #"{"changed":true,"at":"c4"}"#,
                    ]
                ),
            ]),
        Row(
            name: "since a cursor it is told at once if there is something, then live",
            target: "/live/v1?mode=changed&since=c3",
            steps: [
                (
                    [.resumed([4], complete: false, fresh: "c9")],
                    [
                        "subscribe since=c3 with cursors limit=1", "head", #"{"changed":true,"at":"c9"}"#,
                        #"{"live":{"at":"c9"}}"#,
                    ]
                )
            ]),
        Row(
            name: "a filter leaves out what does not concern it",
            target: "/live/v1?mode=changed&ent=note",
            steps: [
                (
                    [.now("c0"), .events([2]), .events([3])],
                    [
                        "subscribe with cursors limit=1", "head", #"{"live":{"at":"c0"}}"#,
                        #"{"changed":true,"at":"c3"}"#,
                    ]
                )
            ]),
        Row(
            name: "a beat that comes while a signal is owed is left out",
            target: "/live/v1?mode=changed&beat=5",
            steps: [
                (
                    [.now("c0"), .time(4_500), .events([1]), .time(4_600), .events([2])],
                    [
                        "subscribe with cursors limit=1", "head", #"{"live":{"at":"c0"}}"#,
                        #"{"changed":true,"at":"c1"}"#,
                    ]
                ),
                // The answer to a question from before.
                ([.fresh("c2")], []),
                ([.time(5_500)], [#"{"changed":true,"at":"c2"}"#]),
            ]),
        Row(
            name: "live waits for a signal that is owed, and has its cursor",
            target: "/live/v1?mode=changed",
            steps: [
                (
                    [.now("c0"), .drained, .events([1]), .blocked, .events([2]), .drained],
                    [
                        "subscribe with cursors limit=1", "head", #"{"live":{"at":"c0"}}"#,
                        #"{"changed":true,"at":"c1"}"#,
                        "read after 1 limit=1",
                    ]
                ),
                ([.lost("c2")], [#"{"resync":{"why":"expired","at":"c2"}}"#]),
                ([.events([3]), .drained], ["read after 2 limit=1"]),
                ([.page([3], fresh: "c3"), .time(999)], []),
                ([.time(1_000)], [#"{"changed":true,"at":"c3"}"#, #"{"live":{"at":"c3"}}"#]),
            ]),
        Row(
            name: "a reset stands for the signal that was owed",
            target: "/live/v1?mode=changed",
            steps: [
                (
                    [.now("c0"), .events([1]), .events([2]), .drained, .reset("r1"), .time(5_000)],
                    [
                        "subscribe with cursors limit=1", "head", #"{"live":{"at":"c0"}}"#,
                        #"{"changed":true,"at":"c1"}"#,
                        #"{"resync":{"why":"epoch","at":"r1"}}"#, #"{"live":{"at":"r1"}}"#,
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
