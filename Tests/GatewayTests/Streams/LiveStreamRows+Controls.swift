@testable import Gateway

extension LiveStreamTests {
    /// What is said besides events: the source, beats.
    static let controls: [Row] = [
        Row(
            name: "the end of a token and a new token are told to those with control messages",
            target: "/live/v1?with=at",
            steps: [
                (
                    [.now("c0"), .expires(9), .taken(99), .taken(nil)],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#,
                        #"{"expiring":{"exp":9}}"#, #"{"token":{"exp":99}}"#, #"{"token":{}}"#,
                    ]
                )
            ]),
        Row(
            name: "nothing is said of tokens to a plain client",
            target: "/live/v1",
            steps: [([.now("c0"), .expires(9), .taken(99)], ["subscribe limit=256", "head"])]),
        Row(
            name: "a stream that is behind is told of its token when that is over, the newest alone",
            target: "/live/v1?with=at",
            steps: [
                (
                    [.now("c0"), .blocked, .expires(9), .taken(98), .taken(99), .expires(99), .drained],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#,
                        #"{"token":{"exp":99}}"#, #"{"expiring":{"exp":99}}"#,
                    ]
                ),
                ([.drained, .source(.stalled(since: 7))], [#"{"source":{"state":"stalled","ts":7}}"#]),
            ]),
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
            name: "a source that came back while the stream was behind is told after the resync",
            target: "/live/v1?with=at",
            steps: [
                (
                    [.now("c0"), .drained, .source(.stalled(since: 7))],
                    [
                        "subscribe with cursors limit=256", "head", #"{"live":{"at":"c0"}}"#,
                        #"{"source":{"state":"stalled","ts":7}}"#,
                    ]
                ),
                ([.blocked, .source(.live(since: 8)), .reset("r1")], []),
                ([.drained], [#"{"resync":{"why":"epoch","at":"r1"}}"#]),
                ([.drained], ["read after 1 limit=256"]),
                (
                    [.page([], fresh: "r2")],
                    [#"{"live":{"at":"r2"}}"#, #"{"source":{"state":"live","ts":8}}"#]
                ),
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

    /// `mode=changed`.
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
            name: "a page that is empty and not the last says nothing",
            target: "/live/v1?mode=changed&since=c3&ent=note",
            steps: [
                (
                    [.resumed([], complete: false, fresh: "c9"), .drained],
                    [
                        "subscribe since=c3 with cursors limit=1", "head", "read after 0 limit=1",
                    ]
                ),
                (
                    [.page([5], complete: false, fresh: "c9")],
                    [#"{"changed":true,"at":"c9"}"#, #"{"live":{"at":"c9"}}"#]
                ),
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
}
