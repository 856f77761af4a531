// Tests: ArchiveFeeder+Keeping.swift, ArchiveCounts.swift, ArchiveParameters.swift

import Archive
import GatewaySettings
import Testing

@testable import Gateway

/// What an archive does by time, each moment an argument.
struct ArchiveTimesTests {
    private static let policy = ArchivePolicy(maximumTimestampDelayMilliseconds: 0)

    /// What a request waits for, and for how long at most. Each is given up before the answer is due, so that it says why.
    static let waits: [(what: String, milliseconds: UInt64)] = [
        ("the node as far as its page", SnapshotWaits.milliseconds),
        ("the store as far as the node", policy.catchUpPauses.reduce(0, +)),
        ("PostgreSQL", PostgreSQLArchive.defaultMilliseconds),
    ]

    @Test(arguments: waits) func `a request is answered or refused within two seconds`(
        _ wait: (what: String, milliseconds: UInt64)
    ) {
        let policy = Self.policy
        #expect(policy.answerMilliseconds == 2_000 && wait.milliseconds < policy.answerMilliseconds)
    }

    @Test func `what was erased is overwritten at once, each second while somebody reads it, and later less often`() {
        var keeping = ArchiveKeeping()
        let early = keeping.isOverwriteDue(now: 0)
        #expect(!early)
        keeping.mustOverwrite = true
        // In a minute sixty attempts, each a second behind the begin of the one before it. Then an operator is told.
        var (attempts, told): ([UInt64], [UInt64]) = ([], [])
        for now in stride(from: UInt64(5_000), to: 90_000, by: 250) where keeping.isOverwriteDue(now: now) {
            attempts.append(now)
            if keeping.endOverwriting(isDone: false, now: now) { told.append(now) }
        }
        #expect(attempts == (0...60).map { 5_000 + $0 * 1_000 } + [75_000, 85_000])
        #expect(told == [65_000, 75_000, 85_000])
        let last = keeping.isOverwriteDue(now: 95_000)
        let isReported = keeping.endOverwriting(isDone: true, now: 95_000)
        #expect(last && !isReported)
        let afterwards = keeping.isOverwriteDue(now: 200_000)
        #expect(!afterwards)
        // Another erasure begins from the start, whenever it comes.
        keeping.mustOverwrite = true
        let next = keeping.isOverwriteDue(now: 200_000)
        let isNextTold = keeping.endOverwriting(isDone: false, now: 200_000)
        #expect(next && !isNextTold)
        #expect([200_999, 201_000].map { keeping.isOverwriteDue(now: $0) } == [false, true])
    }

    @Test func `an attempt that does not end is told after a minute, and every ten minutes`() {
        var keeping = ArchiveKeeping()
        keeping.mustOverwrite = true
        let begins = keeping.isOverwriteDue(now: 5_000)
        let told = [5_000, 64_999, 65_000, 65_001, 664_999, 665_000].map { keeping.overdueOverwrite(now: $0) }
        #expect(begins && told == [nil, nil, 60_000, nil, nil, 660_000])
        _ = keeping.endOverwriting(isDone: true, now: 700_000)
        let after = keeping.overdueOverwrite(now: 2_000_000)
        #expect(after == nil)
    }

    @Test(arguments: [(true, false), (false, false), (true, true), (false, true)])
    func `no attempt to overwrite begins beside another one, and what is erased meanwhile waits for the next`(
        isDone: Bool, isMoreErased: Bool
    ) {
        var keeping = ArchiveKeeping()
        keeping.mustOverwrite = true
        let first = keeping.isOverwriteDue(now: 0)
        #expect(first && keeping.isOverwriting)
        if isMoreErased { keeping.mustOverwrite = true }
        let beside = keeping.isOverwriteDue(now: 100_000)
        #expect(!beside)
        _ = keeping.endOverwriting(isDone: isDone, now: 100_000)
        let next = keeping.isOverwriteDue(now: 100_000)
        #expect(next == (isMoreErased || !isDone))
    }

    @Test(
        arguments: [
            (1_000, 250), (2_500, 250), (6_000, 600), (599_990, 59_999), (600_000, 60_000), (86_400_000, 60_000),
        ] as [(Int64, UInt64)])
    func `what is over is looked at after a tenth of the time that it is kept, within bounds`(
        keep: Int64, pause: UInt64
    ) {
        var keeping = ArchiveKeeping()
        #expect(keeping.isKeepDue(now: 0) && !keeping.isSweeping)
        // A store that refused it is asked again.
        #expect(keeping.isKeepDue(now: 0))
        keeping.hasKept(now: 7, keepMilliseconds: keep)
        #expect(keeping.isSweeping && !keeping.isKeepDue(now: 6 + pause) && keeping.isKeepDue(now: 7 + pause))
    }

    @Test func `sizes are asked for every five seconds`() {
        var keeping = ArchiveKeeping()
        #expect([100, 5_099, 5_100].map { keeping.isSizeDue(now: $0) } == [true, false, true])
    }

    /// How long a call may take before the operator is told.
    @Test(arguments: [ArchiveFeeder.patienceMilliseconds, 60_000])
    func `a call that takes longer than it may is told of, and one that ends is not`(patience: UInt64) {
        #expect(ArchiveFeeder.patienceMilliseconds == 2_000)
        let counters = ArchiveCounters()
        #expect(counters.overdue(now: .max) == nil)
        counters.beginCall(now: 500, patience: patience)
        #expect(counters.overdue(now: 500 + patience) == nil)
        #expect(counters.overdue(now: 501 + patience) == 1 + patience)
        counters.endCall()
        #expect(counters.overdue(now: .max) == nil)
    }
}
