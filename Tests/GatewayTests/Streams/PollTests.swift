import LiveUpdates
import Testing

@testable import Gateway

/// What a request to `/sync/v1` comes to, row by row.
struct PollTests {
    static let rows: [LiveStreamTests.Row] = [
        LiveStreamTests.Row(
            name: "without a cursor: a fresh one at once",
            target: "/sync/v1?wait=5",
            steps: [
                (
                    [.now("c9"), .events([10])],
                    [
                        "subscribe limit=500", "unsubscribe", #"200 {"events":[],"at":"c9","more":false}"#,
                    ]
                )
            ]),
        LiveStreamTests.Row(
            name: "what there is comes at once",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [.resumed([4], fresh: "c9")],
                    [
                        "subscribe since=c3 with cursors limit=500", "unsubscribe with cursors",
                        #"200 {"events":[{"ent":"incident","id":"4","type":"t","at":"c4","ts":1004}],"at":"c9","more":false}"#,
                    ]
                )
            ]),
        LiveStreamTests.Row(
            name: "what there is has its ids where they are asked for",
            target: "/sync/v1?since=c3&with=aid",
            steps: [
                (
                    [.resumed([4], fresh: "c9")],
                    [
                        "subscribe since=c3 limit=500", "unsubscribe",
                        #"200 {"events":[{"ent":"incident","id":"4","type":"t","at":"c4","ts":1004,"aid":"\#(StreamRig.aid(4))"}],"at":"c9","more":false}"#,
                    ]
                )
            ]),
        LiveStreamTests.Row(
            name: "a full page says that there is more, and its last cursor is the next",
            target: "/sync/v1?since=c3&limit=1",
            steps: [
                (
                    [.resumed([4], complete: false)],
                    [
                        "subscribe since=c3 limit=1", "unsubscribe",
                        #"200 {"events":[{"ent":"incident","id":"4","type":"t","at":"c4","ts":1004}],"at":"c4","more":true}"#,
                    ]
                )
            ]),
        LiveStreamTests.Row(
            name: "a page that is short of its limit is filled",
            target: "/sync/v1?since=c3&limit=2&ent=note",
            steps: [
                ([.resumed([], complete: false)], ["subscribe since=c3 limit=2", "read after 0 limit=2"]),
                ([.page([5], complete: false)], ["read after 5 limit=1"]),
                (
                    [.page([], fresh: "c9")],
                    [
                        "unsubscribe",
                        #"200 {"events":[{"ent":"note","id":"5","type":"t","at":"c5","ts":1005}],"at":"c9","more":false}"#,
                    ]
                ),
            ]),
        LiveStreamTests.Row(
            name: "a long answer is read page by page, and no page goes over what is left of its limit",
            target: "/sync/v1?since=c3&limit=1100",
            steps: [
                (
                    [.resumed([4], complete: false)],
                    ["subscribe since=c3 limit=500", "read after 4 limit=500"]
                ),
                ([.page([5], complete: false)], ["read after 5 limit=500"]),
                (
                    [.page([6], fresh: "c9")],
                    [
                        "unsubscribe",
                        #"200 {"events":[{"ent":"incident","id":"4","type":"t","at":"c4","ts":1004},"#
                            + #"{"ent":"note","id":"5","type":"t","at":"c5","ts":1005},"#
                            + #"{"ent":"incident","id":"6","type":"t","at":"c6","ts":1006}],"at":"c9","more":false}"#,
                    ]
                ),
            ]),
        LiveStreamTests.Row(
            name: "the last page of a long answer is as short as what is left of its limit",
            target: "/sync/v1?since=c3&limit=501",
            steps: [
                (
                    [.resumed(Array(4..<504), complete: false)],
                    ["subscribe since=c3 limit=500", "read after 503 limit=1"]
                ),
                ([.end], ["unsubscribe"]),
            ]),
        LiveStreamTests.Row(
            name: "nothing yet, and no wish to wait",
            target: "/sync/v1?since=c3",
            steps: [
                (
                    [.resumed([], fresh: "c9")],
                    [
                        "subscribe since=c3 limit=500", "unsubscribe", #"200 {"events":[],"at":"c9","more":false}"#,
                    ]
                )
            ]),
        LiveStreamTests.Row(
            name: "who waits is answered from the events at hand",
            target: "/sync/v1?since=c3&wait=5&limit=1&ent=note",
            steps: [
                (
                    [.resumed([], fresh: "c3"), .events([4, 6]), .events([8])],
                    ["subscribe since=c3 with cursors limit=1"]
                ),
                (
                    [.events([9, 10, 11])],
                    [
                        "unsubscribe with cursors",
                        #"200 {"events":[{"ent":"note","id":"9","type":"t","at":"c9","ts":1009}],"at":"c9","more":true}"#,
                    ]
                ),
                ([.events([13]), .reset("r1"), .time(90_000)], []),
            ]),
        LiveStreamTests.Row(
            name: "what a node that was ahead has given is left out",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [.resumed([], fresh: "c3", floor: 6), .events([4, 5])],
                    ["subscribe since=c3 with cursors limit=500"]
                ),
                (
                    [.events([5, 6])],
                    [
                        "unsubscribe with cursors",
                        #"200 {"events":[{"ent":"incident","id":"6","type":"t","at":"c6","ts":1006}],"at":"c6","more":false}"#,
                    ]
                ),
            ]),
        LiveStreamTests.Row(
            name: "the time is up: a fresh cursor, unless an event comes before it",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [.resumed([], fresh: "c3"), .time(5_000)],
                    ["subscribe since=c3 with cursors limit=500", "ask fresh"]
                ),
                (
                    [.fresh("c3b"), .events([4])],
                    [
                        "unsubscribe with cursors", #"200 {"events":[],"at":"c3b","more":false}"#,
                    ]
                ),
            ]),
        LiveStreamTests.Row(
            name: "a node that goes out of service ends the wait as its time does",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [.resumed([], fresh: "c3"), .time(1_000), .hurried],
                    ["subscribe since=c3 with cursors limit=500", "ask fresh"]
                ),
                (
                    [.fresh("c3b"), .events([4])],
                    [
                        "unsubscribe with cursors", #"200 {"events":[],"at":"c3b","more":false}"#,
                    ]
                ),
            ]),
        LiveStreamTests.Row(
            name: "a wait that had not begun when the node goes out of service does not begin",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [.hurried, .resumed([], fresh: "c3")],
                    ["subscribe since=c3 with cursors limit=500", "ask fresh"]
                ),
                ([.fresh("c3b")], ["unsubscribe with cursors", #"200 {"events":[],"at":"c3b","more":false}"#]),
            ]),
        LiveStreamTests.Row(
            name: "what is at hand when the node goes out of service is the answer",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [.hurried, .resumed([4], fresh: "c9")],
                    [
                        "subscribe since=c3 with cursors limit=500", "unsubscribe with cursors",
                        #"200 {"events":[{"ent":"incident","id":"4","type":"t","at":"c4","ts":1004}],"at":"c9","more":false}"#,
                    ]
                )
            ]),
        LiveStreamTests.Row(
            name: "the time is up, and an event comes before the cursor",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [.resumed([], fresh: "c3"), .time(5_000), .events([4]), .fresh("c4b")],
                    [
                        "subscribe since=c3 with cursors limit=500", "ask fresh", "unsubscribe with cursors",
                        #"200 {"events":[{"ent":"incident","id":"4","type":"t","at":"c4","ts":1004}],"at":"c4","more":false}"#,
                    ]
                )
            ]),
        LiveStreamTests.Row(
            name: "a cursor that cannot be served is refused with a fresh one",
            target: "/sync/v1?since=cX&wait=5",
            steps: [
                (
                    [.refused(.expired, "c9")],
                    [
                        "subscribe since=cX with cursors limit=500", "unsubscribe with cursors", "410 expired c9",
                    ]
                )
            ]),
        LiveStreamTests.Row(
            name: "positions that lose their meaning end the wait",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [.resumed([], fresh: "c3"), .reset("r1"), .end],
                    [
                        "subscribe since=c3 with cursors limit=500", "unsubscribe with cursors", "410 epoch r1",
                    ]
                )
            ]),
        LiveStreamTests.Row(
            name: "who goes while it waits leaves nothing behind",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [.resumed([], fresh: "c3"), .end, .events([4]), .fresh("c4"), .time(9_000)],
                    [
                        "subscribe since=c3 with cursors limit=500", "unsubscribe with cursors",
                    ]
                )
            ]),
        LiveStreamTests.Row(
            name: "what comes before its turn adds nothing to the answer",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [.resumed([], fresh: "c3"), .owed([4]), .owed([5, 6])],
                    ["subscribe since=c3 with cursors limit=500"]
                ),
                (
                    [.turn],
                    [
                        "unsubscribe with cursors",
                        #"200 {"events":[{"ent":"incident","id":"4","type":"t","at":"c4","ts":1004}],"at":"c4","more":false}"#,
                    ]
                ),
                ([.turn, .turn, .end], []),
            ]),
        LiveStreamTests.Row(
            name: "events that are owed come before the end of the time",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [.resumed([], fresh: "c3"), .owed([4]), .time(5_000)],
                    [
                        "subscribe since=c3 with cursors limit=500", "unsubscribe with cursors",
                        #"200 {"events":[{"ent":"incident","id":"4","type":"t","at":"c4","ts":1004}],"at":"c4","more":false}"#,
                    ]
                ),
                ([.turn], []),
            ]),
        LiveStreamTests.Row(
            name: "a reset behind events that are owed is not the answer",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [.resumed([], fresh: "c3"), .owed([4]), .reset("r1")],
                    [
                        "subscribe since=c3 with cursors limit=500", "unsubscribe with cursors",
                        #"200 {"events":[{"ent":"incident","id":"4","type":"t","at":"c4","ts":1004}],"at":"c4","more":false}"#,
                    ]
                ),
                ([.turn], []),
            ]),
        LiveStreamTests.Row(
            name: "who goes before its turn gets nothing",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [.resumed([], fresh: "c3"), .owed([4]), .end, .turn],
                    ["subscribe since=c3 with cursors limit=500", "unsubscribe with cursors"]
                )
            ]),
        LiveStreamTests.Row(
            name: "whoever had it from another node waits on, for what came meanwhile too",
            target: "/sync/v1?since=c3&wait=5",
            steps: [
                (
                    [
                        .resumed([], fresh: "c3", floor: 6), .owed([4]), .owed([5]), .turn, .turn, .owed([6]),
                        .owed([7]),
                    ],
                    ["subscribe since=c3 with cursors limit=500"]
                ),
                (
                    [.turn],
                    [
                        "unsubscribe with cursors",
                        #"200 {"events":[{"ent":"incident","id":"6","type":"t","at":"c6","ts":1006}],"at":"c6","more":false}"#,
                    ]
                ),
                ([.turn], []),
            ]),
    ]

    @Test(arguments: rows + rowsOfOtherNodes) func `each input has its answer`(_ row: LiveStreamTests.Row) throws {
        let rig = try StreamRig(row.target)
        for (index, step) in row.steps.enumerated() {
            #expect(rig.play(step.inputs) == step.says, "step \(index + 1)")
        }
    }
}
