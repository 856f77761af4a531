import LiveUpdates

@testable import Gateway

/// Requests to `/sync/v1` with a cursor of another node, as far as which this one is to have read.
extension PollTests {
    static let rowsOfOtherNodes: [LiveStreamTests.Row] = [
        LiveStreamTests.Row(
            name: "a node that has read as far as another one answers at once, whatever there is",
            target: "/sync/v1?since=c3&upto=c9&wait=5",
            steps: [
                (
                    [.resumed([], fresh: "c9", reach: .reached)],
                    [
                        "subscribe since=c3 with cursors limit=500", "unsubscribe with cursors",
                        #"200 {"events":[],"at":"c9","more":false}"#,
                    ]
                )
            ]),
        LiveStreamTests.Row(
            name: "a node that is behind another one waits for itself",
            target: "/sync/v1?since=c3&upto=c6",
            steps: [
                (
                    [.resumed([4], fresh: "c4", reach: .behind), .events([5]), .time(1_999)],
                    ["subscribe since=c3 limit=500", "read after 4 limit=500 upto=c6"]
                ),
                (
                    [.page([5, 6], fresh: "c6", reach: .reached)],
                    [
                        "unsubscribe",
                        #"200 {"events":[{"ent":"incident","id":"4","type":"t","at":"c4","ts":1004},"#
                            + #"{"ent":"note","id":"5","type":"t","at":"c5","ts":1005},"#
                            + #"{"ent":"incident","id":"6","type":"t","at":"c6","ts":1006}],"at":"c6","more":false}"#,
                    ]
                ),
                ([.time(9_000)], []),
            ]),
        LiveStreamTests.Row(
            name: "a node that stays behind answers after 2 s that there is more",
            target: "/sync/v1?since=c3&upto=c6",
            steps: [
                (
                    [.resumed([], fresh: "c3", reach: .behind), .time(1_999)],
                    ["subscribe since=c3 limit=500", "read after 0 limit=500 upto=c6"]
                ),
                ([.time(2_000)], ["read now"]),
                (
                    [.page([4], fresh: "c4", reach: .behind)],
                    [
                        "unsubscribe",
                        #"200 {"events":[{"ent":"incident","id":"4","type":"t","at":"c4","ts":1004}],"at":"c4","more":true}"#,
                    ]
                ),
            ]),
        LiveStreamTests.Row(
            name: "or after as long as the client waits",
            target: "/sync/v1?since=c3&upto=c6&wait=5",
            steps: [
                (
                    [.resumed([], fresh: "c3", reach: .behind), .time(4_999)],
                    ["subscribe since=c3 with cursors limit=500", "read after 0 limit=500 upto=c6"]
                ),
                ([.time(5_000)], ["read now"]),
                (
                    [.page([], fresh: "c3b", reach: .behind)],
                    ["unsubscribe with cursors", #"200 {"events":[],"at":"c3b","more":true}"#]
                ),
            ]),
        LiveStreamTests.Row(
            name: "or at once, where the client does not want to wait, or the answer is full",
            target: "/sync/v1?since=c3&upto=c6&wait=0",
            steps: [
                (
                    [.resumed([], fresh: "c3", reach: .behind)],
                    ["subscribe since=c3 limit=500", "unsubscribe", #"200 {"events":[],"at":"c3","more":true}"#]
                )
            ]),
        LiveStreamTests.Row(
            name: "a full answer of a node that is behind says that there is more",
            target: "/sync/v1?since=c3&upto=c6&limit=1",
            steps: [
                (
                    [.resumed([4], fresh: "c4", reach: .behind)],
                    [
                        "subscribe since=c3 limit=1", "unsubscribe",
                        #"200 {"events":[{"ent":"incident","id":"4","type":"t","at":"c4","ts":1004}],"at":"c4","more":true}"#,
                    ]
                )
            ]),
        LiveStreamTests.Row(
            name: "a node that goes out of service waits for itself no longer",
            target: "/sync/v1?since=c3&upto=c6&wait=5",
            steps: [
                (
                    [.resumed([], fresh: "c3", reach: .behind), .hurried],
                    ["subscribe since=c3 with cursors limit=500", "read after 0 limit=500 upto=c6", "read now"]
                ),
                (
                    [.page([], fresh: "c3b", reach: .behind)],
                    ["unsubscribe with cursors", #"200 {"events":[],"at":"c3b","more":true}"#]
                ),
            ]),
        LiveStreamTests.Row(
            name: "a cursor of another node that says nothing here is as none",
            target: "/sync/v1?since=c3&upto=nonsense&wait=5",
            steps: [
                ([.resumed([], fresh: "c3")], ["subscribe since=c3 with cursors limit=500"]),
                ([.time(5_000)], ["ask fresh"]),
                ([.fresh("c3b")], ["unsubscribe with cursors", #"200 {"events":[],"at":"c3b","more":false}"#]),
            ]),
        LiveStreamTests.Row(
            name: "positions that lose their meaning end the wait for another node",
            target: "/sync/v1?since=c3&upto=c6",
            steps: [
                (
                    [.resumed([], fresh: "c3", reach: .behind), .reset("r1")],
                    [
                        "subscribe since=c3 limit=500", "read after 0 limit=500 upto=c6", "unsubscribe",
                        "410 epoch r1",
                    ]
                )
            ]),
    ]
}
