@testable import Gateway

extension LiveStreamTests {
    /// Streams with cursors: replays, resyncs, what is left out.
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
            name: "ids in the archive alone send no control messages, live and behind",
            target: "/live/v1?with=aid",
            steps: [
                (
                    [.now("c0"), .events([1])],
                    [
                        "subscribe limit=256", "head",
                        #"{"ent":"note","id":"1","type":"t","aid":"\#(StreamRig.aid(1))"}"#,
                    ]
                ),
                ([.blocked, .events([2])], []),
                ([.drained], [#"{"ent":"incident","id":"2","type":"t","aid":"\#(StreamRig.aid(2))"}"#]),
            ]),
        Row(
            name: "a replay has the ids that are asked for, behind the rest",
            target: "/live/v1?since=c3&with=aid,ts",
            steps: [
                (
                    [.resumed([4], fresh: "c5"), .events([6])],
                    [
                        "subscribe since=c3 with cursors limit=256", "head",
                        #"{"ent":"incident","id":"4","type":"t","at":"c4","ts":1004,"aid":"\#(StreamRig.aid(4))"}"#,
                        #"{"live":{"at":"c5"}}"#,
                        #"{"ent":"incident","id":"6","type":"t","at":"c6","ts":1006,"aid":"\#(StreamRig.aid(6))"}"#,
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
            name: "after a resync everything follows, also what the client once had from a node that was ahead",
            target: "/live/v1?since=c3",
            steps: [
                (
                    [.resumed([], complete: false, floor: 6)],
                    ["subscribe since=c3 with cursors limit=256", "head", "read after 0 limit=256"]
                ),
                ([.lost("r1")], [#"{"resync":{"why":"expired","at":"r1"}}"#]),
                ([.drained], ["read after 0 limit=256"]),
                ([.page([], fresh: "r2")], [#"{"live":{"at":"r2"}}"#]),
                ([.events([4])], [#"{"ent":"incident","id":"4","type":"t","at":"c4"}"#]),
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
            name: "of two resets that wait the first reason is given, from where the last began",
            target: "/live/v1?with=at",
            steps: [
                (
                    [.now("c0"), .blocked, .events([1]), .time(3_000), .events([2]), .drained],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#, "read after 0 limit=256",
                    ]
                ),
                (
                    [.reset("r1"), .reset("r2", .expired), .lost("c9")],
                    [#"{"resync":{"why":"epoch","at":"r2"}}"#]
                ),
                ([.drained], ["read after 4 limit=256"]),
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
}
