import Testing

@testable import Gateway

/// How a node goes out of service, row by row.
struct NodeLifecycleTests {
    typealias Input = NodeLifecycle.Input
    typealias Step = NodeLifecycle.Step

    static let times = NodeLifecycle.Times(delay: 5_000, window: 30_000, retry: 4_000)
    static let hurried = CloseNotice(.restart, retryMilliseconds: 1_000...5_000)

    /// What an input leads to. Nil: it is refused.
    typealias Turn = (input: Input, steps: [Step]?)

    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        var times = NodeLifecycleTests.times
        let turns: [Turn]
        let end: NodeLifecycle.State
        var testDescription: String { name }
    }

    static let toWindow: [Step] = [
        .wait(milliseconds: 31_000), .refuseRequests(true), .closeListeners, .spread(windowMilliseconds: 30_000),
    ]
    static let sigterm: Turn = (.terminate, [.reportDraining(true), .wait(milliseconds: 5_000)])
    static let drain: Turn = (
        .drain(windowMilliseconds: 700),
        [.reportDraining(true), .refuseRequests(true), .spread(windowMilliseconds: 700)]
    )

    static func hurry(_ input: Input, _ closeNotice: CloseNotice) -> Turn {
        (
            input,
            [
                .wait(milliseconds: 1_500), .reportDraining(true), .refuseRequests(true), .closeAll(closeNotice),
                .closeListeners,
            ]
        )
    }

    static let rows: [Row] = [
        Row(
            name: "SIGTERM: unready at once, nobody refused before the delay is over, the end with the last connection",
            turns: [sigterm, (.empty, []), (.timePassed, toWindow), (.empty, [.stop])], end: .stopped),
        Row(
            name: "who does not leave within the window is told once more, and then cut",
            turns: [
                sigterm, (.timePassed, toWindow),
                (
                    .timePassed,
                    [
                        .closeAll(CloseNotice(.restart, retryMilliseconds: 0...4_000)), .wait(milliseconds: 3_000),
                    ]
                ),
                (.timePassed, [.stop]),
            ], end: .stopped),
        Row(
            name: "without a delay the window begins at once",
            times: NodeLifecycle.Times(delay: 0, window: 0, retry: 0),
            turns: [
                (
                    .terminate,
                    [
                        .reportDraining(true), .wait(milliseconds: 1_000), .refuseRequests(true), .closeListeners,
                        .spread(windowMilliseconds: 0),
                    ]
                ),
                (.empty, [.stop]),
            ], end: .stopped),
        Row(
            name: "a second SIGTERM within the delay", turns: [sigterm, hurry(.terminate, hurried), (.empty, [.stop])],
            end: .stopped),
        Row(
            name: "a second SIGTERM within the window",
            turns: [sigterm, (.timePassed, toWindow), hurry(.terminate, hurried), (.timePassed, [.stop])],
            end: .stopped),
        Row(
            name: "a second SIGTERM behind the window",
            turns: [
                sigterm, (.timePassed, toWindow), hurry(.terminate, hurried), (.terminate, []), (.interrupt, []),
                (.empty, [.stop]),
            ], end: .stopped),
        Row(
            name: "SIGINT",
            turns: [hurry(.interrupt, CloseNotice(.goingAway)), (.terminate, []), (.interrupt, []), (.empty, [.stop])],
            end: .stopped),
        Row(
            name: "SIGINT within the window",
            turns: [sigterm, (.timePassed, toWindow), hurry(.interrupt, CloseNotice(.goingAway))], end: .hurried),
        Row(
            name: "a drain by an operator ends nothing, and can be taken back",
            turns: [
                drain, (.empty, []), (.timePassed, []),
                (.undrain, [.cancelDrain, .refuseRequests(false), .reportDraining(false)]),
            ], end: .running),
        Row(
            name: "repeated, neither changes anything",
            turns: [(.undrain, []), drain, (.drain(windowMilliseconds: 9), [])], end: .drained),
        Row(
            name: "a drained node can be drained again once it was taken back",
            turns: [
                drain, (.undrain, [.cancelDrain, .refuseRequests(false), .reportDraining(false)]), (.undrain, []),
                drain,
            ], end: .drained),
        Row(
            name: "SIGTERM begins its own drain, which nobody takes back",
            turns: [
                drain, sigterm, (.drain(windowMilliseconds: 9), []), (.undrain, nil), (.timePassed, toWindow),
                (.undrain, nil), (.empty, [.stop]), (.undrain, nil),
            ], end: .stopped),
        Row(
            name: "SIGINT on a drained node",
            turns: [drain, hurry(.interrupt, CloseNotice(.goingAway)), (.undrain, nil)],
            end: .hurried),
        Row(
            name: "who has stopped does nothing more",
            turns: [
                hurry(.interrupt, CloseNotice(.goingAway)), (.timePassed, [.stop]), (.timePassed, []), (.empty, []),
                (.terminate, []), (.interrupt, []), (.drain(windowMilliseconds: 9), []),
            ], end: .stopped),
        Row(name: "nothing to do", turns: [(.timePassed, []), (.empty, [])], end: .running),
    ]

    @Test(arguments: rows) func `each input has its steps`(_ row: Row) {
        var lifecycle = NodeLifecycle(row.times)
        for (index, turn) in row.turns.enumerated() {
            #expect(lifecycle.receive(turn.input) == turn.steps, "turn \(index + 1)")
        }
        #expect(lifecycle.state == row.end)
    }

    /// The contract's times: 5 s behind the window, 2 s behind the signal, with half a second for what is left to do.
    @Test func `the end comes in time, whatever anybody does`() {
        #expect(NodeLifecycle.lastRequestsMilliseconds + NodeLifecycle.lingerMilliseconds <= 4_500)
        #expect(NodeLifecycle.hurryMilliseconds <= 1_500)
    }

    /// When everybody was told to go, when it is asked, and how long a loop is waited for that has not turned since.
    static let loops: [(askedAt: UInt64, now: UInt64, patience: UInt64)] = [
        (7_000, 7_000, 1_500), (7_000, 7_001, 1_499), (7_000, 8_449, 51), (7_000, 8_450, 50), (7_000, 8_451, 50),
        (7_000, 8_500, 50), (7_000, 60_000, 50), (7_000, 6_999, 1_500), (0, .max, 50),
    ]

    @Test(arguments: loops.indices) func `a loop that does not turn costs the end its two seconds at most`(row: Int) {
        let (askedAt, now, patience) = Self.loops[row]
        #expect(NodeLifecycle.patience(askedAt: askedAt, now: now) == patience)
        // A few of them, one after the other: its loops are asked twice, for what they have counted and to stop.
        var end = askedAt
        for _ in 0..<4 { end += NodeLifecycle.patience(askedAt: askedAt, now: end) }
        #expect(end - askedAt <= 2_000)
    }

    @Test func `what is set while the node runs counts for the next wait`() {
        var lifecycle = NodeLifecycle(Self.times)
        lifecycle.times.delay = 7
        #expect(lifecycle.receive(.terminate) == [.reportDraining(true), .wait(milliseconds: 7)])
        lifecycle.times.window = 8
        #expect(lifecycle.receive(.timePassed)?.contains(.spread(windowMilliseconds: 8)) == true)
    }
}
