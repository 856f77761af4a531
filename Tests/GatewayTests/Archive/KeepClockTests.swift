// Tests: KeepClock.swift, Ingest+Erasing.swift

import LiveUpdates
import Testing

@testable import Gateway

struct KeepClockTests {
    private static let hour: Int64 = 3_600_000
    private static let keep: Int64 = 24 * hour
    /// Some day.
    private static let day: Int64 = 1_795_240_000_000

    /// What happens: a record with a stamp comes while the node's clock says this, or time passes.
    enum Step {
        case record(stamp: Int64, wall: Int64)
        case passes(Int64)
        /// The store, which has let go of so much, is opened once more.
        case opens(Int64)
    }

    /// Each row: what the store has let go of, what happens, and up to where is let go then; nil: nothing.
    static let rows: [(horizon: Int64, steps: [Step], expected: Int64?, why: String)] = [
        (-1, [], nil, "nothing says what time it is"),
        (-1, [.passes(day)], nil, "nor does the time that has passed"),
        (-1, [.record(stamp: day, wall: day + 5)], day + 5 - keep, "the clock agrees with what comes"),
        (-1, [.record(stamp: day - hour, wall: day)], day - keep, "within an hour"),
        (-1, [.record(stamp: day + hour, wall: day)], day - keep, "on both sides"),
        (
            -1, [.record(stamp: day - hour - 1, wall: day)], day - hour - 1 - keep,
            "an old record: at least so late it is"
        ),
        (-1, [.record(stamp: day + hour + 1, wall: day)], nil, "a record from ahead proves nothing"),
        (-1, [.record(stamp: -1, wall: day)], nil, "nor does one without a stamp"),
        (-1, [.record(stamp: .max, wall: day)], nil, "nor one with microseconds"),
        (-1, [.record(stamp: day, wall: day + 90 * keep)], day - keep, "a clock that is ahead empties nothing"),
        (
            -1, [.record(stamp: day, wall: day), .passes(5), .record(stamp: day + 5, wall: day + 90 * keep)],
            day + 5 - keep, "also where it was right before"
        ),
        (-1, [.record(stamp: day, wall: day), .passes(2 * keep)], day + keep, "what nothing comes to still forgets"),
        (day - keep, [], day - keep, "a store that is opened again goes on where it was"),
        (day - keep, [.passes(keep)], day, "as fast as time passes"),
        (
            day - keep, [.passes(7), .record(stamp: day - hour, wall: day + 9 * keep)], day + 7 - keep,
            "a record of before sets nothing back"
        ),
        (
            day - keep, [.record(stamp: day + 9 * keep, wall: day + 9 * keep)], day + 8 * keep,
            "after a week without the node"
        ),
        (
            -1, [.record(stamp: day + 30 * keep, wall: day), .record(stamp: day - 5, wall: day)], day - keep,
            "beside a producer with a wrong stamp another one counts"
        ),
        (
            -1, [.record(stamp: day - 40 * keep, wall: day + 90 * keep), .opens(day - keep)], day - keep,
            "what came before the store was open sets it back no more than what comes later"
        ),
        (-1, [.record(stamp: day, wall: day), .opens(day + keep)], day - keep, "a clock that agrees has the word"),
    ]

    @Test(arguments: rows)
    func `what is let go goes by a clock that somebody agrees with`(
        row: (horizon: Int64, steps: [Step], expected: Int64?, why: String)
    ) {
        var steady: UInt64 = 1_000
        var clock = KeepClock(steady: steady)
        clock.begin(horizon: row.horizon, keepMilliseconds: Self.keep, steady: steady)
        for step in row.steps {
            switch step {
            case .record(let stamp, let wall): clock.note(stamp: stamp, wall: wall, steady: steady)
            case .passes(let milliseconds): steady += UInt64(milliseconds)
            case .opens(let horizon): clock.begin(horizon: horizon, keepMilliseconds: Self.keep, steady: steady)
            }
        }
        let found = clock.horizon(keepMilliseconds: Self.keep, steady: steady)
        #expect(found == row.expected, "\(row.why)")
    }

    @Test(
        arguments: [
            (stamp: 5, now: 10, moment: 5, end: 105), (10, 10, 10, 110), (11, 10, 10, 111), (.max, 10, 10, .max),
        ] as [(stamp: Int64, now: Int64, moment: Int64, end: Int64)])
    func `an erasure counts no further than the moment at which it was read`(
        row: (stamp: Int64, now: Int64, moment: Int64, end: Int64)
    ) {
        let erasure = Erasure(Account("A"), stamped: row.stamp, now: row.now, retentionMilliseconds: 100)
        #expect(erasure.moment == row.moment && erasure.end == row.end)
    }
}
