import Testing

@testable import Tokens

/// Rows in virtual time: what happens, and what is to be done about it.
@Suite struct KeyScheduleTests {
    enum Step: Sendable {
        /// Whether a fetch begins now by the schedule.
        case due(Bool)
        case succeeds
        case fails(spread: Double = 0)
        /// A token names an unknown key.
        case unknown(KeySchedule.Reply)
        case usable(Bool)
        case wake(UInt64?)
        /// It is asked for, whatever the schedule says.
        case again
        /// The settings say so from now on.
        case changes(refresh: UInt64, age: UInt64)
    }

    struct Row: CustomTestStringConvertible, Sendable {
        let name: String
        let steps: [(at: UInt64, step: Step)]
        var testDescription: String { name }

        init(_ name: String, _ steps: [(UInt64, Step)]) {
            self.name = name
            self.steps = steps.map { (at: $0.0, step: $0.1) }
        }
    }

    static let timing = KeySchedule.Timing(
        refreshMilliseconds: 600_000, cooldownMilliseconds: 30_000, maximumAgeMilliseconds: 86_400_000)

    @Test(arguments: start + unknown + age + changes)
    func `a schedule does this`(_ row: Row) {
        var schedule = KeySchedule(Self.timing, now: 0)
        for (index, (now, step)) in row.steps.enumerated() {
            switch step {
            case .due(let expected): #expect(schedule.beginIfDue(now: now) == expected, "step \(index)")
            case .succeeds: schedule.succeeded(now: now)
            case .fails(let spread): schedule.failed(now: now, spread: spread)
            case .again: schedule.fetchAgain(now: now)
            case .unknown(let expected): #expect(schedule.ask(now: now) == expected, "step \(index)")
            case .changes(let refresh, let age):
                schedule.change(
                    to: .init(refreshMilliseconds: refresh, cooldownMilliseconds: 30_000, maximumAgeMilliseconds: age),
                    now: now)
            case .usable(let expected): #expect(schedule.isUsable(now: now) == expected, "step \(index)")
            case .wake(let expected): #expect(schedule.nextWake(now: now) == expected, "step \(index)")
            }
        }
    }

    static let start: [Row] = [
        Row("the first fetch is due at once, one at a time", [(0, .due(true)), (0, .due(false)), (0, .wake(nil))]),
        Row(
            "after a failure it is tried again from 1 s on, later each time, and at most 10 s later",
            [
                (0, .due(true)), (5, .fails()), (1_004, .due(false)), (1_005, .due(true)),
                (2_000, .fails(spread: 1)), (5_999, .due(false)), (6_000, .due(true)),
                (7_000, .fails(spread: 1)), (14_999, .due(false)), (15_000, .due(true)),
                (20_000, .fails(spread: 1)), (29_999, .due(false)), (30_000, .due(true)),
                (30_000, .fails(spread: 1)), (39_999, .due(false)), (40_000, .due(true)),
                (40_000, .fails(spread: 0)), (40_999, .due(false)), (41_000, .due(true)),
            ]),
        Row(
            "the first failure is followed within 2 s",
            [(0, .due(true)), (0, .fails(spread: 1)), (1_999, .due(false)), (2_000, .due(true))]),
        Row(
            "after a success it is fetched every refresh, whether that succeeds or fails",
            [
                (0, .due(true)), (10, .succeeds), (10, .wake(600_010)), (600_009, .due(false)), (600_010, .due(true)),
                (600_020, .fails()), (1_200_019, .due(false)), (1_200_020, .due(true)), (1_200_020, .succeeds),
                (1_800_019, .due(false)), (1_800_020, .due(true)),
            ]),
    ]

    static let changes: [Row] = [
        Row(
            "with another timing the keys go on counting, and are fetched at once",
            [
                (0, .due(true)), (0, .succeeds), (1_000, .changes(refresh: 5_000, age: 86_400_000)),
                (1_000, .usable(true)), (1_000, .due(true)), (1_010, .fails()), (6_009, .due(false)),
                (6_010, .due(true)), (6_010, .succeeds), (11_009, .due(false)), (11_010, .due(true)),
            ]),
        Row(
            "one that is asked for is due at once, and behind a fetch that was under way, once",
            [
                (0, .due(true)), (0, .succeeds), (1_000, .again), (1_000, .due(true)), (1_001, .again), (1_002, .again),
                (1_002, .due(false)), (1_010, .succeeds), (1_010, .due(true)), (1_020, .fails()), (1_020, .due(false)),
                (601_009, .due(false)), (601_020, .due(true)),
            ]),
        Row(
            "a shorter age is reckoned from the change, and does not prolong the one of before",
            [
                (0, .due(true)), (0, .succeeds), (500_000, .changes(refresh: 1_000, age: 10_000)),
                (509_999, .usable(true)), (510_000, .usable(false)), (510_000, .changes(refresh: 1_000, age: 60_000)),
                (510_000, .usable(false)),
            ]),
        Row(
            "… and a longer one from when the keys came",
            [
                (0, .due(true)), (0, .succeeds), (86_399_000, .changes(refresh: 1_000, age: 10_000)),
                (86_399_999, .usable(true)), (86_399_999, .changes(refresh: 1_000, age: 90_000_000)),
                (89_999_999, .usable(true)), (90_000_000, .usable(false)),
            ]),
        Row(
            "during a fetch the next one follows it only where what it brought was asked for by other settings",
            [
                (0, .due(true)), (10, .changes(refresh: 5_000, age: 60_000)), (10, .due(false)), (20, .succeeds),
                (5_019, .due(false)), (5_020, .due(true)),
            ]),
    ]

    static let unknown: [Row] = [
        Row(
            "before there are keys nothing can be said of an unknown one",
            [
                (0, .unknown(.unavailable)), (0, .due(true)), (0, .unknown(.unavailable)), (1, .fails()),
                (1, .unknown(.unavailable)),
            ]),
        Row(
            "an unknown key is fetched, once in a cooldown whatever comes of it",
            [
                (0, .due(true)), (0, .succeeds), (100, .unknown(.beginsFetch)), (110, .unknown(.waits)),
                (120, .succeeds),
                (121, .unknown(.unknown)), (30_099, .unknown(.unknown)), (30_100, .unknown(.beginsFetch)),
                (30_200, .fails()), (30_201, .unknown(.unknown)), (60_099, .unknown(.unknown)),
                (60_100, .unknown(.beginsFetch)),
            ]),
        Row(
            "one that comes while the schedule fetches waits for that, and costs no cooldown",
            [
                (0, .due(true)), (0, .succeeds), (600_000, .due(true)), (600_001, .unknown(.waits)),
                (600_002, .succeeds),
                (600_003, .unknown(.beginsFetch)),
            ]),
        Row(
            "a failed fetch for an unknown key leaves the schedule as it is",
            [
                (0, .due(true)), (0, .succeeds), (590_000, .unknown(.beginsFetch)), (595_000, .fails()),
                (599_999, .due(false)), (600_000, .due(true)),
            ]),
        Row(
            "a good one begins the refresh anew",
            [
                (0, .due(true)), (0, .succeeds), (590_000, .unknown(.beginsFetch)), (591_000, .succeeds),
                (1_190_999, .due(false)), (1_191_000, .due(true)),
            ]),
        Row(
            "the end of a cooldown is worth a look",
            [
                (0, .due(true)), (0, .succeeds), (100, .unknown(.beginsFetch)), (100, .wake(30_100)), (200, .succeeds),
                (200, .wake(30_100)), (30_100, .wake(600_200)),
            ]),
    ]

    static let age: [Row] = [
        Row(
            "no key counts before the first success",
            [(0, .usable(false)), (0, .due(true)), (1, .succeeds), (1, .usable(true))]),
        Row(
            "keys count for their age and no longer, then it is as at the start",
            [
                (0, .due(true)), (0, .succeeds), (86_399_000, .due(true)), (86_399_001, .fails()),
                (86_399_999, .usable(true)), (86_399_999, .due(false)), (86_400_000, .usable(false)),
                (86_400_000, .unknown(.unavailable)), (86_400_000, .due(true)), (86_400_100, .fails()),
                (86_401_099, .due(false)), (86_401_100, .due(true)), (86_401_200, .succeeds),
                (86_401_200, .usable(true)), (86_401_200, .unknown(.beginsFetch)),
            ]),
        Row(
            "a fetch that is under way when they end counts as one without keys",
            [
                (0, .due(true)), (0, .succeeds), (86_399_999, .due(true)), (86_400_500, .fails()),
                (86_401_499, .due(false)), (86_401_500, .due(true)),
            ]),
    ]

    // MARK: - Readiness

    @Test func `a node waits for every issuer, and for 30 s where another one has keys`() {
        var readiness = KeyReadiness(now: 5)
        #expect(readiness.missing([("a", true), ("b", false)], now: 5) == "b")
        #expect(readiness.missing([("a", true), ("b", false)], now: 30_004) == "b")
        #expect(readiness.missing([("a", true), ("b", false)], now: 30_005) == nil)
        #expect(readiness.end == nil)
    }

    @Test func `where nobody has keys it waits for ever`() {
        var readiness = KeyReadiness(now: 0)
        #expect(readiness.missing([("a", false), ("b", false)], now: 1_000_000) == "a")
        #expect(readiness.missing([("a", false), ("b", true)], now: 1_000_001) == nil)
    }

    @Test func `once it was ready, keys that are gone do not count`() {
        var readiness = KeyReadiness(now: 0)
        #expect(readiness.missing([("a", true)], now: 1) == nil)
        #expect(readiness.missing([("a", false)], now: 2) == nil)
        var none = KeyReadiness(now: 0)
        #expect(none.missing([], now: 0) == nil)
    }
}
